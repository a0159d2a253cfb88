//! Implements `Provider` for protocols 5 and 6: converts each request to its message, and the
//! answer back.

use super::adapter::TfProvider;
use super::convert::{diagnostics, has_errors, with_reported};
use super::plan::planned;
use crate::*;
use async_trait::async_trait;
use calls::{CallContext, Checked, Method, ProviderDiagnostic, ProviderError, RefusalCode};
use cty::Value;
use model::TERRAFORM_VERSION;
use proto::tfplugin6 as pb;
use std::sync::Arc;

/// Returns the client capabilities: deferral is not supported, write-only attributes are.
fn client() -> Option<pb::ClientCapabilities> {
    Some(pb::ClientCapabilities {
        deferral_allowed: false,
        write_only_attributes_allowed: true,
    })
}

fn raw(json: Bytes) -> Option<pb::RawState> {
    Some(pb::RawState {
        json,
        ..Default::default()
    })
}

#[async_trait]
impl Provider for TfProvider {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn known_schema(&self) -> Option<Arc<ProviderSchema>> {
        self.schema.get().cloned()
    }

    async fn schema(&self, _: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError> {
        // Concurrent callers share one fetch; an error is not kept.
        let ask = || async {
            self.understand(self.ask_schema().await?, self.ask_identities().await?)
                .await
        };
        self.schema.get_or_try_init(ask).await.cloned()
    }

    async fn validate_provider(
        &self,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        let side = self.provider_side(Method::ValidateProvider, ctx).await?;
        // Protocol 5 also returns a "prepared" configuration, which this message omits because it
        // is not used.
        let request = pb::validate_provider_config::Request {
            config: side.encode(&config)?,
        };
        self.check(
            side.method,
            request,
            |a: pb::validate_provider_config::Response| a.diagnostics,
        )
        .await
    }

    async fn configure(&self, config: Value, ctx: &CallContext) -> Result<Checked, ProviderError> {
        let side = self.provider_side(Method::Configure, ctx).await?;
        let request = pb::configure_provider::Request {
            terraform_version: TERRAFORM_VERSION.to_owned(),
            config: side.encode(&config)?,
            client_capabilities: client(),
        };
        self.check(
            side.method,
            request,
            |a: pb::configure_provider::Response| a.diagnostics,
        )
        .await
    }

    async fn validate_resource(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        let side = self
            .codecs(Method::ValidateResource, type_name, ctx)
            .await?;
        let request = pb::validate_resource_config::Request {
            type_name: type_name.to_owned(),
            config: side.encode(&config)?,
            client_capabilities: client(),
        };
        self.check(
            side.method,
            request,
            |a: pb::validate_resource_config::Response| a.diagnostics,
        )
        .await
    }

    async fn validate_data(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        let side = self.codecs(Method::ValidateData, type_name, ctx).await?;
        let request = pb::validate_data_resource_config::Request {
            type_name: type_name.to_owned(),
            config: side.encode(&config)?,
        };
        self.check(
            side.method,
            request,
            |a: pb::validate_data_resource_config::Response| a.diagnostics,
        )
        .await
    }

    async fn upgrade(
        &self,
        request: UpgradeRequest,
        ctx: &CallContext,
    ) -> Result<UpgradeResponse, ProviderError> {
        let side = self
            .codecs(Method::Upgrade, &request.type_name, ctx)
            .await?;
        let request = pb::upgrade_resource_state::Request {
            type_name: request.type_name,
            version: request.version,
            // Verbatim, because its schema may be older than the provider's.
            raw_state: raw(request.raw_json),
        };
        let answer: pb::upgrade_resource_state::Response =
            self.wire.call(side.method, request).await?;
        let diagnostics = diagnostics(answer.diagnostics);
        Ok(UpgradeResponse {
            state: side.decode_or_null(answer.upgraded_state, &diagnostics)?,
            diagnostics,
        })
    }

    async fn upgrade_identity(
        &self,
        request: UpgradeRequest,
        ctx: &CallContext,
    ) -> Result<IdentityResponse, ProviderError> {
        let side = self
            .codecs(Method::UpgradeIdentity, &request.type_name, ctx)
            .await?;
        let request = pb::upgrade_resource_identity::Request {
            type_name: request.type_name,
            version: request.version,
            raw_identity: raw(request.raw_json),
        };
        let answer: pb::upgrade_resource_identity::Response =
            self.wire.call(side.method, request).await?;
        let diagnostics = diagnostics(answer.diagnostics);
        Ok(IdentityResponse {
            identity: side.decode_identity(answer.upgraded_identity, &diagnostics)?,
            diagnostics,
        })
    }

    async fn read(
        &self,
        request: ReadRequest,
        ctx: &CallContext,
    ) -> Result<ReadResponse, ProviderError> {
        let side = self.codecs(Method::Read, &request.type_name, ctx).await?;
        let wire = pb::read_resource::Request {
            current_state: side.encode(&request.current)?,
            private: request.private,
            provider_meta: side.encode_meta(ctx.meta.as_ref())?,
            client_capabilities: client(),
            current_identity: side.encode_identity(request.identity.as_ref())?,
            type_name: request.type_name,
        };
        let answer: pb::read_resource::Response = self.wire.call(side.method, wire).await?;
        let diagnostics = diagnostics(answer.diagnostics);
        Ok(ReadResponse {
            state: side.decode_or_null(answer.new_state, &diagnostics)?,
            private: answer.private,
            identity: side.decode_identity(answer.new_identity, &diagnostics)?,
            diagnostics,
        })
    }

    async fn plan(
        &self,
        request: PlanRequest,
        ctx: &CallContext,
    ) -> Result<PlanResponse, ProviderError> {
        let side = self.codecs(Method::Plan, &request.type_name, ctx).await?;
        let wire = pb::plan_resource_change::Request {
            prior_state: side.encode(&request.prior)?,
            proposed_new_state: side.encode(&request.proposed)?,
            config: side.encode(&request.config)?,
            prior_private: request.prior_private,
            provider_meta: side.encode_meta(ctx.meta.as_ref())?,
            client_capabilities: client(),
            prior_identity: side.encode_identity(request.prior_identity.as_ref())?,
            type_name: request.type_name,
        };
        let answer: pb::plan_resource_change::Response = self.wire.call(side.method, wire).await?;
        planned(&side, answer)
    }

    async fn apply(
        &self,
        request: ApplyRequest,
        ctx: &CallContext,
    ) -> Result<ApplyResponse, ProviderError> {
        let side = self.codecs(Method::Apply, &request.type_name, ctx).await?;
        let wire = pb::apply_resource_change::Request {
            prior_state: side.encode(&request.prior)?,
            planned_state: side.encode(&request.planned)?,
            config: side.encode(&request.config)?,
            planned_private: request.private,
            provider_meta: side.encode_meta(ctx.meta.as_ref())?,
            planned_identity: side.encode_identity(request.planned_identity.as_ref())?,
            type_name: request.type_name,
        };
        let answer: pb::apply_resource_change::Response = self.wire.call(side.method, wire).await?;
        let mut diagnostics = diagnostics(answer.diagnostics);
        // With the reported error, which may explain why the value cannot be decoded.
        let new_state = side
            .decode(answer.new_state)
            .map_err(|e| with_reported(e, &diagnostics))?;
        // The object exists, so an invalid identity must not lose its new state.
        let identity = side
            .decode_identity(answer.new_identity, &diagnostics)
            .unwrap_or_else(|e| {
                let summary = "Provider returned an invalid identity";
                diagnostics.push(ProviderDiagnostic::error(summary, e.to_string()));
                None
            });
        Ok(ApplyResponse {
            new_state,
            private: answer.private,
            identity,
            legacy: answer.legacy_type_system,
            diagnostics,
        })
    }

    async fn import(
        &self,
        request: ImportRequest,
        ctx: &CallContext,
    ) -> Result<ImportResponse, ProviderError> {
        let side = self.codecs(Method::Import, &request.type_name, ctx).await?;
        let wire = pb::import_resource_state::Request {
            identity: side.encode_identity(request.identity.as_ref())?,
            type_name: request.type_name,
            id: request.id,
            client_capabilities: client(),
        };
        let answer: pb::import_resource_state::Response = self.wire.call(side.method, wire).await?;
        let diagnostics = diagnostics(answer.diagnostics);
        // After errors nothing is imported, even if the answer has objects.
        if has_errors(&diagnostics) {
            return Ok(ImportResponse {
                imported: Vec::new(),
                diagnostics,
            });
        }
        let mut imported = Vec::with_capacity(answer.imported_resources.len());
        for one in answer.imported_resources {
            // An import may return objects of other types than requested.
            let side = self.codecs(Method::Import, &one.type_name, ctx).await?;
            imported.push(Imported {
                state: side.decode_or_null(one.state, &diagnostics)?,
                private: one.private,
                identity: side.decode_identity(one.identity, &diagnostics)?,
                type_name: one.type_name,
            });
        }
        Ok(ImportResponse {
            imported,
            diagnostics,
        })
    }

    async fn move_state(
        &self,
        request: MoveRequest,
        ctx: &CallContext,
    ) -> Result<MoveResponse, ProviderError> {
        // Only the answer has the target's type; the source state is sent as raw JSON.
        let side = self.codecs(Method::Move, &request.target_type, ctx).await?;
        let wire = pb::move_resource_state::Request {
            source_provider_address: request.source_provider,
            source_type_name: request.source_type,
            source_schema_version: request.source_version,
            source_state: raw(request.raw_json),
            target_type_name: request.target_type,
            source_private: request.source_private,
            source_identity: request.source_identity.and_then(raw),
            source_identity_schema_version: request.source_identity_version,
        };
        let answer: pb::move_resource_state::Response = self.wire.call(side.method, wire).await?;
        let diagnostics = diagnostics(answer.diagnostics);
        Ok(MoveResponse {
            state: side.decode_or_null(answer.target_state, &diagnostics)?,
            private: answer.target_private,
            identity: side.decode_identity(answer.target_identity, &diagnostics)?,
            diagnostics,
        })
    }

    async fn read_data(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<DataResponse, ProviderError> {
        let side = self.codecs(Method::ReadData, type_name, ctx).await?;
        let wire = pb::read_data_source::Request {
            type_name: type_name.to_owned(),
            config: side.encode(&config)?,
            provider_meta: side.encode_meta(ctx.meta.as_ref())?,
            client_capabilities: client(),
        };
        let answer: pb::read_data_source::Response = self.wire.call(side.method, wire).await?;
        let diagnostics = diagnostics(answer.diagnostics);
        Ok(DataResponse {
            state: side.decode_or_null(answer.state, &diagnostics)?,
            diagnostics,
        })
    }

    async fn functions(&self, _ctx: &CallContext) -> Result<FunctionsResponse, ProviderError> {
        self.fetch_functions().await.cloned()
    }

    async fn call_function(
        &self,
        name: &str,
        arguments: Vec<Value>,
        ctx: &CallContext,
    ) -> Result<FunctionResponse, ProviderError> {
        self.function(name, arguments, ctx).await
    }

    async fn validate_ephemeral(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        let side = self
            .codecs(Method::ValidateEphemeral, type_name, ctx)
            .await?;
        let request = pb::validate_ephemeral_resource_config::Request {
            type_name: type_name.to_owned(),
            config: side.encode(&config)?,
        };
        self.check(
            side.method,
            request,
            |a: pb::validate_ephemeral_resource_config::Response| a.diagnostics,
        )
        .await
    }

    async fn open_ephemeral(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<OpenResponse, ProviderError> {
        let side = self.codecs(Method::OpenEphemeral, type_name, ctx).await?;
        let wire = pb::open_ephemeral_resource::Request {
            type_name: type_name.to_owned(),
            config: side.encode(&config)?,
            client_capabilities: client(),
        };
        let answer: pb::open_ephemeral_resource::Response =
            self.wire.call(side.method, wire).await?;
        let diagnostics = diagnostics(answer.diagnostics);
        Ok(OpenResponse {
            result: side.decode_or_null(answer.result, &diagnostics)?,
            private: answer.private,
            // A time out of range is treated as none.
            renew_at: answer.renew_at.and_then(|t| t.try_into().ok()),
            diagnostics,
        })
    }

    async fn renew_ephemeral(
        &self,
        type_name: &str,
        private: Option<Bytes>,
        _: &CallContext,
    ) -> Result<RenewResponse, ProviderError> {
        let request = pb::renew_ephemeral_resource::Request {
            type_name: type_name.to_owned(),
            private,
        };
        let answer: pb::renew_ephemeral_resource::Response =
            self.wire.call(Method::RenewEphemeral, request).await?;
        Ok(RenewResponse {
            private: answer.private,
            renew_at: answer.renew_at.and_then(|t| t.try_into().ok()),
            diagnostics: diagnostics(answer.diagnostics),
        })
    }

    async fn close_ephemeral(
        &self,
        type_name: &str,
        private: Option<Bytes>,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        let request = pb::close_ephemeral_resource::Request {
            type_name: type_name.to_owned(),
            private,
        };
        self.check(
            Method::CloseEphemeral,
            request,
            |a: pb::close_ephemeral_resource::Response| a.diagnostics,
        )
        .await
    }

    async fn stop(&self, _: &CallContext) -> Result<(), ProviderError> {
        let answer: pb::stop_provider::Response = self
            .wire
            .call(Method::Stop, pb::stop_provider::Request {})
            .await?;
        // StopProvider reports errors as text instead of diagnostics.
        if answer.error.is_empty() {
            return Ok(());
        }
        let plugin = self.info.plugin.clone();
        Err(ProviderError::Refused {
            plugin,
            method: Method::Stop,
            code: RefusalCode::Other("error"),
            message: answer.error,
        })
    }
}
