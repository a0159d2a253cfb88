//! A provider all of whose calls take the way through a [`Lane`]. Owns nothing but the two.

use super::Lane;
use crate::engine::provider::*;
use async_trait::async_trait;
use cty::Value;
use std::sync::Arc;

/// A provider behind its lane.
pub struct Called {
    lane: Arc<Lane>,
    inner: Arc<dyn Provider>,
}

impl Called {
    /// Puts a provider behind a lane.
    pub fn new(lane: Arc<Lane>, inner: Arc<dyn Provider>) -> Self {
        Self { lane, inner }
    }
}

macro_rules! pass {
    ($self:ident, $method:ident, $ctx:ident, $call:expr) => {
        $self.lane.run(Method::$method, $ctx, $call).await
    };
}

#[async_trait]
impl Provider for Called {
    fn info(&self) -> &ProviderInfo {
        self.inner.info()
    }

    fn known_schema(&self) -> Option<Arc<ProviderSchema>> {
        self.inner.known_schema()
    }

    async fn schema(&self, ctx: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError> {
        match self.inner.known_schema() {
            Some(schema) => Ok(schema),
            None => pass!(self, Schema, ctx, self.inner.schema(ctx)),
        }
    }

    async fn validate_provider(&self, config: Value, ctx: &CallContext) -> Result<Checked, ProviderError> {
        pass!(self, ValidateProvider, ctx, self.inner.validate_provider(config, ctx))
    }

    async fn configure(&self, config: Value, ctx: &CallContext) -> Result<Checked, ProviderError> {
        pass!(self, Configure, ctx, self.inner.configure(config, ctx))
    }

    async fn validate_resource(&self, type_name: &str, config: Value, ctx: &CallContext) -> Result<Checked, ProviderError> {
        pass!(self, ValidateResource, ctx, self.inner.validate_resource(type_name, config, ctx))
    }

    async fn validate_data(&self, type_name: &str, config: Value, ctx: &CallContext) -> Result<Checked, ProviderError> {
        pass!(self, ValidateData, ctx, self.inner.validate_data(type_name, config, ctx))
    }

    async fn upgrade(&self, request: UpgradeRequest, ctx: &CallContext) -> Result<UpgradeResponse, ProviderError> {
        pass!(self, Upgrade, ctx, self.inner.upgrade(request, ctx))
    }

    async fn read(&self, request: ReadRequest, ctx: &CallContext) -> Result<ReadResponse, ProviderError> {
        pass!(self, Read, ctx, self.inner.read(request, ctx))
    }

    async fn plan(&self, request: PlanRequest, ctx: &CallContext) -> Result<PlanResponse, ProviderError> {
        pass!(self, Plan, ctx, self.inner.plan(request, ctx))
    }

    async fn apply(&self, request: ApplyRequest, ctx: &CallContext) -> Result<ApplyResponse, ProviderError> {
        pass!(self, Apply, ctx, self.inner.apply(request, ctx))
    }

    async fn import(&self, request: ImportRequest, ctx: &CallContext) -> Result<ImportResponse, ProviderError> {
        pass!(self, Import, ctx, self.inner.import(request, ctx))
    }

    async fn move_state(&self, request: MoveRequest, ctx: &CallContext) -> Result<MoveResponse, ProviderError> {
        pass!(self, Move, ctx, self.inner.move_state(request, ctx))
    }

    async fn read_data(&self, type_name: &str, config: Value, ctx: &CallContext) -> Result<DataResponse, ProviderError> {
        pass!(self, ReadData, ctx, self.inner.read_data(type_name, config, ctx))
    }

    async fn call_function(&self, name: &str, arguments: Vec<Value>, ctx: &CallContext) -> Result<FunctionResponse, ProviderError> {
        pass!(self, CallFunction, ctx, self.inner.call_function(name, arguments, ctx))
    }

    async fn validate_ephemeral(&self, type_name: &str, config: Value, ctx: &CallContext) -> Result<Checked, ProviderError> {
        pass!(self, ValidateEphemeral, ctx, self.inner.validate_ephemeral(type_name, config, ctx))
    }

    async fn open_ephemeral(&self, type_name: &str, config: Value, ctx: &CallContext) -> Result<OpenResponse, ProviderError> {
        pass!(self, OpenEphemeral, ctx, self.inner.open_ephemeral(type_name, config, ctx))
    }

    async fn renew_ephemeral(&self, type_name: &str, private: Option<Bytes>, ctx: &CallContext) -> Result<RenewResponse, ProviderError> {
        pass!(self, RenewEphemeral, ctx, self.inner.renew_ephemeral(type_name, private, ctx))
    }

    async fn close_ephemeral(&self, type_name: &str, private: Option<Bytes>, ctx: &CallContext) -> Result<Checked, ProviderError> {
        pass!(self, CloseEphemeral, ctx, self.inner.close_ephemeral(type_name, private, ctx))
    }

    async fn stop(&self, ctx: &CallContext) -> Result<(), ProviderError> {
        let call = async { self.inner.stop(ctx).await.map(|()| Checked::default()) };
        self.lane.run_beside(Method::Stop, ctx, call).await.map(|_| ())
    }
}
