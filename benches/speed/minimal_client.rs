//! Minimal protocol client: makes the calls of a run without any engine.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cty::Value;
use futures_util::stream;
use futures_util::stream::{StreamExt, TryStreamExt};
use hyper_util::rt::TokioIo;
use prost::Message as _;
use proto::tfplugin6::provider_client::ProviderClient;
use proto::tfplugin6::{DynamicValue, RawState};
use proto::{Bytes, tfplugin6 as pb};
use provider::tfplugin::{SchemaReply, provider_schema};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio_util::task::TaskTracker;
use tonic::transport::{Channel, Endpoint, Uri};

use super::lower_bound::{Group, Item, Outcome, bytes, good, value};

/// Concurrent calls: flightdeck's default parallelism.
const AT_A_TIME: usize = 10;

const MESSAGE_LIMIT: usize = 256 << 20;

/// Plugin process with a client.
pub(super) struct Bare {
    child: Child,
    client: ProviderClient<Channel>,
    pub(super) schema: provider::ProviderSchema,
    /// Measured time: of the launch and the calls.
    took: Duration,
}

impl Bare {
    pub(super) async fn launch(plugin: &crate::workspace::Plugin) -> Outcome<Self> {
        let began = Instant::now();
        let identity = wire::Identity::generate()?;
        let mut command = Command::new(&plugin.program);
        command
            .args(&plugin.args)
            .envs(plugin.env.iter().map(|(k, v)| (k, v)));
        command
            .env(wire::env::MAGIC_COOKIE_KEY, wire::env::MAGIC_COOKIE_VALUE)
            .env(wire::env::PROTOCOL_VERSIONS, "6");
        // As flightdeck does: without it the official SDKs log a line for every step.
        command
            .env("TF_LOG_SDK", "INFO")
            .env("TF_LOG_PROVIDER", "INFO");
        command
            .env(wire::env::CLIENT_CERT, identity.pem())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn()?;
        let mut line = Vec::new();
        BufReader::new(child.stdout.take().ok_or("no standard output")?)
            .read_until(b'\n', &mut line)
            .await?;
        let handshake = wire::Handshake::parse(&line)?;
        let path = handshake
            .address
            .path()
            .ok_or("the plugin does not listen on a Unix socket")?;
        let socket = UnixStream::connect(path).await?;
        let certificate = handshake
            .certificate
            .ok_or("the plugin announced no certificate")?;
        let stream =
            wire::tls::connect(wire::tls::client_config(&identity, &certificate)?, socket).await?;
        // The connector is called once; a second connection would need another handshake.
        let once = Arc::new(Mutex::new(Some(TokioIo::new(stream))));
        let connector = tower::service_fn(move |_: Uri| {
            let stream = once.lock().ok().and_then(|mut s| s.take());
            async move { stream.ok_or_else(|| std::io::Error::other("the only connection is in use")) }
        });
        // The same windows as flightdeck's, so that the transport does not differ.
        let endpoint =
            Endpoint::from_static("http://localhost").initial_stream_window_size(16 << 20);
        let channel = endpoint
            .initial_connection_window_size(16 << 20)
            .connect_with_connector(connector)
            .await?;
        let mut client = ProviderClient::new(channel).max_decoding_message_size(MESSAGE_LIMIT);
        let reply = client
            .get_provider_schema(pb::get_provider_schema::Request {})
            .await?
            .into_inner();
        // Conversion of the schema and the configuration is not measured: it is not part of the
        // calls.
        let mut took = began.elapsed();
        let undecoded =
            pb::get_provider_schema::Undecoded::decode(reply.encode_to_vec().as_slice())?;
        let schema = provider_schema(&SchemaReply::V6(Box::new(undecoded)))?;
        let block = &schema.provider;
        let mut config = block.block.empty_value();
        if let Some((name, text)) = &plugin.setting {
            let attributes = block
                .implied_type()
                .as_object()
                .into_iter()
                .flat_map(|o| o.attributes.keys());
            config = Value::object(attributes.map(|n| {
                let value = if &**n == name.as_str() {
                    Value::string(text)
                } else {
                    config.get_attr(n).unwrap_or_else(Value::dynamic)
                };
                (n.to_string(), value)
            }));
        }
        let config = Some(DynamicValue {
            msgpack: cty::msgpack::encode(&config, block.implied_type())?.into(),
            json: Bytes::new(),
        });
        let began = Instant::now();
        let request = pb::validate_provider_config::Request {
            config: config.clone(),
        };
        good(
            &client
                .validate_provider_config(request)
                .await?
                .into_inner()
                .diagnostics,
        )?;
        let request = pb::configure_provider::Request {
            terraform_version: "1.13.0".into(),
            config,
            client_capabilities: None,
        };
        good(
            &client
                .configure_provider(request)
                .await?
                .into_inner()
                .diagnostics,
        )?;
        took += began.elapsed();
        Ok(Self {
            child,
            client,
            schema,
            took,
        })
    }

    /// Ends the process; returns the measured time.
    pub(super) async fn close(mut self) -> Outcome<Duration> {
        self.child.kill().await?;
        Ok(self.took)
    }

    /// Makes the calls of all items concurrently, and measures the time.
    async fn each<F, R>(&mut self, group: &mut Group<'_>, call: F) -> Outcome<()>
    where
        F: Fn(ProviderClient<Channel>, String, Item, Bytes) -> R,
        R: Future<Output = Outcome<Item>> + Send + 'static,
    {
        let began = Instant::now();
        let items = std::mem::take(&mut group.items);
        let tasks = TaskTracker::new();
        let calls = items.into_iter().enumerate().map(|(i, item)| {
            // Cloned outside of the task: the channel is shared.
            let call = call(
                self.client.clone(),
                group.kind.type_name.to_owned(),
                item,
                group.null.clone(),
            );
            let tasks = tasks.clone();
            async move { Outcome::Ok((i, tasks.spawn(call).await??)) }
        });
        // Responses arrive in any order.
        let mut answered: Vec<(usize, Item)> = stream::iter(calls)
            .buffer_unordered(AT_A_TIME)
            .try_collect()
            .await?;
        answered.sort_unstable_by_key(|(i, _)| *i);
        group.items = answered.into_iter().map(|(_, item)| item).collect();
        self.took += began.elapsed();
        Ok(())
    }

    pub(super) async fn plan_new(&mut self, group: &mut Group<'_>, validate: bool) -> Outcome<()> {
        self.each(group, move |mut client, type_name, item, null| async move {
            if validate {
                self::validate(&mut client, &type_name, &item).await?;
            }
            plan(&mut client, &type_name, &item, null, Bytes::new()).await?;
            Ok(item)
        })
        .await
    }

    pub(super) async fn create(&mut self, group: &mut Group<'_>, validate: bool) -> Outcome<()> {
        self.each(
            group,
            move |mut client, type_name, mut item, null| async move {
                if validate {
                    self::validate(&mut client, &type_name, &item).await?;
                }
                let (planned, private) =
                    plan(&mut client, &type_name, &item, null.clone(), Bytes::new()).await?;
                apply(&mut client, &type_name, &mut item, null, planned, private).await?;
                Ok(item)
            },
        )
        .await
    }

    pub(super) async fn look(&mut self, group: &mut Group<'_>) -> Outcome<()> {
        self.each(group, |mut client, type_name, mut item, _| async move {
            let request = pb::upgrade_resource_state::Request {
                type_name: type_name.clone(),
                version: 0,
                raw_state: Some(RawState {
                    json: item.json.clone(),
                    ..RawState::default()
                }),
            };
            let answer = client.upgrade_resource_state(request).await?.into_inner();
            good(&answer.diagnostics)?;
            let request = pb::read_resource::Request {
                type_name,
                current_state: answer.upgraded_state,
                private: item.private.clone(),
                ..pb::read_resource::Request::default()
            };
            let answer = client.read_resource(request).await?.into_inner();
            good(&answer.diagnostics)?;
            item.state = bytes(answer.new_state);
            Ok(item)
        })
        .await
    }

    pub(super) async fn plan_there(&mut self, group: &mut Group<'_>) -> Outcome<()> {
        self.each(group, |mut client, type_name, item, _| async move {
            validate(&mut client, &type_name, &item).await?;
            plan(
                &mut client,
                &type_name,
                &item,
                item.state.clone(),
                item.private.clone(),
            )
            .await?;
            Ok(item)
        })
        .await
    }

    pub(super) async fn plan_destroy(&mut self, group: &mut Group<'_>) -> Outcome<()> {
        self.each(group, |mut client, type_name, item, null| async move {
            // A destroy is a plan whose configuration and proposed value are null.
            let nothing = Item {
                config: null.clone(),
                proposed: null,
                ..item.clone()
            };
            plan(
                &mut client,
                &type_name,
                &nothing,
                item.state.clone(),
                item.private.clone(),
            )
            .await?;
            Ok(item)
        })
        .await
    }

    pub(super) async fn destroy(&mut self, group: &mut Group<'_>) -> Outcome<()> {
        self.each(group, |mut client, type_name, mut item, null| async move {
            item.config = null.clone();
            let (prior, private) = (item.state.clone(), item.private.clone());
            apply(&mut client, &type_name, &mut item, prior, null, private).await?;
            Ok(item)
        })
        .await
    }
}

async fn validate(
    client: &mut ProviderClient<Channel>,
    type_name: &str,
    item: &Item,
) -> Outcome<()> {
    let request = pb::validate_resource_config::Request {
        type_name: type_name.to_owned(),
        config: value(&item.config),
        ..pb::validate_resource_config::Request::default()
    };
    good(
        &client
            .validate_resource_config(request)
            .await?
            .into_inner()
            .diagnostics,
    )
}

pub(super) async fn plan(
    client: &mut ProviderClient<Channel>,
    type_name: &str,
    item: &Item,
    prior: Bytes,
    private: Bytes,
) -> Outcome<(Option<DynamicValue>, Bytes)> {
    let request = pb::plan_resource_change::Request {
        type_name: type_name.to_owned(),
        prior_state: value(&prior),
        proposed_new_state: value(&item.proposed),
        config: value(&item.config),
        prior_private: private,
        ..pb::plan_resource_change::Request::default()
    };
    let answer = client.plan_resource_change(request).await?.into_inner();
    good(&answer.diagnostics)?;
    Ok((answer.planned_state, answer.planned_private))
}

async fn apply(
    client: &mut ProviderClient<Channel>,
    type_name: &str,
    item: &mut Item,
    prior: Bytes,
    planned: impl Into<Planned>,
    private: Bytes,
) -> Outcome<()> {
    let request = pb::apply_resource_change::Request {
        type_name: type_name.to_owned(),
        prior_state: value(&prior),
        planned_state: planned.into().0,
        config: value(&item.config),
        planned_private: private,
        ..pb::apply_resource_change::Request::default()
    };
    let answer = client.apply_resource_change(request).await?.into_inner();
    good(&answer.diagnostics)?;
    item.state = bytes(answer.new_state);
    item.private = answer.private;
    Ok(())
}

/// Planned state of an apply: from a plan response, or own bytes.
struct Planned(Option<DynamicValue>);

impl From<Option<DynamicValue>> for Planned {
    fn from(answer: Option<DynamicValue>) -> Self {
        Self(answer)
    }
}

impl From<Bytes> for Planned {
    fn from(msgpack: Bytes) -> Self {
        Self(value(&msgpack))
    }
}
