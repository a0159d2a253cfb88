//! Validates configurations with the plugin and reads the observed state of objects.

use super::adapter::BluelinkProvider;
use super::check::convert_diagnostic;
use super::convert::{Unknown, decode, encode};
use super::data::DataDefinition;
use super::deploy::spec_of;
use super::links::without_links;
use super::schema::Definition;
use super::wire::Fault;
use crate::Bytes;
use calls::{CallContext, Method, ProviderDiagnostic, ProviderError};
use cty::Value;
use proto::bluelink::providerserverv1::{
    CustomValidateDataSourceRequest, CustomValidateDataSourceResponse,
    CustomValidateResourceRequest, CustomValidateResourceResponse, DataSourceType,
    GetResourceExternalStateRequest, GetResourceExternalStateResponse,
};
use proto::bluelink::schema::Resource;
use proto::bluelink::sharedtypesv1::ResourceType;

impl BluelinkProvider {
    /// Returns the diagnostics of the plugin for a resource; empty if the plugin lacks the call.
    pub(super) async fn validated(
        &self,
        of: &Definition,
        config: &Value,
        ctx: &CallContext,
    ) -> Result<Vec<ProviderDiagnostic>, ProviderError> {
        let method = Method::CustomValidateResource;
        let request = CustomValidateResourceRequest {
            resource_type: Some(ResourceType {
                r#type: of.wire.clone(),
            }),
            host_id: self.wire.host_id.clone(),
            // Unknown values are sent as unresolved references.
            schema_resource: Some(Resource {
                r#type: of.wire.clone(),
                spec: encode(config, Some(&of.node), Unknown::Unresolved),
                ..Resource::default()
            }),
            context: Some(self.caller.context(ctx)),
        };
        let path = "/providerserverv1.Provider/CustomValidateResource";
        let call = (method, path);
        let asked = self.item::<CustomValidateResourceResponse>(call, (ctx, None), request);
        match asked.await {
            Ok(complete) => Ok(complete
                .diagnostics
                .iter()
                .filter_map(convert_diagnostic)
                .collect()),
            Err(Fault::Call(ProviderError::Unsupported { .. })) => Ok(Vec::new()),
            Err(Fault::Call(error)) => Err(error),
            Err(Fault::Reported(said)) => {
                Ok(vec![said.diagnostic("could not validate the resource")])
            }
        }
    }

    /// Returns the diagnostics of the plugin for a data source; empty if the plugin lacks the call.
    pub(super) async fn validated_data(
        &self,
        of: &DataDefinition,
        config: &Value,
        ctx: &CallContext,
    ) -> Result<Vec<ProviderDiagnostic>, ProviderError> {
        // An unknown filter field or operator cannot be sent.
        let Some(written) = of.as_written(config) else {
            return Ok(Vec::new());
        };
        let request = CustomValidateDataSourceRequest {
            data_source_type: Some(DataSourceType {
                r#type: of.wire.clone(),
            }),
            host_id: self.wire.host_id.clone(),
            schema_data_source: Some(written),
            context: Some(self.caller.context(ctx)),
        };
        let path = "/providerserverv1.Provider/CustomValidateDataSource";
        let asked =
            self.wire
                .ask::<CustomValidateDataSourceResponse>(Method::ValidateData, path, request);
        match asked.await {
            Ok(complete) => Ok(complete
                .diagnostics
                .iter()
                .filter_map(convert_diagnostic)
                .collect()),
            Err(Fault::Call(ProviderError::Unsupported { .. })) => Ok(Vec::new()),
            Err(Fault::Call(error)) => Err(error),
            Err(Fault::Reported(said)) => {
                Ok(vec![said.diagnostic("could not validate the data source")])
            }
        }
    }

    /// Returns the observed object; null if it does not exist.
    pub(super) async fn read_object(
        &self,
        of: &Definition,
        current: &Value,
        private: &Bytes,
        ctx: &CallContext,
    ) -> Result<Value, Fault> {
        let named = self.resource_names(of, private, ctx);
        let request = GetResourceExternalStateRequest {
            resource_type: named.kind,
            host_id: self.wire.host_id.clone(),
            instance_id: self.settings.instance_id.clone(),
            instance_name: self.settings.instance_name.clone(),
            resource_id: named.resource_id,
            current_resource_spec: Some(spec_of(of, current)),
            current_resource_metadata: None,
            context: Some(self.caller.context(ctx)),
            resource_name: named.resource_name,
        };
        let path = "/providerserverv1.Provider/GetResourceExternalState";
        let method = Method::GetResourceExternalState;
        let call = (method, path);
        let asked = |next| {
            self.item::<GetResourceExternalStateResponse>(call, (ctx, next), request.clone())
        };
        let node = self.call_with_retries(method, ctx, asked).await?;
        // Links write into the objects at their ends; these fields are no drift of the object.
        let node = without_links(node, &spec_of(of, current), ctx);
        // By convention, an empty node means that the object does not exist.
        decode(Some(&node), &of.node, current, super::paths::ROOT)
            .map_err(|what| Fault::Call(self.wire.undecodable(method, what)))
    }
}
