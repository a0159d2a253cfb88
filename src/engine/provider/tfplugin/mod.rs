//! The dialects tfplugin 5 and 6 over the one model. Their messages are the same on the wire but
//! for schemas, so one adapter serves both; what differs is in `wire` (paths) and `schema`
//! (attributes). Owns the connection to one process; the process belongs to its supervisor.

mod convert;
mod life;
mod schema;
mod wire;

pub use life::{MESSAGE_LIMIT, SchemaReply, TfFailure, TfLife, TfLink};
pub use schema::provider_schema;
pub use wire::Protocol;

use super::dialect::{Asking, Dialect, Obituary, Reached};
use super::*;
use crate::engine::calls::{CallContext, Checked, Method, ProviderError};
use crate::engine::plugin::life::Life;
use crate::engine::words::{PluginFound, TERRAFORM_VERSION};
use convert::{Side, diagnostics};
use cty::Type;
use proto::tfplugin6 as pb;
use std::collections::BTreeMap;
use tokio::sync::OnceCell;
use tonic::transport::Channel;
use wire::Wire;

/// Terraform's plugin protocol, 5 and 6.
#[derive(Debug)]
pub struct TfPlugin {
    pub life: TfLife,
}

#[async_trait]
impl Dialect for TfPlugin {
    fn name(&self) -> &'static str {
        "tfplugin"
    }

    fn claims(&self, _: &PluginFound) -> bool {
        true
    }

    fn life(&self) -> Arc<dyn Life> {
        Arc::new(self.life.clone())
    }

    /// A provider that says so by gRPC; never where something may have changed.
    fn is_transient(&self, method: Method, error: &ProviderError) -> bool {
        let passes = |code: &str| matches!(code, "Unavailable" | "ResourceExhausted");
        method.changes_nothing()
            && matches!(error, ProviderError::Refused { code, .. } if passes(code))
    }

    async fn adapter(&self, reached: Reached) -> Result<Arc<dyn Provider>, ProviderError> {
        let Some(link) = reached.connection.link::<TfLink>() else {
            return Err(reached.foreign());
        };
        let (channel, reply) = (link.channel.clone(), link.take_schema());
        let adapter = TfProvider::new(
            reached.plugin,
            reached.address,
            link.protocol,
            channel,
            reached.obituary,
            reached.schema,
        );
        if adapter.known_schema().is_none() {
            let reply = match reply {
                Some(reply) => reply,
                None => {
                    reached
                        .asking
                        .ask(Method::Schema, adapter.ask_schema())
                        .await?
                }
            };
            adapter
                .learn(reply, identities(&reached.asking, &adapter).await?)
                .await?;
        }
        Ok(Arc::new(adapter))
    }
}

/// Identities are an extra: a provider that fails at them, or does not answer in time, goes
/// without.
async fn identities(asking: &Asking, adapter: &TfProvider) -> Result<Identities, ProviderError> {
    use ProviderError::{Deadline, Refused, Undecodable};
    match asking
        .ask(Method::IdentitySchemas, adapter.ask_identities())
        .await
    {
        Err(Refused { .. } | Undecodable { .. } | Deadline { .. }) => Ok(Identities::new()),
        asked => asked,
    }
}

/// Schemas of identities by resource type.
pub type Identities = BTreeMap<String, IdentitySchema>;

/// A provider process that speaks protocol 5 or 6.
pub struct TfProvider {
    info: ProviderInfo,
    wire: Wire,
    schema: OnceCell<Arc<ProviderSchema>>,
}

impl TfProvider {
    /// An adapter over a connection. `obituary` is asked what happened when the connection breaks;
    /// `schema` is given where it is known already.
    pub fn new(
        plugin: PluginId,
        address: String,
        protocol: Protocol,
        channel: Channel,
        obituary: Arc<dyn Obituary>,
        schema: Option<Arc<ProviderSchema>>,
    ) -> Self {
        let wire = Wire::new(plugin.clone(), protocol, channel, obituary);
        let info = ProviderInfo {
            plugin,
            address,
            dialect: protocol.dialect(),
        };
        Self {
            info,
            wire,
            schema: OnceCell::new_with(schema),
        }
    }

    /// Makes the schema known from what the provider has answered.
    pub async fn learn(
        &self,
        reply: SchemaReply,
        identities: Identities,
    ) -> Result<Arc<ProviderSchema>, ProviderError> {
        self.schema
            .get_or_try_init(|| async { self.understand(reply, identities).await })
            .await
            .cloned()
    }

    /// Asks for the schema, for [`TfProvider::learn`].
    pub async fn ask_schema(&self) -> Result<SchemaReply, ProviderError> {
        self.wire.schema().await
    }

    async fn understand(
        &self,
        reply: SchemaReply,
        identities: Identities,
    ) -> Result<Arc<ProviderSchema>, ProviderError> {
        // Megabytes of it: not on a thread that others wait for.
        let converted = tokio::task::spawn_blocking(move || provider_schema(&reply)).await;
        let mut schema = converted
            .unwrap_or_else(|e| Err(e.into()))
            .map_err(|e| self.undecodable(Method::Schema, e.to_string()))?;
        schema.identities = identities;
        Ok(Arc::new(schema))
    }

    /// Asks for what objects are known by; a provider that does not know the question has none.
    pub async fn ask_identities(&self) -> Result<Identities, ProviderError> {
        let request = pb::get_resource_identity_schemas::Request {};
        match self.wire.call(Method::IdentitySchemas, request).await {
            Ok(reply) => Ok(schema::identities(&reply)),
            Err(ProviderError::Unsupported { .. }) => Ok(Identities::new()),
            Err(error) => Err(error),
        }
    }

    fn undecodable(&self, method: Method, what: String) -> ProviderError {
        ProviderError::Undecodable {
            plugin: self.info.plugin.clone(),
            method,
            what,
        }
    }

    fn no_such(&self, kind: &'static str, name: &str) -> ProviderError {
        ProviderError::NoSuchType {
            plugin: self.info.plugin.clone(),
            kind,
            name: name.to_owned(),
        }
    }

    /// Both codecs for one type of one method.
    async fn side(
        &self,
        method: Method,
        type_name: &str,
        ctx: &CallContext,
    ) -> Result<Side<'_>, ProviderError> {
        let schema = self.schema(ctx).await?;
        let kind = match method {
            Method::ValidateData | Method::ReadData => "data source",
            Method::ValidateEphemeral | Method::OpenEphemeral => "ephemeral resource type",
            _ => "resource type",
        };
        let ty = schema
            .of(method, type_name)
            .ok_or_else(|| self.no_such(kind, type_name))?
            .implied_type()
            .clone();
        let identity = schema.identities.get(type_name).map(|i| i.ty.clone());
        let meta = schema
            .provider_meta
            .as_ref()
            .map(|m| m.implied_type().clone());
        Ok(Side {
            plugin: &self.info.plugin,
            method,
            ty,
            identity,
            meta,
        })
    }

    async fn check<Q: prost::Message + 'static, A: prost::Message + Default + 'static>(
        &self,
        method: Method,
        request: Q,
        diagnostics_of: impl FnOnce(A) -> Vec<pb::Diagnostic>,
    ) -> Result<Checked, ProviderError> {
        let answer: A = self.wire.call(method, request).await?;
        Ok(Checked {
            diagnostics: diagnostics(diagnostics_of(answer)),
        })
    }

    async fn provider_side(
        &self,
        method: Method,
        ctx: &CallContext,
    ) -> Result<Side<'_>, ProviderError> {
        let ty = self.schema(ctx).await?.provider.implied_type().clone();
        Ok(Side {
            plugin: &self.info.plugin,
            method,
            ty,
            identity: None,
            meta: None,
        })
    }
}

/// What we allow providers to do: nothing deferred yet, write-only values yes.
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

/// The answer to a plan, as it comes from the wire, in the model: what any provider can answer goes
/// through here.
///
/// # Errors
/// A value is not of the type, or a path leads nowhere.
pub fn plan_answer(
    plugin: &PluginId,
    ty: &Type,
    answer: pb::plan_resource_change::Response,
) -> Result<PlanResponse, ProviderError> {
    planned(
        &Side {
            plugin,
            method: Method::Plan,
            ty: ty.clone(),
            identity: None,
            meta: None,
        },
        answer,
    )
}

fn planned(
    side: &Side<'_>,
    answer: pb::plan_resource_change::Response,
) -> Result<PlanResponse, ProviderError> {
    let diagnostics = diagnostics(answer.diagnostics);
    let paths = answer
        .requires_replace
        .into_iter()
        .map(convert::path)
        .collect::<Option<Vec<_>>>();
    let undecodable = || ProviderError::Undecodable {
        plugin: side.plugin.clone(),
        method: side.method,
        what: "a path in requires_replace has an empty step".to_owned(),
    };
    Ok(PlanResponse {
        planned: side.decode_or_null(answer.planned_state, &diagnostics)?,
        requires_replace: paths.ok_or_else(undecodable)?,
        private: answer.planned_private,
        identity: side.decode_identity(answer.planned_identity)?,
        legacy: answer.legacy_type_system,
        diagnostics,
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
        // Protocol 5 answers a "prepared" configuration too, in a field that this answer does not
        // have; it is of no use.
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
        let side = self.side(Method::ValidateResource, type_name, ctx).await?;
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
        let side = self.side(Method::ValidateData, type_name, ctx).await?;
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
        let side = self.side(Method::Upgrade, &request.type_name, ctx).await?;
        let request = pb::upgrade_resource_state::Request {
            type_name: request.type_name,
            version: request.version,
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
            .side(Method::UpgradeIdentity, &request.type_name, ctx)
            .await?;
        let request = pb::upgrade_resource_identity::Request {
            type_name: request.type_name,
            version: request.version,
            raw_identity: raw(request.raw_json),
        };
        let answer: pb::upgrade_resource_identity::Response =
            self.wire.call(side.method, request).await?;
        Ok(IdentityResponse {
            identity: side.decode_identity(answer.upgraded_identity)?,
            diagnostics: diagnostics(answer.diagnostics),
        })
    }

    async fn read(
        &self,
        request: ReadRequest,
        ctx: &CallContext,
    ) -> Result<ReadResponse, ProviderError> {
        let side = self.side(Method::Read, &request.type_name, ctx).await?;
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
            identity: side.decode_identity(answer.new_identity)?,
            diagnostics,
        })
    }

    async fn plan(
        &self,
        request: PlanRequest,
        ctx: &CallContext,
    ) -> Result<PlanResponse, ProviderError> {
        let side = self.side(Method::Plan, &request.type_name, ctx).await?;
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
        let side = self.side(Method::Apply, &request.type_name, ctx).await?;
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
        Ok(ApplyResponse {
            new_state: side.decode(answer.new_state)?,
            private: answer.private,
            identity: side.decode_identity(answer.new_identity)?,
            legacy: answer.legacy_type_system,
            diagnostics: diagnostics(answer.diagnostics),
        })
    }

    async fn import(
        &self,
        request: ImportRequest,
        ctx: &CallContext,
    ) -> Result<ImportResponse, ProviderError> {
        let side = self.side(Method::Import, &request.type_name, ctx).await?;
        let wire = pb::import_resource_state::Request {
            identity: side.encode_identity(request.identity.as_ref())?,
            type_name: request.type_name,
            id: request.id,
            client_capabilities: client(),
        };
        let answer: pb::import_resource_state::Response = self.wire.call(side.method, wire).await?;
        let diagnostics = diagnostics(answer.diagnostics);
        let mut imported = Vec::with_capacity(answer.imported_resources.len());
        for one in answer.imported_resources {
            let side = self.side(Method::Import, &one.type_name, ctx).await?;
            imported.push(Imported {
                state: side.decode_or_null(one.state, &diagnostics)?,
                private: one.private,
                identity: side.decode_identity(one.identity)?,
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
        let side = self.side(Method::Move, &request.target_type, ctx).await?;
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
            identity: side.decode_identity(answer.target_identity)?,
            diagnostics,
        })
    }

    async fn read_data(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<DataResponse, ProviderError> {
        let side = self.side(Method::ReadData, type_name, ctx).await?;
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

    async fn call_function(
        &self,
        name: &str,
        arguments: Vec<Value>,
        ctx: &CallContext,
    ) -> Result<FunctionResponse, ProviderError> {
        let method = Method::CallFunction;
        let schema = self.schema(ctx).await?;
        let signature = schema
            .functions
            .get(name)
            .ok_or_else(|| self.no_such("function", name))?;
        let side = |ty: &Type| Side {
            plugin: &self.info.plugin,
            method,
            ty: ty.clone(),
            identity: None,
            meta: None,
        };
        let mut encoded = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            let parameter = signature
                .parameters
                .get(index)
                .or(signature.variadic.as_ref());
            let parameter = parameter.ok_or_else(|| ProviderError::Unencodable {
                plugin: self.info.plugin.clone(),
                method,
                what: format!(
                    "function {name:?} takes {} arguments, {} were given",
                    signature.parameters.len(),
                    arguments.len()
                ),
            })?;
            encoded.extend(side(&parameter.ty).encode(argument)?);
        }
        let request = pb::call_function::Request {
            name: name.to_owned(),
            arguments: encoded,
        };
        let answer: pb::call_function::Response = self.wire.call(method, request).await?;
        if let Some(error) = answer.error {
            let argument = error
                .function_argument
                .and_then(|n| usize::try_from(n).ok());
            return Ok(FunctionResponse {
                result: Err(FunctionError {
                    text: error.text,
                    argument,
                }),
            });
        }
        let result = side(&signature.returns).decode(answer.result)?;
        let result = result.ok_or_else(|| {
            self.undecodable(
                method,
                format!("function {name:?} gave neither a result nor an error"),
            )
        })?;
        Ok(FunctionResponse { result: Ok(result) })
    }

    async fn validate_ephemeral(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        let side = self.side(Method::ValidateEphemeral, type_name, ctx).await?;
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
        let side = self.side(Method::OpenEphemeral, type_name, ctx).await?;
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
        if answer.error.is_empty() {
            return Ok(());
        }
        let plugin = self.info.plugin.clone();
        Err(ProviderError::Refused {
            plugin,
            method: Method::Stop,
            code: "error".to_owned(),
            message: answer.error,
        })
    }
}
