//! Data loaded from the engine on request.

use crate::app::replay::Replay;
use crate::app::schema::SchemaRow;
use engine::doctor::Finding;
use model::view::{DeployView, View};
use model::{
    Action, DeployId, DeployStarted, DeploySummary, Diagnostic, FailureGroup, GroupView,
    ObservationChange, Operation, OutputRow, PluginId, RootVariables, SavedSelection, StateRow,
};
use std::collections::BTreeMap;

/// Reason why a change was selected or deselected together with another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImpliedSelection {
    /// The change was selected; otherwise it was deselected.
    pub selected: bool,
    /// The change that caused it.
    pub cause: String,
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
    /// Changes of the facts about the object under the cursor of the State screen, with its
    /// address; none until they arrive.
    pub observations: Option<(String, Vec<ObservationChange>)>,
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
