//! Provider that responds to plans with given bytes, and supports nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use calls::{CallContext, Checked, Method, ProviderError};
use cty::schema::Schema;
use cty::{Value, msgpack};
use model::PluginId;
use prost::Message;
use proto::tfplugin6 as pb;
use provider::tfplugin::plan_answer;
use provider::*;

/// Provider that responds to plans with these bytes, one after the other.
pub(super) struct Answers {
    info: ProviderInfo,
    schema: Schema,
    answers: [Vec<u8>; 2],
    asked: AtomicUsize,
}

impl Answers {
    pub(super) fn new(schema: Schema, answers: [Vec<u8>; 2]) -> Self {
        let info = ProviderInfo {
            plugin: PluginId("fuzz".into()),
            address: "example.com/fuzz/fuzz".to_owned(),
            dialect: "tfplugin6",
        };
        Self {
            info,
            schema,
            answers,
            asked: AtomicUsize::new(0),
        }
    }

    fn no<T>(&self, method: Method) -> Result<T, ProviderError> {
        Err(ProviderError::Unsupported {
            plugin: self.info.plugin.clone(),
            method,
        })
    }
}

#[async_trait]
impl Provider for Answers {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn known_schema(&self) -> Option<Arc<ProviderSchema>> {
        None
    }

    async fn plan(
        &self,
        request: PlanRequest,
        _: &CallContext,
    ) -> Result<PlanResponse, ProviderError> {
        // A request that cannot be encoded would fail at a real provider.
        let ty = self.schema.implied_type();
        for value in [&request.prior, &request.proposed, &request.config] {
            msgpack::encode(value, ty).expect("what is asked can be sent");
        }
        // A plan can be asked for twice; later requests get the last response.
        let n = self.asked.fetch_add(1, Ordering::Relaxed).min(1);
        let answer = pb::plan_resource_change::Response::decode(self.answers[n].as_slice());
        let undecodable = |e: prost::DecodeError| ProviderError::Undecodable {
            plugin: self.info.plugin.clone(),
            method: Method::Plan,
            what: e.to_string(),
        };
        plan_answer(&self.info.plugin, ty, answer.map_err(undecodable)?)
    }

    async fn schema(&self, _: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError> {
        self.no(Method::Schema)
    }

    async fn validate_provider(&self, _: Value, _: &CallContext) -> Result<Checked, ProviderError> {
        self.no(Method::ValidateProvider)
    }

    async fn configure(&self, _: Value, _: &CallContext) -> Result<Checked, ProviderError> {
        self.no(Method::Configure)
    }

    async fn validate_resource(
        &self,
        _: &str,
        _: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        self.no(Method::ValidateResource)
    }

    async fn validate_data(
        &self,
        _: &str,
        _: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        self.no(Method::ValidateData)
    }

    async fn upgrade(
        &self,
        _: UpgradeRequest,
        _: &CallContext,
    ) -> Result<UpgradeResponse, ProviderError> {
        self.no(Method::Upgrade)
    }

    async fn upgrade_identity(
        &self,
        _: UpgradeRequest,
        _: &CallContext,
    ) -> Result<IdentityResponse, ProviderError> {
        self.no(Method::UpgradeIdentity)
    }

    async fn read(&self, _: ReadRequest, _: &CallContext) -> Result<ReadResponse, ProviderError> {
        self.no(Method::Read)
    }

    async fn apply(
        &self,
        _: ApplyRequest,
        _: &CallContext,
    ) -> Result<ApplyResponse, ProviderError> {
        self.no(Method::Apply)
    }

    async fn import(
        &self,
        _: ImportRequest,
        _: &CallContext,
    ) -> Result<ImportResponse, ProviderError> {
        self.no(Method::Import)
    }

    async fn move_state(
        &self,
        _: MoveRequest,
        _: &CallContext,
    ) -> Result<MoveResponse, ProviderError> {
        self.no(Method::Move)
    }

    async fn read_data(
        &self,
        _: &str,
        _: Value,
        _: &CallContext,
    ) -> Result<DataResponse, ProviderError> {
        self.no(Method::ReadData)
    }

    async fn call_function(
        &self,
        _: &str,
        _: Vec<Value>,
        _: &CallContext,
    ) -> Result<FunctionResponse, ProviderError> {
        self.no(Method::CallFunction)
    }

    async fn validate_ephemeral(
        &self,
        _: &str,
        _: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        self.no(Method::ValidateEphemeral)
    }

    async fn open_ephemeral(
        &self,
        _: &str,
        _: Value,
        _: &CallContext,
    ) -> Result<OpenResponse, ProviderError> {
        self.no(Method::OpenEphemeral)
    }

    async fn renew_ephemeral(
        &self,
        _: &str,
        _: Option<Bytes>,
        _: &CallContext,
    ) -> Result<RenewResponse, ProviderError> {
        self.no(Method::RenewEphemeral)
    }

    async fn close_ephemeral(
        &self,
        _: &str,
        _: Option<Bytes>,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        self.no(Method::CloseEphemeral)
    }

    async fn stop(&self, _: &CallContext) -> Result<(), ProviderError> {
        self.no(Method::Stop)
    }
}
