//! Messages to the console, and the effects it requests.

use super::choices::Choices;
use super::key::Input;
use super::schema::SchemaRow;
use engine::doctor::{Finding, Fix};
use model::view::View;
use model::*;
use std::fmt;
use std::sync::Arc;

/// Message to the console.
#[derive(Debug, Clone)]
pub enum Msg {
    Input(Input),
    /// Current time, once a second.
    Tick(UnixMs),
    Events(Vec<Arc<Event>>),
    /// Current view, sent instead of events if the console has fallen behind.
    Snapshot(Box<View>),
    Answer(Answer),
    /// The engine sends no more events.
    EngineGone,
    /// A signal asked the process to end.
    Terminate,
}

/// Result of an effect.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Success, with a text for the footer.
    Done(String),
    /// Failure of an effect.
    Failed {
        what: Subject,
        text: String,
        diagnostics: Vec<Diagnostic>,
    },
    /// The configuration was read, and its plugins were launched.
    Loaded,
    /// Result of the search for a configuration: the name of one of its files.
    Configuration(Option<String>),
    History(Vec<DeploySummary>),
    Record(Box<DeployRecord>),
    Comparison(Box<DeployComparison>),
    /// Files that differ between the disk and the configuration of a deploy; `None` if those on
    /// disk have errors.
    ConfigurationDifference(DeployId, Option<Vec<FileDifference>>),
    /// The newest deploy of the history, for the Deploy screen.
    Last(Box<DeployRecord>),
    Failures(Vec<FailureGroup>),
    /// Operations of a deploy of the history.
    Operations(DeployId, Vec<Operation>),
    /// Groups of the configuration.
    Groups(Vec<GroupView>),
    /// Result of a request about a rollout.
    RolloutRequested {
        rollout: Box<RolloutView>,
        text: String,
        /// A new stage continues it.
        staged: bool,
    },
    /// A group was changed, with a text for the footer.
    GroupChanged(String),
    /// Objects of the state were changed by hand, with a text for the footer.
    StateEdited(String),
    /// Objects that a move to another address affects.
    Moves {
        from: String,
        to: String,
        moves: Vec<StateChange>,
    },
    /// Newest rollout of a group.
    Rollout(String, Option<Box<RolloutView>>),
    Variables(Box<RootVariables>),
    /// Place of a declaration to edit, if there is one.
    Declaration(Option<FileLine>),
    Logs(Vec<LogRow>),
    State(Vec<StateRow>),
    /// Changes of the facts about the objects of an address.
    Observations(String, Vec<ObservationChange>),
    /// Outputs of the state.
    Outputs(Vec<OutputRow>),
    /// A sensitive value, which is shown in the popup that asked for it and nowhere else.
    Revealed(SensitivePlace, Revealed),
    Selected {
        stage: StageId,
        selection: Selection,
    },
    /// Selection after a saved one was loaded.
    LoadedSelection {
        stage: StageId,
        selection: Selection,
    },
    /// Saved selections of the workspace.
    Selections(Vec<SavedSelection>),
    Schema(PluginId, Vec<SchemaRow>),
    /// Starter block of a type.
    Starter(String),
    /// The stage no longer matches the workspace; the text has the differences.
    Outdated {
        stage: StageId,
        text: String,
    },
    /// Workspaces of the directory.
    Workspaces(Vec<String>),
    /// Another engine is open, and this one has ended.
    Opened,
    /// Findings of the doctor, including passed checks.
    Findings(Vec<Finding>),
    /// Result of a fix.
    Mended(String),
    /// Results of ending orphaned processes.
    EndedOrphans(String),
}

/// Subject of an effect that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Plugins,
    Stage,
    Deploy,
    Forget,
    Import,
    Taint,
    Move,
    Trust,
    Plugin,
    History,
    Replay,
    Failures,
    Groups,
    Logs,
    State,
    Reveal,
    Schema,
    Workspace,
    Init,
    Doctor,
    Orphans,
    Export,
    Demo,
    Select,
    Selection,
    Transformers,
    /// File with this name, if one was chosen.
    Write(Option<String>),
    Choices,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plugins => "plugins",
            Self::Stage => "stage",
            Self::Deploy => "deploy",
            Self::Forget => "forget",
            Self::Import => "import",
            Self::Taint => "taint",
            Self::Move => "move",
            Self::Trust => "trust",
            Self::Plugin => "plugin",
            Self::History => "history",
            Self::Replay => "replay",
            Self::Failures => "failures",
            Self::Groups => "groups",
            Self::Logs => "logs",
            Self::State => "state",
            Self::Reveal => "reveal",
            Self::Schema => "schema",
            Self::Workspace => "workspace",
            Self::Init => "init",
            Self::Doctor => "doctor",
            Self::Orphans => "orphans",
            Self::Export => "export",
            Self::Demo => "demo",
            Self::Select => "select",
            Self::Selection => "saved selection",
            Self::Transformers => "transformers",
            Self::Choices => "choices",
            Self::Write(None) => "write",
            Self::Write(Some(name)) => return write!(f, "write {name}"),
        })
    }
}

/// Request of the console. The loop runs it; its result returns as an [`Answer`] or as events.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    WatchWorkspace,
    LoadPlugins,
    /// Looks for a configuration in a directory that had none.
    FindConfiguration,
    /// Lists installed providers, including those that the configuration does not need.
    FindInstalled,
    Stage(StageRequest),
    Select(StageId, Vec<Select>),
    LoadSelections,
    /// Saves the selection of a stage under a name.
    SaveSelection(StageId, String),
    DeleteSelection(String),
    /// Compares a stage with the current workspace.
    CheckStage(StageId),
    Deploy(DeployRequest),
    /// Removes objects from the state, or discards their unknown outcomes.
    Forget(Vec<String>),
    /// Taints an object, or removes its taint.
    Taint {
        address: String,
        tainted: bool,
    },
    /// Moves objects of the state to another address, or lists them.
    Move {
        from: String,
        to: String,
        dry_run: bool,
    },
    /// Imports an existing object into the state.
    Import(ImportObject),
    /// Trusts workspace plugins, and launches them.
    Trust(Vec<WorkspacePlugin>),
    Cancel(CancelRung),
    /// Ends the wait for the answer of a call.
    GiveUp(CallId),
    Plugin(PluginId, PluginCommand),
    LoadHistory,
    LoadRecord(DeployId),
    /// Compares an earlier deploy with a later one.
    CompareDeploys(DeployId, DeployId),
    /// Compare the files on disk with the configuration of a deploy.
    CompareConfiguration(DeployId),
    LoadLast(DeployId),
    LoadFailures,
    /// Loads the operations of a deploy of the history.
    LoadOperations(DeployId),
    LoadGroups,
    /// Loads the root variables with the values that these plan options give them.
    LoadVariables(StageRequest),
    /// Makes a request about the rollout of a group, for one member if it names one.
    RequestRollout(String, RolloutVerb, Option<String>),
    /// Sets the number of members of a group.
    ScaleGroup(String, u32),
    /// Stops to manage a group.
    FreeGroup(String),
    /// Commits the earlier specification of a group.
    RollBackGroup(String),
    /// Loads the newest rollout of a group.
    LoadRollout(String),
    LoadLogs,
    LoadState,
    /// Read all real objects.
    Look,
    /// Loads the changes of the facts about the objects of an address.
    LoadObservations(String),
    LoadOutputs,
    /// Reads one sensitive value.
    Reveal(SensitivePlace),
    LoadSchema(PluginId),
    /// Writes the starter block of a type of a plugin: `TYPE`, or `data.TYPE`.
    WriteStarter(PluginId, String),
    LoadWorkspaces,
    /// Opens an engine on a workspace of the directory, after creating it if requested, and shuts
    /// this one down. If opening fails, this engine keeps running.
    Open {
        workspace: String,
        create: bool,
    },
    /// Installs the modules and providers that the configuration needs.
    Install(StateMigration),
    /// Checks machine and workspace.
    RunDoctor,
    /// Applies a safe fix of a finding.
    ApplyFix(Fix),
    /// Ends orphaned plugin processes.
    EndOrphans(Vec<OrphanView>),
    /// Writes a deploy's record as JSON to the workspace directory.
    Export(DeployId),
    /// Writes text to a new file with this stem and extension in the workspace directory.
    Save {
        stem: String,
        extension: &'static str,
        text: String,
    },
    /// Stores changed choices of the operator.
    SaveChoices {
        before: Choices,
        now: Choices,
    },
    /// Copies text with OSC 52.
    Copy(String),
    Mouse(bool),
    /// Finds the file and the line of a declaration, to edit it.
    FindDeclaration(Declared),
    /// Opens an editor at a line of a file, and waits for its end.
    Edit(FileLine),
    /// Rings the bell, and shows a text on the desktop if the terminal can do that.
    Notify(String),
    /// Suspends to the shell, and prints a text there.
    Suspend(String),
    Redraw,
    /// Breaks or repairs a part of the demo.
    Demo(String),
    /// Moves within the engine's own log.
    Tracing(TracingMove),
}

/// Actions on the engine's own log, which tui-logger owns.
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
