//! A dialect that is none of ours, made of what anybody can reach: a process registers itself at a
//! socket of ours; calls are a line of JSON there and one back; the configuration goes with each of
//! them; a plan is worked out here, without a call.

use async_trait::async_trait;
use cty::schema::{Attribute, Block, Schema};
use cty::{Type, Value};
use flightdeck::engine::calls::{CallContext, Checked, Method, ProviderDiagnostic, ProviderError};
use flightdeck::engine::plugin::life::{
    Arrival, Birth, Environment, Farewell, Life, Link, PhaseKind, Prepared,
};
use flightdeck::engine::plugin::{Newborn, Reattach, StartFailure, Suspicion, Unfit};
use flightdeck::engine::provider::dialect::{Configuration, Dialect, Obituary, Reached, lost};
use flightdeck::engine::provider::*;
use flightdeck::engine::words::{PhaseName, PluginFound, PluginId};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

const REGISTERED: PhaseName = PhaseName::new("registered");
const ANSWERED: PhaseName = PhaseName::new("answered");

static PHASES: [PhaseKind; 3] = [
    PhaseKind {
        name: REGISTERED,
        until: "waiting for it to register",
    },
    PhaseKind {
        name: ANSWERED,
        until: "asking what it is called",
    },
    PhaseKind {
        name: PhaseName::SCHEMA,
        until: "asking for its schema",
    },
];

/// The dialect.
pub struct Lines;

#[async_trait]
impl Dialect for Lines {
    fn name(&self) -> &'static str {
        "lines"
    }

    fn claims(&self, found: &PluginFound) -> bool {
        found.address.starts_with("test.local/lines/")
    }

    fn life(&self) -> Arc<dyn Life> {
        Arc::new(LinesLife)
    }

    fn configuration(&self) -> Configuration {
        Configuration::OfCall
    }

    async fn adapter(&self, reached: Reached) -> Result<Arc<dyn Provider>, ProviderError> {
        let Some(link) = reached.connection.link::<LinesLink>().cloned() else {
            return Err(reached.foreign());
        };
        let info = ProviderInfo {
            plugin: reached.plugin,
            address: reached.address,
            dialect: "lines1",
        };
        let schema = reached
            .schema
            .unwrap_or_else(|| Arc::new(schema(&link.schema)));
        Ok(Arc::new(LinesProvider {
            info,
            schema,
            link,
            obituary: reached.obituary,
        }))
    }
}

struct LinesLife;

#[async_trait]
impl Life for LinesLife {
    fn arrival(&self) -> Arrival {
        Arrival::Registration
    }

    fn phases(&self) -> &'static [PhaseKind] {
        &PHASES
    }

    fn prepare(&self, folder: &Path) -> Result<Prepared, StartFailure> {
        // Before there is a process: it registers once, and ends where nobody listens.
        let socket = folder.join("host");
        let listener = UnixListener::bind(&socket).map_err(|e| unfit("socket", e.into()))?;
        let with = vec![("LINES_HOST_SOCKET".into(), socket.into())];
        Ok(Prepared {
            environment: Environment {
                without: Vec::new(),
                with,
            },
            birth: Box::new(Registration { listener }),
        })
    }

    async fn attach(
        &self,
        _: &Reattach,
        _: &mut Newborn<'_>,
    ) -> Result<Box<dyn Link>, StartFailure> {
        Err(unfit(
            "attached",
            "one that runs already does not register".into(),
        ))
    }
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

fn unfit(kind: &'static str, source: Cause) -> StartFailure {
    StartFailure::Dialect(Unfit {
        kind,
        retryable: true,
        suspicion: Suspicion::None,
        source,
    })
}

/// One launch.
struct Registration {
    listener: UnixListener,
}

#[async_trait]
impl Birth for Registration {
    async fn come_up(
        self: Box<Self>,
        newborn: &mut Newborn<'_>,
    ) -> Result<Box<dyn Link>, StartFailure> {
        let registering = async {
            let (stream, _) = self.listener.accept().await?;
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            stream.read_line(&mut line).await?;
            Ok::<_, Cause>((stream, serde_json::from_str::<Json>(&line)?))
        };
        let (mut stream, said) = newborn
            .arrives(registering)
            .await?
            .map_err(|e| unfit("registration", e))?;
        let said = &said["register"];
        if said["pid"].as_u64() != newborn.pid().map(u64::from) {
            return Err(unfit(
                "registration",
                "another process registered in its place".into(),
            ));
        }
        let host = uuid::Uuid::new_v4().to_string();
        let refusal = (said["id"] != "things")
            .then(|| format!("it is installed as things and calls itself {}", said["id"]));
        let reply = refusal
            .as_ref()
            .map_or_else(|| json!({"host": host}), |why| json!({"refused": why}));
        stream
            .write_all(format!("{reply}\n").as_bytes())
            .await
            .map_err(|e| unfit("registration", e.into()))?;
        if let Some(why) = refusal {
            return Err(unfit("registered_as_another", why.into()));
        }
        newborn.reached(REGISTERED);
        newborn.speaks("lines1");
        let socket = PathBuf::from(said["socket"].as_str().unwrap_or_default());
        let mut link = LinesLink {
            socket,
            host,
            schema: Json::Null,
        };
        newborn.alive(link.first("namespace")).await?;
        newborn.reached(ANSWERED);
        let schema = newborn.alive(link.first("schema")).await?;
        newborn.reached(PhaseName::SCHEMA);
        link.schema = schema["ok"].clone();
        Ok(Box::new(link))
    }
}

/// The way to one process.
#[derive(Debug, Clone)]
struct LinesLink {
    socket: PathBuf,
    host: String,
    schema: Json,
}

impl Link for LinesLink {
    /// There is no connection between two calls: whether the process is there is seen by the
    /// process alone.
    fn lost(&self) -> CancellationToken {
        CancellationToken::new()
    }

    fn farewell(&self) -> Farewell {
        Farewell::Terminate
    }
}

impl LinesLink {
    /// One of the calls by which it proves that it works.
    async fn first(&self, call: &str) -> Result<Json, StartFailure> {
        self.ask(&json!({"call": call}))
            .await
            .map_err(|e| StartFailure::Schema(e.to_string()))
    }

    async fn ask(&self, request: &Json) -> Result<Json, Cause> {
        let mut request = request.clone();
        request["host"] = json!(self.host);
        let mut stream = BufReader::new(UnixStream::connect(&self.socket).await?);
        stream.write_all(format!("{request}\n").as_bytes()).await?;
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        Ok(serde_json::from_str(&line)?)
    }
}

/// `{"name": "required", …}`: all of it is text.
fn block(attributes: &Json) -> Block {
    let one = |(name, kind): (&String, &Json)| {
        let attribute = match kind.as_str() {
            Some("required") => Attribute::required(Type::String),
            Some("computed") => Attribute::computed(Type::String),
            _ => Attribute::optional(Type::String),
        };
        (name.clone(), attribute)
    };
    Block {
        attributes: attributes
            .as_object()
            .into_iter()
            .flatten()
            .map(one)
            .collect(),
        ..Block::default()
    }
}

fn schema(said: &Json) -> ProviderSchema {
    let types = said["types"].as_object().into_iter().flatten();
    ProviderSchema {
        provider: Schema::new(0, block(&said["config"])),
        resources: types
            .map(|(name, attributes)| (name.clone(), Schema::new(0, block(attributes))))
            .collect(),
        ..ProviderSchema::default()
    }
}

/// The adapter over one process.
struct LinesProvider {
    info: ProviderInfo,
    schema: Arc<ProviderSchema>,
    link: LinesLink,
    obituary: Arc<dyn Obituary>,
}

fn json_of(value: Option<&Value>) -> Json {
    value
        .and_then(|value| cty::json::to_json_value(value).ok())
        .unwrap_or_default()
}

impl LinesProvider {
    fn plugin(&self) -> PluginId {
        self.info.plugin.clone()
    }

    /// The answer, or what the plugin says is wrong.
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
            Err(e) => Err(lost(&*self.obituary, self.plugin(), method, e.to_string()).await),
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

    /// There is no such call: what the plugin sets is not known before.
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
