//! Traits that an author of a provider implements: [`Provider`] with its [`Resource`]s and
//! [`DataSource`]s. `serve` handles processes, sockets, certificates and encodings, and calls them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use cty::{Path, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::diagnostics::{Diagnostic, Diagnostics, Failure};
use crate::function::Function;
use crate::plan;
use crate::schema::Schema;

/// Provider: its configuration, resource types and data sources.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// Returns the name, such as `lab`. Type names begin with it, and log lines show it.
    fn name(&self) -> &str;

    /// Returns the publisher: the first part of the id under which the provider registers with a
    /// Bluelink host, such as `acme` in `acme/lab` (the host name of a registry can precede it).
    /// The provider is installed under that id.
    fn publisher(&self) -> &str {
        "flightdeck"
    }

    /// Returns the semantic version for a Bluelink host.
    fn version(&self) -> &str {
        "0.0.0"
    }

    /// Returns the schema of the configuration.
    fn schema(&self) -> Schema {
        Schema::new()
    }

    /// Returns the resource types. Called once, before all other calls.
    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        Vec::new()
    }

    /// Returns the data sources. Called once, before all other calls.
    fn data_sources(&self) -> Vec<Arc<dyn DataSource>> {
        Vec::new()
    }

    /// Returns the ephemeral resources. Called once, before all other calls.
    fn ephemeral_resources(&self) -> Vec<Arc<dyn EphemeralResource>> {
        Vec::new()
    }

    /// Returns the functions. Called once, before all other calls.
    fn functions(&self) -> Vec<Arc<dyn Function>> {
        Vec::new()
    }

    /// Validates a configuration beyond its schema. Values can be unknown.
    async fn validate(&self, _cx: &Context, _config: &Value) -> Diagnostics {
        Diagnostics::new()
    }

    /// Receives the configuration, before resources are read, planned or changed. Values can be
    /// unknown during a plan.
    async fn configure(&self, _cx: &Context, _config: &Value) -> Diagnostics {
        Diagnostics::new()
    }
}

/// Resource type.
#[async_trait]
pub trait Resource: Send + Sync + 'static {
    /// Returns the type name, which begins with the provider's name: `lab_server`.
    fn name(&self) -> &str;

    /// Returns the schema. Called once.
    fn schema(&self) -> Schema;

    /// Validates a configuration beyond its schema. Values can be unknown.
    async fn validate(&self, _cx: &Context, _config: &Value) -> Diagnostics {
        Diagnostics::new()
    }

    /// Plans a create or update. The default takes the proposed value, fills in defaults, and marks
    /// computed attributes of a new or changed object as unknown, except `stable` ones. A change of
    /// a `replaces` attribute requires replacement. For a destroy see [`Resource::plan_destroy`].
    async fn plan(&self, _cx: &Context, request: Planning<'_>) -> Result<Planned, Failure> {
        Ok(request.by_default())
    }

    /// Plans a destroy; the diagnostics can refuse it.
    async fn plan_destroy(&self, _cx: &Context, _prior: &State) -> Result<Diagnostics, Failure> {
        Ok(Diagnostics::new())
    }

    /// Creates an object.
    async fn create(&self, cx: &Context, change: Change) -> Result<State, Failure>;

    /// Returns true if the object exists. Called before each read; a missing object is not read.
    async fn exists(&self, _cx: &Context, _state: &State) -> Result<bool, Failure> {
        Ok(true)
    }

    /// Reads an object, without changing it; `None` if it no longer exists.
    async fn read(&self, cx: &Context, state: State) -> Result<Option<State>, Failure>;

    /// Returns false if objects are replaced instead of updated: then all attributes that can be
    /// configured must be `replaces`, and `update` returns [`no_update`].
    fn supports_update(&self) -> bool {
        true
    }

    /// Updates an object in place; only attributes that are not `replaces` differ. If the update
    /// fails half-way, the state keeps exactly the part of the failure's partial object; see
    /// [`crate::Partial`].
    async fn update(&self, cx: &Context, change: Change) -> Result<State, Failure>;

    /// Returns true if a created or updated object is stable, so that dependent operations can
    /// start. It is called repeatedly, with pauses. An error, or one hour without success, fails
    /// the operation; a host then stores a created object as tainted, and keeps an updated one.
    async fn is_stable(&self, _cx: &Context, _state: &State) -> Result<bool, Failure> {
        Ok(true)
    }

    /// Deletes an object. An object that no longer exists is not an error.
    async fn delete(&self, cx: &Context, state: State) -> Result<Diagnostics, Failure>;

    /// Imports an existing object by the operator's id. The host reads it next, so the identifying
    /// attributes are enough (see [`import_by`]).
    async fn import(&self, _cx: &Context, _id: &str) -> Result<State, Failure> {
        Err(Failure::new(
            format!("{} cannot be imported", self.name()),
            "this resource type does not support import",
        ))
    }

    /// Returns the id by which [`Resource::import`] finds the object with an identity: the
    /// attributes that are marked as `identity`. The default supports identities of one string.
    fn import_id(&self, identity: &Value) -> Option<String> {
        crate::identity::only_text(identity)
    }

    /// Upgrades a stored identity of an older identity version. Takes and returns JSON.
    fn upgrade_identity(
        &self,
        _from: i64,
        identity: serde_json::Value,
    ) -> Result<serde_json::Value, Failure> {
        Ok(identity)
    }

    /// Converts the state of an object of another type, for a `moved` block from that type to this
    /// one. Returns JSON of this type's current version; `None` if that type is not supported.
    fn move_state(&self, _from: &MovedState) -> Result<Option<serde_json::Value>, Failure> {
        Ok(None)
    }

    /// Returns the upgraders of older states, one for each older version that is supported, without
    /// a gap up to the version before the schema's. The SDK calls them in order.
    fn upgraders(&self) -> Vec<Upgrader> {
        Vec::new()
    }
}

/// State of an object of another type, to be moved to this one.
#[derive(Clone, Debug, PartialEq)]
pub struct MovedState {
    /// Address of its provider, such as `registry.terraform.io/hashicorp/null`.
    pub provider: String,
    /// Name of its type.
    pub type_name: String,
    /// Schema version of the state.
    pub version: i64,
    /// State as JSON.
    pub state: serde_json::Value,
}

/// Upgrade of a state by one schema version.
#[derive(Clone, Copy, Debug)]
pub struct Upgrader {
    /// Version of the states that it takes; it returns a state of the next version.
    pub from: i64,
    /// Takes and returns JSON. After the last upgrader, attributes that the schema does not have
    /// are dropped, and missing ones become null.
    pub upgrade: fn(serde_json::Value) -> Result<serde_json::Value, Failure>,
}

impl Upgrader {
    /// Creates an upgrader of states of a version.
    pub fn new(
        from: i64,
        upgrade: fn(serde_json::Value) -> Result<serde_json::Value, Failure>,
    ) -> Upgrader {
        Upgrader { from, upgrade }
    }
}

/// Returns the failure for an update of a type whose objects are replaced instead.
pub fn no_update(type_name: &str) -> Failure {
    Failure::new(
        format!("{type_name} cannot be updated in place"),
        "its objects are replaced instead; a plan of an update is a bug in the provider",
    )
}

/// Data source.
#[async_trait]
pub trait DataSource: Send + Sync + 'static {
    /// Returns the type name, which begins with the provider's name: `lab_image`.
    fn name(&self) -> &str;

    /// Returns the schema. Called once.
    fn schema(&self) -> Schema;

    /// Validates a configuration beyond its schema. Values can be unknown.
    async fn validate(&self, _cx: &Context, _config: &Value) -> Diagnostics {
        Diagnostics::new()
    }

    /// Reads the data source: returns the configuration with computed attributes.
    async fn read(&self, cx: &Context, config: Value) -> Result<Value, Failure>;
}

/// Ephemeral resource: exists only during a run of the host, and is not stored.
#[async_trait]
pub trait EphemeralResource: Send + Sync + 'static {
    /// Returns the type name, which begins with the provider's name: `lab_session`.
    fn name(&self) -> &str;

    /// Returns the schema. Called once.
    fn schema(&self) -> Schema;

    /// Validates a configuration beyond its schema. Values can be unknown.
    async fn validate(&self, _cx: &Context, _config: &Value) -> Diagnostics {
        Diagnostics::new()
    }

    /// Opens the resource.
    async fn open(&self, cx: &Context, config: Value) -> Result<Opened, Failure>;

    /// Renews the resource, at the time that the open or the last renewal returned, with the
    /// private data of that call.
    async fn renew(&self, _cx: &Context, private: Vec<u8>) -> Result<Renewed, Failure> {
        // Without a time of renewal, the host makes no further call until it closes the resource.
        Ok(Renewed {
            private,
            renew_at: None,
        })
    }

    /// Closes the resource, with the private data of the open or the last renewal.
    async fn close(&self, _cx: &Context, _private: Vec<u8>) -> Result<Diagnostics, Failure> {
        Ok(Diagnostics::new())
    }
}

/// Open ephemeral resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// Configuration with computed attributes.
    pub value: Value,
    /// Private data for renewal and closing; opaque to the host.
    pub private: Vec<u8>,
    /// Time of the renewal, if one is needed.
    pub renew_at: Option<SystemTime>,
}

/// Renewed ephemeral resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Renewed {
    /// Private data for the next renewal or closing.
    pub private: Vec<u8>,
    /// Time of the next renewal, if one is needed.
    pub renew_at: Option<SystemTime>,
}

/// Context of a call.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) stop: CancellationToken,
    pub(crate) deadline: Option<Instant>,
    pub(crate) record: Arc<Mutex<Record>>,
}

/// Parts of an answer that the author sets through the context.
#[derive(Debug, Default)]
pub(crate) struct Record {
    warnings: Diagnostics,
    private: Vec<u8>,
}

impl Context {
    /// Creates a context for calling a resource without a host.
    pub fn new(stop: CancellationToken) -> Context {
        Context {
            stop,
            deadline: None,
            record: Arc::default(),
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // A panic cannot leave a half-written record, so a poisoned lock is still usable.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a warning for the operator to the answer of this call, whether it succeeds or fails. A
    /// Bluelink host and calls without diagnostics, such as functions, get it as a log line.
    pub fn warn(&self, summary: impl Into<String>, detail: impl Into<String>) {
        self.record().warnings.warning(summary, detail);
    }

    pub(crate) fn take_warnings(&self) -> Diagnostics {
        std::mem::take(&mut self.record().warnings)
    }

    /// Returns the private data of a typed resource's object: the bytes that an earlier call of the
    /// object set. Empty without any, and at the start of each call of a Bluelink host, which
    /// stores none.
    pub fn private(&self) -> Vec<u8> {
        self.record().private.clone()
    }

    /// Sets the private data of a typed resource's object, in a create, update, read, import or
    /// plan. The host stores it beside the state, without showing it. Empty data is ignored.
    pub fn set_private(&self, data: impl Into<Vec<u8>>) {
        let data = data.into();
        if !data.is_empty() {
            self.record().private = data;
        }
    }

    /// Token that is cancelled when the host asks the provider to stop, when it disconnects, or
    /// when the operation's time limit has passed. The call should then return an error soon, and
    /// leave nothing half-done.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Returns the time until the operation's limit, if it has one (see
    /// [`crate::Timeouts`]); zero if it has passed. At the limit, the stop token is cancelled.
    pub fn time_left(&self) -> Option<Duration> {
        let deadline = self.deadline?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }
}

/// State of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Value of the schema's type.
    pub value: Value,
    /// Private data of the provider; opaque to the host.
    pub private: Vec<u8>,
}

impl State {
    /// Creates a state without private data.
    pub fn new(value: Value) -> State {
        State {
            value,
            private: Vec::new(),
        }
    }

    /// Sets the private data.
    #[must_use]
    pub fn with_private(self, private: impl Into<Vec<u8>>) -> State {
        State {
            private: private.into(),
            ..self
        }
    }
}

/// Planned change to apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Prior value; null for a create.
    pub prior: Value,
    /// Planned value; unknown where the provider sets it.
    pub planned: Value,
    /// Configuration.
    pub config: Value,
    /// Private data of the plan.
    pub private: Vec<u8>,
}

/// Arguments of a plan.
#[derive(Clone, Debug)]
pub struct Planning<'a> {
    /// Schema of the resource.
    pub schema: &'a Schema,
    /// Prior value; null for a create.
    pub prior: Value,
    /// Proposed value: the host's combination of configuration and prior value.
    pub proposed: Value,
    /// Configuration.
    pub config: Value,
    /// Private data of the prior state.
    pub private: Vec<u8>,
}

impl Planning<'_> {
    /// Returns true if the object is new.
    pub fn is_create(&self) -> bool {
        self.prior.is_null()
    }

    /// Returns the default plan; see [`Resource::plan`].
    pub fn by_default(self) -> Planned {
        plan::by_default(self)
    }
}

/// Result of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Planned value; unknown where only the apply can tell it.
    pub value: Value,
    /// Attributes whose change requires replacement.
    pub replace: Vec<Path>,
    /// Private data for the apply.
    pub private: Vec<u8>,
}

/// Implements the usual `import`: a state with the id in one attribute and nothing else.
///
/// # Errors
/// The schema has no such string attribute.
pub fn import_by(schema: &Schema, attribute: &str, id: &str) -> Result<State, Failure> {
    let refused = |problem| Failure::from(Diagnostic::error("the id cannot be imported", problem));
    // All other attributes stay null until the read that follows an import.
    let mut object = crate::Object::of(&schema.empty_value()).map_err(refused)?;
    object.set(attribute, Value::string(id));
    object.into_value().map(State::new).map_err(refused)
}
