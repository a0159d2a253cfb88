//! What a store can be asked to keep, in small traits over one model; [`Keeping`] is all of them.
//! Whoever implements them is a folder beside this file.

use super::StoreError;
use super::model::{
    Acquired, Begun, CallSample, DestroyStep, HomeRecord, Intent, NewDeploy, Outcome, Settling,
    StageRecord, State, StateEdit, StateObject, UnknownOutcome,
};
use crate::engine::words::*;
use async_trait::async_trait;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The state, and how it was changed.
#[async_trait]
pub trait States: Send + Sync {
    /// The whole state. A workspace without a store has an empty one: serial 0, no lineage.
    async fn state(&self) -> Result<State, StoreError>;

    /// The current object at an address.
    async fn object(&self, address: &str) -> Result<Option<StateObject>, StoreError>;

    /// The state's serial alone.
    async fn state_serial(&self) -> Result<i64, StoreError>;

    /// The state's lineage and its serial, without the rest of it.
    async fn state_version(&self) -> Result<(String, i64), StoreError>;

    /// Changes the state in one transaction; the answer is the new serial. No edits change nothing.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] where something is moved onto something else; nothing is changed
    /// then.
    async fn edit_state(&self, edits: Vec<StateEdit>) -> Result<i64, StoreError>;

    /// How the copy stands to the state's home; the default where it has been nowhere yet.
    async fn home(&self) -> Result<HomeRecord, StoreError>;

    /// Keeps what is known of the home.
    async fn put_home(&self, home: HomeRecord) -> Result<(), StoreError>;

    /// Puts the state as it was found at home into the place of the copy, in one transaction.
    async fn take_over(&self, state: State, home: HomeRecord) -> Result<(), StoreError>;
}

/// Changes of the state by hand, and who made them.
#[async_trait]
pub trait Edits: Send + Sync {
    /// Changes the state as an operator asked, settles unknown outcomes, and keeps the records. The
    /// answer: the records with the state's new serial.
    async fn change_by_hand(
        &self,
        edits: Vec<StateEdit>,
        settled: Settling,
        changes: Vec<StateChange>,
    ) -> Result<Vec<StateChange>, StoreError>;

    /// The newest changes by hand, newest first; all that are kept for a `limit` of 0.
    async fn state_changes(&self, limit: u32) -> Result<Vec<StateChange>, StoreError>;
}

/// Stages, and the configuration that each was made from.
#[async_trait]
pub trait Stages: Send + Sync {
    /// A number for a new stage; it is not given out again, even if no stage is kept under it.
    async fn next_stage_id(&self) -> Result<StageId, StoreError>;

    /// Keeps a stage, in the place of the one with the same number where there is one.
    async fn put_stage(&self, stage: StageRecord) -> Result<(), StoreError>;

    /// The stage with this number.
    async fn stage(&self, id: StageId) -> Result<Option<StageRecord>, StoreError>;

    /// The changes that are left out of a stage; none where there is no such stage.
    async fn left(&self, id: StageId) -> Result<Vec<String>, StoreError>;

    /// The newest stage with this name.
    async fn stage_named(&self, name: &str) -> Result<Option<StageRecord>, StoreError>;

    /// The newest stage.
    async fn latest_stage(&self) -> Result<Option<StageRecord>, StoreError>;

    /// Keeps which changes of a stage are left out.
    async fn set_left(&self, id: StageId, left: Vec<String>) -> Result<(), StoreError>;

    /// The configuration files with this digest, as they were: relative name and text.
    async fn snapshot(&self, digest: &str) -> Result<Option<Vec<(String, String)>>, StoreError>;
}

/// Deploys: what was meant, what came of it, what is not known.
#[async_trait]
pub trait Deploys: Send + Sync {
    /// Records a deploy of this process as running. It is durable with its first intent.
    async fn begin_deploy(&self, new: NewDeploy) -> Result<Begun, StoreError>;

    /// Records what is about to be done. It is durable when this returns: only then may the call be
    /// made.
    async fn intend(&self, intent: Intent) -> Result<(), StoreError>;

    /// Takes an intent back whose call was not made and will not be.
    async fn take_back(
        &self,
        deploy: DeployId,
        index: u32,
        step: OperationStep,
    ) -> Result<(), StoreError>;

    /// Records a step that needed no call, together with the state that it left, in one
    /// transaction. The answer is the state's serial.
    async fn record_done(&self, step: Intent, edits: Vec<StateEdit>) -> Result<i64, StoreError>;

    /// Records what came of it together with the state that it left, in one transaction. The answer
    /// is the state's serial.
    async fn settle(&self, outcome: Outcome) -> Result<i64, StoreError>;

    /// Keeps operations as they stand now. They are durable with what is asked next, at the latest
    /// with the deploy's end; `failed` hears why where they could not be kept.
    async fn operations_changed(
        &self,
        operations: Vec<Operation>,
        failed: Box<dyn FnOnce(StoreError) + Send>,
    ) -> Result<(), StoreError>;

    /// Records a deploy's end.
    async fn finish_deploy(&self, summary: DeploySummary) -> Result<(), StoreError>;

    /// Operations whose intent is on record and whose outcome is not, oldest first; those of a
    /// deploy that runs are not among them.
    async fn unknown_outcomes(&self) -> Result<Vec<UnknownOutcome>, StoreError>;

    /// Settles unknown outcomes by the numbers of their intents, `how` in words (`read back for
    /// stage #4`). The answer: how many there were to settle.
    async fn settle_unknown(&self, intents: Vec<i64>, how: &str) -> Result<usize, StoreError>;

    /// Destroy-time provisioners that ended well in destroys that did not come to their end, oldest
    /// first; only of objects that are still in the state.
    async fn destroy_steps(&self) -> Result<Vec<DestroyStep>, StoreError>;

    /// Drops all of them: objects in the state may have been made anew since.
    async fn drop_destroy_steps(&self) -> Result<(), StoreError>;

    /// The newest deploys, newest first; all of them for a `limit` of 0.
    async fn history(&self, limit: u32) -> Result<Vec<DeploySummary>, StoreError>;

    /// One deploy with its operations and events.
    async fn deploy_record(&self, id: DeployId) -> Result<Option<DeployRecord>, StoreError>;

    /// Keeps events of a deploy for its replay, at most
    /// [`KEPT_EVENTS`](super::model::KEPT_EVENTS); the answer is how many were not kept.
    async fn append_events(
        &self,
        deploy: DeployId,
        events: Vec<Arc<Event>>,
    ) -> Result<u32, StoreError>;
}

/// Failures of operations, by what is alike.
#[async_trait]
pub trait Failures: Send + Sync {
    /// Keeps a failure of a deploy with the last lines of its plugin.
    async fn put_failure(&self, deploy: DeployId, failure: Failure) -> Result<(), StoreError>;

    /// Failures since a moment (all where `None`), grouped; the group that failed last comes first.
    async fn failures(&self, since: Option<UnixMs>) -> Result<Vec<FailureGroup>, StoreError>;
}

/// What is saved of a deploy whose store takes nothing more.
#[async_trait]
pub trait Rescues: Send + Sync {
    /// Writes the state as the running deploy knows it into a new store in `dir`, mode 0600, with
    /// all of the record that can still be read. The answer: the file, which may take the place of
    /// the store.
    async fn rescue(&self, dir: &Path) -> Result<PathBuf, StoreError>;
}

/// Plugins, their launches, and how long their calls take.
#[async_trait]
pub trait Launches: Send + Sync {
    /// Keeps where a plugin was found.
    async fn plugin_found(&self, plugin: PluginId, found: PluginFound) -> Result<(), StoreError>;

    /// Keeps a launch attempt as it stands, in the place of what was known of it.
    async fn launch_attempt(
        &self,
        plugin: PluginId,
        attempt: LaunchAttempt,
    ) -> Result<(), StoreError>;

    /// Every plugin that was ever seen here, with its attempts, oldest first.
    async fn plugins(&self) -> Result<Vec<PluginRow>, StoreError>;

    /// Adds finished calls to what is known of their kind.
    async fn add_calls(&self, calls: Vec<CallSample>) -> Result<(), StoreError>;

    /// Latencies by plugin, method, type of resource and action, over all engines that ever worked
    /// here.
    async fn latencies(&self) -> Result<Vec<CallStat>, StoreError>;
}

/// What plugins and the engine said.
#[async_trait]
pub trait Logs: Send + Sync {
    /// Keeps lines. Large batches are written in several transactions.
    async fn append_logs(&self, lines: Vec<LogLine>) -> Result<(), StoreError>;

    /// The newest lines that the query asks for, oldest first.
    async fn logs(&self, query: LogQuery) -> Result<Vec<LogRow>, StoreError>;

    /// The lines after the one with number `after`, oldest first: for following.
    async fn logs_after(&self, after: i64, query: LogQuery) -> Result<Vec<LogRow>, StoreError>;

    /// How many lines were dropped in all to keep to the bound.
    async fn logs_trimmed(&self) -> Result<i64, StoreError>;
}

/// Who works on the workspace.
#[async_trait]
pub trait Locks: Send + Sync {
    /// Takes the workspace's lock for `holder` (see [`crate::engine::holder::this_process`]).
    /// Taking it again through the same store is no error.
    ///
    /// # Errors
    /// [`StoreError::Held`] names a holder that is alive, or cannot be judged from here.
    async fn acquire_lock(&self, holder: LockHolder) -> Result<Acquired, StoreError>;

    /// Takes the lock from whoever is on record as its holder, be it alive or not; only the
    /// system's own lock, which a running process of this machine holds, is not taken away. The
    /// answer: from whom.
    async fn force_unlock(&self, by: LockHolder) -> Result<Option<LockHolder>, StoreError>;

    /// Gives the lock back; nothing happens where this store does not hold it.
    async fn release_lock(&self) -> Result<(), StoreError>;

    /// Who works on the workspace; a dead holder counts as nobody.
    async fn holder(&self) -> Result<Option<LockHolder>, StoreError>;

    /// Locks taken over from dead holders, newest first, at most 100: when, from whom, by whom.
    async fn takeovers(&self) -> Result<Vec<(UnixMs, LockHolder, LockHolder)>, StoreError>;
}

/// All that is kept of a workspace.
pub trait Keeping:
    States + Edits + Stages + Deploys + Failures + Rescues + Launches + Logs + Locks + std::fmt::Debug
{
    /// The file that has it.
    fn path(&self) -> &Path;

    /// Whether it may be written to.
    fn can_write(&self) -> bool;

    /// Transactions that were committed through it: with many writers at once, far fewer than
    /// writes.
    fn commits(&self) -> u64;
}
