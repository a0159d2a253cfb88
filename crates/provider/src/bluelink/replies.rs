//! Splits each response message of the protocol into its result and its error. Plain data.

use proto::bluelink::providerserverv1 as pb;
use proto::bluelink::sharedtypesv1::{self as shared, ErrorResponse};

/// Answer with either a result or an error.
pub(super) trait Reply: prost::Message + Default + 'static {
    type Good;

    /// Returns `None` if the answer has neither.
    fn split(self) -> Option<Result<Self::Good, ErrorResponse>>;
}

macro_rules! replies {
    ($($home:ident :: $answer:ident, $module:ident, $good:ident -> $kind:ty;)*) => {$(
        impl Reply for $home::$answer {
            type Good = $kind;

            fn split(self) -> Option<Result<$kind, ErrorResponse>> {
                use $home::$module::Response;
                Some(match self.response? {
                    Response::$good(good) => Ok(good),
                    Response::ErrorResponse(error) => Err(error),
                })
            }
        }
    )*};
}
replies! {
    shared::ConfigDefinitionResponse, config_definition_response, ConfigDefinition -> shared::ConfigDefinition;
    shared::DeployResourceResponse, deploy_resource_response, CompleteResponse -> shared::DeployResourceCompleteResponse;
    shared::DestroyResourceResponse, destroy_resource_response, Result -> shared::DestroyResourceResult;
    shared::ResourceHasStabilisedResponse, resource_has_stabilised_response, ResourceStabilisationInfo -> shared::ResourceStabilisationInfo;
    shared::FunctionCallResponse, function_call_response, FunctionResult -> shared::FunctionCallResult;
    shared::FunctionDefinitionResponse, function_definition_response, FunctionDefinition -> shared::FunctionDefinition;
    pb::FunctionListResponse, function_list_response, FunctionList -> pb::FunctionList;
    pb::ResourceTypesResponse, resource_types_response, ResourceTypes -> pb::ResourceTypes;
    pb::ResourceSpecDefinitionResponse, resource_spec_definition_response, SpecDefinition -> shared::ResourceSpecDefinition;
    pb::RetryPolicyResponse, retry_policy_response, RetryPolicy -> pb::RetryPolicy;
    pb::CustomValidateResourceResponse, custom_validate_resource_response, CompleteResponse -> pb::CustomValidateResourceCompleteResponse;
    shared::ResourceTypeResponse, resource_type_response, ResourceTypeInfo -> shared::ResourceTypeInfo;
    shared::TypeDescriptionResponse, type_description_response, Description -> shared::TypeDescription;
    shared::ExamplesResponse, examples_response, Examples -> shared::Examples;
    pb::DataSourceTypeResponse, data_source_type_response, DataSourceTypeInfo -> pb::DataSourceTypeInfo;
    pb::CustomValidateDataSourceResponse, custom_validate_data_source_response, CompleteResponse -> pb::CustomValidateDataSourceCompleteResponse;
    pb::DataSourceTypesResponse, data_source_types_response, DataSourceTypes -> pb::DataSourceTypes;
    pb::DataSourceSpecDefinitionResponse, data_source_spec_definition_response, SpecDefinition -> pb::DataSourceSpecDefinition;
    pb::DataSourceFilterFieldsResponse, data_source_filter_fields_response, FilterFields -> pb::DataSourceFilterFields;
    pb::FetchDataSourceResponse, fetch_data_source_response, CompleteResponse -> pb::FetchDataSourceCompleteResponse;
    pb::LinkTypesResponse, link_types_response, LinkTypes -> pb::LinkTypes;
    pb::LinkKindResponse, link_kind_response, LinkKindInfo -> pb::LinkKindInfo;
    pb::LinkPriorityResourceResponse, link_priority_resource_response, PriorityInfo -> pb::LinkPriorityResourceInfo;
    shared::LinkAnnotationDefinitionsResponse, link_annotation_definitions_response, AnnotationDefinitions -> shared::LinkAnnotationDefinitions;
    pb::StageLinkChangesResponse, stage_link_changes_response, CompleteResponse -> pb::StageLinkChangesCompleteResponse;
    pb::UpdateLinkResourceResponse, update_link_resource_response, CompleteResponse -> pb::UpdateLinkResourceCompleteResponse;
    pb::UpdateLinkIntermediaryResourcesResponse, update_link_intermediary_resources_response, CompleteResponse -> pb::UpdateLinkIntermediaryResourcesCompleteResponse;
    pb::GetLinkIntermediaryExternalStateResponse, get_link_intermediary_external_state_response, CompleteResponse -> pb::GetLinkIntermediaryExternalStateCompleteResponse;
    pb::ValidateLinkResponse, validate_link_response, CompleteResponse -> pb::ValidateLinkCompleteResponse;
    pb::GetResourceExternalStateResponse, get_resource_external_state_response, ResourceSpecState -> proto::bluelink::schema::MappingNode;
}
