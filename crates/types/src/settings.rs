//! Settings of a resource type, each with the block that gives it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use group::declared::ReconcilePolicy;
use group::drift::Mode;
use lang::source::Span;
use lang::syntax::Expr;
use model::{FailureClass, Readiness};

/// Origin of an overlay. Later ones take precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Part of flightdeck. Only displayed: nothing waits because of it.
    BuiltIn,
    /// A module that the configuration calls.
    Module,
    /// The root module.
    Workspace,
    /// The user's own files.
    User,
}

impl Layer {
    /// Returns the name for display.
    pub fn label(self) -> &'static str {
        match self {
            Layer::BuiltIn => "built in",
            Layer::Module => "module",
            Layer::Workspace => "workspace",
            Layer::User => "user",
        }
    }
}

/// Place of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub layer: Layer,
    /// Its argument or block.
    pub span: Span,
}

/// A setting with its origin.
#[derive(Clone, Debug)]
pub struct Given<T> {
    pub value: T,
    /// The value as written.
    pub text: Arc<str>,
    /// Where it is written.
    pub origin: Origin,
}

/// Durations of operations by name: `create`, `read`, `update`, `delete`.
pub type Limits = BTreeMap<&'static str, Given<Duration>>;

/// Settings of a resource type, of one block or of all layers together.
#[derive(Clone, Debug, Default)]
pub struct TypeSettings {
    /// Short name for people.
    pub name: Option<Given<String>>,
    /// Address of the documentation.
    pub docs: Option<Given<String>>,
    /// Attribute that tells the state of an object. Without it, the only one that `ready` uses.
    pub status: Option<Given<Expr>>,
    /// True for an object that is ready for use.
    pub ready: Option<Given<Expr>>,
    /// Readiness by the value of `status`, for objects that are not ready.
    pub states: Option<Given<BTreeMap<String, Readiness>>>,
    /// Columns of a table of such objects: name and value.
    pub columns: Option<Given<Vec<(String, Expr)>>>,
    /// Attributes that are never shown. Each layer adds to them.
    pub redact: Vec<Given<Vec<Expr>>>,
    /// Classes of failures by a part of their messages.
    pub errors: Option<Given<BTreeMap<String, FailureClass>>>,
    /// An apply waits until the object is ready.
    pub wait: Option<Given<bool>>,
    /// Time between two looks of this wait.
    pub wait_interval: Option<Given<Duration>>,
    /// Limit of this wait.
    pub wait_timeout: Option<Given<Duration>>,
    /// Deadlines of the provider's calls.
    pub timeouts: Limits,
    /// Usual durations of operations, in place of those in the history. Longer ones are marked.
    pub usual: Limits,
    /// Mode of the reconcile loop.
    pub mode: Option<Given<Mode>>,
    /// Time between two looks of the reconcile loop.
    pub every: Option<Given<Duration>>,
    /// Largest random deviation from `every`, in percent.
    pub jitter: Option<Given<u32>>,
    /// The reconcile loop may destroy and replace.
    pub allow_replace: Option<Given<bool>>,
}

/// Time between two looks at an object without `wait { interval }`.
const WAIT_INTERVAL: Duration = Duration::from_secs(5);
/// Limit of a wait without `wait { timeout }`.
const WAIT_TIMEOUT: Duration = Duration::from_secs(600);

impl TypeSettings {
    /// Returns these settings with those of a higher layer.
    #[must_use]
    pub(crate) fn overlaid(self, over: TypeSettings) -> TypeSettings {
        let limits = |mut under: Limits, over: Limits| {
            under.extend(over);
            under
        };
        let mut redact = self.redact;
        redact.extend(over.redact);
        TypeSettings {
            name: over.name.or(self.name),
            docs: over.docs.or(self.docs),
            status: over.status.or(self.status),
            ready: over.ready.or(self.ready),
            states: over.states.or(self.states),
            columns: over.columns.or(self.columns),
            redact,
            errors: over.errors.or(self.errors),
            wait: over.wait.or(self.wait),
            wait_interval: over.wait_interval.or(self.wait_interval),
            wait_timeout: over.wait_timeout.or(self.wait_timeout),
            timeouts: limits(self.timeouts, over.timeouts),
            usual: limits(self.usual, over.usual),
            mode: over.mode.or(self.mode),
            every: over.every.or(self.every),
            jitter: over.jitter.or(self.jitter),
            allow_replace: over.allow_replace.or(self.allow_replace),
        }
    }

    /// Returns the redactions alone: the part that a higher layer cannot replace.
    pub(crate) fn redactions(self) -> TypeSettings {
        TypeSettings {
            redact: self.redact,
            ..TypeSettings::default()
        }
    }

    /// Returns true if an apply waits until the object is ready: as a block sets it, otherwise if
    /// `ready` is not built in.
    pub fn waits(&self) -> bool {
        let Some(ready) = &self.ready else {
            return false;
        };
        match &self.wait {
            Some(wait) => wait.value,
            None => ready.origin.layer > Layer::BuiltIn,
        }
    }

    /// Time between two looks at an object that is not ready yet.
    pub fn wait_interval(&self) -> Duration {
        value(&self.wait_interval).unwrap_or(WAIT_INTERVAL)
    }

    /// Limit of the wait for an object to become ready.
    pub fn wait_timeout(&self) -> Duration {
        value(&self.wait_timeout).unwrap_or(WAIT_TIMEOUT)
    }

    /// Deadline of the calls for an operation: `create`, `read`, `update` or `delete`.
    pub fn limit(&self, operation: &str) -> Option<Duration> {
        self.timeouts.get(operation).map(|limit| limit.value)
    }

    /// Returns the policy of the reconcile loop; `None` if no layer has one.
    pub fn reconcile(&self) -> Option<ReconcilePolicy> {
        let default = ReconcilePolicy::default();
        let is_given = self.mode.is_some()
            || self.every.is_some()
            || self.jitter.is_some()
            || self.allow_replace.is_some();
        is_given.then(|| ReconcilePolicy {
            mode: value(&self.mode).unwrap_or_default(),
            every: value(&self.every).unwrap_or(default.every),
            jitter: value(&self.jitter).unwrap_or(default.jitter),
            allow_replace: value(&self.allow_replace).unwrap_or_default(),
        })
    }

    /// Class of a failure with this message, if a block names it.
    pub fn failure_class(&self, message: &str) -> Option<FailureClass> {
        let mut all = self.errors.iter().flat_map(|errors| &errors.value);
        let found = all.find(|(part, _)| message.contains(part.as_str()));
        found.map(|(_, class)| *class)
    }

    /// Each setting with its name, text and origin, in the order of the documentation.
    pub fn fields(&self) -> Vec<(String, &str, &Origin)> {
        let mut all = Vec::new();
        push(&mut all, "name", self.name.as_ref());
        push(&mut all, "docs", self.docs.as_ref());
        push(&mut all, "status", self.status.as_ref());
        push(&mut all, "ready", self.ready.as_ref());
        push(&mut all, "states", self.states.as_ref());
        push(&mut all, "columns", self.columns.as_ref());
        for redact in &self.redact {
            push(&mut all, "redact", Some(redact));
        }
        push(&mut all, "errors", self.errors.as_ref());
        push(&mut all, "wait.enabled", self.wait.as_ref());
        push(&mut all, "wait.interval", self.wait_interval.as_ref());
        push(&mut all, "wait.timeout", self.wait_timeout.as_ref());
        for (block, limits) in [("timeouts", &self.timeouts), ("usual", &self.usual)] {
            for (operation, limit) in limits {
                push(&mut all, &format!("{block}.{operation}"), Some(limit));
            }
        }
        push(&mut all, "reconcile.mode", self.mode.as_ref());
        push(&mut all, "reconcile.every", self.every.as_ref());
        push(&mut all, "reconcile.jitter", self.jitter.as_ref());
        push(
            &mut all,
            "reconcile.allow_replace",
            self.allow_replace.as_ref(),
        );
        all
    }
}

fn value<T: Clone>(given: &Option<Given<T>>) -> Option<T> {
    given.as_ref().map(|given| given.value.clone())
}

fn push<'a, T>(
    all: &mut Vec<(String, &'a str, &'a Origin)>,
    name: &str,
    given: Option<&'a Given<T>>,
) {
    all.extend(given.map(|given| (name.to_owned(), &*given.text, &given.origin)));
}
