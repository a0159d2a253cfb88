//! Model of a stage: changes, outputs and drift. Its values may be sensitive; [`super::show`] makes
//! the redacted form for display.

use super::checked::Checked;
use super::conditions::Statuses;
use super::external_inputs::RecordedInputs;
use super::managed::Reason;
use super::needs::Needs;
use super::relevant::Relevant;
use super::renames::Renames;
use super::sealing::StageSecrets;
use cty::{Path, Value};
use lang::addr::{AbsInstance, ModulePath};
use lang::config::Overridden;
use model::{
    Action, CommandView, ConfigKey, DriftAspect, GroupPlan, StageId, StageRequest, UnixMs,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::records::StateEdit;

/// Key by which an object is imported.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Importing {
    /// An id.
    Id(String),
    /// An identity, as JSON.
    Identity { identity: serde_json::Value },
}

impl From<&str> for Importing {
    fn from(id: &str) -> Self {
        Self::Id(id.to_owned())
    }
}

/// Planned action on one object of a resource instance.
#[derive(Debug, Clone)]
pub struct Change {
    pub address: AbsInstance,
    /// Key of a deposed object; `None` for the current one.
    pub deposed: Option<String>,
    /// Address of the object before it was moved.
    pub previous: Option<AbsInstance>,
    pub provider: ConfigKey,
    pub act: Act,
    pub reason: Option<Reason>,
    /// Prior object.
    pub before: Object,
    /// Planned object; for a destroy the result of its plan.
    pub after: Object,
    pub schema_version: i64,
    /// Configuration addresses of all dependencies. Shared, because a chain of modules has many and
    /// most resources of a module have the same.
    pub dependencies: Arc<BTreeSet<String>>,
    /// Direct dependencies, by instance as far as known.
    pub needs: Needs,
    /// State record of the prior object.
    pub recorded: Recorded,
    pub drifted: bool,
}

/// One side of a change.
#[derive(Debug, Clone)]
pub struct Object {
    /// Marked; null if there is no object.
    pub value: Value,
    /// Provider's private data.
    pub private: Vec<u8>,
    /// Identity of the object; may contain unknown values if planned.
    pub identity: Option<Value>,
}

impl Object {
    /// Wraps a value without private data or identity.
    pub fn from_value(value: Value) -> Self {
        Self {
            value,
            private: Vec::new(),
            identity: None,
        }
    }
}

/// Parts of an object's state record other than its values.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Dependencies, like those of a change.
    pub dependencies: BTreeSet<String>,
    /// Direct dependencies when the object was written; `None` if not recorded.
    pub needs: Option<Needs>,
    pub tainted: bool,
}

impl Recorded {
    /// For an object that the state does not have.
    pub fn unrecorded() -> Self {
        Self {
            dependencies: BTreeSet::new(),
            needs: Some(Needs::new()),
            tainted: false,
        }
    }
}

/// Action with its details.
#[derive(Debug, Clone)]
pub enum Act {
    /// Unchanged; may be imported.
    NoOp {
        by: Configured,
        importing: Option<Importing>,
    },
    /// Data source that the deploy reads.
    Read,
    Create {
        by: Configured,
        commands: Vec<CommandView>,
    },
    Update {
        by: Configured,
        importing: Option<Importing>,
    },
    /// In the order that the configuration sets.
    Replace {
        by: Configured,
        importing: Option<Importing>,
        /// Attributes that cannot be updated in place.
        paths: Vec<Path>,
        commands: Vec<CommandView>,
    },
    Destroy {
        /// The state says that the replacement is created first.
        create_first: bool,
        commands: Vec<CommandView>,
    },
    Forget {
        /// Like that of a destroy.
        create_first: bool,
    },
}

/// Configuration of an object that is kept, created or changed.
#[derive(Debug, Clone, Default)]
pub struct Configured {
    /// Configured object as planned, marked; `None` if not kept.
    pub config: Option<Value>,
    pub create_first: bool,
    /// `destroy = false` is set: the old object is forgotten instead of destroyed.
    pub forgets: bool,
}

/// Optional details of an action.
#[derive(Debug, Clone, Default)]
pub struct Details {
    pub by: Configured,
    /// Import that precedes the action.
    pub importing: Option<Importing>,
    pub replace_paths: Vec<Path>,
    /// Commands of its provisioners, local and remote, in order and redacted.
    pub commands: Vec<CommandView>,
}

impl Act {
    /// Builds an action with the details that apply to it.
    pub fn of(action: Action, details: Details) -> Self {
        let Details {
            by,
            importing,
            replace_paths: paths,
            commands,
        } = details;
        let create_first = by.create_first;
        match action {
            Action::NoOp => Self::NoOp { by, importing },
            Action::Read => Self::Read,
            Action::Create => Self::Create { by, commands },
            Action::Update => Self::Update { by, importing },
            Action::Replace | Action::ReplaceCreateFirst => Self::Replace {
                by: Configured {
                    // The action decides, so that it and the recorded order cannot contradict each
                    // other.
                    create_first: action == Action::ReplaceCreateFirst,
                    ..by
                },
                importing,
                paths,
                commands,
            },
            Action::Destroy => Self::Destroy {
                create_first,
                commands,
            },
            Action::Forget => Self::Forget { create_first },
        }
    }

    fn by(&self) -> Option<&Configured> {
        match self {
            Self::NoOp { by, .. }
            | Self::Create { by, .. }
            | Self::Update { by, .. }
            | Self::Replace { by, .. } => Some(by),
            Self::Read | Self::Destroy { .. } | Self::Forget { .. } => None,
        }
    }
}

impl Change {
    pub fn action(&self) -> Action {
        match &self.act {
            Act::NoOp { .. } => Action::NoOp,
            Act::Read => Action::Read,
            Act::Create { .. } => Action::Create,
            Act::Update { .. } => Action::Update,
            Act::Replace { by, .. } if by.create_first => Action::ReplaceCreateFirst,
            Act::Replace { .. } => Action::Replace,
            Act::Destroy { .. } => Action::Destroy,
            Act::Forget { .. } => Action::Forget,
        }
    }

    /// Returns the configured object as planned, if kept.
    pub fn config(&self) -> Option<&Value> {
        self.act.by()?.config.as_ref()
    }

    /// Returns the import that precedes the action.
    pub fn importing(&self) -> Option<&Importing> {
        match &self.act {
            Act::NoOp { importing, .. }
            | Act::Update { importing, .. }
            | Act::Replace { importing, .. } => importing.as_ref(),
            _ => None,
        }
    }

    /// Returns the attributes that cannot be updated in place.
    pub fn replace_paths(&self) -> &[Path] {
        match &self.act {
            Act::Replace { paths, .. } => paths,
            _ => &[],
        }
    }

    /// Returns the commands of its provisioners, local and remote, in order and redacted.
    pub fn commands(&self) -> &[CommandView] {
        match &self.act {
            Act::Create { commands, .. }
            | Act::Replace { commands, .. }
            | Act::Destroy { commands, .. } => commands,
            _ => &[],
        }
    }

    /// Returns true if the replacement is created before the object is destroyed.
    pub fn create_first(&self) -> bool {
        match &self.act {
            Act::Destroy { create_first, .. } | Act::Forget { create_first } => *create_first,
            act => act.by().is_some_and(|by| by.create_first),
        }
    }

    /// Returns true if the object is forgotten wherever it would be destroyed.
    pub fn skips_destroy(&self) -> bool {
        match &self.act {
            Act::Forget { .. } => true,
            act => act.by().is_some_and(|by| by.forgets),
        }
    }

    /// Returns true if the state forgets the old object, which stays in place.
    pub fn forgets(&self) -> bool {
        match &self.act {
            Act::Forget { .. } => true,
            Act::Replace { by, .. } => by.forgets,
            _ => false,
        }
    }

    /// Applies renames to the recorded dependencies, so that the destroy is ordered with the
    /// objects of the state under their new addresses.
    pub fn apply_renames(&mut self, renames: &Renames) {
        let was = &mut self.recorded;
        was.dependencies = renames.dependencies(&was.dependencies);
        was.needs = was.needs.as_ref().map(|all| renames.rename_needs(all));
        // A planned object has its dependencies from the configuration, which already uses the new
        // addresses.
        if self.after.value.is_null() {
            self.dependencies = Arc::new(renames.dependencies(&*self.dependencies));
        }
    }

    /// Adds declared dependencies of an object that will be destroyed, because they order its
    /// destroy too.
    pub fn add_destroy_dependencies(&mut self, declared: &BTreeSet<String>) {
        self.recorded.dependencies.extend(declared.iter().cloned());
        self.dependencies = Arc::new(self.dependencies.union(declared).cloned().collect());
    }

    /// Actions as the plan representation lists them.
    pub fn plan_actions(&self) -> &'static [&'static str] {
        match &self.act {
            // The plan representation has one order, whichever half runs first.
            Act::Replace { by, .. } if by.forgets => &["forget", "create"],
            _ => self.action().plan_actions(),
        }
    }

    /// The address with the deposed key, unique in a stage.
    pub fn id(&self) -> String {
        match &self.deposed {
            Some(key) => format!("{} (deposed {key})", self.address),
            None => self.address.to_string(),
        }
    }
}

/// Change of one root output.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputChange {
    pub name: Arc<str>,
    pub action: Action,
    /// `None` if there is no value.
    pub before: Option<Value>,
    pub after: Option<Value>,
    /// True if the output is declared and evaluates to null.
    pub null: bool,
    /// True if either side is declared sensitive.
    pub sensitive: bool,
    /// Dependencies, like those of a change.
    pub needs: Needs,
}

/// Object that a refresh found changed or deleted, or that a refresh-only stage moves.
#[derive(Debug, Clone)]
pub struct Drift {
    pub address: AbsInstance,
    /// Key of a deposed object; `None` for the current one.
    pub deposed: Option<String>,
    pub previous: Option<AbsInstance>,
    pub provider: ConfigKey,
    /// `Update`, `Destroy`, or `NoOp` if the object only moves.
    pub action: Action,
    pub before: Value,
    pub after: Value,
    pub aspects: Vec<DriftAspect>,
}

/// Read of an object by the refresh.
#[derive(Debug, Clone)]
pub struct ObjectRead {
    /// Address in the state, before any move.
    pub address: AbsInstance,
    /// Key of a deposed object; `None` for the current one.
    pub deposed: Option<String>,
    /// Time of the answer.
    pub at: UnixMs,
    /// Marked; null if the object does not exist.
    pub value: Value,
}

/// Digests of a stage's inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Digests {
    pub config: String,
    pub plugins: String,
}

/// State that a stage was planned on. Together with the serial it identifies the state
/// independently of the path of the workspace's directory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StateOrigin {
    /// Name of the workspace; empty for the default one.
    pub workspace: String,
    /// Location of the state, for display; a file's path is relative to the workspace's directory.
    pub place: String,
    pub lineage: String,
}

/// Complete stage.
#[derive(Debug, Clone)]
pub struct Stage {
    pub id: StageId,
    pub request: StageRequest,
    pub at: UnixMs,
    pub took_ms: u64,
    pub digests: Digests,
    /// External inputs that evaluation read.
    pub external_inputs: RecordedInputs,
    pub origin: StateOrigin,
    pub state_serial: i64,
    /// In dependency order.
    pub changes: Vec<Change>,
    /// Ids of the changes deselected when the stage was made or loaded.
    pub deselected: Vec<String>,
    pub outputs: Vec<OutputChange>,
    pub drift: Vec<Drift>,
    /// Objects that the refresh has read. Not stored.
    pub reads: Vec<ObjectRead>,
    /// Groups whose instances change, if all changes are deployed.
    pub groups: Vec<GroupPlan>,
    /// State edits from moves and refresh; written when the stage is deployed.
    pub edits: Vec<StateEdit>,
    pub statuses: Statuses,
    pub checked: Checked,
    /// Modules whose instances may depend on each other, as in `Nodes::connected_modules`.
    pub connected_modules: BTreeSet<ModulePath>,
    /// Attributes that contribute to the changes.
    pub relevant: Vec<Relevant>,
    /// Values of root variables, given or default, for the plan representation.
    pub variables: BTreeMap<Arc<str>, Value>,
    /// Values from the environment and automatic files that other values override.
    pub overridden: Overridden,
    /// References to the values of further variables.
    pub secrets: StageSecrets,
}

/// Result of staging.
#[derive(Debug)]
pub enum StageResult {
    Complete(Box<Stage>),
    /// No stage. Contains the part planned before the errors if the caller asked for it; it is only
    /// for display.
    Errored(Option<Box<Stage>>),
}
