//! Implements the dialect: claims plugins and builds the adapter of a started process from the
//! schemas it returns. Owns the settings and the id of the host.

use super::adapter::BluelinkProvider;
use super::context::Caller;
use super::cross_plugin_calls::{RunningPlugin, RunningPlugins};
use super::data::DataDefinition;
use super::lifecycle::{BluelinkLifecycle, BluelinkLink};
use super::links::{Links, link_schema, links, pairs};
use super::replies::Reply;
use super::retry::Policy;
use super::schema::{self, Definition, type_name};
use super::settings::BluelinkSettings;
use super::signature::{Callable, callable};
use super::wire::{Fault, Wire};
use crate::dialect::{Configuration, ConnectedProcess, Dialect};
use crate::*;
use async_trait::async_trait;
use calls::{CallContext, Method, ProviderDiagnostic, ProviderError};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use model::{Action, PLUGIN_PATH_DIALECT, PluginFound, PluginKind, Severity};
use plugin::lifecycle::Lifecycle;
use proto::bluelink::providerserverv1::*;
use proto::bluelink::sharedtypesv1::{
    ConfigDefinitionResponse, FunctionDefinition, FunctionDefinitionRequest,
    FunctionDefinitionResponse, ResourceType,
};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Maximum number of types queried concurrently.
const MAX_CONCURRENT_TYPES: usize = 16;

/// Dialect of Bluelink plugins.
#[derive(Debug)]
pub struct Bluelink {
    lifecycle: BluelinkLifecycle,
    settings: Arc<BluelinkSettings>,
}

impl Bluelink {
    /// Creates the dialect with a random host id.
    #[must_use]
    pub fn new(settings: BluelinkSettings) -> Self {
        let host_id = uuid::Uuid::new_v4().to_string();
        let settings = Arc::new(settings);
        Self {
            lifecycle: BluelinkLifecycle {
                kind: PluginKind::Provider,
                host_id,
                running_plugins: Arc::new(RunningPlugins::new(settings.clone())),
            },
            settings,
        }
    }
}

#[async_trait]
impl Dialect for Bluelink {
    fn name(&self) -> &'static str {
        PLUGIN_PATH_DIALECT
    }

    fn claims(&self, found: &PluginFound) -> bool {
        found.dialect.as_deref() == Some(self.name())
    }

    fn lifecycle(&self) -> Arc<dyn Lifecycle> {
        Arc::new(self.lifecycle.clone())
    }

    fn transformers(&self) -> Option<Arc<dyn Lifecycle>> {
        Some(Arc::new(BluelinkLifecycle {
            kind: PluginKind::Transformer,
            ..self.lifecycle.clone()
        }))
    }

    fn configuration(&self) -> Configuration {
        Configuration::OfCall
    }

    fn plugins_call_each_other(&self) -> bool {
        true
    }

    async fn adapter(&self, reached: ConnectedProcess) -> Result<Arc<dyn Provider>, ProviderError> {
        let Some(link) = reached.connection.link::<BluelinkLink>() else {
            return Err(reached.wrong_dialect_error());
        };
        let wire = Wire::new(reached.plugin.clone(), link, reached.exit_reporter.clone());
        let wire = Arc::new(wire);
        let said = Box::pin(describe_provider(&wire));
        // Asked as one call of the engine, with one deadline for all schema requests.
        let said = reached.setup_calls.make_call(Method::Schema, said).await?;
        // From here on single calls are reported, because one request may take several of them.
        reached.setup_calls.lane.report_single_calls(rpc);
        let functions = callables(&said.functions);
        let schema = Arc::new(provider_schema(&said, &functions));
        let definitions = Arc::new(said.definitions);
        // Other plugins can use it only now, once its definitions are known.
        self.lifecycle.running_plugins.add(RunningPlugin {
            id: link.id.clone(),
            address: reached.address.clone(),
            lane: reached.setup_calls.lane.clone(),
            users: reached.users.clone(),
            wire: wire.clone(),
            definitions: definitions.clone(),
            functions: said.functions,
        });
        let caller = Caller {
            config: said.config,
            plugin_id: link.id.clone(),
            plugin_version: link.version.clone(),
            session: uuid::Uuid::new_v4(),
        };
        let info = ProviderInfo {
            plugin: reached.plugin,
            address: reached.address,
            dialect: "bluelink1.0",
        };
        Ok(Arc::new(BluelinkProvider {
            info,
            wire,
            schema,
            documented: OnceCell::new(),
            definitions,
            data: said.data,
            functions,
            links: said.links,
            policy: Policy::of(&said.policy, self.settings.retries),
            caller,
            settings: self.settings.clone(),
            active_calls: self.lifecycle.running_plugins.active_calls.clone(),
            running_plugins: self.lifecycle.running_plugins.clone(),
            lane: reached.setup_calls.lane,
        }))
    }
}

/// Returns the first call of the plugin for a request of the engine, or the request itself.
fn rpc(method: Method, ctx: &CallContext) -> Method {
    let is_link = ctx.resource_type.as_deref() == Some(LINK);
    match (method, is_link) {
        (Method::Apply, true) => Method::LinkResourceA,
        (Method::Apply, false) if ctx.action == Some(Action::Destroy) => Method::DestroyResource,
        (Method::Apply, false) => Method::DeployResource,
        (Method::Read, true) => Method::GetLinkIntermediaryExternalState,
        (Method::Read | Method::Import, false) => Method::GetResourceExternalState,
        (Method::ValidateResource, true) => Method::ValidateLink,
        (Method::ValidateResource, false) => Method::CustomValidateResource,
        (Method::Plan, true) => Method::StageLinkChanges,
        (Method::ReadData, _) => Method::FetchDataSource,
        (method, _) => method,
    }
}

/// Schemas and settings of a provider.
struct ProviderDescription {
    config: proto::bluelink::sharedtypesv1::ConfigDefinition,
    policy: RetryPolicy,
    definitions: BTreeMap<String, Definition>,
    data: BTreeMap<String, DataDefinition>,
    functions: BTreeMap<String, FunctionDefinition>,
    links: Links,
    /// Types whose names in configurations collide with another type.
    duplicate_types: Vec<String>,
}

async fn describe_provider(wire: &Wire) -> Result<ProviderDescription, ProviderError> {
    let config = optional::<ConfigDefinitionResponse>(
        wire,
        "/providerserverv1.Provider/GetConfigDefinition",
    );
    let policy = optional::<RetryPolicyResponse>(wire, "/providerserverv1.Provider/GetRetryPolicy");
    let types = wire.ask::<ResourceTypesResponse>(
        Method::Schema,
        "/providerserverv1.Provider/ListResourceTypes",
        request(wire),
    );
    let (config, policy) = (config.await?, policy.await?);
    let types = types
        .await
        .map_err(|fault| wire.refused(Method::Schema, fault))?;
    let mut types: Vec<String> = types.resource_types.into_iter().map(|t| t.r#type).collect();
    // Sorted, so that collisions resolve the same way in every run.
    types.sort();
    let all = stream::iter(types.into_iter().map(|kind| definition(wire, kind)));
    let all: Vec<Definition> = all.buffered(MAX_CONCURRENT_TYPES).try_collect().await?;
    let (mut definitions, mut doubles) = (BTreeMap::new(), Vec::new());
    for of in all {
        // The first type keeps the name.
        match definitions.entry(type_name(&of.wire)) {
            Entry::Vacant(free) => drop(free.insert(of)),
            Entry::Occupied(_) => doubles.push(of.wire),
        }
    }
    Ok(ProviderDescription {
        config,
        policy,
        definitions,
        data: data(wire).await?,
        functions: functions(wire).await?,
        links: links(wire).await?,
        duplicate_types: doubles,
    })
}

fn request(wire: &Wire) -> ProviderRequest {
    ProviderRequest {
        host_id: wire.host_id.clone(),
    }
}

/// Makes an optional call; the default if the plugin lacks it.
async fn optional<A: Reply>(wire: &Wire, path: &'static str) -> Result<A::Good, ProviderError>
where
    A::Good: Default,
{
    match wire.ask::<A>(Method::Schema, path, request(wire)).await {
        Ok(good) => Ok(good),
        Err(Fault::Call(ProviderError::Unsupported { .. })) => Ok(A::Good::default()),
        Err(fault) => Err(wire.refused(Method::Schema, fault)),
    }
}

/// Returns the data sources; empty if the plugin lacks the call.
async fn data(wire: &Wire) -> Result<BTreeMap<String, DataDefinition>, ProviderError> {
    let path = "/providerserverv1.Provider/ListDataSourceTypes";
    let types = optional::<DataSourceTypesResponse>(wire, path)
        .await?
        .data_source_types;
    let mut types: Vec<String> = types.into_iter().map(|t| t.r#type).collect();
    types.sort();
    let all = stream::iter(types.into_iter().map(|kind| data_definition(wire, kind)));
    let all: Vec<DataDefinition> = all.buffered(MAX_CONCURRENT_TYPES).try_collect().await?;
    Ok(all.into_iter().map(|of| (of.name(), of)).collect())
}

/// Returns the functions; empty if the plugin lacks the call.
async fn functions(wire: &Wire) -> Result<BTreeMap<String, FunctionDefinition>, ProviderError> {
    let path = "/providerserverv1.Provider/ListFunctions";
    let mut names = optional::<FunctionListResponse>(wire, path)
        .await?
        .functions;
    names.sort();
    let all = stream::iter(names.into_iter().map(|name| function(wire, name)));
    all.buffered(MAX_CONCURRENT_TYPES).try_collect().await
}

async fn function(
    wire: &Wire,
    name: String,
) -> Result<(String, FunctionDefinition), ProviderError> {
    let request = FunctionDefinitionRequest {
        function_name: name.clone(),
        host_id: wire.host_id.clone(),
        params: Some(Default::default()),
    };
    let path = "/providerserverv1.Provider/GetFunctionDefinition";
    let asked = wire.ask::<FunctionDefinitionResponse>(Method::Schema, path, request);
    match asked.await {
        Ok(definition) => Ok((name, definition)),
        Err(fault) => Err(wire.refused(Method::Schema, fault)),
    }
}

/// Returns the functions available in configurations, which have no function values.
fn callables(all: &BTreeMap<String, FunctionDefinition>) -> BTreeMap<String, Callable> {
    let named = all
        .iter()
        .filter(|(name, _)| super::paths::is_identifier(name));
    let some = named.filter_map(|(name, of)| match callable(of) {
        Ok(callable) => Some((name.clone(), callable)),
        Err(why) => {
            tracing::debug!(function = %name, why, "function is not available in configurations");
            None
        }
    });
    some.collect()
}

async fn data_definition(wire: &Wire, kind: String) -> Result<DataDefinition, ProviderError> {
    let request = DataSourceRequest {
        data_source_type: Some(DataSourceType {
            r#type: kind.clone(),
        }),
        host_id: wire.host_id.clone(),
        context: Some(Default::default()),
    };
    let method = Method::Schema;
    let refused = |fault| wire.refused(method, fault);
    let path = "/providerserverv1.Provider/GetDataSourceSpecDefinition";
    let asked = wire.ask::<DataSourceSpecDefinitionResponse>(method, path, request.clone());
    let spec = asked.await.map_err(refused)?;
    let path = "/providerserverv1.Provider/GetDataSourceFilterFields";
    let asked = wire.ask::<DataSourceFilterFieldsResponse>(method, path, request);
    Ok(DataDefinition::of(
        kind,
        spec,
        asked.await.map_err(refused)?,
    ))
}

async fn definition(wire: &Wire, kind: String) -> Result<Definition, ProviderError> {
    let request = ResourceRequest {
        resource_type: Some(ResourceType {
            r#type: kind.clone(),
        }),
        host_id: wire.host_id.clone(),
        context: Some(Default::default()),
    };
    let path = "/providerserverv1.Provider/GetResourceSpecDefinition";
    let asked = wire.ask::<ResourceSpecDefinitionResponse>(Method::Schema, path, request);
    match asked.await {
        Ok(said) => Ok(Definition::of(kind, said)),
        Err(fault) => Err(wire.refused(Method::Schema, fault)),
    }
}

fn provider_schema(
    said: &ProviderDescription,
    functions: &BTreeMap<String, Callable>,
) -> ProviderSchema {
    let doubles = said.duplicate_types.iter().map(|kind| {
        let summary = format!("Unusable resource type {kind}");
        let detail = format!(
            "The name of this resource type in configurations, {}, is already the name of another type.",
            type_name(kind)
        );
        ProviderDiagnostic {
            severity: Severity::Warning,
            ..ProviderDiagnostic::error(summary, detail)
        }
    });
    let resources = said.definitions.iter();
    // Only a provider with links has the link type.
    let some = !said.links.is_empty();
    let link = some.then(|| (LINK.to_owned(), link_schema()));
    ProviderSchema {
        provider: schema::provider(&said.config),
        resources: resources
            .map(|(name, of)| (name.clone(), of.schema()))
            .chain(link)
            .collect(),
        links: pairs(&said.links),
        data_sources: said
            .data
            .iter()
            .map(|(n, of)| (n.clone(), of.schema()))
            .collect(),
        functions: functions
            .iter()
            .map(|(name, of)| (name.clone(), of.signature.clone()))
            .collect(),
        diagnostics: doubles.collect(),
        ..ProviderSchema::default()
    }
}
