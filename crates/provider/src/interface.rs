//! Trait `Provider`, which every dialect's adapter implements and the layers above use.

use super::messages::*;
use async_trait::async_trait;
use calls::{CallContext, Checked, Method, ProviderError};
use cty::Value;
use model::PluginId;
use std::sync::Arc;

/// Identity of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderInfo {
    pub plugin: PluginId,
    /// Full provider address.
    pub address: String,
    /// Dialect with its version: `tfplugin5`, `tfplugin6`, `builtin`.
    pub dialect: &'static str,
}

/// Provider instance: one process (or the builtin provider), configured at most once. Errors
/// reported by the provider are part of the answers; [`ProviderError`] is for calls without a
/// usable answer. Methods that not every dialect has are unsupported by default.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Returns the identity of the provider.
    fn info(&self) -> &ProviderInfo;

    /// Returns the schemas, if they are known without a call.
    fn known_schema(&self) -> Option<Arc<ProviderSchema>>;

    /// Fetches all schemas. Called at most once per process; processes of one executable share
    /// them.
    async fn schema(&self, ctx: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError>;

    /// Returns the schemas with documentation of types, for display. In most dialects the schemas
    /// already contain it.
    async fn documented(&self, ctx: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError> {
        self.schema(ctx).await
    }

    /// Validates a provider configuration, which may contain unknown values.
    async fn validate_provider(
        &self,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError>;

    /// Configures the process; required before all calls except validation, schema, upgrade and
    /// functions.
    async fn configure(&self, config: Value, ctx: &CallContext) -> Result<Checked, ProviderError>;

    /// Validates a resource configuration.
    async fn validate_resource(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError>;

    /// Validates a data source configuration.
    async fn validate_data(
        &self,
        _type_name: &str,
        _config: Value,
        _ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        Err(unsupported(self.info(), Method::ValidateData))
    }

    /// Upgrades stored state to the schema. Called for all stored state, even with equal versions.
    async fn upgrade(
        &self,
        request: UpgradeRequest,
        ctx: &CallContext,
    ) -> Result<UpgradeResponse, ProviderError>;

    /// Upgrades a stored identity to its schema. Called if the stored version is older.
    async fn upgrade_identity(
        &self,
        _request: UpgradeRequest,
        _ctx: &CallContext,
    ) -> Result<IdentityResponse, ProviderError> {
        Err(unsupported(self.info(), Method::UpgradeIdentity))
    }

    /// Reads the current state of the object.
    async fn read(
        &self,
        request: ReadRequest,
        ctx: &CallContext,
    ) -> Result<ReadResponse, ProviderError>;

    /// Plans a change.
    async fn plan(
        &self,
        request: PlanRequest,
        ctx: &CallContext,
    ) -> Result<PlanResponse, ProviderError>;

    /// Applies a planned change to infrastructure.
    async fn apply(
        &self,
        request: ApplyRequest,
        ctx: &CallContext,
    ) -> Result<ApplyResponse, ProviderError>;

    /// Imports an existing object.
    async fn import(
        &self,
        _request: ImportRequest,
        _ctx: &CallContext,
    ) -> Result<ImportResponse, ProviderError> {
        Err(unsupported(self.info(), Method::Import))
    }

    /// Converts the state of another resource type.
    async fn move_state(
        &self,
        _request: MoveRequest,
        _ctx: &CallContext,
    ) -> Result<MoveResponse, ProviderError> {
        Err(unsupported(self.info(), Method::Move))
    }

    /// Reads a data source.
    async fn read_data(
        &self,
        _type_name: &str,
        _config: Value,
        _ctx: &CallContext,
    ) -> Result<DataResponse, ProviderError> {
        Err(unsupported(self.info(), Method::ReadData))
    }

    /// Returns the functions of the configured provider, with or without those of its schema.
    async fn functions(&self, _ctx: &CallContext) -> Result<FunctionsResponse, ProviderError> {
        Ok(FunctionsResponse::default())
    }

    /// Calls a function with arguments of the types in its signature.
    async fn call_function(
        &self,
        _name: &str,
        _arguments: Vec<Value>,
        _ctx: &CallContext,
    ) -> Result<FunctionResponse, ProviderError> {
        Err(unsupported(self.info(), Method::CallFunction))
    }

    /// Validates an ephemeral resource configuration.
    async fn validate_ephemeral(
        &self,
        _type_name: &str,
        _config: Value,
        _ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        Err(unsupported(self.info(), Method::ValidateEphemeral))
    }

    /// Opens an ephemeral resource.
    async fn open_ephemeral(
        &self,
        _type_name: &str,
        _config: Value,
        _ctx: &CallContext,
    ) -> Result<OpenResponse, ProviderError> {
        Err(unsupported(self.info(), Method::OpenEphemeral))
    }

    /// Renews an open ephemeral resource.
    async fn renew_ephemeral(
        &self,
        _type_name: &str,
        _private: Option<Bytes>,
        _ctx: &CallContext,
    ) -> Result<RenewResponse, ProviderError> {
        Err(unsupported(self.info(), Method::RenewEphemeral))
    }

    /// Closes an ephemeral resource.
    async fn close_ephemeral(
        &self,
        _type_name: &str,
        _private: Option<Bytes>,
        _ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        Err(unsupported(self.info(), Method::CloseEphemeral))
    }

    /// Asks the provider to stop its current work. Takes no slot, because it must succeed even if
    /// all are held.
    async fn stop(&self, ctx: &CallContext) -> Result<(), ProviderError>;
}

fn unsupported(info: &ProviderInfo, method: Method) -> ProviderError {
    ProviderError::Unsupported {
        plugin: info.plugin.clone(),
        method,
    }
}
