//! The trait that every dialect's adapter implements, and all that is above a dialect asks.

use super::model::*;
use crate::engine::calls::{CallContext, Checked, Method, ProviderError};
use crate::engine::words::PluginId;
use async_trait::async_trait;
use cty::Value;
use std::sync::Arc;

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderInfo {
    pub plugin: PluginId,
    /// The whole provider address.
    pub address: String,
    /// With its version: `tfplugin5`, `tfplugin6`, `builtin`.
    pub dialect: &'static str,
}

/// One provider instance: a process (or the builtin one), configured at most once. Errors that the
/// provider answers are in the answers; [`ProviderError`] is for calls without a usable answer.
/// What not every dialect has is not supported unless its adapter says otherwise.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Who answers.
    fn info(&self) -> &ProviderInfo;

    /// The schemas, if [`Provider::schema`] can answer them without a call.
    fn known_schema(&self) -> Option<Arc<ProviderSchema>>;

    /// All schemas. Asked once a process at most, and shared by processes of the same executable.
    async fn schema(&self, ctx: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError>;

    /// The schemas with the texts about types, for people who read them. Not every dialect has
    /// such texts apart from the schemas.
    async fn documented(&self, ctx: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError> {
        self.schema(ctx).await
    }

    /// Checks a provider configuration, which may have unknown values.
    async fn validate_provider(
        &self,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError>;

    /// Gives the process its configuration; before any call but validation, schema, upgrade,
    /// functions.
    async fn configure(&self, config: Value, ctx: &CallContext) -> Result<Checked, ProviderError>;

    /// Checks a resource's configuration.
    async fn validate_resource(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError>;

    /// Checks a data source's configuration.
    async fn validate_data(
        &self,
        _type_name: &str,
        _config: Value,
        _ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        Err(unsupported(self.info(), Method::ValidateData))
    }

    /// Makes stored state fit for the schema. Always called for stored state, at equal versions
    /// too.
    async fn upgrade(
        &self,
        request: UpgradeRequest,
        ctx: &CallContext,
    ) -> Result<UpgradeResponse, ProviderError>;

    /// Makes a stored identity fit for its schema. Called where the stored one is older.
    async fn upgrade_identity(
        &self,
        _request: UpgradeRequest,
        _ctx: &CallContext,
    ) -> Result<IdentityResponse, ProviderError> {
        Err(unsupported(self.info(), Method::UpgradeIdentity))
    }

    /// Looks at the object in the world.
    async fn read(
        &self,
        request: ReadRequest,
        ctx: &CallContext,
    ) -> Result<ReadResponse, ProviderError>;

    /// Says what an apply would lead to.
    async fn plan(
        &self,
        request: PlanRequest,
        ctx: &CallContext,
    ) -> Result<PlanResponse, ProviderError>;

    /// Changes the world.
    async fn apply(
        &self,
        request: ApplyRequest,
        ctx: &CallContext,
    ) -> Result<ApplyResponse, ProviderError>;

    /// Finds an existing object.
    async fn import(
        &self,
        _request: ImportRequest,
        _ctx: &CallContext,
    ) -> Result<ImportResponse, ProviderError> {
        Err(unsupported(self.info(), Method::Import))
    }

    /// Takes over the state of another resource type.
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

    /// The functions that it has now that it is configured, those of its schema among them or not.
    async fn functions(&self, _ctx: &CallContext) -> Result<FunctionsResponse, ProviderError> {
        Ok(FunctionsResponse::default())
    }

    /// Calls one of the provider's functions with arguments of the types of its signature.
    async fn call_function(
        &self,
        _name: &str,
        _arguments: Vec<Value>,
        _ctx: &CallContext,
    ) -> Result<FunctionResponse, ProviderError> {
        Err(unsupported(self.info(), Method::CallFunction))
    }

    /// Checks an ephemeral resource's configuration.
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

    /// Keeps an ephemeral resource open.
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

    /// Asks the provider to end what it is doing. Takes no slot: it must get through when all are
    /// held.
    async fn stop(&self, ctx: &CallContext) -> Result<(), ProviderError>;
}

fn unsupported(info: &ProviderInfo, method: Method) -> ProviderError {
    ProviderError::Unsupported {
        plugin: info.plugin.clone(),
        method,
    }
}
