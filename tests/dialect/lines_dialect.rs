//! Dialect of the tests, built only from public items. A process registers at a socket of
//! flightdeck. A call is a line of JSON in each direction. Each call carries the configuration.
//! Plans are made without a call.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use calls::ProviderError;
use cty::Type;
use cty::schema::{Attribute, Block, Schema};
use model::{PhaseName, PluginFound};
use plugin::lifecycle::{
    Arrival, EndRequest, Environment, Lifecycle, Link, PhaseKind, Prepared, Startup,
};
use plugin::{IncompatiblePlugin, Reattach, StartFailure, StartingProcess, Suspicion};
use provider::dialect::{Configuration, ConnectedProcess, Dialect};
use provider::*;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

use super::lines_provider::LinesProvider;

const REGISTERED: PhaseName = PhaseName::new("registered");

const ANSWERED: PhaseName = PhaseName::new("answered");

static PHASES: [PhaseKind; 3] = [
    PhaseKind {
        name: REGISTERED,
        activity: "waiting for it to register",
    },
    PhaseKind {
        name: ANSWERED,
        activity: "asking what it is called",
    },
    PhaseKind {
        name: PhaseName::SCHEMA,
        activity: "asking for its schema",
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

    fn lifecycle(&self) -> Arc<dyn Lifecycle> {
        Arc::new(LinesLifecycle)
    }

    fn configuration(&self) -> Configuration {
        Configuration::OfCall
    }

    async fn adapter(&self, reached: ConnectedProcess) -> Result<Arc<dyn Provider>, ProviderError> {
        let Some(link) = reached.connection.link::<LinesLink>().cloned() else {
            return Err(reached.wrong_dialect_error());
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
            obituary: reached.exit_reporter,
        }))
    }
}

struct LinesLifecycle;

#[async_trait]
impl Lifecycle for LinesLifecycle {
    fn arrival(&self) -> Arrival {
        Arrival::Registration
    }

    fn phases(&self) -> &'static [PhaseKind] {
        &PHASES
    }

    fn prepare(&self, folder: &Path) -> Result<Prepared, StartFailure> {
        // The socket must listen before the launch, because the process registers once and exits if
        // nobody listens.
        let socket = folder.join("host");
        let listener =
            UnixListener::bind(&socket).map_err(|e| start_failure("socket", e.into()))?;
        let with = vec![("LINES_HOST_SOCKET".into(), socket.into())];
        Ok(Prepared {
            environment: Environment {
                removed_variables: Vec::new(),
                set_variables: with,
            },
            startup: Box::new(Registration { listener }),
        })
    }

    async fn attach(
        &self,
        _: &Reattach,
        _: &mut StartingProcess<'_>,
    ) -> Result<Box<dyn Link>, StartFailure> {
        Err(start_failure(
            "attached",
            "one that runs already does not register".into(),
        ))
    }
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

fn start_failure(kind: &'static str, source: Cause) -> StartFailure {
    StartFailure::Dialect(IncompatiblePlugin {
        kind,
        retryable: true,
        suspicion: Suspicion::None,
        source,
    })
}

/// State of one launch.
struct Registration {
    listener: UnixListener,
}

#[async_trait]
impl Startup for Registration {
    async fn become_ready(
        self: Box<Self>,
        newborn: &mut StartingProcess<'_>,
    ) -> Result<Box<dyn Link>, StartFailure> {
        let registering = async {
            let (stream, _) = self.listener.accept().await?;
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            stream.read_line(&mut line).await?;
            Ok::<_, Cause>((stream, serde_json::from_str::<Json>(&line)?))
        };
        let (mut stream, said) = newborn
            .wait_for_arrival(registering)
            .await?
            .map_err(|e| start_failure("registration", e))?;
        let said = &said["register"];
        if said["pid"].as_u64() != newborn.pid().map(u64::from) {
            return Err(start_failure(
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
            .map_err(|e| start_failure("registration", e.into()))?;
        if let Some(why) = refusal {
            return Err(start_failure("registered_as_another", why.into()));
        }
        newborn.phase_reached(REGISTERED);
        newborn.set_dialect("lines1");
        let socket = PathBuf::from(said["socket"].as_str().unwrap_or_default());
        let mut link = LinesLink {
            socket,
            host,
            schema: Json::Null,
        };
        newborn.while_running(link.launch_call("namespace")).await?;
        newborn.phase_reached(ANSWERED);
        let schema = newborn.while_running(link.launch_call("schema")).await?;
        newborn.phase_reached(PhaseName::SCHEMA);
        link.schema = schema["ok"].clone();
        Ok(Box::new(link))
    }
}

/// Connection to one process.
#[derive(Debug, Clone)]
pub(super) struct LinesLink {
    socket: PathBuf,
    host: String,
    pub(super) schema: Json,
}

impl Link for LinesLink {
    /// There is no connection between two calls, so only the process exit shows a loss.
    fn lost_token(&self) -> CancellationToken {
        CancellationToken::new()
    }

    fn farewell(&self) -> EndRequest {
        EndRequest::Terminate
    }
}

impl LinesLink {
    /// Makes one of the calls that complete a launch.
    async fn launch_call(&self, call: &str) -> Result<Json, StartFailure> {
        self.ask(&json!({"call": call}))
            .await
            .map_err(|e| StartFailure::Schema(e.to_string()))
    }

    pub(super) async fn ask(&self, request: &Json) -> Result<Json, Cause> {
        let mut request = request.clone();
        request["host"] = json!(self.host);
        let mut stream = BufReader::new(UnixStream::connect(&self.socket).await?);
        stream.write_all(format!("{request}\n").as_bytes()).await?;
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        Ok(serde_json::from_str(&line)?)
    }
}

/// Block from `{"name": "required", …}`, where all attributes are texts.
fn block(attributes: &Json) -> Block {
    let one = |(name, kind): (&String, &Json)| {
        let attribute = match kind.as_str() {
            Some("required") => Attribute::required(Type::String),
            Some("computed") => Attribute::computed(Type::String),
            _ => Attribute::optional(Type::String),
        };
        (name.as_str().into(), attribute)
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

pub(super) fn schema(said: &Json) -> ProviderSchema {
    let types = said["types"].as_object().into_iter().flatten();
    ProviderSchema {
        provider: Schema::new(0, block(&said["config"])),
        resources: types
            .map(|(name, attributes)| (name.clone(), Schema::new(0, block(attributes))))
            .collect(),
        ..ProviderSchema::default()
    }
}
