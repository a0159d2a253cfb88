//! Provider service for a Bluelink host. Each call is checked for its host, waits for its provider
//! configuration, and runs as a task, as over protocol 6.

use std::collections::BTreeMap;
use std::sync::Arc;

use proto::bluelink::providerserverv1 as pb;
use proto::bluelink::providerserverv1::provider_server::Provider as Wire;
use proto::bluelink::sharedtypesv1 as shared;
use proto::bluelink::sharedtypesv1::ProviderContext;
use tonic::{Request, Response, Status};

use super::config::Configured;
use super::host::Host;
use super::reply::Reply;
use super::resource::{self, Kind};
use super::unsupported::without;
use super::{config, data, error, function};
use crate::diagnostics::Failure;
use crate::provider::{Context, DataSource};
use crate::service::{Entry, Outcome, Service};
use crate::validate::{SchemaError, SchemaFlaw};

/// Service of one provider for one host.
pub(super) struct Server {
    pub(super) service: Service,
    host: Host,
    configured: Configured,
    /// Resource types by their Bluelink names: `lab/server`.
    kinds: BTreeMap<String, Arc<Kind>>,
    data: BTreeMap<String, Arc<Entry<dyn DataSource>>>,
}

/// Converts a type name: `lab_server` of the provider `lab` becomes `lab/server`.
fn wire_name(provider: &str, name: &str) -> Result<String, SchemaError> {
    let own = name
        .strip_prefix(provider)
        .and_then(|rest| rest.strip_prefix('_'));
    own.map(|own| format!("{provider}/{own}"))
        .ok_or_else(|| SchemaError {
            subject: name.to_owned(),
            path: Vec::new(),
            flaw: SchemaFlaw::Nobodys(provider.to_owned()),
        })
}

impl Server {
    /// # Errors
    /// A type name does not begin with the provider's name.
    pub(super) fn new(service: Service, host: Host) -> Result<Server, SchemaError> {
        let provider = service.provider.item.name();
        let kind = |entry: &Arc<Entry<_>>| Arc::new(Kind::of(entry.clone()));
        let kinds = service.resources.iter();
        // Definitions are converted once, at startup.
        let kinds = kinds.map(|(name, entry)| Ok((wire_name(provider, name)?, kind(entry))));
        let data = service.data_sources.iter();
        let data = data.map(|(name, entry)| Ok((wire_name(provider, name)?, entry.clone())));
        Ok(Server {
            kinds: kinds.collect::<Result<_, SchemaError>>()?,
            data: data.collect::<Result<_, SchemaError>>()?,
            service,
            host,
            configured: Configured::default(),
        })
    }

    /// Responds to the registered host only; other callers get an error.
    async fn respond_to_host<R: Reply>(
        &self,
        host: &str,
        work: impl Future<Output = Outcome<R::Good>>,
    ) -> Result<Response<R>, Status> {
        // For another host the future is never polled, so its call does not reach the provider.
        let answered = match self.host.check(host).await {
            Ok(()) => work.await.map_err(error::error_response),
            Err(refused) => Err(refused),
        };
        // The protocol puts errors into the response message, not into the gRPC status.
        Ok(Response::new(R::of(answered)))
    }

    /// Runs a call as a task, with the provider configuration that the call carries.
    pub(super) async fn configured<T, F>(
        &self,
        context: Option<ProviderContext>,
        call: impl FnOnce(Context) -> F + Send + 'static,
    ) -> Outcome<T>
    where
        T: Send + 'static,
        F: Future<Output = Outcome<T>> + Send + 'static,
    {
        let (provider, configured) = (self.service.provider.clone(), self.configured.clone());
        let work = move |cx: Context| async move {
            // Held until the call ends, so that the configuration cannot change under it.
            let _turn = configured.configured_turn(&provider, &cx, context).await?;
            call(cx).await
        };
        self.service.run(work).await
    }

    /// Returns a resource type by its name in protocol 6, such as `lab_server`.
    pub(super) fn kind_of(&self, name: &str) -> Outcome<Arc<Kind>> {
        let provider = self.service.provider.item.name();
        let r#type = wire_name(provider, name).map_err(Failure::of)?;
        self.kind(Some(shared::ResourceType { r#type }))
    }

    fn kind(&self, of: Option<shared::ResourceType>) -> Outcome<Arc<Kind>> {
        let name = of.unwrap_or_default().r#type;
        // A request without a type has an empty name, which no type has.
        let found = self.kinds.get(&name).cloned();
        found.ok_or_else(|| self.unknown("resource type", &name))
    }

    fn data(&self, of: Option<pb::DataSourceType>) -> Outcome<Arc<Entry<dyn DataSource>>> {
        let name = of.unwrap_or_default().r#type;
        let found = self.data.get(&name).cloned();
        found.ok_or_else(|| self.unknown("data source type", &name))
    }

    fn unknown(&self, what: &str, name: &str) -> Failure {
        let provider = self.service.provider.item.name();
        let summary = format!("unknown {what} {name}");
        Failure::new(
            summary,
            format!("the provider {provider} has no {what} of that name"),
        )
    }
}

fn described(text: &str) -> shared::TypeDescription {
    shared::TypeDescription {
        plain_text_description: text.to_owned(),
        ..shared::TypeDescription::default()
    }
}

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl Wire for Server {
    async fn get_namespace(
        &self,
        request: Request<pb::ProviderRequest>,
    ) -> Answer<pb::NamespaceResponse> {
        let namespace = self.service.provider.item.name().to_owned();
        let host = request.into_inner().host_id;
        self.respond_to_host(&host, async { Ok(pb::Namespace { namespace }) })
            .await
    }

    async fn get_config_definition(
        &self,
        request: Request<pb::ProviderRequest>,
    ) -> Answer<shared::ConfigDefinitionResponse> {
        let said = config::definition(&self.service.provider.schema);
        self.respond_to_host(&request.into_inner().host_id, async { Ok(said) })
            .await
    }

    async fn list_resource_types(
        &self,
        request: Request<pb::ProviderRequest>,
    ) -> Answer<pb::ResourceTypesResponse> {
        let one = |name: &String| shared::ResourceType {
            r#type: name.clone(),
        };
        let resource_types = self.kinds.keys().map(one).collect();
        let all = async { Ok(pb::ResourceTypes { resource_types }) };
        self.respond_to_host(&request.into_inner().host_id, all)
            .await
    }

    async fn list_data_source_types(
        &self,
        request: Request<pb::ProviderRequest>,
    ) -> Answer<pb::DataSourceTypesResponse> {
        let one = |name: &String| pb::DataSourceType {
            r#type: name.clone(),
        };
        let data_source_types = self.data.keys().map(one).collect();
        let all = async { Ok(pb::DataSourceTypes { data_source_types }) };
        self.respond_to_host(&request.into_inner().host_id, all)
            .await
    }

    async fn list_functions(
        &self,
        request: Request<pb::ProviderRequest>,
    ) -> Answer<pb::FunctionListResponse> {
        let functions = self.service.functions.keys().cloned().collect();
        let all = async { Ok(pb::FunctionList { functions }) };
        self.respond_to_host(&request.into_inner().host_id, all)
            .await
    }

    async fn get_function_definition(
        &self,
        request: Request<shared::FunctionDefinitionRequest>,
    ) -> Answer<shared::FunctionDefinitionResponse> {
        let request = request.into_inner();
        let function = self.service.function(&request.function_name);
        let work = async { Ok(function::definition(&*function?)) };
        self.respond_to_host(&request.host_id, work).await
    }

    async fn call_function(
        &self,
        request: Request<shared::FunctionCallRequest>,
    ) -> Answer<shared::FunctionCallResponse> {
        let request = request.into_inner();
        let work = async {
            let function = self.service.function(&request.function_name)?;
            // The call has no provider configuration, as over protocol 6.
            let call = |cx| async move { function::call(&function, &cx, request.args).await };
            self.service.run(call).await
        };
        self.respond_to_host(&request.host_id, work).await
    }

    /// All fields are zero, which selects the host's own policy.
    async fn get_retry_policy(
        &self,
        request: Request<pb::ProviderRequest>,
    ) -> Answer<pb::RetryPolicyResponse> {
        let none = async { Ok(pb::RetryPolicy::default()) };
        self.respond_to_host(&request.into_inner().host_id, none)
            .await
    }

    async fn custom_validate_resource(
        &self,
        request: Request<pb::CustomValidateResourceRequest>,
    ) -> Answer<pb::CustomValidateResourceResponse> {
        let request = request.into_inner();
        let work = async {
            let kind = self.kind(request.resource_type)?;
            let spec = request.schema_resource.and_then(|resource| resource.spec);
            let spec = spec.unwrap_or_default();
            // Validation does not configure the provider, as over protocol 6.
            let call = |cx| resource::validate(kind, cx, spec);
            let diagnostics = self.service.run(call).await?;
            Ok(pb::CustomValidateResourceCompleteResponse { diagnostics })
        };
        self.respond_to_host(&request.host_id, work).await
    }

    async fn get_resource_spec_definition(
        &self,
        request: Request<pb::ResourceRequest>,
    ) -> Answer<pb::ResourceSpecDefinitionResponse> {
        let request = request.into_inner();
        let kind = self.kind(request.resource_type);
        self.respond_to_host(&request.host_id, async { Ok(kind?.definition.clone()) })
            .await
    }

    async fn deploy_resource(
        &self,
        request: Request<shared::DeployResourceRequest>,
    ) -> Answer<shared::DeployResourceResponse> {
        let request = request.into_inner();
        let work = async {
            let kind = self.kind(request.resource_type)?;
            let changes = request.changes.unwrap_or_default();
            let call = |cx| resource::deploy(kind, cx, changes);
            let computed_field_values = self.configured(request.context, call).await?;
            Ok(shared::DeployResourceCompleteResponse {
                computed_field_values,
            })
        };
        self.respond_to_host(&request.host_id, work).await
    }

    async fn resource_has_stabilised(
        &self,
        request: Request<shared::ResourceHasStabilisedRequest>,
    ) -> Answer<shared::ResourceHasStabilisedResponse> {
        let request = request.into_inner();
        let work = async {
            let kind = self.kind(request.resource_type)?;
            let call = |cx| resource::stable(kind, cx, request.resource_spec);
            // The check can call the API of the system, so it needs the configuration.
            let stabilised = self.configured(request.context, call).await?;
            Ok(shared::ResourceStabilisationInfo {
                stabilised,
                ..shared::ResourceStabilisationInfo::default()
            })
        };
        self.respond_to_host(&request.host_id, work).await
    }

    async fn get_resource_external_state(
        &self,
        request: Request<pb::GetResourceExternalStateRequest>,
    ) -> Answer<pb::GetResourceExternalStateResponse> {
        let request = request.into_inner();
        let work = async {
            let kind = self.kind(request.resource_type)?;
            let call = |cx| resource::read_object(kind, cx, request.current_resource_spec);
            self.configured(request.context, call).await
        };
        self.respond_to_host(&request.host_id, work).await
    }

    async fn destroy_resource(
        &self,
        request: Request<shared::DestroyResourceRequest>,
    ) -> Answer<shared::DestroyResourceResponse> {
        let request = request.into_inner();
        let work = async {
            let kind = self.kind(request.resource_type)?;
            let spec = request.resource_state.and_then(|state| state.spec_data);
            let call = |cx| resource::destroy(kind, cx, spec);
            self.configured(request.context, call).await?;
            // A destroy that failed has returned an error above.
            Ok(shared::DestroyResourceResult { destroyed: true })
        };
        self.respond_to_host(&request.host_id, work).await
    }

    async fn get_data_source_spec_definition(
        &self,
        request: Request<pb::DataSourceRequest>,
    ) -> Answer<pb::DataSourceSpecDefinitionResponse> {
        let request = request.into_inner();
        let entry = self.data(request.data_source_type);
        let work = async { Ok(data::definition(&entry?.schema)) };
        self.respond_to_host(&request.host_id, work).await
    }

    async fn get_data_source_filter_fields(
        &self,
        request: Request<pb::DataSourceRequest>,
    ) -> Answer<pb::DataSourceFilterFieldsResponse> {
        let request = request.into_inner();
        let entry = self.data(request.data_source_type);
        let work = async { Ok(data::filters(&entry?.schema)) };
        self.respond_to_host(&request.host_id, work).await
    }

    async fn fetch_data_source(
        &self,
        request: Request<pb::FetchDataSourceRequest>,
    ) -> Answer<pb::FetchDataSourceResponse> {
        let request = request.into_inner();
        let work = async {
            let entry = self.data(request.data_source_type)?;
            let question = request.data_source_with_resolved_subs.unwrap_or_default();
            let call = |cx| data::fetch(entry, cx, question);
            let data = self.configured(request.context, call).await?;
            Ok(pb::FetchDataSourceCompleteResponse { data })
        };
        self.respond_to_host(&request.host_id, work).await
    }

    async fn custom_validate_data_source(
        &self,
        request: Request<pb::CustomValidateDataSourceRequest>,
    ) -> Answer<pb::CustomValidateDataSourceResponse> {
        let request = request.into_inner();
        let work = async {
            let entry = self.data(request.data_source_type)?;
            let written = request.schema_data_source.unwrap_or_default();
            // Validation does not configure the provider, as for resource types.
            let call = |cx| data::validate(entry, cx, written);
            let diagnostics = self.service.run(call).await?;
            Ok(pb::CustomValidateDataSourceCompleteResponse { diagnostics })
        };
        self.respond_to_host(&request.host_id, work).await
    }

    async fn get_resource_type_description(
        &self,
        request: Request<pb::ResourceRequest>,
    ) -> Answer<shared::TypeDescriptionResponse> {
        let request = request.into_inner();
        let kind = self.kind(request.resource_type);
        let work = async { Ok(described(&kind?.entry.schema.block.description)) };
        self.respond_to_host(&request.host_id, work).await
    }

    async fn get_data_source_type_description(
        &self,
        request: Request<pb::DataSourceRequest>,
    ) -> Answer<shared::TypeDescriptionResponse> {
        let request = request.into_inner();
        let entry = self.data(request.data_source_type);
        let work = async { Ok(described(&entry?.schema.block.description)) };
        self.respond_to_host(&request.host_id, work).await
    }

    without! { "this provider has no labels and examples";
        get_resource_type(pb::ResourceRequest) -> shared::ResourceTypeResponse;
        get_resource_examples(pb::ResourceRequest) -> shared::ExamplesResponse;
        get_data_source_type(pb::DataSourceRequest) -> pb::DataSourceTypeResponse;
        get_data_source_examples(pb::DataSourceRequest) -> shared::ExamplesResponse;
    }

    without! { "this provider has no links";
        list_link_types(pb::ProviderRequest) -> pb::LinkTypesResponse;
        stage_link_changes(pb::StageLinkChangesRequest) -> pb::StageLinkChangesResponse;
        update_link_resource_a(pb::UpdateLinkResourceRequest) -> pb::UpdateLinkResourceResponse;
        update_link_resource_b(pb::UpdateLinkResourceRequest) -> pb::UpdateLinkResourceResponse;
        update_link_intermediary_resources(pb::UpdateLinkIntermediaryResourcesRequest)
            -> pb::UpdateLinkIntermediaryResourcesResponse;
        get_link_priority_resource(pb::LinkRequest) -> pb::LinkPriorityResourceResponse;
        get_link_annotation_definitions(pb::LinkRequest)
            -> shared::LinkAnnotationDefinitionsResponse;
        get_link_kind(pb::LinkRequest) -> pb::LinkKindResponse;
        get_link_intermediary_external_state(pb::GetLinkIntermediaryExternalStateRequest)
            -> pb::GetLinkIntermediaryExternalStateResponse;
        validate_link(pb::ValidateLinkRequest) -> pb::ValidateLinkResponse;
    }
}

#[cfg(test)]
mod tests {
    use super::wire_name;

    #[test]
    fn resource_type_must_start_with_the_provider_name() {
        assert_eq!(
            wire_name("lab", "lab_dns_record").unwrap(),
            "lab/dns_record"
        );
        let why = wire_name("lab", "laboratory").unwrap_err();
        let said = why.to_string();
        assert!(said.contains("type names must begin with lab_"), "{said}");
    }
}
