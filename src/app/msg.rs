//! What reaches the console, and what it asks for.

use super::key::Input;
use super::schema::SchemaRow;
use crate::engine::doctor::{Finding, Mend};
use crate::engine::view::View;
use crate::engine::words::*;
use std::sync::Arc;

/// Something happened.
#[derive(Debug, Clone)]
pub enum Msg {
    Input(Input),
    /// The clock; once a second.
    Tick(UnixMs),
    Events(Vec<Arc<Event>>),
    /// The console fell behind: start again from this.
    Snapshot(Box<View>),
    Answer(Answer),
    /// The engine will send no more events.
    EngineGone,
    /// Someone asked the process to end.
    Terminate,
}

/// What became of an effect.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Done, in words for the footer.
    Done(String),
    /// What was tried, and why it failed.
    Failed {
        what: String,
        text: String,
        diagnostics: Vec<Diagnostic>,
    },
    History(Vec<DeploySummary>),
    Record(Box<DeployRecord>),
    /// The newest deploy on record, for the Deploy screen.
    Last(Box<DeployRecord>),
    Failures(Vec<FailureGroup>),
    Logs(Vec<LogRow>),
    State(Vec<StateRow>),
    Selected {
        stage: StageId,
        selection: Selection,
    },
    Schema(PluginId, Vec<SchemaRow>),
    /// A stage that no longer fits the workspace, with the difference.
    Outdated {
        stage: StageId,
        text: String,
    },
    /// The directory's workspaces.
    Workspaces(Vec<String>),
    /// Another engine is there to go on with: this one has ended.
    Opened,
    /// What was found wrong, and what is right.
    Findings(Vec<Finding>),
    /// What was done about a finding.
    Mended(String),
    /// How each process ended that had lost its flightdeck.
    EndedOrphans(String),
}

/// Something that the console wants done. The loop does it; its outcome comes back as an [`Answer`]
/// or as events.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    HoldLock,
    LoadPlugins,
    /// List the providers that are installed, whether the configuration needs them or not.
    FindInstalled,
    Stage(StageRequest),
    Select(StageId, Vec<Select>),
    /// Compares a stage with the workspace as it is now.
    CheckStage(StageId),
    Deploy(DeployRequest),
    /// Takes objects out of the state, or settles what is unknown of them.
    Forget(Vec<String>),
    /// Says of an object whose provisioners may not all have run that it is as it should be.
    Untaint(String),
    /// Takes an object that is there into the state.
    Import(ImportObject),
    /// Says yes to plugins that came with the workspace, and launches them.
    Trust(Vec<WorkspacePlugin>),
    Cancel(CancelRung),
    Plugin(PluginId, PluginCommand),
    LoadHistory,
    LoadRecord(DeployId),
    LoadLast(DeployId),
    LoadFailures,
    LoadLogs,
    LoadState,
    LoadSchema(PluginId),
    LoadWorkspaces,
    /// Ends the engine and goes on with one on this workspace of the directory, which is made first
    /// where that is said; where it cannot be opened, nothing ends.
    Open {
        workspace: String,
        create: bool,
    },
    /// Fetches what the configuration needs.
    Install(Bring),
    /// Looks for what is wrong with machine and workspace.
    Examine,
    /// Does what is safe about a finding.
    Mend(Mend),
    /// Ends plugin processes that have lost their flightdeck.
    EndOrphans(Vec<OrphanView>),
    /// Writes a deploy's record as JSON into the working directory.
    Export(DeployId),
    /// Writes text into a new file of this stem and extension in the working directory.
    Save {
        stem: String,
        extension: &'static str,
        text: String,
    },
    /// Copies by OSC 52.
    Copy(String),
    Mouse(bool),
    /// To the shell, with words for whoever is there.
    Suspend(String),
    Redraw,
    /// Breaks (or heals) something on purpose.
    Demo(String),
    /// Moves in the engine's own tracing.
    Tracing(TracingMove),
}

/// Moves in the engine's own tracing, which another library keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TracingMove {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Follow,
    Targets,
    Focus,
    More,
    Less,
}
