//! Provider of objects in memory: things, links between two of them, and leases. It answers by the
//! script of its world.

use super::world::{Effect, World, short};
use crate::stage::testing::{link_id, unknown, with};
use async_trait::async_trait;
use calls::{
    Attempts, CallContext, Calls, Checked, Lane, Method, ProviderDiagnostic, ProviderError,
    RefusalCode,
};
use cty::schema::{Attribute, Block, Schema};
use cty::{Path, Type, Value};
use model::*;
use provider::*;
use std::sync::Arc;
use std::time::SystemTime;

/// The provider.
pub(super) struct FakeProvider {
    info: ProviderInfo,
    schema: Arc<ProviderSchema>,
    world: Arc<World>,
    lane: Arc<Lane>,
}

fn schemas() -> ProviderSchema {
    let computed = |name: &str| (name.into(), Attribute::computed(Type::String));
    let optional = |name: &str| (name.into(), Attribute::optional(Type::String));
    let required = |name: &str| (name.into(), Attribute::required(Type::String));
    let schema = |attributes: &[(Arc<str>, Attribute)]| {
        let attributes = attributes.iter().cloned().collect();
        Schema::new(
            0,
            Block {
                attributes,
                ..Block::default()
            },
        )
    };
    let refers = Attribute::optional(Type::list(Type::String));
    let thing = [
        computed("id"),
        optional("kind"),
        ("refers".into(), refers),
        optional("size"),
        computed("version"),
    ];
    let token = Attribute {
        write_only: true,
        ..Attribute::optional(Type::String)
    };
    let with_token: Vec<_> = thing
        .iter()
        .cloned()
        .chain([("token".into(), token)])
        .collect();
    let link = [
        required("from"),
        required("to"),
        computed("id"),
        computed("version"),
    ];
    let lease = [optional("from"), computed("result")];
    let pair = ["fake_thing"; 2].map(str::to_owned);
    ProviderSchema {
        resources: [
            ("fake_thing".to_owned(), schema(&with_token)),
            (LINK.to_owned(), schema(&link)),
        ]
        .into(),
        data_sources: [("fake_thing".to_owned(), schema(&thing))].into(),
        ephemeral: [("fake_lease".to_owned(), schema(&lease))].into(),
        // The resource at the beginning of a link is created first.
        links: LinkTypes::Pairs([(pair, Some(0))].into()),
        ..ProviderSchema::default()
    }
}

impl FakeProvider {
    pub(super) fn new(world: Arc<World>, calls: &Calls) -> Self {
        let (plugin, address) = (PluginId("hashicorp/fake".into()), full_address("fake"));
        Self {
            lane: calls.lane(&plugin, 10),
            info: ProviderInfo {
                plugin,
                address,
                dialect: "fake",
            },
            schema: Arc::new(schemas()),
            world,
        }
    }

    /// Error of the call itself, if the script has one.
    fn error(&self, effects: &[Effect]) -> Option<ProviderError> {
        let (plugin, method) = (self.info.plugin.clone(), Method::Apply);
        let text = || "scripted".to_owned();
        effects.iter().find_map(|effect| {
            let plugin = plugin.clone();
            Some(match effect {
                Effect::Status(code) => ProviderError::Refused {
                    plugin,
                    method,
                    code: RefusalCode::Grpc(*code),
                    message: text(),
                },
                Effect::Crash => ProviderError::Crashed {
                    plugin,
                    method,
                    incident: "1".to_owned(),
                    text: text(),
                },
                Effect::Disconnect => ProviderError::Unavailable {
                    plugin,
                    method,
                    why: text(),
                },
                Effect::Kill => ProviderError::Ended { plugin, method },
                Effect::Unsent => ProviderError::Cancelled {
                    plugin,
                    method,
                    sent: false,
                },
                Effect::Garble => ProviderError::Undecodable {
                    plugin,
                    method,
                    what: text(),
                },
                _ => return None,
            })
        })
    }

    fn resource_schema(&self, type_name: &str) -> &Schema {
        &self.schema.resources[type_name]
    }

    /// Lists a call about a lease; returns its errors.
    async fn call_lease(
        &self,
        method: &str,
        ctx: &CallContext,
    ) -> Result<(&'static [Effect], Vec<ProviderDiagnostic>), ProviderError> {
        let call = format!(
            "{method} {}",
            short(ctx.resource.as_deref().unwrap_or_default())
        );
        let effects = self.world.effects(&call);
        self.world.start(&call, effects).await;
        if let Some(error) = self.error(effects) {
            return Err(error);
        }
        let refused = effects.contains(&Effect::Refuse);
        let refused = refused.then(|| ProviderDiagnostic::error("no such luck", ""));
        Ok((effects, refused.into_iter().collect()))
    }

    fn applied(
        &self,
        name: &str,
        request: &ApplyRequest,
        effects: &[Effect],
        ctx: &CallContext,
    ) -> ApplyResponse {
        let is = |effect| effects.contains(&effect);
        let error = effects.iter().find_map(|effect| match effect {
            Effect::Refuse | Effect::Incomplete => Some("no such luck"),
            Effect::RefuseWith(text) => Some(*text),
            _ => None,
        });
        let new = || match request.planned.is_null() {
            true if is(Effect::Incomplete) || is(Effect::Remain) => request.prior.clone(),
            true => request.planned.clone(),
            false => self.object(name, request, ctx),
        };
        let changed = |new: Value| match () {
            () if is(Effect::Differ) => with(&new, &[("size", Value::string("other"))]),
            () if is(Effect::Unknown) => with(&new, &[("version", unknown())]),
            () if is(Effect::Keep) => with(
                &new,
                &[("version", request.prior.get_attr("version").unwrap())],
            ),
            () => new,
        };
        let lacks_object = error.is_some() && !is(Effect::Incomplete) || is(Effect::Vanish);
        let diagnostics = error.map(|text| ProviderDiagnostic::error(text, ""));
        ApplyResponse {
            new_state: (!lacks_object).then(|| changed(new())),
            private: Bytes::new(),
            identity: None,
            legacy: false,
            diagnostics: diagnostics.into_iter().collect(),
        }
    }

    fn object(&self, name: &str, request: &ApplyRequest, ctx: &CallContext) -> Value {
        let id = match request.prior.is_null() {
            true if request.type_name == LINK => Value::string(link_id(ctx).unwrap()),
            true => Value::string(self.world.new_id(name)),
            false => request.prior.get_attr("id").unwrap(),
        };
        let next = match request.prior.get_attr("version") {
            Some(version) => format!("{}+", version.as_str().unwrap_or_default()),
            None => "v".to_owned(),
        };
        let planned = &request.planned;
        match planned.get_attr("version").is_some_and(|v| v.is_known()) {
            true => planned.clone(),
            false => with(planned, &[("id", id), ("version", Value::string(next))]),
        }
    }
}

#[async_trait]
impl Provider for FakeProvider {
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
        Ok(Checked::default())
    }

    async fn validate_resource(
        &self,
        _: &str,
        _: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        let name = short(ctx.resource.as_deref().unwrap_or_default());
        let refused = self.world.effects(&format!("validate {name}"));
        let diagnostics = refused
            .iter()
            .map(|_| ProviderDiagnostic::error("invalid", ""));
        Ok(Checked {
            diagnostics: diagnostics.collect(),
        })
    }

    async fn validate_data(
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
        let ty = self.resource_schema(&request.type_name).implied_type();
        Ok(UpgradeResponse {
            state: cty::json::decode(&request.raw_json, ty).unwrap(),
            diagnostics: Vec::new(),
        })
    }

    async fn read(
        &self,
        request: ReadRequest,
        _: &CallContext,
    ) -> Result<ReadResponse, ProviderError> {
        Ok(ReadResponse {
            state: request.current,
            private: request.private,
            identity: None,
            diagnostics: Vec::new(),
        })
    }

    async fn plan(
        &self,
        request: PlanRequest,
        ctx: &CallContext,
    ) -> Result<PlanResponse, ProviderError> {
        let name = short(ctx.resource.as_deref().unwrap_or_default());
        let effects = self.world.effects(&format!("plan {name}"));
        // A token is only sent.
        let token = ("token", Value::null(Type::String));
        let (prior, proposed) = (&request.prior, &with(&request.proposed, &[token]));
        let planned = match prior.is_null() {
            true => with(proposed, &[("id", unknown()), ("version", unknown())]),
            false if proposed.raw_equals(prior) => proposed.clone(),
            false => with(proposed, &[("version", unknown())]),
        };
        let planned = match request.type_name == LINK && !prior.is_null() {
            true => with(
                &planned,
                &[("id", link_id(ctx).map_or_else(unknown, Value::string))],
            ),
            false => planned,
        };
        let forcing = match request.type_name == LINK {
            true => "id",
            false => "kind",
        };
        let is_replaced = !prior.is_null() && prior.get_attr(forcing) != planned.get_attr(forcing);
        let planned = match effects.contains(&Effect::Differ) {
            true => with(&planned, &[("id", Value::string("other"))]),
            false => planned,
        };
        let error = effects.contains(&Effect::Refuse);
        let error = error.then(|| ProviderDiagnostic::error("cannot plan", ""));
        Ok(PlanResponse {
            planned,
            requires_replace: is_replaced
                .then(|| Path::root().attr(forcing))
                .into_iter()
                .collect(),
            private: Bytes::new(),
            identity: None,
            legacy: false,
            diagnostics: error.into_iter().collect(),
        })
    }

    async fn apply(
        &self,
        request: ApplyRequest,
        ctx: &CallContext,
    ) -> Result<ApplyResponse, ProviderError> {
        let step = match (request.prior.is_null(), request.planned.is_null()) {
            (_, true) => "destroy",
            (true, _) => "create",
            _ => "update",
        };
        let name = short(ctx.resource.as_deref().unwrap_or_default());
        let call = format!("{step} {name}");
        let effects = self.world.effects(&call);
        let failing = effects.iter().find_map(|effect| match effect {
            Effect::Transient(attempts) => Some(*attempts),
            _ => None,
        });
        let mut left = failing.unwrap_or_default();
        let mut attempts = Attempts::at(&self.lane, Method::Apply, ctx);
        let is_transient = |error: &ProviderError| error.class() == FailureClass::Transient;
        loop {
            let attempt = async {
                self.world.start(&call, effects).await;
                if left > 0 {
                    left -= 1;
                    return Err(ProviderError::Refused {
                        plugin: self.info.plugin.clone(),
                        method: Method::Apply,
                        code: RefusalCode::Transient,
                        message: "busy".to_owned(),
                    });
                }
                match self.error(effects) {
                    Some(error) => Err(error),
                    None => Ok(self.applied(&name, &request, effects, ctx)),
                }
            };
            if failing.is_none() {
                return attempt.await;
            }
            if let Some(answer) = attempts.next(is_transient, attempt).await {
                return answer;
            }
        }
    }

    async fn import(
        &self,
        request: ImportRequest,
        _: &CallContext,
    ) -> Result<ImportResponse, ProviderError> {
        let text = |text: &str| Value::string(text);
        let schema = self.resource_schema(&request.type_name);
        let null = Value::null(schema.implied_type().clone());
        let empty = schema.empty_value();
        let state = match request.id.is_empty() {
            true => null,
            false => with(empty, &[("id", text(&request.id)), ("version", text("v"))]),
        };
        Ok(ImportResponse {
            imported: vec![Imported {
                type_name: request.type_name,
                state,
                private: Bytes::new(),
                identity: None,
            }],
            diagnostics: Vec::new(),
        })
    }

    async fn read_data(
        &self,
        _: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<DataResponse, ProviderError> {
        let name = short(ctx.resource.as_deref().unwrap_or_default()).replace("data.", "");
        let call = format!("look {name}");
        let effects = self.world.effects(&call);
        self.world.start(&call, effects).await;
        let refused = effects.contains(&Effect::Refuse);
        let refused = refused.then(|| ProviderDiagnostic::error("cannot look", ""));
        Ok(DataResponse {
            state: with(
                &config,
                &[("id", Value::string("d")), ("version", Value::string("v"))],
            ),
            diagnostics: refused.into_iter().collect(),
        })
    }

    async fn validate_ephemeral(
        &self,
        _: &str,
        _: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        Ok(Checked::default())
    }

    async fn open_ephemeral(
        &self,
        _: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<OpenResponse, ProviderError> {
        let (effects, diagnostics) = self.call_lease("open", ctx).await?;
        Ok(OpenResponse {
            result: with(&config, &[("result", Value::string("secret"))]),
            private: None,
            renew_at: effects.contains(&Effect::Renew).then(SystemTime::now),
            diagnostics,
        })
    }

    async fn renew_ephemeral(
        &self,
        _: &str,
        private: Option<Bytes>,
        ctx: &CallContext,
    ) -> Result<RenewResponse, ProviderError> {
        let (effects, diagnostics) = self.call_lease("renew", ctx).await?;
        Ok(RenewResponse {
            private,
            renew_at: effects.contains(&Effect::Renew).then(SystemTime::now),
            diagnostics,
        })
    }

    async fn close_ephemeral(
        &self,
        _: &str,
        _: Option<Bytes>,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        let (_, diagnostics) = self.call_lease("close", ctx).await?;
        Ok(Checked { diagnostics })
    }

    async fn stop(&self, _: &CallContext) -> Result<(), ProviderError> {
        Ok(())
    }
}
