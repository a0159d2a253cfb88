//! What happened: one fact, numbered and timed.

use super::{
    Absent, CallFinished, CallQueued, CallStarted, CancelRung, DeployStarted, DeploySummary,
    Diagnostic, InstallEvent, LockHolder, ObjectStep, Operation, OrphanView, PluginEvent,
    ResourceLock, StageId, StageStarted, StageSummary, StateChange, UnixMs, Unknown,
    WorkspacePlugin,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One fact, numbered without gaps within one engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub seq: u64,
    pub at: UnixMs,
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    Plugin(PluginEvent),
    CallQueued(CallQueued),
    CallStarted(CallStarted),
    CallFinished(CallFinished),
    /// Who has locked a resource for whom, and who waits for it.
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
    /// What is done with one object, where somebody follows that.
    Object(ObjectStep),
    Cancel {
        rung: CancelRung,
        text: String,
    },
    /// Who holds the workspace; `None` when nobody does.
    Lock {
        holder: Option<LockHolder>,
        ours: bool,
    },
    /// The state was changed by hand: an object was imported or forgotten.
    StateChanged(StateChange),
    /// What was begun and has no end on record, oldest first. Said when it is another list than
    /// before.
    UnknownOutcomes {
        outcomes: Vec<Unknown>,
    },
    /// Plugins that came with the workspace's own files and were not launched, as they have no yes:
    /// all of them, said whenever one was looked for, and once more when there are none any more.
    UntrustedPlugins {
        plugins: Vec<WorkspacePlugin>,
    },
    /// Plugin processes of this workspace that have lost their flightdeck: all of them, said when
    /// it is another list than before.
    Orphans {
        orphans: Vec<OrphanView>,
    },
    /// What is not installed that the configuration calls for; said when it is another list than
    /// before, the empty one too.
    Absent(Absent),
    /// What the configuration needs is fetched.
    Install(InstallEvent),
    /// Something that the operator should know and that is no error: a lock taken over, events
    /// dropped.
    Notice {
        text: String,
    },
}
