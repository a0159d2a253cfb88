//! Events: numbered facts with a time.

use super::{
    Absent, CallFinished, CallQueued, CallStarted, CancelRung, DeployId, DeployStarted,
    DeploySummary, Diagnostic, InstallEvent, LockHolder, ObjectStep, Operation, OrphanView,
    PluginEvent, ReconcileRun, ResourceLock, RolloutProgress, StageId, StageStarted, StageSummary,
    StateChange, UnixMs, Unknown, WorkspacePlugin,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Event, numbered without gaps within one engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub seq: u64,
    pub at: UnixMs,
    #[serde(flatten)]
    pub kind: EventKind,
}

/// Kind and content of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    Plugin(PluginEvent),
    CallQueued(CallQueued),
    CallStarted(CallStarted),
    CallFinished(CallFinished),
    /// Owner and waiters of a resource lock.
    ResourceLock(ResourceLock),
    Diagnostic(Diagnostic),
    StageStarted(StageStarted),
    StageProgress {
        stage: StageId,
        done: u32,
        total: u32,
        now: String,
    },
    Staged(Arc<StageSummary>),
    /// The newest stored stage was opened by a console that has no stage of its own.
    StageOpened {
        summary: Arc<StageSummary>,
        /// Difference from the workspace, because of which the stage cannot be applied.
        outdated: Option<String>,
    },
    StageFailed {
        stage: Option<StageId>,
        errors: u32,
        text: String,
    },
    Selected {
        stage: StageId,
        taken: Vec<String>,
        left: Vec<String>,
    },
    DeployStarted(DeployStarted),
    Operation(Operation),
    DeployFinished(DeploySummary),
    /// Progress of the rollout of a group.
    Rollout(RolloutProgress),
    /// Run of the reconcile loop for one group.
    Reconcile(ReconcileRun),
    /// Leader of the reconcile loop; `None` if no process leads, or if it is unknown.
    ReconcileLeader {
        owner: Option<String>,
        ours: bool,
    },
    /// Step of work on one object; only if following is enabled.
    Object(ObjectStep),
    Cancel {
        rung: CancelRung,
        text: String,
    },
    /// Lock owner of the workspace; `None` if it is not locked.
    Lock {
        holder: Option<LockHolder>,
        ours: bool,
    },
    /// Another process has changed the state, or has begun or ended a deploy.
    WorkspaceChanged {
        serial: i64,
        /// Newest deploy.
        deploy: Option<DeployId>,
        /// Difference from the state that the newest stage of this process was planned on.
        outdated: Option<String>,
    },
    /// Files of the configuration differ from the newest stage, or from the last look if there is
    /// none; without names, they do not differ any more. Only for a console.
    FilesChanged {
        stage: Option<StageId>,
        files: Vec<String>,
    },
    /// A command changed the state: an object was imported or forgotten.
    StateChanged(StateChange),
    /// Unknown outcomes, oldest first. Emitted when the list changes.
    UnknownOutcomes {
        outcomes: Vec<Unknown>,
    },
    /// Workspace plugins that were not launched because they are not trusted. Emitted with each
    /// search for one, and once more when the list becomes empty.
    UntrustedPlugins {
        plugins: Vec<WorkspacePlugin>,
    },
    /// Plugin processes of this workspace whose flightdeck has ended. Emitted when the list
    /// changes.
    Orphans {
        orphans: Vec<OrphanView>,
    },
    /// Missing modules and providers. Emitted when the list changes, also when it becomes empty.
    Absent(Absent),
    /// Progress of an installation.
    Install(InstallEvent),
    /// Message for the operator that is not an error: a lock taken over, events dropped.
    Notice {
        text: String,
    },
}
