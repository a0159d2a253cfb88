//! What a stage consists of: changes, outputs, and what refreshing already found. Values in here
//! may be secret; what is shown is made from them by [`super::show`].

use super::checked::Checked;
use super::conditions::Statuses;
use super::managed::Reason;
use super::needs::Needs;
use super::relevant::Relevant;
use super::renames::Renames;
use super::sights::Seen;
use crate::engine::store::model::StateEdit;
use crate::engine::words::{Action, CommandView, ConfigKey, StageId, StageRequest, UnixMs};
use cty::{Path, Value};
use lang::addr::AbsInstance;
use lang::config::Overridden;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What an object is imported by.
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

/// What would happen to one object of a resource instance.
#[derive(Debug, Clone)]
pub struct Change {
    pub address: AbsInstance,
    /// Key of a deposed object; `None` for the current one.
    pub deposed: Option<String>,
    /// Where the object was before it was moved here.
    pub previous: Option<AbsInstance>,
    pub provider: ConfigKey,
    pub act: Act,
    pub reason: Option<Reason>,
    /// What is there.
    pub before: Object,
    /// What will be there; of a destroy, what its plan says.
    pub after: Object,
    pub schema_version: i64,
    /// Configuration addresses on which the resource depends; in a chain of modules these are many,
    /// and the same for most resources of a module.
    pub dependencies: Arc<BTreeSet<String>>,
    /// What it needs itself, by instance as far as that is known.
    pub needs: Needs,
    /// What the state says of the object that is there.
    pub recorded: Recorded,
    pub drifted: bool,
}

/// One side of a change.
#[derive(Debug, Clone)]
pub struct Object {
    /// Marked; null where there is nothing.
    pub value: Value,
    /// What the provider keeps with it.
    pub private: Vec<u8>,
    /// What the provider knows it by; of a planned object it may have unknown values.
    pub identity: Option<Value>,
}

impl Object {
    /// A value with nothing beside it.
    pub fn plain(value: Value) -> Self {
        Self {
            value,
            private: Vec::new(),
            identity: None,
        }
    }
}

/// What the state says of an object beside its values.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// As a change's.
    pub dependencies: BTreeSet<String>,
    /// What it needed when it was written; `None` where that is not on record.
    pub needs: Option<Needs>,
    pub tainted: bool,
}

impl Recorded {
    /// Of an object that is not on record.
    pub fn nothing() -> Self {
        Self {
            dependencies: BTreeSet::new(),
            needs: Some(Needs::new()),
            tainted: false,
        }
    }
}

/// What is done about an object, with what only that has.
#[derive(Debug, Clone)]
pub enum Act {
    /// It stays as it is, and may be imported.
    NoOp {
        by: Configured,
        importing: Option<Importing>,
    },
    /// A read that waits for the deploy.
    Read,
    Create {
        by: Configured,
        commands: Vec<CommandView>,
    },
    Update {
        by: Configured,
        importing: Option<Importing>,
    },
    /// In the order that the configuration says.
    Replace {
        by: Configured,
        importing: Option<Importing>,
        /// What cannot be changed in place.
        paths: Vec<Path>,
        commands: Vec<CommandView>,
    },
    Destroy {
        /// The state says that what takes its place comes first.
        create_first: bool,
        commands: Vec<CommandView>,
    },
    Forget {
        /// As of a destroy.
        create_first: bool,
    },
}

/// What the configuration says of an object that stays, comes or changes.
#[derive(Debug, Clone, Default)]
pub struct Configured {
    /// The configured object as it was planned, marked; `None` where it was not kept.
    pub config: Option<Value>,
    pub create_first: bool,
    /// It says `destroy = false`: an old object is forgotten where it would be destroyed.
    pub forgets: bool,
}

/// What an action may have beside it.
#[derive(Debug, Clone, Default)]
pub struct Details {
    pub by: Configured,
    /// How the object is imported first.
    pub importing: Option<Importing>,
    pub replace_paths: Vec<Path>,
    /// What its provisioners would run, here and elsewhere, in order, as it is shown.
    pub commands: Vec<CommandView>,
}

impl Act {
    /// An action with as much of the details as it has.
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

    /// The configured object as it was planned, where it was kept.
    pub fn config(&self) -> Option<&Value> {
        self.act.by()?.config.as_ref()
    }

    /// How the object is imported first.
    pub fn importing(&self) -> Option<&Importing> {
        match &self.act {
            Act::NoOp { importing, .. }
            | Act::Update { importing, .. }
            | Act::Replace { importing, .. } => importing.as_ref(),
            _ => None,
        }
    }

    /// What cannot be changed in place.
    pub fn replace_paths(&self) -> &[Path] {
        match &self.act {
            Act::Replace { paths, .. } => paths,
            _ => &[],
        }
    }

    /// What its provisioners would run, here and elsewhere, in order, as it is shown.
    pub fn commands(&self) -> &[CommandView] {
        match &self.act {
            Act::Create { commands, .. }
            | Act::Replace { commands, .. }
            | Act::Destroy { commands, .. } => commands,
            _ => &[],
        }
    }

    /// Whether what takes the object's place is created before the object is destroyed.
    pub fn create_first(&self) -> bool {
        match &self.act {
            Act::Destroy { create_first, .. } | Act::Forget { create_first } => *create_first,
            act => act.by().is_some_and(|by| by.create_first),
        }
    }

    /// Whether the object is one that is forgotten where it would be destroyed.
    pub fn skips_destroy(&self) -> bool {
        match &self.act {
            Act::Forget { .. } => true,
            act => act.by().is_some_and(|by| by.forgets),
        }
    }

    /// Whether the state forgets the old object, which stays as it is.
    pub fn forgets(&self) -> bool {
        match &self.act {
            Act::Forget { .. } => true,
            Act::Replace { by, .. } => by.forgets,
            _ => false,
        }
    }

    /// What the object that is there depended on has other addresses now: its end is in order with
    /// what is there.
    pub fn follow(&mut self, renames: &Renames) {
        let was = &mut self.recorded;
        was.dependencies = renames.dependencies(&was.dependencies);
        was.needs = was.needs.as_ref().map(|all| renames.needs(all));
        if self.after.value.is_null() {
            self.dependencies = Arc::new(renames.dependencies(&*self.dependencies));
        }
    }

    /// What is declared for an object that ends orders its end, too.
    pub fn ends_before(&mut self, declared: &BTreeSet<String>) {
        self.recorded.dependencies.extend(declared.iter().cloned());
        self.dependencies = Arc::new(self.dependencies.union(declared).cloned().collect());
    }

    /// Actions as the plan representation lists them.
    pub fn plan_words(&self) -> &'static [&'static str] {
        match &self.act {
            // Whichever of both is first, the plan has them in one order.
            Act::Replace { by, .. } if by.forgets => &["forget", "create"],
            _ => self.action().plan_words(),
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

/// The change of one root output.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputChange {
    pub name: Arc<str>,
    pub action: Action,
    /// `None` where there is no value.
    pub before: Option<Value>,
    pub after: Option<Value>,
    /// Whether it is declared, and comes to null.
    pub null: bool,
    /// Whether either side is declared sensitive.
    pub sensitive: bool,
    /// What it rests on, as a change's.
    pub needs: Needs,
}

/// An object that refreshing found changed or gone, or that a refresh-only stage moves.
#[derive(Debug, Clone)]
pub struct Drift {
    pub address: AbsInstance,
    /// Key of a deposed object; `None` for the current one.
    pub deposed: Option<String>,
    pub previous: Option<AbsInstance>,
    pub provider: ConfigKey,
    /// `Update`, `Destroy`, or `NoOp` where it is moved and nothing else.
    pub action: Action,
    pub before: Value,
    pub after: Value,
}

/// Digests of what a stage was made from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Digests {
    pub config: String,
    pub plugins: String,
}

/// The state that a stage was planned on. With its serial it is the same state wherever the
/// workspace's directory lies.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StateOrigin {
    /// Name of the workspace; empty for the default one.
    pub workspace: String,
    /// Where the state lives, for an operator; a file is seen from the workspace's directory.
    pub place: String,
    pub lineage: String,
}

/// A stage in whole.
#[derive(Debug, Clone)]
pub struct Stage {
    pub id: StageId,
    pub request: StageRequest,
    pub at: UnixMs,
    pub took_ms: u64,
    pub digests: Digests,
    /// What evaluation found outside of the configuration.
    pub sights: Seen,
    pub origin: StateOrigin,
    pub state_serial: i64,
    /// In the order of dependencies.
    pub changes: Vec<Change>,
    /// Which of them, by id, were left out when the stage was made or read back.
    pub left: Vec<String>,
    pub outputs: Vec<OutputChange>,
    pub drift: Vec<Drift>,
    /// What moving and refreshing changed in the state; written when the stage is deployed.
    pub edits: Vec<StateEdit>,
    pub statuses: Statuses,
    pub checked: Checked,
    /// Attributes that have a part in what is to be done.
    pub relevant: Vec<Relevant>,
    /// Values of root variables as they were given, or of their defaults: for the plan
    /// representation.
    pub variables: BTreeMap<Arc<str>, Value>,
    /// Values of the environment and of automatic files that others override.
    pub overridden: Overridden,
}

/// What staging came to.
#[derive(Debug)]
pub enum Worked {
    Whole(Box<Stage>),
    /// There is no stage; where something was worked out before the errors, and that was asked for,
    /// it is here: to be shown, and for nothing else.
    Errored(Option<Box<Stage>>),
}
