//! What a provider's author writes: a [`Provider`] with its [`Resource`]s and [`DataSource`]s.
//! Everything else (processes, sockets, certificates, encodings, the order of calls) is the
//! business of `serve`.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use cty::{Path, Value};
use tokio_util::sync::CancellationToken;

use crate::diagnostics::{Diagnostic, Diagnostics, Failure};
use crate::plan;
use crate::schema::Schema;

/// A provider: its configuration, its resource types, its data sources.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// Its name, as `lab`: stands in log lines and begins the names of its types.
    fn name(&self) -> &str;

    /// Who publishes it: the first part of the id by which it registers with a host of Bluelink's
    /// kind, `acme` of `acme/lab` (a registry's host may stand before it). It is installed under
    /// that id.
    fn publisher(&self) -> &str {
        "flightdeck"
    }

    /// Its version, as it tells such a host; semantic.
    fn version(&self) -> &str {
        "0.0.0"
    }

    /// The schema of its configuration.
    fn schema(&self) -> Schema {
        Schema::new()
    }

    /// Its resource types. Asked once, before anything else.
    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        Vec::new()
    }

    /// Its data sources. Asked once, before anything else.
    fn data_sources(&self) -> Vec<Arc<dyn DataSource>> {
        Vec::new()
    }

    /// Its ephemeral resources. Asked once, before anything else.
    fn ephemeral_resources(&self) -> Vec<Arc<dyn EphemeralResource>> {
        Vec::new()
    }

    /// Checks a configuration beyond what its schema says. Values may be unknown.
    async fn validate(&self, _cx: &Context, _config: &Value) -> Diagnostics {
        Diagnostics::new()
    }

    /// Takes the configuration; called before resources are read, planned or changed. Values may be
    /// unknown while planning.
    async fn configure(&self, _cx: &Context, _config: &Value) -> Diagnostics {
        Diagnostics::new()
    }
}

/// A resource type.
#[async_trait]
pub trait Resource: Send + Sync + 'static {
    /// Its type name, with the provider's in front: `lab_server`.
    fn name(&self) -> &str;

    /// Its schema. Asked once.
    fn schema(&self) -> Schema;

    /// Checks a configuration beyond what its schema says. Values may be unknown.
    async fn validate(&self, _cx: &Context, _config: &Value) -> Diagnostics {
        Diagnostics::new()
    }

    /// Says what an object would become. By default: what is proposed, with defaults filled in, and
    /// computed attributes unknown for a new or changed object (but for `stable` ones); replaced
    /// where a `replaces` attribute changes. Not asked about destroying: see
    /// [`Resource::plan_destroy`].
    async fn plan(&self, _cx: &Context, request: Planning<'_>) -> Result<Planned, Failure> {
        Ok(request.by_default())
    }

    /// Has a say before an object's destruction is planned.
    async fn plan_destroy(&self, _cx: &Context, _prior: &State) -> Result<Diagnostics, Failure> {
        Ok(Diagnostics::new())
    }

    /// Makes an object.
    async fn create(&self, cx: &Context, change: Change) -> Result<State, Failure>;

    /// Looks an object up; none: it exists no more.
    async fn read(&self, cx: &Context, state: State) -> Result<Option<State>, Failure>;

    /// Changes an object in place.
    async fn update(&self, cx: &Context, change: Change) -> Result<State, Failure>;

    /// Whether an object that was just made or changed has settled, so that what depends on it can
    /// begin. It is asked, with pauses, until it says so; an error, or no yes within an hour,
    /// leaves the object tainted.
    async fn is_stable(&self, _cx: &Context, _state: &State) -> Result<bool, Failure> {
        Ok(true)
    }

    /// Removes an object. One that is gone already is no error.
    async fn delete(&self, cx: &Context, state: State) -> Result<Diagnostics, Failure>;

    /// Finds an existing object by the operator's id; the host reads it next, so that what
    /// identifies it is enough (see [`import_by`]).
    async fn import(&self, _cx: &Context, _id: &str) -> Result<State, Failure> {
        Err(Failure::new(
            format!("{} cannot be imported", self.name()),
            "this resource type does not support import",
        ))
    }

    /// Brings state of an older schema version up to this one: its JSON in, JSON that fits the
    /// schema out. Attributes that the schema does not have are dropped, those that are missing
    /// become null.
    async fn upgrade(
        &self,
        _cx: &Context,
        _from: i64,
        state: serde_json::Value,
    ) -> Result<serde_json::Value, Failure> {
        Ok(state)
    }
}

/// A data source.
#[async_trait]
pub trait DataSource: Send + Sync + 'static {
    /// Its type name, with the provider's in front: `lab_image`.
    fn name(&self) -> &str;

    /// Its schema. Asked once.
    fn schema(&self) -> Schema;

    /// Checks a configuration beyond what its schema says. Values may be unknown.
    async fn validate(&self, _cx: &Context, _config: &Value) -> Diagnostics {
        Diagnostics::new()
    }

    /// Reads it: the configuration with the computed attributes filled in.
    async fn read(&self, cx: &Context, config: Value) -> Result<Value, Failure>;
}

/// An ephemeral resource: something that is there for as long as a run of the host needs it, and is
/// kept nowhere.
#[async_trait]
pub trait EphemeralResource: Send + Sync + 'static {
    /// Its type name, with the provider's in front: `lab_session`.
    fn name(&self) -> &str;

    /// Its schema. Asked once.
    fn schema(&self) -> Schema;

    /// Checks a configuration beyond what its schema says. Values may be unknown.
    async fn validate(&self, _cx: &Context, _config: &Value) -> Diagnostics {
        Diagnostics::new()
    }

    /// Opens it.
    async fn open(&self, cx: &Context, config: Value) -> Result<Opened, Failure>;

    /// Keeps it open; called at the time that opening or the last renewing said, with what that
    /// kept.
    async fn renew(&self, _cx: &Context, private: Vec<u8>) -> Result<Renewed, Failure> {
        Ok(Renewed {
            private,
            renew_at: None,
        })
    }

    /// Closes it, with what opening or the last renewing kept.
    async fn close(&self, _cx: &Context, _private: Vec<u8>) -> Result<Diagnostics, Failure> {
        Ok(Diagnostics::new())
    }
}

/// An ephemeral resource that is open.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// The configuration with the computed attributes filled in.
    pub value: Value,
    /// What renewing and closing need; nobody else looks into it.
    pub private: Vec<u8>,
    /// When it must be renewed, where it must.
    pub renew_at: Option<SystemTime>,
}

/// An ephemeral resource that stays open.
#[derive(Clone, Debug, PartialEq)]
pub struct Renewed {
    /// What the next renewing or closing needs.
    pub private: Vec<u8>,
    /// When it must be renewed again, where it must.
    pub renew_at: Option<SystemTime>,
}

/// What every call is given.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) stop: CancellationToken,
}

impl Context {
    /// A context of its own, for calling a resource without a host.
    pub fn new(stop: CancellationToken) -> Context {
        Context { stop }
    }

    /// Ends when the host asks the provider to stop (or goes away): give up waiting, say so, leave
    /// nothing half-done.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }
}

/// An object as the host keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Its value, of the schema's type.
    pub value: Value,
    /// What the provider keeps with it and nobody else looks into.
    pub private: Vec<u8>,
    /// Warnings to go with it.
    pub warnings: Diagnostics,
}

impl State {
    /// A value, with nothing private.
    pub fn new(value: Value) -> State {
        State {
            value,
            private: Vec::new(),
            warnings: Diagnostics::new(),
        }
    }

    /// The same, with private bytes.
    #[must_use]
    pub fn with_private(self, private: impl Into<Vec<u8>>) -> State {
        State {
            private: private.into(),
            ..self
        }
    }

    /// The same, with one more warning.
    #[must_use]
    pub fn with_warning(mut self, summary: impl Into<String>, detail: impl Into<String>) -> State {
        self.warnings.warning(summary, detail);
        self
    }
}

/// A change that was planned and is to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The object before; null when it is new.
    pub prior: Value,
    /// What was planned; unknown where the provider is to say.
    pub planned: Value,
    /// What the configuration says.
    pub config: Value,
    /// The private bytes of the plan.
    pub private: Vec<u8>,
}

/// What there is to plan with.
#[derive(Clone, Debug)]
pub struct Planning<'a> {
    /// The resource's schema.
    pub schema: &'a Schema,
    /// The object before; null when it is new.
    pub prior: Value,
    /// The configuration over the object before, as the host proposes it.
    pub proposed: Value,
    /// What the configuration says.
    pub config: Value,
    /// The private bytes of the object before.
    pub private: Vec<u8>,
}

impl Planning<'_> {
    /// Whether the object is new.
    pub fn is_create(&self) -> bool {
        self.prior.is_null()
    }

    /// The default plan; see [`Resource::plan`].
    pub fn by_default(self) -> Planned {
        plan::by_default(self)
    }
}

/// A plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// What the object would become; unknown where only making it tells.
    pub value: Value,
    /// Attributes whose change needs a new object.
    pub replace: Vec<Path>,
    /// Private bytes, given to the change.
    pub private: Vec<u8>,
    /// Warnings to go with it.
    pub warnings: Diagnostics,
}

/// What most `import`s do: a state that has the id in one attribute and nothing else.
///
/// # Errors
/// When the schema has no such attribute, or not as a string.
pub fn import_by(schema: &Schema, attribute: &str, id: &str) -> Result<State, Failure> {
    let refused = |problem| Failure::from(Diagnostic::error("the id cannot be taken", problem));
    let mut object = crate::Object::of(&schema.empty_value()).map_err(refused)?;
    object.set(attribute, Value::string(id));
    object.into_value().map(State::new).map_err(refused)
}
