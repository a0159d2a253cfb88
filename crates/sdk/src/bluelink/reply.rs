//! Response messages of the service, each with a result or an error.

use proto::bluelink::providerserverv1 as pb;
use proto::bluelink::schema::MappingNode;
use proto::bluelink::sharedtypesv1::{self as shared, ErrorResponse};

/// Response message with a result or an error.
pub(super) trait Reply {
    /// Result of the call.
    type Good;

    fn of(answered: Result<Self::Good, ErrorResponse>) -> Self;
}

macro_rules! reply {
    ($home:ident :: $answer:ident, $module:ident, $name:ident, $good:ty) => {
        impl Reply for $home::$answer {
            type Good = $good;

            fn of(answered: Result<$good, ErrorResponse>) -> Self {
                use $home::$module::Response;
                let response = match answered {
                    Ok(good) => Response::$name(good),
                    Err(error) => Response::ErrorResponse(error),
                };
                Self {
                    response: Some(response),
                }
            }
        }
    };
}

// Provider.
reply!(
    pb::NamespaceResponse,
    namespace_response,
    Namespace,
    pb::Namespace
);
reply!(
    shared::ConfigDefinitionResponse,
    config_definition_response,
    ConfigDefinition,
    shared::ConfigDefinition
);
reply!(
    pb::RetryPolicyResponse,
    retry_policy_response,
    RetryPolicy,
    pb::RetryPolicy
);
reply!(
    pb::ResourceTypesResponse,
    resource_types_response,
    ResourceTypes,
    pb::ResourceTypes
);
reply!(
    pb::DataSourceTypesResponse,
    data_source_types_response,
    DataSourceTypes,
    pb::DataSourceTypes
);
reply!(
    pb::FunctionListResponse,
    function_list_response,
    FunctionList,
    pb::FunctionList
);
// Functions.
reply!(
    shared::FunctionDefinitionResponse,
    function_definition_response,
    FunctionDefinition,
    shared::FunctionDefinition
);
reply!(
    shared::FunctionCallResponse,
    function_call_response,
    FunctionResult,
    shared::FunctionCallResult
);
// Resources.
reply!(
    pb::ResourceSpecDefinitionResponse,
    resource_spec_definition_response,
    SpecDefinition,
    shared::ResourceSpecDefinition
);
reply!(
    pb::CustomValidateResourceResponse,
    custom_validate_resource_response,
    CompleteResponse,
    pb::CustomValidateResourceCompleteResponse
);
reply!(
    shared::DeployResourceResponse,
    deploy_resource_response,
    CompleteResponse,
    shared::DeployResourceCompleteResponse
);
reply!(
    shared::ResourceHasStabilisedResponse,
    resource_has_stabilised_response,
    ResourceStabilisationInfo,
    shared::ResourceStabilisationInfo
);
reply!(
    pb::GetResourceExternalStateResponse,
    get_resource_external_state_response,
    ResourceSpecState,
    MappingNode
);
reply!(
    shared::DestroyResourceResponse,
    destroy_resource_response,
    Result,
    shared::DestroyResourceResult
);
// Data sources.
reply!(
    pb::DataSourceSpecDefinitionResponse,
    data_source_spec_definition_response,
    SpecDefinition,
    pb::DataSourceSpecDefinition
);
reply!(
    pb::DataSourceFilterFieldsResponse,
    data_source_filter_fields_response,
    FilterFields,
    pb::DataSourceFilterFields
);
reply!(
    pb::CustomValidateDataSourceResponse,
    custom_validate_data_source_response,
    CompleteResponse,
    pb::CustomValidateDataSourceCompleteResponse
);
reply!(
    shared::TypeDescriptionResponse,
    type_description_response,
    Description,
    shared::TypeDescription
);
reply!(
    pb::FetchDataSourceResponse,
    fetch_data_source_response,
    CompleteResponse,
    pb::FetchDataSourceCompleteResponse
);
