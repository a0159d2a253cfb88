//! Service of a provider.

use crate::descriptions;
use crate::fault_files::file;
use crate::functions;
use crate::links::links_served;
use crate::mapping_node::json;
use crate::resource_calls::{Fake, nodes, text, unexpected};
use crate::schema;
use proto::bluelink::providerserverv1::provider_server::Provider;
use proto::bluelink::providerserverv1::*;
use proto::bluelink::sharedtypesv1::*;
use serde_json::{Value, json};
use tonic::{Request, Response, Status};

type Answer<T> = Result<Response<T>, Status>;

macro_rules! answer {
    ($kind:ident, $module:ident, $good:ident, $result:expr) => {
        Ok(Response::new($kind {
            response: Some(match $result {
                Ok(good) => $module::Response::$good(good),
                Err(error) => $module::Response::ErrorResponse(error),
            }),
        }))
    };
}

#[tonic::async_trait]
impl Provider for Fake {
    async fn get_namespace(&self, request: Request<ProviderRequest>) -> Answer<NamespaceResponse> {
        let entered = self
            .begin_call("GetNamespace", &request.get_ref().host_id, json!({}))
            .await;
        let namespace = self.namespace.clone();
        answer!(
            NamespaceResponse,
            namespace_response,
            Namespace,
            entered.map(|()| Namespace { namespace })
        )
    }

    async fn get_config_definition(
        &self,
        request: Request<ProviderRequest>,
    ) -> Answer<ConfigDefinitionResponse> {
        let entered = self
            .begin_call("GetConfigDefinition", &request.get_ref().host_id, json!({}))
            .await;
        answer!(
            ConfigDefinitionResponse,
            config_definition_response,
            ConfigDefinition,
            entered.map(|()| schema::config())
        )
    }

    async fn list_resource_types(
        &self,
        request: Request<ProviderRequest>,
    ) -> Answer<ResourceTypesResponse> {
        let entered = self
            .begin_call("ListResourceTypes", &request.get_ref().host_id, json!({}))
            .await;
        let one = |t: &str| ResourceType {
            r#type: t.replacen("fake/", &format!("{}/", self.namespace), 1),
        };
        let resource_types = schema::TYPES.map(one).to_vec();
        answer!(
            ResourceTypesResponse,
            resource_types_response,
            ResourceTypes,
            entered.map(|()| ResourceTypes { resource_types })
        )
    }

    async fn list_data_source_types(
        &self,
        request: Request<ProviderRequest>,
    ) -> Answer<DataSourceTypesResponse> {
        if file("old").exists() {
            return Err(Status::unimplemented("it is older than this call"));
        }
        let entered = self
            .begin_call("ListDataSourceTypes", &request.get_ref().host_id, json!({}))
            .await;
        let data_source_types = vec![DataSourceType {
            r#type: format!("{}/box", self.namespace),
        }];
        answer!(
            DataSourceTypesResponse,
            data_source_types_response,
            DataSourceTypes,
            entered.map(|()| DataSourceTypes { data_source_types })
        )
    }

    async fn list_functions(
        &self,
        request: Request<ProviderRequest>,
    ) -> Answer<FunctionListResponse> {
        if file("old").exists() {
            return Err(Status::unimplemented("it is older than this call"));
        }
        let entered = self
            .begin_call("ListFunctions", &request.get_ref().host_id, json!({}))
            .await;
        let functions = functions::names();
        answer!(
            FunctionListResponse,
            function_list_response,
            FunctionList,
            entered.map(|()| FunctionList { functions })
        )
    }

    async fn get_function_definition(
        &self,
        request: Request<FunctionDefinitionRequest>,
    ) -> Answer<FunctionDefinitionResponse> {
        let FunctionDefinitionRequest {
            function_name: name,
            host_id,
            ..
        } = request.into_inner();
        let defined = async {
            self.begin_call("GetFunctionDefinition", &host_id, json!({"function": name}))
                .await?;
            let unknown = || unexpected(format!("no such function: {name}"));
            functions::definition(&name).ok_or_else(unknown)
        };
        answer!(
            FunctionDefinitionResponse,
            function_definition_response,
            FunctionDefinition,
            defined.await
        )
    }

    async fn call_function(
        &self,
        request: Request<FunctionCallRequest>,
    ) -> Answer<FunctionCallResponse> {
        answer!(
            FunctionCallResponse,
            function_call_response,
            FunctionResult,
            self.function(request.into_inner()).await
        )
    }

    async fn get_retry_policy(
        &self,
        request: Request<ProviderRequest>,
    ) -> Answer<RetryPolicyResponse> {
        let entered = self
            .begin_call("GetRetryPolicy", &request.get_ref().host_id, json!({}))
            .await;
        let said = std::fs::read_to_string(file("retry")).unwrap_or_default();
        let said: Vec<f64> = said
            .split_whitespace()
            .map(|n| n.parse().unwrap())
            .collect();
        let policy = match said[..] {
            [retries, first, most, factor] => RetryPolicy {
                max_retries: retries as i32,
                first_retry_delay: first,
                max_delay: most,
                backoff_factor: factor,
                jitter: false,
            },
            _ => RetryPolicy::default(),
        };
        answer!(
            RetryPolicyResponse,
            retry_policy_response,
            RetryPolicy,
            entered.map(|()| policy)
        )
    }

    async fn custom_validate_resource(
        &self,
        request: Request<CustomValidateResourceRequest>,
    ) -> Answer<CustomValidateResourceResponse> {
        let request = request.into_inner();
        let spec = request.schema_resource.and_then(|r| r.spec);
        let checked = async {
            let spec = json(&spec.unwrap_or_default()).map_err(unexpected)?;
            let what = json!({"spec": spec});
            self.begin_call("CustomValidateResource", &request.host_id, what)
                .await?;
            let forbidden = spec["name"] == "forbidden";
            let diagnostics = forbidden.then(|| Diagnostic {
                level: DiagnosticLevel::Error.into(),
                message: "a box must not be called forbidden".to_owned(),
                context: Some(DiagnosticContext {
                    suggested_actions: vec![DiagnosticSuggestedAction {
                        title: "call it something else".to_owned(),
                        ..DiagnosticSuggestedAction::default()
                    }],
                    ..DiagnosticContext::default()
                }),
            });
            Ok(CustomValidateResourceCompleteResponse {
                diagnostics: diagnostics.into_iter().collect(),
            })
        };
        answer!(
            CustomValidateResourceResponse,
            custom_validate_resource_response,
            CompleteResponse,
            checked.await
        )
    }

    async fn get_resource_spec_definition(
        &self,
        request: Request<ResourceRequest>,
    ) -> Answer<ResourceSpecDefinitionResponse> {
        let request = request.into_inner();
        let kind = text(request.resource_type);
        let defined = async {
            self.begin_call("GetResourceSpecDefinition", &request.host_id, json!({}))
                .await?;
            let kind = kind.replacen(&format!("{}/", self.namespace), "fake/", 1);
            schema::definition(&kind)
                .ok_or_else(|| unexpected(format!("resource type {kind:?} is not implemented")))
        };
        answer!(
            ResourceSpecDefinitionResponse,
            resource_spec_definition_response,
            SpecDefinition,
            defined.await
        )
    }

    async fn deploy_resource(
        &self,
        request: Request<DeployResourceRequest>,
    ) -> Answer<DeployResourceResponse> {
        let set = self.deploy(request.into_inner()).await;
        let complete = |set: Value| DeployResourceCompleteResponse {
            computed_field_values: nodes(&set),
        };
        answer!(
            DeployResourceResponse,
            deploy_resource_response,
            CompleteResponse,
            set.map(complete)
        )
    }

    async fn resource_has_stabilised(
        &self,
        request: Request<ResourceHasStabilisedRequest>,
    ) -> Answer<ResourceHasStabilisedResponse> {
        answer!(
            ResourceHasStabilisedResponse,
            resource_has_stabilised_response,
            ResourceStabilisationInfo,
            self.stable(request.into_inner()).await
        )
    }

    async fn get_resource_external_state(
        &self,
        request: Request<GetResourceExternalStateRequest>,
    ) -> Answer<GetResourceExternalStateResponse> {
        answer!(
            GetResourceExternalStateResponse,
            get_resource_external_state_response,
            ResourceSpecState,
            self.read_object(request.into_inner()).await
        )
    }

    async fn destroy_resource(
        &self,
        request: Request<DestroyResourceRequest>,
    ) -> Answer<DestroyResourceResponse> {
        let destroyed = self.destroy(request.into_inner()).await;
        answer!(
            DestroyResourceResponse,
            destroy_resource_response,
            Result,
            destroyed.map(|destroyed| DestroyResourceResult { destroyed })
        )
    }

    async fn get_data_source_spec_definition(
        &self,
        request: Request<DataSourceRequest>,
    ) -> Answer<DataSourceSpecDefinitionResponse> {
        let entered = self
            .begin_call(
                "GetDataSourceSpecDefinition",
                &request.get_ref().host_id,
                json!({}),
            )
            .await;
        answer!(
            DataSourceSpecDefinitionResponse,
            data_source_spec_definition_response,
            SpecDefinition,
            entered.map(|()| schema::data())
        )
    }

    async fn get_data_source_filter_fields(
        &self,
        request: Request<DataSourceRequest>,
    ) -> Answer<DataSourceFilterFieldsResponse> {
        let entered = self
            .begin_call(
                "GetDataSourceFilterFields",
                &request.get_ref().host_id,
                json!({}),
            )
            .await;
        answer!(
            DataSourceFilterFieldsResponse,
            data_source_filter_fields_response,
            FilterFields,
            entered.map(|()| schema::filters())
        )
    }

    async fn fetch_data_source(
        &self,
        request: Request<FetchDataSourceRequest>,
    ) -> Answer<FetchDataSourceResponse> {
        answer!(
            FetchDataSourceResponse,
            fetch_data_source_response,
            CompleteResponse,
            self.fetch(request.into_inner()).await
        )
    }

    async fn custom_validate_data_source(
        &self,
        request: Request<CustomValidateDataSourceRequest>,
    ) -> Answer<CustomValidateDataSourceResponse> {
        if file("without-checks").exists() {
            return Err(Status::unimplemented("it is older than this call"));
        }
        answer!(
            CustomValidateDataSourceResponse,
            custom_validate_data_source_response,
            CompleteResponse,
            self.check_data(request.into_inner()).await
        )
    }

    async fn get_resource_type(
        &self,
        request: Request<ResourceRequest>,
    ) -> Answer<ResourceTypeResponse> {
        let kind = text(request.into_inner().resource_type);
        let info = descriptions::label(&kind).map(|label| ResourceTypeInfo {
            r#type: None,
            label,
        });
        answer!(
            ResourceTypeResponse,
            resource_type_response,
            ResourceTypeInfo,
            info
        )
    }

    async fn get_resource_type_description(
        &self,
        request: Request<ResourceRequest>,
    ) -> Answer<TypeDescriptionResponse> {
        let said = descriptions::description(&text(request.into_inner().resource_type));
        answer!(
            TypeDescriptionResponse,
            type_description_response,
            Description,
            said
        )
    }

    async fn get_resource_examples(
        &self,
        request: Request<ResourceRequest>,
    ) -> Answer<ExamplesResponse> {
        let said = descriptions::examples(&text(request.into_inner().resource_type));
        answer!(ExamplesResponse, examples_response, Examples, said)
    }

    async fn get_data_source_type(
        &self,
        request: Request<DataSourceRequest>,
    ) -> Answer<DataSourceTypeResponse> {
        let kind = request
            .into_inner()
            .data_source_type
            .unwrap_or_default()
            .r#type;
        let info = descriptions::label(&kind).map(|label| DataSourceTypeInfo {
            r#type: None,
            label,
        });
        answer!(
            DataSourceTypeResponse,
            data_source_type_response,
            DataSourceTypeInfo,
            info
        )
    }

    async fn get_data_source_type_description(
        &self,
        request: Request<DataSourceRequest>,
    ) -> Answer<TypeDescriptionResponse> {
        let kind = request
            .into_inner()
            .data_source_type
            .unwrap_or_default()
            .r#type;
        let said = descriptions::description(&kind);
        answer!(
            TypeDescriptionResponse,
            type_description_response,
            Description,
            said
        )
    }

    /// Not supported: the plugin is older than this call.
    async fn get_data_source_examples(
        &self,
        _: Request<DataSourceRequest>,
    ) -> Answer<ExamplesResponse> {
        Err(Status::unimplemented("it is older than this call"))
    }

    links_served! {
        list_link_types(ProviderRequest) -> LinkTypesResponse, link_types_response, LinkTypes, links;
        get_link_annotation_definitions(LinkRequest)
            -> LinkAnnotationDefinitionsResponse, link_annotation_definitions_response, AnnotationDefinitions, link_annotations;
        get_link_kind(LinkRequest) -> LinkKindResponse, link_kind_response, LinkKindInfo, link_kind;
        get_link_priority_resource(LinkRequest)
            -> LinkPriorityResourceResponse, link_priority_resource_response, PriorityInfo, link_priority;
        validate_link(ValidateLinkRequest)
            -> ValidateLinkResponse, validate_link_response, CompleteResponse, check_link;
        stage_link_changes(StageLinkChangesRequest)
            -> StageLinkChangesResponse, stage_link_changes_response, CompleteResponse, stage_link;
        update_link_resource_a(UpdateLinkResourceRequest)
            -> UpdateLinkResourceResponse, update_link_resource_response, CompleteResponse, link_a;
        update_link_resource_b(UpdateLinkResourceRequest)
            -> UpdateLinkResourceResponse, update_link_resource_response, CompleteResponse, link_b;
        update_link_intermediary_resources(UpdateLinkIntermediaryResourcesRequest)
            -> UpdateLinkIntermediaryResourcesResponse, update_link_intermediary_resources_response, CompleteResponse, update_intermediaries;
        get_link_intermediary_external_state(GetLinkIntermediaryExternalStateRequest)
            -> GetLinkIntermediaryExternalStateResponse, get_link_intermediary_external_state_response, CompleteResponse, read_intermediaries;
    }
}
