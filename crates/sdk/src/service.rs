//! The provider protocol 6 over a [`Provider`]: each call decoded, run as a task of its own, answered.
//! Owns the schemas, asked once, and the token by which StopProvider reaches the calls that run.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use cty::{Type, Value};
use proto::tfplugin6 as pb;
use proto::tfplugin6::provider_server::Provider as Wire;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status};

use crate::codec;
use crate::diagnostics::{Diagnostic, Diagnostics, Failure, path_to_wire};
use crate::provider::{Change, Context, DataSource, Planning, Provider, Resource, State};
use crate::schema::Schema;
use crate::{check, wire_schema};

/// A schema with the type of its values and what it belongs to.
struct Entry<T: ?Sized> {
    item: Arc<T>,
    schema: Schema,
    ty: Type,
}

impl<T: ?Sized> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Entry { item: self.item.clone(), schema: self.schema.clone(), ty: self.ty.clone() }
    }
}

impl<T: ?Sized> Entry<T> {
    fn new(item: Arc<T>, schema: Schema) -> Arc<Entry<T>> {
        let ty = schema.implied_type();
        Arc::new(Entry { item, schema, ty })
    }
}

/// The protocol's server.
pub(crate) struct Service {
    provider: Arc<Entry<dyn Provider>>,
    resources: BTreeMap<String, Arc<Entry<dyn Resource>>>,
    data_sources: BTreeMap<String, Arc<Entry<dyn DataSource>>>,
    schema: pb::get_provider_schema::Response,
    stop: Mutex<CancellationToken>,
    end: CancellationToken,
    tasks: TaskTracker,
}

/// The outcome of a call's task: a panic in it becomes a diagnostic.
type Outcome<T> = Result<T, Failure>;

impl Service {
    /// Asks the provider for everything that does not change; the error says what is wrong with a schema.
    pub(crate) fn new(provider: Arc<dyn Provider>, tasks: TaskTracker, end: CancellationToken) -> Result<Service, String> {
        let resources: BTreeMap<_, _> =
            provider.resources().into_iter().map(|item| (item.name().to_owned(), Entry::new(item.clone(), item.schema()))).collect();
        let data_sources: BTreeMap<_, _> =
            provider.data_sources().into_iter().map(|item| (item.name().to_owned(), Entry::new(item.clone(), item.schema()))).collect();
        let schema = provider.schema();
        let provider = Entry::new(provider, schema);
        let mut answer = pb::get_provider_schema::Response {
            provider: Some(wire_schema::to_wire("the provider", &provider.schema)?),
            server_capabilities: Some(capabilities()),
            ..Default::default()
        };
        for (name, entry) in &resources {
            answer.resource_schemas.insert(name.clone(), wire_schema::to_wire(name, &entry.schema)?);
        }
        for (name, entry) in &data_sources {
            answer.data_source_schemas.insert(name.clone(), wire_schema::to_wire(name, &entry.schema)?);
        }
        let stop = Mutex::new(end.child_token());
        Ok(Service { provider, resources, data_sources, schema: answer, stop, end, tasks })
    }

    fn resource(&self, name: &str) -> Result<Arc<Entry<dyn Resource>>, Failure> {
        self.resources.get(name).cloned().ok_or_else(|| self.not_here("resource type", name))
    }

    fn data_source(&self, name: &str) -> Result<Arc<Entry<dyn DataSource>>, Failure> {
        self.data_sources.get(name).cloned().ok_or_else(|| self.not_here("data source", name))
    }

    fn not_here(&self, what: &str, name: &str) -> Failure {
        Failure::new(format!("unknown {what} {name}"), format!("the provider {} has no {what} of that name", self.provider.item.name()))
    }

    /// Runs a call as a task: it goes on to its end even if the host hangs up, but is then asked to stop.
    async fn run<T, F, Fut>(&self, call: F) -> Outcome<T>
    where
        T: Send + 'static,
        F: FnOnce(Context) -> Fut,
        Fut: Future<Output = Outcome<T>> + Send + 'static,
    {
        let stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner).child_token();
        let hung_up = stop.clone().drop_guard();
        let outcome = self.tasks.spawn(call(Context { stop })).await;
        hung_up.disarm();
        outcome.unwrap_or_else(|error| {
            let text = error.try_into_panic().map(|payload| panic_text(payload.as_ref())).unwrap_or_else(|_| "cancelled".into());
            Err(Failure::new("the provider panicked", format!("{text}\nThis is a fault of the provider; its log names the place.")))
        })
    }
}

/// The words of a panic.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without words".into())
}

fn capabilities() -> pb::ServerCapabilities {
    pb::ServerCapabilities { plan_destroy: true, get_provider_schema_optional: true, ..Default::default() }
}

/// Diagnostics of a failure; a failure always says something.
fn words(failure: Failure) -> Diagnostics {
    let mut diagnostics = failure.diagnostics;
    if !diagnostics.has_errors() {
        diagnostics.error("the provider failed", "it did not say why");
    }
    diagnostics
}

fn diagnostics_of(outcome: Outcome<Diagnostics>) -> Vec<pb::Diagnostic> {
    outcome.unwrap_or_else(words).into_wire()
}

/// What the host keeps of an answer: private bytes that the author did not set stay as they were.
fn private_of(state: &State, former: &[u8]) -> proto::Bytes {
    if state.private.is_empty() { proto::Bytes::copy_from_slice(former) } else { state.private.clone().into() }
}

async fn plan(
    entry: Arc<Entry<dyn Resource>>,
    cx: Context,
    request: pb::plan_resource_change::Request,
) -> Outcome<pb::plan_resource_change::Response> {
    let (prior, proposed) = (codec::decode(request.prior_state, &entry.ty)?, codec::decode(request.proposed_new_state, &entry.ty)?);
    let config = codec::decode(request.config, &entry.ty)?;
    let private = request.prior_private.to_vec();
    let mut answer = pb::plan_resource_change::Response::default();
    if proposed.is_null() {
        let diagnostics = entry.item.plan_destroy(&cx, &State::new(prior).with_private(private)).await?;
        answer.planned_state = Some(codec::encode(&proposed, &entry.ty)?);
        answer.planned_private = request.prior_private;
        answer.diagnostics = diagnostics.into_wire();
        return Ok(answer);
    }
    let planned = entry.item.plan(&cx, Planning { schema: &entry.schema, prior, proposed, config, private }).await?;
    answer.planned_state = Some(codec::encode(&planned.value, &entry.ty)?);
    answer.requires_replace = planned.replace.iter().map(path_to_wire).collect();
    answer.planned_private = planned.private.into();
    answer.diagnostics = planned.warnings.into_wire();
    Ok(answer)
}

async fn apply(
    entry: Arc<Entry<dyn Resource>>,
    cx: Context,
    request: pb::apply_resource_change::Request,
) -> Outcome<pb::apply_resource_change::Response> {
    let mut answer = pb::apply_resource_change::Response::default();
    let prior = codec::decode(request.prior_state, &entry.ty)?;
    let planned = codec::decode(request.planned_state, &entry.ty)?;
    let config = codec::decode(request.config, &entry.ty)?;
    let former = request.planned_private;
    let gone = Value::null(entry.ty.clone());
    let keep = prior.clone();
    let done = if planned.is_null() {
        let state = State::new(prior).with_private(former.to_vec());
        entry.item.delete(&cx, state).await.map(|warnings| State { warnings, ..State::new(gone) })
    } else {
        let change = Change { prior, planned, config, private: former.to_vec() };
        let creating = change.prior.is_null();
        let made = if creating { entry.item.create(&cx, change).await } else { entry.item.update(&cx, change).await };
        made.and_then(finished)
    };
    match done {
        Ok(state) => {
            // the private bytes of an object that is gone are of no use to anyone
            answer.private = if state.value.is_null() { proto::Bytes::new() } else { private_of(&state, &former) };
            answer.new_state = Some(codec::encode(&state.value, &entry.ty)?);
            answer.diagnostics = state.warnings.into_wire();
        }
        Err(mut failure) => {
            // without a partial state: what was there is there still (for a create: nothing)
            let state = failure.partial.take().map_or_else(|| State::new(keep), |partial| *partial);
            answer.private = private_of(&state, &former);
            match codec::encode(&state.value, &entry.ty) {
                Ok(value) => answer.new_state = Some(value),
                Err(wrong) => failure.diagnostics.extend(wrong.diagnostics),
            }
            answer.diagnostics = words(failure).into_wire();
        }
    }
    Ok(answer)
}

/// What a create or update may return: an object in which everything is known.
fn finished(state: State) -> Outcome<State> {
    if state.value.is_null() {
        return Err(Failure::new(
            "the provider returned nothing",
            "a create or update must return the object; this is a fault of the provider",
        ));
    }
    let mut unknown = Vec::new();
    state.value.walk(&mut |path, value| {
        if !value.is_known() {
            unknown.push(path.clone());
        }
        !value.is_wholly_known()
    });
    let Some(first) = unknown.first().cloned() else { return Ok(state) };
    let detail = format!("{first} is still unknown after the change; this is a fault of the provider, and null is kept in its place");
    let known = State { value: state.value.unknown_as_null(), ..state };
    Err(Failure::from(Diagnostic::error("the provider did not say all", detail).at(first)).with_partial(known))
}

async fn read(entry: Arc<Entry<dyn Resource>>, cx: Context, request: pb::read_resource::Request) -> Outcome<pb::read_resource::Response> {
    let value = codec::decode(request.current_state.clone(), &entry.ty)?;
    if value.is_null() {
        return Ok(pb::read_resource::Response { new_state: request.current_state, private: request.private, ..Default::default() });
    }
    let state = State::new(value).with_private(request.private.to_vec());
    let found = entry.item.read(&cx, state).await?;
    let state = found.unwrap_or_else(|| State::new(Value::null(entry.ty.clone())));
    Ok(pb::read_resource::Response {
        new_state: Some(codec::encode(&state.value, &entry.ty)?),
        private: private_of(&state, &request.private),
        diagnostics: state.warnings.into_wire(),
        ..Default::default()
    })
}

async fn upgrade(entry: Arc<Entry<dyn Resource>>, cx: Context, request: pb::upgrade_resource_state::Request) -> Outcome<pb::DynamicValue> {
    let version = entry.schema.version;
    if request.version > version {
        return Err(Failure::new(
            format!("the state of this {} is newer than the provider", request.type_name),
            format!("it was written with schema version {}, this provider knows {version}; use the newer provider", request.version),
        ));
    }
    let raw = request.raw_state.unwrap_or_default();
    if raw.json.is_empty() {
        return Err(Failure::new("the state is of a form that is not supported", "it holds no JSON; it was written by a very old program"));
    }
    let mut json: serde_json::Value = serde_json::from_slice(&raw.json)
        .map_err(|error| Failure::new(format!("the state of this {} is not JSON", request.type_name), error.to_string()))?;
    if request.version < version {
        json = entry.item.upgrade(&cx, request.version, json).await?;
    }
    let state = codec::from_state_json(json, &entry.ty)?;
    codec::encode(&entry.schema.block.with_empty_blocks(state), &entry.ty)
}

fn not_served(method: &str) -> Status {
    Status::unimplemented(format!("this provider does not serve {method}"))
}

type Answer<T> = Result<Response<T>, Status>;
type NoStream<T> = Pin<Box<dyn futures_util::Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Wire for Service {
    async fn get_metadata(&self, _: Request<pb::get_metadata::Request>) -> Answer<pb::get_metadata::Response> {
        let resource = |name: &String| pb::get_metadata::ResourceMetadata { type_name: name.clone() };
        let data = |name: &String| pb::get_metadata::DataSourceMetadata { type_name: name.clone() };
        Ok(Response::new(pb::get_metadata::Response {
            server_capabilities: Some(capabilities()),
            resources: self.resources.keys().map(resource).collect(),
            data_sources: self.data_sources.keys().map(data).collect(),
            ..Default::default()
        }))
    }

    async fn get_provider_schema(&self, _: Request<pb::get_provider_schema::Request>) -> Answer<pb::get_provider_schema::Response> {
        Ok(Response::new(self.schema.clone()))
    }

    async fn get_resource_identity_schemas(
        &self,
        _: Request<pb::get_resource_identity_schemas::Request>,
    ) -> Answer<pb::get_resource_identity_schemas::Response> {
        Ok(Response::new(pb::get_resource_identity_schemas::Response::default()))
    }

    async fn get_functions(&self, _: Request<pb::get_functions::Request>) -> Answer<pb::get_functions::Response> {
        Ok(Response::new(pb::get_functions::Response::default()))
    }

    async fn validate_provider_config(
        &self,
        request: Request<pb::validate_provider_config::Request>,
    ) -> Answer<pb::validate_provider_config::Response> {
        let (request, entry) = (request.into_inner(), self.provider.clone());
        let outcome = self.run(|cx| async move {
            let config = codec::decode(request.config, &entry.ty)?;
            let mut diagnostics = check::against(&entry.schema, &config);
            diagnostics.extend(entry.item.validate(&cx, &config).await);
            Ok(diagnostics)
        });
        Ok(Response::new(pb::validate_provider_config::Response { diagnostics: diagnostics_of(outcome.await) }))
    }

    async fn configure_provider(&self, request: Request<pb::configure_provider::Request>) -> Answer<pb::configure_provider::Response> {
        let (request, entry) = (request.into_inner(), self.provider.clone());
        let outcome = self.run(|cx| async move {
            let config = codec::decode(request.config, &entry.ty)?;
            Ok(entry.item.configure(&cx, &config).await)
        });
        Ok(Response::new(pb::configure_provider::Response { diagnostics: diagnostics_of(outcome.await) }))
    }

    async fn validate_resource_config(
        &self,
        request: Request<pb::validate_resource_config::Request>,
    ) -> Answer<pb::validate_resource_config::Response> {
        let request = request.into_inner();
        let entry = self.resource(&request.type_name);
        let outcome = self.run(|cx| async move {
            let entry = entry?;
            let config = codec::decode(request.config, &entry.ty)?;
            let mut diagnostics = check::against(&entry.schema, &config);
            diagnostics.extend(entry.item.validate(&cx, &config).await);
            Ok(diagnostics)
        });
        Ok(Response::new(pb::validate_resource_config::Response { diagnostics: diagnostics_of(outcome.await) }))
    }

    async fn validate_data_resource_config(
        &self,
        request: Request<pb::validate_data_resource_config::Request>,
    ) -> Answer<pb::validate_data_resource_config::Response> {
        let request = request.into_inner();
        let entry = self.data_source(&request.type_name);
        let outcome = self.run(|cx| async move {
            let entry = entry?;
            let config = codec::decode(request.config, &entry.ty)?;
            let mut diagnostics = check::against(&entry.schema, &config);
            diagnostics.extend(entry.item.validate(&cx, &config).await);
            Ok(diagnostics)
        });
        Ok(Response::new(pb::validate_data_resource_config::Response { diagnostics: diagnostics_of(outcome.await) }))
    }

    async fn upgrade_resource_state(
        &self,
        request: Request<pb::upgrade_resource_state::Request>,
    ) -> Answer<pb::upgrade_resource_state::Response> {
        let request = request.into_inner();
        let entry = self.resource(&request.type_name);
        let answer = match self.run(|cx| async move { upgrade(entry?, cx, request).await }).await {
            Ok(state) => pb::upgrade_resource_state::Response { upgraded_state: Some(state), ..Default::default() },
            Err(failure) => pb::upgrade_resource_state::Response { diagnostics: words(failure).into_wire(), ..Default::default() },
        };
        Ok(Response::new(answer))
    }

    async fn read_resource(&self, request: Request<pb::read_resource::Request>) -> Answer<pb::read_resource::Response> {
        let request = request.into_inner();
        let entry = self.resource(&request.type_name);
        let (state, private) = (request.current_state.clone(), request.private.clone());
        let answer = self.run(|cx| async move { read(entry?, cx, request).await }).await.unwrap_or_else(|failure| {
            // a read that failed says nothing about the object: the host keeps what it has
            pb::read_resource::Response { new_state: state, private, diagnostics: words(failure).into_wire(), ..Default::default() }
        });
        Ok(Response::new(answer))
    }

    async fn plan_resource_change(
        &self,
        request: Request<pb::plan_resource_change::Request>,
    ) -> Answer<pb::plan_resource_change::Response> {
        let request = request.into_inner();
        let entry = self.resource(&request.type_name);
        let (state, private) = (request.prior_state.clone(), request.prior_private.clone());
        let answer = self.run(|cx| async move { plan(entry?, cx, request).await }).await.unwrap_or_else(|failure| {
            let diagnostics = words(failure).into_wire();
            pb::plan_resource_change::Response { planned_state: state, planned_private: private, diagnostics, ..Default::default() }
        });
        Ok(Response::new(answer))
    }

    async fn apply_resource_change(
        &self,
        request: Request<pb::apply_resource_change::Request>,
    ) -> Answer<pb::apply_resource_change::Response> {
        let request = request.into_inner();
        let entry = self.resource(&request.type_name);
        let (state, private) = (request.prior_state.clone(), request.planned_private.clone());
        let answer = self.run(|cx| async move { apply(entry?, cx, request).await }).await.unwrap_or_else(|failure| {
            pb::apply_resource_change::Response { new_state: state, private, diagnostics: words(failure).into_wire(), ..Default::default() }
        });
        Ok(Response::new(answer))
    }

    async fn import_resource_state(
        &self,
        request: Request<pb::import_resource_state::Request>,
    ) -> Answer<pb::import_resource_state::Response> {
        let request = request.into_inner();
        let entry = self.resource(&request.type_name);
        let outcome = self.run(|cx| async move {
            let entry = entry?;
            let state = entry.item.import(&cx, &request.id).await?;
            let imported = pb::import_resource_state::ImportedResource {
                type_name: request.type_name,
                state: Some(codec::encode(&state.value, &entry.ty)?),
                private: state.private.into(),
                ..Default::default()
            };
            Ok((imported, state.warnings))
        });
        let mut answer = pb::import_resource_state::Response::default();
        match outcome.await {
            Ok((imported, warnings)) => {
                answer.imported_resources.push(imported);
                answer.diagnostics = warnings.into_wire();
            }
            Err(failure) => answer.diagnostics = words(failure).into_wire(),
        }
        Ok(Response::new(answer))
    }

    async fn read_data_source(&self, request: Request<pb::read_data_source::Request>) -> Answer<pb::read_data_source::Response> {
        let request = request.into_inner();
        let entry = self.data_source(&request.type_name);
        let outcome = self.run(|cx| async move {
            let entry = entry?;
            let config = codec::decode(request.config, &entry.ty)?;
            codec::encode(&entry.item.read(&cx, config).await?, &entry.ty)
        });
        let answer = match outcome.await {
            Ok(state) => pb::read_data_source::Response { state: Some(state), ..Default::default() },
            Err(failure) => pb::read_data_source::Response { diagnostics: words(failure).into_wire(), ..Default::default() },
        };
        Ok(Response::new(answer))
    }

    /// Reaches every call that runs now; calls that come later start afresh.
    async fn stop_provider(&self, _: Request<pb::stop_provider::Request>) -> Answer<pb::stop_provider::Response> {
        let running = {
            let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *stop, self.end.child_token())
        };
        running.cancel();
        Ok(Response::new(pb::stop_provider::Response::default()))
    }

    type ListResourceStream = NoStream<pb::list_resource::Event>;
    type InvokeActionStream = NoStream<pb::invoke_action::Event>;

    async fn upgrade_resource_identity(
        &self,
        _: Request<pb::upgrade_resource_identity::Request>,
    ) -> Answer<pb::upgrade_resource_identity::Response> {
        Err(not_served("UpgradeResourceIdentity"))
    }

    async fn move_resource_state(&self, _: Request<pb::move_resource_state::Request>) -> Answer<pb::move_resource_state::Response> {
        Err(not_served("MoveResourceState"))
    }

    async fn generate_resource_config(
        &self,
        _: Request<pb::generate_resource_config::Request>,
    ) -> Answer<pb::generate_resource_config::Response> {
        Err(not_served("GenerateResourceConfig"))
    }

    async fn validate_ephemeral_resource_config(
        &self,
        _: Request<pb::validate_ephemeral_resource_config::Request>,
    ) -> Answer<pb::validate_ephemeral_resource_config::Response> {
        Err(not_served("ValidateEphemeralResourceConfig"))
    }

    async fn open_ephemeral_resource(
        &self,
        _: Request<pb::open_ephemeral_resource::Request>,
    ) -> Answer<pb::open_ephemeral_resource::Response> {
        Err(not_served("OpenEphemeralResource"))
    }

    async fn renew_ephemeral_resource(
        &self,
        _: Request<pb::renew_ephemeral_resource::Request>,
    ) -> Answer<pb::renew_ephemeral_resource::Response> {
        Err(not_served("RenewEphemeralResource"))
    }

    async fn close_ephemeral_resource(
        &self,
        _: Request<pb::close_ephemeral_resource::Request>,
    ) -> Answer<pb::close_ephemeral_resource::Response> {
        Err(not_served("CloseEphemeralResource"))
    }

    async fn list_resource(&self, _: Request<pb::list_resource::Request>) -> Answer<Self::ListResourceStream> {
        Err(not_served("ListResource"))
    }

    async fn validate_list_resource_config(
        &self,
        _: Request<pb::validate_list_resource_config::Request>,
    ) -> Answer<pb::validate_list_resource_config::Response> {
        Err(not_served("ValidateListResourceConfig"))
    }

    async fn call_function(&self, _: Request<pb::call_function::Request>) -> Answer<pb::call_function::Response> {
        Err(not_served("CallFunction"))
    }

    async fn unlock_state(&self, _: Request<pb::unlock_state::Request>) -> Answer<pb::unlock_state::Response> {
        Err(not_served("UnlockState"))
    }

    async fn plan_action(&self, _: Request<pb::plan_action::Request>) -> Answer<pb::plan_action::Response> {
        Err(not_served("PlanAction"))
    }

    async fn invoke_action(&self, _: Request<pb::invoke_action::Request>) -> Answer<Self::InvokeActionStream> {
        Err(not_served("InvokeAction"))
    }

    async fn validate_action_config(
        &self,
        _: Request<pb::validate_action_config::Request>,
    ) -> Answer<pb::validate_action_config::Response> {
        Err(not_served("ValidateActionConfig"))
    }
}
