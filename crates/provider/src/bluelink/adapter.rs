//! Provider adapter of one plugin process. Owns the schemas read at its start and maps each request
//! of the engine to calls of the plugin, or to none.

use super::check::check;
use super::context::Caller;
use super::cross_plugin_calls::{RunningPlugins, make_call};
use super::data::DataDefinition;
use super::decode_error::DecodeError;
use super::drift::merge_observed;
use super::host_requests::ActiveCalls;
use super::links::{Links, link_schema};
use super::plan::plan;
use super::replies::Reply;
use super::retry::{Next, Policy};
use super::schema::{Definition, ty};
use super::settings::BluelinkSettings;
use super::signature::Callable;
use super::state::{PrivateState, fit_to_type};
use super::wire::{Fault, Wire};
use crate::*;
use async_trait::async_trait;
use calls::{CallContext, Checked, Lane, Method, ProviderDiagnostic, ProviderError};
use cty::Value;
use proto::bluelink::providerserverv1::{FetchDataSourceRequest, FetchDataSourceResponse};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Process of a Bluelink provider.
pub(super) struct BluelinkProvider {
    pub(super) info: ProviderInfo,
    pub(super) wire: Arc<Wire>,
    pub(super) schema: Arc<ProviderSchema>,
    /// Schema with documentation texts, read at the first request.
    pub(super) documented: OnceCell<Arc<ProviderSchema>>,
    /// Resource types by their names in configurations.
    pub(super) definitions: Arc<BTreeMap<String, Definition>>,
    pub(super) data: BTreeMap<String, DataDefinition>,
    /// Functions available in configurations.
    pub(super) functions: BTreeMap<String, Callable>,
    pub(super) links: Links,
    pub(super) policy: Policy,
    pub(super) caller: Caller,
    pub(super) settings: Arc<BluelinkSettings>,
    /// Requests that the plugin sends to the host during its calls.
    pub(super) active_calls: Arc<ActiveCalls>,
    /// Other plugins in use, which own the resources at the ends of links.
    pub(super) running_plugins: Arc<RunningPlugins>,
    pub(super) lane: Arc<Lane>,
}

impl BluelinkProvider {
    fn definition(&self, type_name: &str) -> Result<&Definition, ProviderError> {
        self.definitions
            .get(type_name)
            .ok_or_else(|| ProviderError::NoSuchType {
                plugin: self.info.plugin.clone(),
                kind: "resource type",
                name: type_name.to_owned(),
            })
    }

    fn data_definition(&self, type_name: &str) -> Result<&DataDefinition, ProviderError> {
        self.data
            .get(type_name)
            .ok_or_else(|| ProviderError::NoSuchType {
                plugin: self.info.plugin.clone(),
                kind: "data source",
                name: type_name.to_owned(),
            })
    }

    /// Makes a call and repeats it while the plugin reports a transient error.
    pub(super) async fn call_with_retries<T, F>(
        &self,
        method: Method,
        ctx: &CallContext,
        call: impl FnMut(Option<Next>) -> F,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let (whom, secrets) = ((&self.info.plugin, method), self.lane.secrets());
        self.policy
            .call_with_retries(whom, secrets, ctx, call)
            .await
    }

    /// Makes one call, reported under its own method.
    pub(super) async fn item<A>(
        &self,
        (method, path): (Method, &'static str),
        call: (&CallContext, Option<Next>),
        request: impl prost::Message + 'static,
    ) -> Result<A::Good, Fault>
    where
        A: Reply,
        A::Good: Send,
    {
        let what = (method, path, "could not complete the call");
        make_call::<A>((&self.lane, &self.wire), what, call, request, || ()).await
    }
}

#[async_trait]
impl Provider for BluelinkProvider {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn known_schema(&self) -> Option<Arc<ProviderSchema>> {
        Some(self.schema.clone())
    }

    async fn schema(&self, _: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError> {
        Ok(self.schema.clone())
    }

    async fn documented(&self, _: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError> {
        Box::pin(self.with_texts()).await
    }

    async fn validate_provider(
        &self,
        config: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        Ok(Checked {
            diagnostics: self.caller.check(&config),
        })
    }

    async fn configure(&self, _: Value, _: &CallContext) -> Result<Checked, ProviderError> {
        // Each call carries the configuration.
        Ok(Checked::default())
    }

    async fn validate_resource(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        if type_name == LINK {
            return Box::pin(self.validate_link(config, ctx)).await;
        }
        let of = self.definition(type_name)?;
        let mut diagnostics = check(&of.node, &config);
        // The plugin sees only configurations that its schema allows.
        if diagnostics.is_empty() {
            diagnostics = self.validated(of, &config, ctx).await?;
        }
        Ok(Checked { diagnostics })
    }

    async fn upgrade(
        &self,
        request: UpgradeRequest,
        _: &CallContext,
    ) -> Result<UpgradeResponse, ProviderError> {
        let wanted = match &*request.type_name {
            LINK => link_schema().implied_type().clone(),
            name => ty(&self.definition(name)?.node),
        };
        let read = || -> Result<Value, DecodeError> {
            let stored = serde_json::from_slice(&request.raw_json)?;
            Ok(cty::json::decode_value(
                &fit_to_type(stored, &wanted),
                &wanted,
            )?)
        };
        let (state, diagnostics) = match read() {
            Ok(state) => (state, Vec::new()),
            Err(why) => {
                let detail = format!(
                    "The state does not match the schema of this plugin version, and Bluelink plugins cannot upgrade a state: {why}. Use the plugin version that wrote the state, or import the object again."
                );
                let wrong = ProviderDiagnostic::error(
                    "Stored state does not match the schema of the plugin",
                    detail,
                );
                (Value::null(wanted), vec![wrong])
            }
        };
        Ok(UpgradeResponse { state, diagnostics })
    }

    async fn read(
        &self,
        request: ReadRequest,
        ctx: &CallContext,
    ) -> Result<ReadResponse, ProviderError> {
        if request.type_name == LINK {
            return Box::pin(self.read_link(request, ctx)).await;
        }
        let of = self.definition(&request.type_name)?;
        let answer = |state, diagnostics| ReadResponse {
            state,
            // An object without private data gets an id here.
            private: PrivateState::decode(&request.private).bytes(),
            identity: None,
            diagnostics,
        };
        Ok(
            match self
                .read_object(of, &request.current, &request.private, ctx)
                .await
            {
                Ok(seen) if seen.is_null() => answer(seen, Vec::new()),
                Ok(seen) => {
                    let seen = merge_observed(&of.node, &request.current, &seen);
                    return self
                        .recheck_stability(of, seen, &request.private, ctx)
                        .await;
                }
                Err(Fault::Call(error)) => return Err(error),
                // An error does not prove that the object is gone, so the state keeps it.
                Err(Fault::Reported(said)) => {
                    let mut said = said.diagnostic("could not read the object");
                    said.detail += ". The object may or may not exist: some plugins return this error for a deleted object.";
                    answer(request.current, vec![said])
                }
            },
        )
    }

    /// Plans a change. The protocol has a plan call for links only; other plans are computed here.
    async fn plan(
        &self,
        request: PlanRequest,
        ctx: &CallContext,
    ) -> Result<PlanResponse, ProviderError> {
        if request.type_name == LINK {
            return Box::pin(self.plan_link(request, ctx)).await;
        }
        let of = self.definition(&request.type_name)?;
        let mut kept = PrivateState::decode(&request.prior_private);
        if request.prior.is_null() {
            // An object that does not exist yet cannot be unstable.
            kept.unstable = None;
        }
        let private = kept.bytes();
        let answer = |planned, requires_replace| PlanResponse {
            planned,
            requires_replace,
            private,
            identity: None,
            legacy: false,
            diagnostics: Vec::new(),
        };
        // A destroy has nothing to compute.
        if request.config.is_null() && request.proposed.is_null() {
            return Ok(answer(request.proposed, Vec::new()));
        }
        let planned = plan(of, &request.prior, &request.config, kept.unstable.is_some())
            .map_err(|what| self.wire.undecodable(Method::Plan, what))?;
        Ok(answer(planned.value, planned.requires_replace))
    }

    async fn apply(
        &self,
        request: ApplyRequest,
        ctx: &CallContext,
    ) -> Result<ApplyResponse, ProviderError> {
        if request.type_name == LINK {
            return Box::pin(self.apply_link(request, ctx)).await;
        }
        let of = self.definition(&request.type_name)?;
        // Registered before the call, because the plugin may send requests on its behalf.
        let entry = self
            .active_calls
            .enter(&self.caller.plugin_id, &self.lane, ctx);
        let ctx = &CallContext {
            dialect_call: entry.as_ref().map(|entry| entry.call.number),
            ..ctx.clone()
        };
        let answer = match request.planned.is_null() {
            true => self.destroy(of, request, ctx).await,
            false => self.deploy(of, request, ctx).await,
        };
        // The operation ends only after the requests that its plugin sent have ended.
        if let Some(entry) = entry {
            entry.end().await;
        }
        answer
    }

    /// Imports an object by its id. The protocol has no import call, so the object is read instead.
    async fn import(
        &self,
        request: ImportRequest,
        ctx: &CallContext,
    ) -> Result<ImportResponse, ProviderError> {
        if request.type_name == LINK {
            let detail = "The plugin protocol has no call to read a link. Deploy the link instead: the plugin determines which parts of it already exist.";
            let wrong = ProviderDiagnostic::error("Links cannot be imported", detail);
            return Ok(ImportResponse {
                imported: Vec::new(),
                diagnostics: vec![wrong],
            });
        }
        let of = self.definition(&request.type_name)?;
        // A read needs a spec; an import knows only the id field.
        let null = Value::null(ty(&of.node));
        let members = of.node.attributes.iter().map(|(name, node)| {
            let is_id = *name == of.id_field && ty(node) == cty::Type::String;
            let value = if is_id {
                Value::string(&request.id)
            } else {
                Value::null(ty(node))
            };
            (name.clone(), value)
        });
        let asked = Value::object(members);
        let private = PrivateState::decode(&Bytes::new()).bytes();
        let mut diagnostics = Vec::new();
        let seen = match self.read_object(of, &asked, &private, ctx).await {
            Ok(seen) => seen,
            Err(Fault::Call(error)) => return Err(error),
            Err(Fault::Reported(said)) => {
                diagnostics.push(said.diagnostic("could not read the object"));
                null
            }
        };
        let imported = Imported {
            type_name: request.type_name,
            state: seen,
            private,
            identity: None,
        };
        let found = !imported.state.is_null();
        if !found && diagnostics.is_empty() {
            let detail = format!(
                "The plugin found no {} with the {} {:?}.",
                of.wire, of.id_field, request.id
            );
            diagnostics.push(ProviderDiagnostic::error("Object not found", detail));
        }
        Ok(ImportResponse {
            imported: found.then_some(imported).into_iter().collect(),
            diagnostics,
        })
    }

    async fn validate_data(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        let of = self.data_definition(type_name)?;
        let mut diagnostics = of.check(&config);
        if diagnostics.is_empty() {
            diagnostics = self.validated_data(of, &config, ctx).await?;
        }
        Ok(Checked { diagnostics })
    }

    async fn read_data(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<DataResponse, ProviderError> {
        let of = self.data_definition(type_name)?;
        let question = of.request(&config);
        let request = FetchDataSourceRequest {
            data_source_type: question.r#type.clone(),
            data_source_with_resolved_subs: Some(question),
            host_id: self.wire.host_id.clone(),
            context: Some(self.caller.context(ctx)),
        };
        let (method, path) = (
            Method::FetchDataSource,
            "/providerserverv1.Provider/FetchDataSource",
        );
        let asked = |next| {
            self.item::<FetchDataSourceResponse>((method, path), (ctx, next), request.clone())
        };
        let (state, diagnostics) = match self.call_with_retries(method, ctx, asked).await {
            Ok(complete) => {
                let object = of.object(&config, &complete.data);
                object.map_err(|what| self.wire.undecodable(method, what))?
            }
            Err(Fault::Call(error)) => return Err(error),
            Err(Fault::Reported(said)) => (
                config,
                vec![said.diagnostic("could not read the data source")],
            ),
        };
        Ok(DataResponse { state, diagnostics })
    }

    async fn call_function(
        &self,
        name: &str,
        arguments: Vec<Value>,
        ctx: &CallContext,
        // The protocol has no stop call; the context ends waits between calls.
    ) -> Result<FunctionResponse, ProviderError> {
        self.function(name, arguments, ctx).await
    }

    async fn stop(&self, _: &CallContext) -> Result<(), ProviderError> {
        // There is no such call: what waits between calls ends by the context that it has.
        Ok(())
    }
}
