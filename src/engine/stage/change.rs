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
    pub action: Action,
    pub reason: Option<Reason>,
    /// Marked; null where there is nothing.
    pub before: Value,
    /// Marked; null where there will be nothing.
    pub after: Value,
    /// The configured object of a create or update as it was planned, marked; `None` where it was
    /// not kept.
    pub config: Option<Value>,
    /// Of the plan.
    pub private: Vec<u8>,
    /// Of the object that is there.
    pub prior_private: Vec<u8>,
    pub replace_paths: Vec<Path>,
    pub schema_version: i64,
    /// Configuration addresses on which the resource depends; in a chain of modules these are many,
    /// and the same for most resources of a module.
    pub dependencies: Arc<BTreeSet<String>>,
    /// The same as the state had it.
    pub prior_dependencies: BTreeSet<String>,
    /// What it needs itself, by instance as far as that is known.
    pub needs: Needs,
    /// What the object that is there needed when it was written; `None` where that is not on
    /// record.
    pub prior_needs: Option<Needs>,
    pub create_before_destroy: bool,
    /// Its configuration says `destroy = false`: an old object is forgotten where it would be
    /// destroyed.
    pub skip_destroy: bool,
    pub tainted: bool,
    /// How the object is imported first.
    pub importing: Option<Importing>,
    /// What the provider knows the object by that is there.
    pub identity_before: Option<Value>,
    /// The same of the object as planned; it may have unknown values.
    pub identity_after: Option<Value>,
    pub drifted: bool,
    /// A read that waits for the deploy.
    pub deferred_read: bool,
    /// What its provisioners would run, here and elsewhere, in order, as it is shown.
    pub commands: Vec<CommandView>,
}

impl Change {
    /// Whether the state forgets the old object, which stays as it is.
    pub fn forgets(&self) -> bool {
        self.action == Action::Forget || self.skip_destroy && self.action.destroys()
    }

    /// What the object that is there depended on has other addresses now: its end is in order with
    /// what is there.
    pub fn follow(&mut self, renames: &Renames) {
        self.prior_dependencies = renames.dependencies(&self.prior_dependencies);
        self.prior_needs = self.prior_needs.as_ref().map(|all| renames.needs(all));
        if self.after.is_null() {
            self.dependencies = Arc::new(renames.dependencies(&*self.dependencies));
        }
    }

    /// What is declared for an object that ends orders its end, too.
    pub fn ends_before(&mut self, declared: &BTreeSet<String>) {
        self.prior_dependencies.extend(declared.iter().cloned());
        self.dependencies = Arc::new(self.dependencies.union(declared).cloned().collect());
    }

    /// Actions as the plan representation lists them.
    pub fn plan_words(&self) -> &'static [&'static str] {
        match self.action {
            // Whichever of both is first, the plan has them in one order.
            Action::Replace | Action::ReplaceCreateFirst if self.skip_destroy => {
                &["forget", "create"]
            }
            action => action.plan_words(),
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
    pub variables: String,
    pub plugins: String,
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
}

/// What staging came to.
#[derive(Debug)]
pub enum Worked {
    Whole(Box<Stage>),
    /// There is no stage; where something was worked out before the errors, and that was asked for,
    /// it is here: to be shown, and for nothing else.
    Errored(Option<Box<Stage>>),
}
