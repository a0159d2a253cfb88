//! The floor: a bare client that makes the calls which the protocol asks for, and nothing else. No
//! configuration language, no state, no records, no events: what is left is what plugin, sockets
//! and TLS cost. As many calls at a time as flightdeck makes.

use crate::shape::Kind;
use cty::schema::Schema;
use cty::{Type, Value};
use flightdeck::engine::provider::tfplugin::SchemaReply;
use flightdeck::engine::provider::tfplugin::provider_schema;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use hyper_util::rt::TokioIo;
use prost::Message as _;
use proto::Bytes;
use proto::tfplugin6::provider_client::ProviderClient;
use proto::tfplugin6::{self as pb, DynamicValue, RawState};
use std::error::Error;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio_util::task::TaskTracker;
use tonic::transport::{Channel, Endpoint, Uri};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Calls at a time: flightdeck's default parallelism.
const AT_A_TIME: usize = 10;
const MESSAGE_LIMIT: usize = 256 << 20;

/// One object as the bare client knows it: bytes that it hands from answer to request.
#[derive(Clone, Default)]
struct Item {
    config: Bytes,
    proposed: Bytes,
    state: Bytes,
    private: Bytes,
    /// As a state file would hold it, for the upgrade.
    json: Bytes,
}

/// All objects of one resource type.
struct Group<'k> {
    kind: &'k Kind,
    schema: Schema,
    ty: Type,
    null: Bytes,
    items: Vec<Item>,
}

/// A plugin process and a client of it.
struct Bare {
    child: Child,
    client: ProviderClient<Channel>,
    schema: flightdeck::engine::provider::ProviderSchema,
    /// Time that counts: of calls, and of the launch.
    took: Duration,
}

/// What a deploy left, for what comes after it.
pub struct Left(Vec<Vec<Item>>);

/// Seconds for the calls of each phase.
pub struct Floor<'k> {
    pub plugin: &'k crate::place::Plugin,
    pub first: &'k Kind,
    pub second: &'k Kind,
    pub n: usize,
}

impl Floor<'_> {
    /// Everything planned from nothing.
    pub async fn stage(&self) -> Outcome<Duration> {
        let mut bare = Bare::launch(self.plugin).await?;
        let mut groups = self.groups(&bare)?;
        bare.plan_new(&mut groups[0], true).await?;
        bare.plan_new(&mut groups[1], true).await?;
        bare.close().await
    }

    /// Everything planned, then planned again with what is known by then, and created.
    pub async fn deploy(&self) -> Outcome<(Duration, Left)> {
        let mut bare = Bare::launch(self.plugin).await?;
        let mut groups = self.groups(&bare)?;
        bare.plan_new(&mut groups[0], true).await?;
        bare.plan_new(&mut groups[1], true).await?;
        bare.create(&mut groups[0], false).await?;
        let ids = groups[0].ids()?;
        groups[1].configure(|i| self.second.config(i, Some(&ids[i])))?;
        // What was unknown when it was staged is validated again.
        bare.create(&mut groups[1], true).await?;
        for group in &mut groups {
            group.keep()?;
        }
        let left = Left(groups.into_iter().map(|g| g.items).collect());
        Ok((bare.close().await?, left))
    }

    /// Everything looked at and planned; nothing changes.
    pub async fn unchanged(&self, left: &Left) -> Outcome<Duration> {
        let mut bare = Bare::launch(self.plugin).await?;
        let mut groups = self.there(&bare, left)?;
        for group in &mut groups {
            bare.look(group).await?;
            bare.plan_there(group).await?;
        }
        bare.close().await
    }

    /// Everything looked at, then destroyed, last first.
    pub async fn destroy(&self, left: &Left) -> Outcome<Duration> {
        let mut bare = Bare::launch(self.plugin).await?;
        let mut groups = self.there(&bare, left)?;
        for group in &mut groups {
            bare.look(group).await?;
            if bare.schema.capabilities.plan_destroy {
                bare.plan_destroy(group).await?;
            }
        }
        for group in groups.iter_mut().rev() {
            bare.destroy(group).await?;
        }
        bare.close().await
    }

    fn groups(&self, bare: &Bare) -> Outcome<Vec<Group<'_>>> {
        let mut first = Group::new(self.first, bare, self.n)?;
        let mut second = Group::new(self.second, bare, self.n)?;
        first.configure(|i| self.first.config(i, None))?;
        second.configure(|i| self.second.config(i, None))?;
        Ok(vec![first, second])
    }

    fn there(&self, bare: &Bare, left: &Left) -> Outcome<Vec<Group<'_>>> {
        let mut groups = self.groups(bare)?;
        for (group, items) in groups.iter_mut().zip(&left.0) {
            group.items.clone_from(items);
        }
        Ok(groups)
    }
}

impl<'k> Group<'k> {
    fn new(kind: &'k Kind, bare: &Bare, n: usize) -> Outcome<Self> {
        let schema = bare
            .schema
            .resources
            .get(kind.type_name)
            .ok_or_else(|| format!("the plugin has no {}", kind.type_name))?
            .clone();
        let ty = schema.block.implied_type().clone();
        let null = cty::msgpack::encode(&Value::null(ty.clone()), &ty)?.into();
        Ok(Self {
            kind,
            schema,
            ty,
            null,
            items: vec![Item::default(); n],
        })
    }

    /// Writes the configured and the proposed objects of all items.
    fn configure(
        &mut self,
        arguments: impl Fn(usize) -> Vec<(&'static str, Value)>,
    ) -> Outcome<()> {
        let empty = self.schema.block.empty_value();
        let null = Value::null(self.ty.clone());
        for (i, item) in self.items.iter_mut().enumerate() {
            let mut attributes: Vec<(String, Value)> = self
                .ty
                .as_object()
                .into_iter()
                .flat_map(|o| o.attributes.keys())
                .map(|name| {
                    (
                        name.to_string(),
                        empty.get_attr(name).unwrap_or_else(Value::dynamic),
                    )
                })
                .collect();
            for (name, value) in arguments(i) {
                attributes
                    .iter_mut()
                    .filter(|(n, _)| n == name)
                    .for_each(|(_, v)| *v = value.clone());
            }
            let config = Value::object(attributes);
            let proposed = cty::plan::proposed_new(&self.schema.block, &null, &config);
            item.config = cty::msgpack::encode(&config, &self.ty)?.into();
            item.proposed = cty::msgpack::encode(&proposed, &self.ty)?.into();
        }
        Ok(())
    }

    fn value(&self, item: &Item) -> Outcome<Value> {
        Ok(cty::msgpack::decode(&item.state, &self.ty)?)
    }

    fn ids(&self) -> Outcome<Vec<Value>> {
        self.items
            .iter()
            .map(|i| self.value(i)?.get_attr("id").ok_or_else(|| "no id".into()))
            .collect()
    }

    fn keep(&mut self) -> Outcome<()> {
        for i in 0..self.items.len() {
            let value = self.value(&self.items[i])?;
            let item = &mut self.items[i];
            item.json = cty::json::encode(&value, &self.ty)?.into_bytes().into();
            item.proposed = item.state.clone();
        }
        Ok(())
    }
}

fn value(msgpack: &Bytes) -> Option<DynamicValue> {
    Some(DynamicValue {
        msgpack: msgpack.clone(),
        json: Bytes::new(),
    })
}

fn bytes(value: Option<DynamicValue>) -> Bytes {
    value.map(|v| v.msgpack).unwrap_or_default()
}

fn good(diagnostics: &[pb::Diagnostic]) -> Outcome<()> {
    match diagnostics.iter().find(|d| d.severity != 2) {
        Some(d) => Err(format!("{}: {}", d.summary, d.detail).into()),
        None => Ok(()),
    }
}

impl Bare {
    async fn launch(plugin: &crate::place::Plugin) -> Outcome<Self> {
        let began = Instant::now();
        let identity = wire::Identity::generate()?;
        let mut command = Command::new(&plugin.program);
        command
            .args(&plugin.args)
            .envs(plugin.env.iter().map(|(k, v)| (k, v)));
        command
            .env(wire::env::MAGIC_COOKIE_KEY, wire::env::MAGIC_COOKIE_VALUE)
            .env(wire::env::PROTOCOL_VERSIONS, "6");
        // As flightdeck asks for it: without this the official SDKs write a line for every step.
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
            .ok_or("the plugin listens on no unix socket")?;
        let socket = UnixStream::connect(path).await?;
        let certificate = handshake
            .certificate
            .ok_or("the plugin announced no certificate")?;
        let stream =
            wire::tls::connect(wire::tls::client_config(&identity, &certificate)?, socket).await?;
        let once = Arc::new(Mutex::new(Some(TokioIo::new(stream))));
        let connector = tower::service_fn(move |_: Uri| {
            let stream = once.lock().ok().and_then(|mut s| s.take());
            async move { stream.ok_or_else(|| std::io::Error::other("connected once already")) }
        });
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

    /// Ends the process; the answer is the time that counts.
    async fn close(mut self) -> Outcome<Duration> {
        self.child.kill().await?;
        Ok(self.took)
    }

    /// Makes the calls of all items, some at a time, and counts the time.
    async fn each<F, R>(&mut self, group: &mut Group<'_>, call: F) -> Outcome<()>
    where
        F: Fn(ProviderClient<Channel>, String, Item, Bytes) -> R,
        R: Future<Output = Outcome<Item>> + Send + 'static,
    {
        let began = Instant::now();
        let items = std::mem::take(&mut group.items);
        let tasks = TaskTracker::new();
        let calls = items.into_iter().enumerate().map(|(i, item)| {
            let call = call(
                self.client.clone(),
                group.kind.type_name.to_owned(),
                item,
                group.null.clone(),
            );
            let tasks = tasks.clone();
            async move { Outcome::Ok((i, tasks.spawn(call).await??)) }
        });
        let mut answered: Vec<(usize, Item)> = stream::iter(calls)
            .buffer_unordered(AT_A_TIME)
            .try_collect()
            .await?;
        answered.sort_unstable_by_key(|(i, _)| *i);
        group.items = answered.into_iter().map(|(_, item)| item).collect();
        self.took += began.elapsed();
        Ok(())
    }

    async fn plan_new(&mut self, group: &mut Group<'_>, validate: bool) -> Outcome<()> {
        self.each(group, move |mut client, type_name, item, null| async move {
            if validate {
                self::validate(&mut client, &type_name, &item).await?;
            }
            plan(&mut client, &type_name, &item, null, Bytes::new()).await?;
            Ok(item)
        })
        .await
    }

    async fn create(&mut self, group: &mut Group<'_>, validate: bool) -> Outcome<()> {
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

    async fn look(&mut self, group: &mut Group<'_>) -> Outcome<()> {
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

    async fn plan_there(&mut self, group: &mut Group<'_>) -> Outcome<()> {
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

    async fn plan_destroy(&mut self, group: &mut Group<'_>) -> Outcome<()> {
        self.each(group, |mut client, type_name, item, null| async move {
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

    async fn destroy(&mut self, group: &mut Group<'_>) -> Outcome<()> {
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

async fn plan(
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

/// What an apply is asked for: a plan's answer, or bytes of our own.
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
