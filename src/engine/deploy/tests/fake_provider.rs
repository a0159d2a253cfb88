//! Provider of objects in memory. It lists its calls, with the store's records at that moment, and
//! answers by script.

use crate::deploy::run::Stops;
use async_trait::async_trait;
use calls::{
    Attempts, CallContext, Calls, Checked, GrpcCode, Lane, Method, ProviderDiagnostic,
    ProviderError, RefusalCode,
};
use cty::schema::{Attribute, Block, Schema};
use cty::{Path, Type, Value};
use model::mutex::lock;
use model::*;
use provider::*;
use rusqlite::{Connection, OpenFlags};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Effect of a call, in place of or before its ordinary answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Effect {
    /// An operator goes to a rung of the cancel ladder while the call runs.
    Cancel(CancelRung),
    /// The answer comes only after this call has started.
    Await(&'static str),
    /// The store's file is removed while the call runs.
    LoseStore,
    /// The answer is an error, without an object.
    Refuse,
    /// The answer is an error with this text, without an object.
    RefuseWith(&'static str),
    /// The answer is an error, with an object.
    Incomplete,
    /// The answer has neither an object nor an error.
    Vanish,
    /// The object of a destroy remains, without an error.
    Remain,
    /// An attribute that an update may change stays the same.
    Keep,
    /// A value of the answer differs from the plan.
    Differ,
    /// A value of the answer is unknown.
    Unknown,
    /// The call fails with a gRPC status.
    Status(GrpcCode),
    /// The process crashes.
    Crash,
    /// The connection ends.
    Disconnect,
    /// The process is killed by an order.
    Kill,
    /// The call was cancelled before it was sent.
    Unsent,
    /// The answer cannot be decoded.
    Garble,
    /// This many attempts fail temporarily.
    Transient(u32),
}

/// Script of the calls, such as `create a`.
pub(super) type Script = &'static [(&'static str, &'static [Effect])];

/// Call that the provider got.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) name: String,
    /// Records of the store when the call came.
    pub(super) records: String,
}

/// Objects and calls of the provider.
pub(super) struct World {
    calls: Mutex<Vec<Call>>,
    script: Mutex<Script>,
    started: watch::Sender<Vec<String>>,
    /// Number of objects ever created, by name.
    created: Mutex<std::collections::HashMap<String, u32>>,
    store: PathBuf,
    stops: Mutex<Option<(Stops, CancellationToken)>>,
}

impl World {
    pub(super) fn new(store: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::default(),
            script: Mutex::new(&[]),
            started: watch::channel(Vec::new()).0,
            created: Mutex::default(),
            store,
            stops: Mutex::default(),
        })
    }

    /// Begins a deploy with its script.
    pub(super) fn begin(&self, script: Script, stops: &Stops, kill: &CancellationToken) {
        lock(&self.calls).clear();
        self.started.send_replace(Vec::new());
        *lock(&self.script) = script;
        *lock(&self.stops) = Some((stops.clone(), kill.clone()));
    }

    /// Returns the calls, and ends the script.
    pub(super) fn end(&self) -> Vec<Call> {
        *lock(&self.script) = &[];
        std::mem::take(&mut *lock(&self.calls))
    }

    /// Records of the newest deploy, in order: `create a ok, create b open`. Read through a
    /// connection of its own, which sees only committed ones.
    pub(super) fn records(&self) -> String {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let Ok(store) = Connection::open_with_flags(&self.store, flags) else {
            return "no store".to_owned();
        };
        let mut query = store
            .prepare(
                "SELECT step, address, deposed, ok FROM intent
                 WHERE deploy = (SELECT max(id) FROM deploy) ORDER BY id",
            )
            .unwrap();
        let rows = query.query_map([], |row| {
            let (step, address): (String, String) = (row.get(0)?, row.get(1)?);
            let deposed: String = row.get(2)?;
            let end = match row.get::<_, Option<bool>>(3)? {
                Some(true) => "ok",
                Some(false) => "failed",
                None => "open",
            };
            let old = if deposed.is_empty() { "" } else { " (deposed)" };
            Ok(format!("{step} {}{old} {end}", short(&address)))
        });
        let rows: Vec<String> = rows.unwrap().map(Result::unwrap).collect();
        rows.join(", ")
    }

    fn effects(&self, call: &str) -> &'static [Effect] {
        let script = *lock(&self.script);
        script
            .iter()
            .find(|(name, _)| *name == call)
            .map_or(&[], |(_, effects)| effects)
    }

    /// Lists a call and applies the effects that come before the answer.
    async fn start(&self, name: &str, effects: &[Effect]) {
        let records = self.records();
        lock(&self.calls).push(Call {
            name: name.to_owned(),
            records,
        });
        self.started.send_modify(|all| all.push(name.to_owned()));
        for effect in effects {
            match effect {
                Effect::Cancel(rung) => self.cancel(*rung),
                Effect::Await(other) => {
                    let mut started = self.started.subscribe();
                    let seen = started.wait_for(|all| all.iter().any(|one| one == other));
                    seen.await.unwrap();
                }
                Effect::LoseStore => {
                    std::fs::remove_dir_all(self.store.parent().unwrap()).unwrap();
                }
                _ => {}
            }
        }
    }

    /// Cancels the tokens that the rung cancels; see `operations::deploying`.
    fn cancel(&self, rung: CancelRung) {
        let stops = lock(&self.stops);
        let (stops, kill) = stops.as_ref().unwrap();
        stops.starting.cancel();
        if rung >= CancelRung::AskPlugins {
            stops.all.cancel();
        }
        if rung == CancelRung::KillPlugins {
            kill.cancel();
        }
    }

    fn new_id(&self, name: &str) -> String {
        let mut created = lock(&self.created);
        let number = created.entry(name.to_owned()).or_default();
        *number += 1;
        format!("{name}{number}")
    }
}

/// Name of a resource without its type: `a`, `b (deposed)`.
pub(super) fn short(address: &str) -> String {
    let name = address.replace("fake_thing.", "");
    match name.split_once(" (deposed") {
        Some((name, _)) => format!("{name} (deposed)"),
        None => name,
    }
}

/// The provider.
pub(super) struct FakeProvider {
    info: ProviderInfo,
    schema: Arc<ProviderSchema>,
    world: Arc<World>,
    lane: Arc<Lane>,
}

/// Arguments and attributes of a `fake_thing`.
const ATTRIBUTES: [&str; 5] = ["id", "kind", "refers", "size", "version"];

fn schema() -> Schema {
    let list = Type::list(Type::String);
    let attributes = [
        ("id", Attribute::computed(Type::String)),
        ("kind", Attribute::optional(Type::String)),
        ("refers", Attribute::optional(list)),
        ("size", Attribute::optional(Type::String)),
        ("version", Attribute::computed(Type::String)),
    ];
    let attributes = attributes.map(|(name, attribute)| (name.into(), attribute));
    Schema::new(
        0,
        Block {
            attributes: attributes.into(),
            ..Block::default()
        },
    )
}

fn with(object: &Value, changed: &[(&str, Value)]) -> Value {
    Value::object(ATTRIBUTES.map(|name| {
        let new = changed.iter().find(|(n, _)| *n == name);
        let old = || object.get_attr(name).unwrap();
        (name, new.map_or_else(old, |(_, value)| value.clone()))
    }))
}

fn unknown() -> Value {
    Value::unknown(Type::String)
}

impl FakeProvider {
    pub(super) fn new(world: Arc<World>, calls: &Calls) -> Self {
        let (plugin, address) = (PluginId("hashicorp/fake".into()), full_address("fake"));
        let one = || [("fake_thing".to_owned(), schema())].into();
        Self {
            lane: calls.lane(&plugin, 10),
            info: ProviderInfo {
                plugin,
                address,
                dialect: "fake",
            },
            schema: Arc::new(ProviderSchema {
                resources: one(),
                data_sources: one(),
                ..ProviderSchema::default()
            }),
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

    fn applied(&self, name: &str, request: &ApplyRequest, effects: &[Effect]) -> ApplyResponse {
        let is = |effect| effects.contains(&effect);
        let error = effects.iter().find_map(|effect| match effect {
            Effect::Refuse | Effect::Incomplete => Some("no such luck"),
            Effect::RefuseWith(text) => Some(*text),
            _ => None,
        });
        let new = || match request.planned.is_null() {
            true if is(Effect::Incomplete) || is(Effect::Remain) => request.prior.clone(),
            true => request.planned.clone(),
            false => self.object(name, request),
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

    fn object(&self, name: &str, request: &ApplyRequest) -> Value {
        let id = match request.prior.is_null() {
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
        let ty = schema().implied_type().clone();
        Ok(UpgradeResponse {
            state: cty::json::decode(&request.raw_json, &ty).unwrap(),
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
        let (prior, proposed) = (&request.prior, &request.proposed);
        let planned = match prior.is_null() {
            true => with(proposed, &[("id", unknown()), ("version", unknown())]),
            false if proposed.raw_equals(prior) => proposed.clone(),
            false => with(proposed, &[("version", unknown())]),
        };
        let kind = |object: &Value| object.get_attr("kind");
        let is_replaced = !prior.is_null() && kind(prior) != kind(proposed);
        let planned = match effects.contains(&Effect::Differ) {
            true => with(&planned, &[("id", Value::string("other"))]),
            false => planned,
        };
        let error = effects.contains(&Effect::Refuse);
        let error = error.then(|| ProviderDiagnostic::error("cannot plan", ""));
        Ok(PlanResponse {
            planned,
            requires_replace: is_replaced
                .then(|| Path::root().attr("kind"))
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
                    None => Ok(self.applied(&name, &request, effects)),
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
        let null = Value::null(schema().implied_type().clone());
        let empty = schema().empty_value().clone();
        let state = match request.id.is_empty() {
            true => null,
            false => with(&empty, &[("id", text(&request.id)), ("version", text("v"))]),
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

    async fn stop(&self, _: &CallContext) -> Result<(), ProviderError> {
        Ok(())
    }
}
