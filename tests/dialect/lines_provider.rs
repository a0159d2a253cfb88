//! Adapter of the additional dialect: each request of the engine is a line, and its answer another.

use std::sync::Arc;

use async_trait::async_trait;
use calls::{CallContext, Checked, Method, ProviderDiagnostic, ProviderError};
use cty::{Type, Value};
use model::PluginId;
use provider::dialect::{ExitReporter, lost_connection_error};
use provider::*;
use serde_json::{Value as Json, json};

use super::lines_dialect::LinesLink;

/// Adapter of one process.
pub(super) struct LinesProvider {
    pub(super) info: ProviderInfo,
    pub(super) schema: Arc<ProviderSchema>,
    pub(super) link: LinesLink,
    pub(super) obituary: Arc<dyn ExitReporter>,
}

fn json_of(value: Option<&Value>) -> Json {
    value
        .and_then(|value| cty::json::to_json_value(value).ok())
        .unwrap_or_default()
}

impl LinesProvider {
    pub(super) fn plugin(&self) -> PluginId {
        self.info.plugin.clone()
    }

    /// Returns the answer, or the plugin's error.
    async fn call(
        &self,
        method: Method,
        mut request: Json,
        ctx: &CallContext,
    ) -> Result<Result<Json, ProviderDiagnostic>, ProviderError> {
        request["config"] = json_of(ctx.configuration.as_deref());
        match self.link.ask(&request).await {
            Ok(answer) => Ok(match answer["error"].as_str() {
                Some(error) => Err(ProviderDiagnostic::error("The plugin refused", error)),
                None => Ok(answer["ok"].clone()),
            }),
            Err(e) => {
                Err(
                    lost_connection_error(&*self.obituary, self.plugin(), method, e.to_string())
                        .await,
                )
            }
        }
    }

    fn ty(&self, type_name: &str) -> Type {
        self.schema.resources[type_name].implied_type().clone()
    }

    fn decode(&self, method: Method, json: &Json, type_name: &str) -> Result<Value, ProviderError> {
        let undecodable = |e: cty::CodecError| ProviderError::Undecodable {
            plugin: self.plugin(),
            method,
            what: e.to_string(),
        };
        cty::json::decode_value(json, &self.ty(type_name)).map_err(undecodable)
    }
}

#[async_trait]
impl Provider for LinesProvider {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn known_schema(&self) -> Option<Arc<ProviderSchema>> {
        Some(self.schema.clone())
    }

    async fn schema(&self, _: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError> {
        Ok(self.schema.clone())
    }

    async fn validate_provider(&self, _: Value, _: &CallContext) -> Result<Checked, ProviderError> {
        Ok(Checked::default())
    }

    async fn configure(&self, _: Value, _: &CallContext) -> Result<Checked, ProviderError> {
        panic!("a configuration of this dialect goes with each call");
    }

    async fn validate_resource(
        &self,
        _: &str,
        _: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        Ok(Checked::default())
    }

    async fn upgrade(
        &self,
        request: UpgradeRequest,
        _: &CallContext,
    ) -> Result<UpgradeResponse, ProviderError> {
        let json = serde_json::from_slice(&request.raw_json).unwrap_or_default();
        Ok(UpgradeResponse {
            state: self.decode(Method::Upgrade, &json, &request.type_name)?,
            diagnostics: Vec::new(),
        })
    }

    async fn read(
        &self,
        request: ReadRequest,
        ctx: &CallContext,
    ) -> Result<ReadResponse, ProviderError> {
        let ask = json!({"call": "read", "id": json_of(request.current.get_attr("id").as_ref())});
        let answer = |state, diagnostics| ReadResponse {
            state,
            private: Bytes::new(),
            identity: None,
            diagnostics,
        };
        Ok(match self.call(Method::Read, ask, ctx).await? {
            Ok(object) => answer(
                self.decode(Method::Read, &object, &request.type_name)?,
                Vec::new(),
            ),
            Err(refused) => answer(request.current, vec![refused]),
        })
    }

    /// There is no such call: computed values are unknown before the apply.
    async fn plan(
        &self,
        request: PlanRequest,
        _: &CallContext,
    ) -> Result<PlanResponse, ProviderError> {
        let mut planned = request.proposed.clone();
        if request.prior.is_null() {
            let mut attributes = planned
                .as_map()
                .map(cty::Members::to_map)
                .unwrap_or_default();
            for name in ["id", "region"] {
                attributes.insert(name.into(), Value::unknown(Type::String));
            }
            planned = Value::object_from_map(attributes);
        }
        let (requires_replace, diagnostics) = (Vec::new(), Vec::new());
        Ok(PlanResponse {
            planned,
            requires_replace,
            private: Bytes::new(),
            identity: None,
            legacy: false,
            diagnostics,
        })
    }

    async fn apply(
        &self,
        request: ApplyRequest,
        ctx: &CallContext,
    ) -> Result<ApplyResponse, ProviderError> {
        let id = json_of(request.prior.get_attr("id").as_ref());
        let ask = match request.planned.is_null() {
            true => json!({"call": "destroy", "id": id}),
            false => json!({"call": "deploy", "id": id, "spec": json_of(Some(&request.config))}),
        };
        let (new_state, diagnostics) = match self.call(Method::Apply, ask, ctx).await? {
            Ok(object) => (
                self.decode(Method::Apply, &object, &request.type_name)?,
                Vec::new(),
            ),
            Err(refused) => (request.prior, vec![refused]),
        };
        Ok(ApplyResponse {
            new_state: Some(new_state),
            private: Bytes::new(),
            identity: None,
            legacy: false,
            diagnostics,
        })
    }

    async fn stop(&self, _: &CallContext) -> Result<(), ProviderError> {
        Ok(())
    }
}
