//! Data loaded from the engine on request.

use crate::app::replay::Replay;
use crate::app::schema::SchemaRow;
use engine::doctor::Finding;
use model::view::{DeployView, View};
use model::{
    Action, DeployId, DeployStarted, DeploySummary, Diagnostic, FailureGroup, GroupView, Operation,
    OutputRow, PluginId, RootVariables, SavedSelection, StateRow,
};
use std::collections::{BTreeMap, VecDeque};

/// Reason why a change was selected or deselected together with another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImpliedSelection {
    /// The change was selected; otherwise it was deselected.
    pub selected: bool,
    /// The change that caused it.
    pub cause: String,
}

/// Samples for the charts of the Calls screen, one per second, newest last. Those of waiting and
/// running calls are the maximum of their second, because many calls take less than that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    pub waiting: VecDeque<u64>,
    pub running: VecDeque<u64>,
    pub finished: VecDeque<u64>,
    /// 95th percentile of the durations of the calls that finished in each second; 0 without any.
    pub p95_ms: VecDeque<u64>,
    /// Durations of the calls that finished since the last sample, in milliseconds.
    pub took_now: Vec<u64>,
    /// Calls of each plugin that finished in each second, and since the last sample.
    pub by_plugin: BTreeMap<PluginId, (VecDeque<u64>, u64)>,
    /// Most calls that waited, and that ran at a time, since the last sample.
    pub most_now: (u64, u64),
}

/// Failure to read the configuration or to launch its plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    pub text: String,
    pub diagnostics: Vec<Diagnostic>,
}

/// Data loaded from the engine on request; `None` until it arrives.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    pub schemas: BTreeMap<PluginId, Vec<SchemaRow>>,
    /// Failure of the last load, until the configuration is read again.
    pub load_error: Option<LoadError>,
    pub history: Option<Vec<DeploySummary>>,
    pub failures: Option<Vec<FailureGroup>>,
    /// Root variables, for the plan options.
    pub variables: Option<RootVariables>,
    /// Operations of the deploy under the cursor of the History screen; none until they arrive.
    pub operations: Option<(DeployId, Vec<Operation>)>,
    pub replay: Option<Replay>,
    /// Deploy that is marked for a comparison.
    pub compared: Option<DeployId>,
    /// Newest deploy of the history, shown until this console runs one.
    pub last: Option<DeployView>,
    pub state_rows: Option<Vec<StateRow>>,
    /// Outputs of the state.
    pub outputs: Option<Vec<OutputRow>>,
    /// The newest deploy of this console, and the names of the outputs that it changes.
    pub deployed_outputs: Option<(DeployId, Vec<String>)>,
    /// Groups of the configuration with their newest rollouts.
    pub groups: Option<Vec<GroupView>>,
    /// Failure of the last load of the groups.
    pub groups_error: Option<String>,
    /// Groups whose rollout is being loaded; true if it has changed since the request.
    pub loading_rollouts: BTreeMap<String, bool>,
    /// Workspaces of the directory, the default one first.
    pub workspaces: Option<Vec<String>>,
    /// Saved selections of the workspace, by name.
    pub selections: Option<Vec<SavedSelection>>,
    /// Saved selection that was requested for the stage.
    pub loading_selection: Option<SavedSelection>,
    /// Findings of the doctor, including passed checks.
    pub findings: Option<Vec<Finding>>,
}

impl Loaded {
    /// Keeps the names of the outputs that a deploy changes, because a later stage replaces its
    /// stage in the view.
    pub fn keep_deployed_outputs(&mut self, view: &View, started: &DeployStarted) {
        let stage = view.stage.iter().filter(|s| s.stage == started.stage);
        let outputs = stage.flat_map(|s| &s.outputs);
        let changed = outputs
            .filter(|o| o.action != Action::NoOp && !o.is_unchanged_without(&view.left))
            .map(|o| o.name.clone());
        self.deployed_outputs = Some((started.deploy, changed.collect()));
    }

    /// Output of the state with this name.
    pub fn output(&self, name: &str) -> Option<&OutputRow> {
        self.outputs.iter().flatten().find(|o| o.name == name)
    }
}
