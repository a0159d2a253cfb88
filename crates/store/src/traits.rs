//! Traits of the store over one model of records; [`StoreApi`] combines them. Implemented in
//! `sqlite/`. They have one implementation today: they are the boundary for a store that a team
//! shares in PostgreSQL, which is planned.

use super::StoreError;
use super::records::{
    Acquired, BackendVersion, CallSample, CompressedJson, DestroyStep, GroupCommitRecord, Intent,
    IntentKey, LeaderLease, MemberHash, NewDeploy, Outcome, Revision, RolloutRecord,
    RolloutRequestRecord, Settlement, SharedOutcome, StageRecord, StartedDeploy, State, StateEdit,
    StateObject, UnknownOutcome,
};
use async_trait::async_trait;
use model::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The copy of the state, and its edits.
#[async_trait]
pub trait States: Send + Sync {
    /// Returns the complete state. Without a store it is empty: serial 0, no lineage.
    async fn state(&self) -> Result<State, StoreError>;

    /// The current object at an address.
    async fn object(&self, address: &str) -> Result<Option<StateObject>, StoreError>;

    /// Serial of the state.
    async fn state_serial(&self) -> Result<i64, StoreError>;

    /// Lineage and serial of the state.
    async fn state_version(&self) -> Result<(String, i64), StoreError>;

    /// Revision of the state and the history.
    async fn revision(&self) -> Result<Revision, StoreError>;

    /// Applies edits in one transaction and returns the new serial. Without edits nothing changes.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] if an object would be moved onto another; then nothing is changed.
    async fn edit_state(&self, edits: Vec<StateEdit>) -> Result<i64, StoreError>;

    /// Record of the state's location in the backend; the default if it was never written.
    async fn backend_version(&self) -> Result<BackendVersion, StoreError>;

    /// Place of the state that this store has a copy of, as it was bound; empty before that.
    async fn bound_place(&self) -> Result<String, StoreError>;

    /// Binds the store to the place of a state, unless it is bound. Returns the place that it is
    /// bound to.
    async fn bind_place(&self, place: &str) -> Result<String, StoreError>;

    /// Binds the store to another place, with the record of the state there.
    async fn rebind_place(&self, place: &str, home: BackendVersion) -> Result<(), StoreError>;

    /// Id of the state lock that this store's last writing command took; empty if there was none.
    async fn state_lock(&self) -> Result<String, StoreError>;

    /// Replaces that id.
    async fn set_state_lock(&self, id: &str) -> Result<(), StoreError>;

    /// Serial of the newest state of a lineage that this store wrote to the backend; 0 if it wrote
    /// none.
    async fn written_serial(&self, lineage: &str) -> Result<i64, StoreError>;

    /// Replaces that serial, after the operator has chosen an older state.
    async fn set_written_serial(&self, lineage: &str, serial: i64) -> Result<(), StoreError>;

    /// Replaces the record of the state's location.
    async fn set_backend_version(&self, home: BackendVersion) -> Result<(), StoreError>;

    /// Replaces the copy with the backend's state, in one transaction.
    async fn replace_with_backend(
        &self,
        state: State,
        home: BackendVersion,
    ) -> Result<(), StoreError>;
}

/// Manual changes of the state and their authors.
#[async_trait]
pub trait Edits: Send + Sync {
    /// Applies an operator's edits, settles unknown outcomes and stores the records, in one
    /// transaction. Returns the records with the new serial.
    async fn apply_manual_edits(
        &self,
        edits: Vec<StateEdit>,
        settled: Settlement,
        changes: Vec<StateChange>,
    ) -> Result<Vec<StateChange>, StoreError>;

    /// The newest manual changes, newest first; all of them for a `limit` of 0.
    async fn state_changes(&self, limit: u32) -> Result<Vec<StateChange>, StoreError>;
}

/// Stages, and the configuration of each.
#[async_trait]
pub trait Stages: Send + Sync {
    /// Reserves a number for a new stage. A number is never reused, even if no stage is stored with
    /// it.
    async fn next_stage_id(&self) -> Result<StageId, StoreError>;

    /// Stores a stage; replaces one with the same number.
    async fn put_stage(&self, stage: StageRecord) -> Result<(), StoreError>;

    /// The stage with this number.
    async fn stage(&self, id: StageId) -> Result<Option<StageRecord>, StoreError>;

    /// Deselected changes of a stage; empty if there is no such stage.
    async fn deselected(&self, id: StageId) -> Result<Vec<String>, StoreError>;

    /// The newest stage with this name.
    async fn stage_named(&self, name: &str) -> Result<Option<StageRecord>, StoreError>;

    /// The newest stage.
    async fn latest_stage(&self) -> Result<Option<StageRecord>, StoreError>;

    /// Stores the deselected changes of a stage.
    async fn set_deselected(&self, id: StageId, left: Vec<String>) -> Result<(), StoreError>;

    /// Configuration files with this digest: relative name and text.
    async fn snapshot(&self, digest: &str) -> Result<Option<Vec<(String, String)>>, StoreError>;

    /// Inputs of a stage beside its configuration files; kept for a deployed stage even when its
    /// changes are not stored any more.
    async fn stage_inputs(&self, id: StageId) -> Result<Option<CompressedJson>, StoreError>;
}

/// Selections that were saved under a name.
#[async_trait]
pub trait SavedSelections: Send + Sync {
    /// All saved selections, by name.
    async fn saved_selections(&self) -> Result<Vec<SavedSelection>, StoreError>;

    /// Saves a selection; replaces one with the same name.
    async fn save_selection(&self, selection: SavedSelection) -> Result<(), StoreError>;

    /// Deletes a saved selection. Returns false if no selection has this name.
    async fn delete_selection(&self, name: &str) -> Result<bool, StoreError>;
}

/// Rollouts of groups, requests about them, and committed groups.
#[async_trait]
pub trait Rollouts: Send + Sync {
    /// Stores a rollout: a new one without an id, otherwise its header and the given steps. Returns
    /// its id.
    async fn put_rollout(&self, rollout: RolloutRecord) -> Result<i64, StoreError>;

    /// The newest rollouts with all their steps, newest first; of one group if `name` is given.
    async fn rollouts(
        &self,
        name: Option<String>,
        limit: u32,
    ) -> Result<Vec<RolloutRecord>, StoreError>;

    /// All rollouts in one of these states, with their steps, newest first.
    async fn rollouts_in(&self, states: Vec<String>) -> Result<Vec<RolloutRecord>, StoreError>;

    /// Stores hashes of the members of a group; other members keep theirs.
    async fn put_member_hashes(
        &self,
        name: String,
        members: Vec<MemberHash>,
    ) -> Result<(), StoreError>;

    /// Hashes of the members of a group, by key.
    async fn member_hashes(&self, name: String) -> Result<BTreeMap<String, String>, StoreError>;

    /// Stores a request about a rollout; its id and answer are ignored. Returns its id.
    async fn put_rollout_request(&self, request: RolloutRequestRecord) -> Result<i64, StoreError>;

    /// Requests about a rollout that no process has taken, oldest first.
    async fn open_rollout_requests(
        &self,
        rollout: i64,
    ) -> Result<Vec<RolloutRequestRecord>, StoreError>;

    /// Takes a request, so that it cannot be withdrawn. Returns false if it was taken or withdrawn
    /// before.
    async fn take_rollout_request(&self, id: i64, at: UnixMs) -> Result<bool, StoreError>;

    /// Answers a request that was taken.
    async fn answer_rollout_request(
        &self,
        id: i64,
        at: UnixMs,
        refusal: Option<String>,
    ) -> Result<(), StoreError>;

    /// A request with its answer.
    async fn rollout_request(&self, id: i64) -> Result<Option<RolloutRequestRecord>, StoreError>;

    /// Removes a request. Returns false if it was taken before.
    async fn withdraw_rollout_request(&self, id: i64) -> Result<bool, StoreError>;

    /// Stores a commit: a new one without an id, otherwise its content and times. Returns its id.
    async fn put_group_commit(&self, commit: GroupCommitRecord) -> Result<i64, StoreError>;

    /// Commits, newest first; of one group if `name` is given.
    async fn group_commits(
        &self,
        name: Option<String>,
    ) -> Result<Vec<GroupCommitRecord>, StoreError>;
}

/// The reconcile loop: the lock lease of its leader, and its runs.
#[async_trait]
pub trait Reconciles: Send + Sync {
    /// The lock lease of the leader, expired or not; `None` if there was never one.
    async fn leader(&self) -> Result<Option<LeaderLease>, StoreError>;

    /// Replaces the lock lease, only if it is still the observed one. Returns true if it was.
    async fn swap_leader(
        &self,
        observed: Option<LeaderLease>,
        next: LeaderLease,
    ) -> Result<bool, StoreError>;

    /// Stores a run. The newest runs of each group are kept.
    async fn put_reconcile_run(&self, run: ReconcileRun) -> Result<(), StoreError>;

    /// The newest runs of a group, newest first.
    async fn reconcile_runs(&self, name: &str, limit: u32)
    -> Result<Vec<ReconcileRun>, StoreError>;

    /// Stores the report on a provider's conformance, as JSON. Keeps the newest hundred.
    async fn put_conform_report(&self, report: String) -> Result<(), StoreError>;

    /// The newest reports on providers' conformance as JSON, newest first.
    async fn conform_reports(&self, limit: u32) -> Result<Vec<String>, StoreError>;
}

/// Observations of objects: existence, readiness and drift.
#[async_trait]
pub trait Observations: Send + Sync {
    /// Stores what a read of objects found, in one transaction, and records the facts that differ
    /// from the observation before, with their cause. Drops observations of objects that are not in
    /// the state; their recorded changes stay.
    async fn put_observations(
        &self,
        observations: Vec<Observation>,
        cause: String,
    ) -> Result<(), StoreError>;

    /// The newest observation of each object, by address and deposed key.
    async fn observations(&self) -> Result<Vec<Observation>, StoreError>;

    /// Changes of the facts about the objects of an address, deposed ones included, newest first.
    async fn observation_history(
        &self,
        address: &str,
        limit: u32,
    ) -> Result<Vec<ObservationChange>, StoreError>;
}

/// Deploys: operations, intents, outcomes and events.
#[async_trait]
pub trait Deploys: Send + Sync {
    /// Records a running deploy of this process. It becomes durable with its first intent.
    ///
    /// # Errors
    /// [`StoreError::NotLeader`] if it has the fencing token of a former leader.
    async fn begin_deploy(&self, new: NewDeploy) -> Result<StartedDeploy, StoreError>;

    /// Checks before an action without an intent that the running deploy may still act.
    ///
    /// # Errors
    /// [`StoreError::NotLeader`] if it has the fencing token of a former leader.
    async fn check_fencing_token(&self) -> Result<(), StoreError>;

    /// Records an intent. It is durable when this returns; make the call only after that.
    async fn record_intent(&self, intent: Intent) -> Result<(), StoreError>;

    /// Removes an intent whose call was not made.
    async fn remove_intent(
        &self,
        deploy: DeployId,
        index: u32,
        step: OperationStep,
    ) -> Result<(), StoreError>;

    /// Records a step without a call and its state edits, in one transaction. Returns the serial.
    async fn record_done(&self, step: Intent, edits: Vec<StateEdit>) -> Result<i64, StoreError>;

    /// Records an outcome and its state edits, in one transaction. Returns the serial.
    async fn record_outcome(&self, outcome: Outcome) -> Result<i64, StoreError>;

    /// Stores the present form of operations. They become durable with the next durable write, at
    /// the latest at the deploy's end. `failed` receives the error if they cannot be stored.
    async fn operations_changed(
        &self,
        operations: Vec<Operation>,
        failed: Box<dyn FnOnce(StoreError) + Send>,
    ) -> Result<(), StoreError>;

    /// Records the end of a deploy.
    async fn finish_deploy(&self, summary: DeploySummary) -> Result<(), StoreError>;

    /// Operations without a recorded outcome, oldest first. Excludes deploys that are running.
    async fn unknown_outcomes(&self) -> Result<Vec<UnknownOutcome>, StoreError>;

    /// Settles unknown outcomes by the numbers of their intents; `how` is for display (`read back
    /// for stage #4`). Returns the number of settled ones.
    async fn settle_unknown(&self, intents: Vec<i64>, how: &str) -> Result<usize, StoreError>;

    /// Unknown outcomes with their deploys, for other checkouts of the state.
    async fn shared_outcomes(&self) -> Result<Vec<SharedOutcome>, StoreError>;

    /// Those of the keys that name an intent of this store, answered, settled or not.
    async fn recorded_intents(
        &self,
        keys: Vec<IntentKey>,
    ) -> Result<BTreeSet<IntentKey>, StoreError>;

    /// Records unknown outcomes of other checkouts, each with its deploy.
    async fn import_outcomes(&self, outcomes: Vec<SharedOutcome>) -> Result<(), StoreError>;

    /// Destroy-time provisioners that succeeded in destroys that did not finish, oldest first. Only
    /// those whose objects are still in the state.
    async fn destroy_steps(&self) -> Result<Vec<DestroyStep>, StoreError>;

    /// Drops all of them, because objects may have been recreated since.
    async fn drop_destroy_steps(&self) -> Result<(), StoreError>;

    /// Times at which the present objects of these addresses were created, as far as a deploy of
    /// this store created them.
    async fn creation_times(
        &self,
        addresses: Vec<String>,
    ) -> Result<BTreeMap<String, UnixMs>, StoreError>;

    /// The newest deploys, newest first; all of them for a `limit` of 0.
    async fn history(&self, limit: u32) -> Result<Vec<DeploySummary>, StoreError>;

    /// One deploy with its operations and events.
    async fn deploy_record(&self, id: DeployId) -> Result<Option<DeployRecord>, StoreError>;

    /// Operations of a deploy, in their order; none of an unknown deploy.
    async fn operations(&self, id: DeployId) -> Result<Vec<Operation>, StoreError>;

    /// Stores events of a deploy for its replay, at most
    /// [`MAX_EVENTS`](super::records::MAX_EVENTS). Returns the number of dropped ones.
    async fn append_events(
        &self,
        deploy: DeployId,
        events: Vec<Arc<Event>>,
    ) -> Result<u32, StoreError>;
}

/// Failures of operations, grouped by fingerprint.
#[async_trait]
pub trait Failures: Send + Sync {
    /// Stores a failure of a deploy with the last output lines of its plugin.
    async fn put_failure(&self, deploy: DeployId, failure: Failure) -> Result<(), StoreError>;

    /// Failures since a time (all if `None`), grouped; the group with the latest failure first.
    async fn failures(&self, since: Option<UnixMs>) -> Result<Vec<FailureGroup>, StoreError>;
}

/// Rescue of a deploy whose store cannot be written any more.
#[async_trait]
pub trait Rescues: Send + Sync {
    /// Writes the running deploy's state to a new store in `dir`, mode 0600, with all records that
    /// are still readable. Returns the file, which can replace the store.
    async fn rescue(&self, dir: &Path) -> Result<PathBuf, StoreError>;
}

/// Plugins, their launch attempts, and call latencies.
#[async_trait]
pub trait Launches: Send + Sync {
    /// Stores the location of a plugin.
    async fn plugin_found(&self, plugin: PluginId, found: PluginFound) -> Result<(), StoreError>;

    /// Stores a launch attempt; replaces its earlier form.
    async fn launch_attempt(
        &self,
        plugin: PluginId,
        attempt: LaunchAttempt,
    ) -> Result<(), StoreError>;

    /// Every plugin ever found, with its launch attempts, oldest first.
    async fn plugins(&self) -> Result<Vec<PluginRow>, StoreError>;

    /// Adds finished calls to the latency statistics.
    async fn add_calls(&self, calls: Vec<CallSample>) -> Result<(), StoreError>;

    /// Latencies by plugin, method, resource type and action, over all engines of this workspace.
    async fn latencies(&self) -> Result<Vec<CallStat>, StoreError>;
}

/// Log lines of plugins and the engine.
#[async_trait]
pub trait Logs: Send + Sync {
    /// Stores lines. Large batches are written in several transactions.
    async fn append_logs(&self, lines: Vec<LogLine>) -> Result<(), StoreError>;

    /// The newest matching lines, oldest first.
    async fn logs(&self, query: LogQuery) -> Result<Vec<LogRow>, StoreError>;

    /// Matching lines after number `after`, oldest first, for following.
    async fn logs_after(&self, after: i64, query: LogQuery) -> Result<Vec<LogRow>, StoreError>;

    /// Number of lines ever dropped because of the limit.
    async fn logs_trimmed(&self) -> Result<i64, StoreError>;
}

/// The workspace lock.
#[async_trait]
pub trait Locks: Send + Sync {
    /// Takes the workspace lock for `holder` (see [`model::lock_owner::this_process`]).
    /// Taking it again through the same store is no error.
    ///
    /// # Errors
    /// [`StoreError::Locked`] names a lock owner that is alive, or that cannot be checked here.
    async fn acquire_lock(&self, holder: LockHolder) -> Result<Acquired, StoreError>;

    /// Removes the recorded lock owner, alive or not. Does not break the system lock of a running
    /// process on this machine. Returns the former owner.
    async fn force_unlock(&self, by: LockHolder) -> Result<Option<LockHolder>, StoreError>;

    /// Releases the lock. Does nothing if this store does not have it.
    async fn release_lock(&self) -> Result<(), StoreError>;

    /// Lock owner of the workspace; `None` if its process has ended.
    async fn lock_owner(&self) -> Result<Option<LockHolder>, StoreError>;

    /// Takeovers from owners whose process had ended, newest first, at most 100: time, old owner,
    /// new owner.
    async fn takeovers(&self) -> Result<Vec<(UnixMs, LockHolder, LockHolder)>, StoreError>;
}

/// The complete store of a workspace.
pub trait StoreApi:
    States
    + Edits
    + Stages
    + SavedSelections
    + Rollouts
    + Reconciles
    + Observations
    + Deploys
    + Failures
    + Rescues
    + Launches
    + Logs
    + Locks
    + std::fmt::Debug
{
    /// Path of the database file.
    fn path(&self) -> &Path;

    /// Is the store writable?
    fn can_write(&self) -> bool;

    /// Number of committed transactions: with many concurrent writers, far fewer than writes.
    fn commits(&self) -> u64;
}
