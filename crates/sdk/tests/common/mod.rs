//! A small host for the tests: reads a handshake line, connects with mutual TLS, and makes the
//! calls of protocol 6 by the schema that the provider itself told.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::HashMap;
use std::path::PathBuf;

use cty::{Type, Value};
use proto::tfplugin6 as pb;
use proto::tfplugin6::provider_client::ProviderClient;
use proto::tfplugin6::schema::nested_block::NestingMode as BlockNesting;
use proto::tfplugin6::schema::object::NestingMode as ObjectNesting;
use serde_json::Value as Json;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint};

const LIMIT: usize = 256 << 20;

/// Connects as a host does; without an identity: without TLS.
pub async fn connect(line: &str, identity: Option<&wire::Identity>) -> Result<Channel, String> {
    let handshake = wire::Handshake::parse(line.as_bytes()).map_err(|error| error.to_string())?;
    handshake
        .expect_protocol(&[5, 6])
        .map_err(|error| error.to_string())?;
    let path: PathBuf = handshake.address.path().ok_or("no unix socket")?.to_owned();
    let config = match (identity, &handshake.certificate) {
        (Some(identity), Some(certificate)) => Some(
            wire::tls::client_config(identity, certificate).map_err(|error| error.to_string())?,
        ),
        (None, None) => None,
        _ => return Err("only one side wants TLS".into()),
    };
    let connector = tower::service_fn(move |_: tonic::transport::Uri| {
        let (path, config) = (path.clone(), config.clone());
        async move {
            let stream = UnixStream::connect(path).await?;
            let io: Box<dyn Io> = match config {
                None => Box::new(stream),
                Some(config) => Box::new(
                    wire::tls::connect(config, stream)
                        .await
                        .map_err(std::io::Error::other)?,
                ),
            };
            Ok::<_, std::io::Error>(hyper_util::rt::TokioIo::new(io))
        }
    });
    Endpoint::from_static("http://localhost")
        .connect_with_connector(connector)
        .await
        .map_err(|error| format!("{error:?}"))
}

pub trait Io: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin {}
impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin> Io for T {}

/// A connected provider and its schema.
pub struct Host {
    pub client: ProviderClient<Channel>,
    pub channel: Channel,
    pub schema: pb::get_provider_schema::Response,
}

/// What a change came to.
#[derive(Debug)]
pub struct Applied {
    pub state: Value,
    pub private: Vec<u8>,
    pub diagnostics: Vec<pb::Diagnostic>,
}

/// A plan.
#[derive(Debug)]
pub struct Plan {
    pub planned: Value,
    pub private: Vec<u8>,
    pub replace: Vec<String>,
    pub diagnostics: Vec<pb::Diagnostic>,
}

impl Host {
    pub async fn new(channel: Channel) -> Host {
        let mut client = ProviderClient::new(channel.clone())
            .max_decoding_message_size(LIMIT)
            .max_encoding_message_size(LIMIT);
        let schema = client
            .get_provider_schema(pb::get_provider_schema::Request {})
            .await
            .unwrap()
            .into_inner();
        assert_eq!(schema.diagnostics, []);
        Host {
            client,
            channel,
            schema,
        }
    }

    pub fn block(&self, name: &str) -> &pb::schema::Block {
        self.schema.resource_schemas[name].block.as_ref().unwrap()
    }

    /// A configuration: attributes that are not named are null, blocks that are not there are
    /// empty.
    pub fn config(&self, name: &str, json: Json) -> Value {
        config(self.block(name), json)
    }

    pub async fn configure(&mut self, json: Json) -> Vec<pb::Diagnostic> {
        let block = self
            .schema
            .provider
            .as_ref()
            .unwrap()
            .block
            .clone()
            .unwrap();
        let value = Some(encode(&config(&block, json), &type_of(&block)));
        let checked = self
            .client
            .validate_provider_config(pb::validate_provider_config::Request {
                config: value.clone(),
            })
            .await
            .unwrap();
        let mut diagnostics = checked.into_inner().diagnostics;
        let request = pb::configure_provider::Request {
            terraform_version: "1.13.0".into(),
            config: value,
            ..Default::default()
        };
        diagnostics.extend(
            self.client
                .configure_provider(request)
                .await
                .unwrap()
                .into_inner()
                .diagnostics,
        );
        diagnostics
    }

    pub async fn validate(&mut self, name: &str, config: &Value) -> Vec<pb::Diagnostic> {
        let config = Some(encode(config, &type_of(self.block(name))));
        let request = pb::validate_resource_config::Request {
            type_name: name.into(),
            config,
            ..Default::default()
        };
        self.client
            .validate_resource_config(request)
            .await
            .unwrap()
            .into_inner()
            .diagnostics
    }

    pub async fn plan(
        &mut self,
        name: &str,
        prior: &Value,
        config: &Value,
        private: &[u8],
    ) -> Plan {
        let ty = type_of(self.block(name));
        let proposed = if config.is_null() {
            config.clone()
        } else {
            proposed(self.block(name), prior, config)
        };
        let request = pb::plan_resource_change::Request {
            type_name: name.into(),
            prior_state: Some(encode(prior, &ty)),
            proposed_new_state: Some(encode(&proposed, &ty)),
            config: Some(encode(config, &ty)),
            prior_private: private.to_vec().into(),
            ..Default::default()
        };
        let answer = self
            .client
            .plan_resource_change(request)
            .await
            .unwrap()
            .into_inner();
        Plan {
            planned: decode(answer.planned_state.as_ref(), &ty),
            private: answer.planned_private.to_vec(),
            replace: answer.requires_replace.iter().map(path_text).collect(),
            diagnostics: answer.diagnostics,
        }
    }

    /// Plans and applies; the outer error is that of the connection.
    pub async fn try_apply(
        &mut self,
        name: &str,
        prior: &Value,
        config: &Value,
    ) -> Result<Applied, tonic::Status> {
        let ty = type_of(self.block(name));
        let plan = self.plan(name, prior, config, b"").await;
        assert_eq!(plan.diagnostics, [], "planning {name}");
        let request = pb::apply_resource_change::Request {
            type_name: name.into(),
            prior_state: Some(encode(prior, &ty)),
            planned_state: Some(encode(&plan.planned, &ty)),
            config: Some(encode(config, &ty)),
            planned_private: plan.private.into(),
            ..Default::default()
        };
        let answer = self
            .client
            .apply_resource_change(request)
            .await?
            .into_inner();
        let state = decode(answer.new_state.as_ref(), &ty);
        assert!(state.is_wholly_known(), "{state:?}");
        Ok(Applied {
            state,
            private: answer.private.to_vec(),
            diagnostics: answer.diagnostics,
        })
    }

    pub async fn apply(&mut self, name: &str, prior: &Value, config: &Value) -> Applied {
        self.try_apply(name, prior, config).await.unwrap()
    }

    pub async fn create(&mut self, name: &str, json: Json) -> Applied {
        let config = self.config(name, json);
        let null = self.null(name);
        self.apply(name, &null, &config).await
    }

    /// A create that must succeed.
    pub async fn made(&mut self, name: &str, json: Json) -> Value {
        let applied = self.create(name, json).await;
        assert_eq!(applied.diagnostics, [], "creating {name}");
        applied.state
    }

    pub async fn delete(&mut self, name: &str, state: &Value) -> Applied {
        let null = self.null(name);
        self.apply(name, state, &null).await
    }

    pub async fn read(&mut self, name: &str, state: &Value) -> (Value, Vec<pb::Diagnostic>) {
        let ty = type_of(self.block(name));
        let request = pb::read_resource::Request {
            type_name: name.into(),
            current_state: Some(encode(state, &ty)),
            ..Default::default()
        };
        let answer = self
            .client
            .read_resource(request)
            .await
            .unwrap()
            .into_inner();
        (decode(answer.new_state.as_ref(), &ty), answer.diagnostics)
    }

    pub async fn read_data(
        &mut self,
        name: &str,
        json: Json,
    ) -> Result<Value, Vec<pb::Diagnostic>> {
        let block = self.schema.data_source_schemas[name].block.clone().unwrap();
        let ty = type_of(&block);
        let request = pb::read_data_source::Request {
            type_name: name.into(),
            config: Some(encode(&config(&block, json), &ty)),
            ..Default::default()
        };
        let answer = self
            .client
            .read_data_source(request)
            .await
            .unwrap()
            .into_inner();
        if answer.diagnostics.is_empty() {
            Ok(decode(answer.state.as_ref(), &ty))
        } else {
            Err(answer.diagnostics)
        }
    }

    pub fn null(&self, name: &str) -> Value {
        Value::null(type_of(self.block(name)))
    }

    pub async fn stop(&mut self) {
        self.client
            .stop_provider(pb::stop_provider::Request {})
            .await
            .unwrap();
    }

    pub async fn shutdown(&self) {
        let mut client =
            proto::plugin::grpc_controller_client::GrpcControllerClient::new(self.channel.clone());
        // the server may be gone before its answer is
        let _asked = client.shutdown(proto::plugin::Empty {}).await;
    }
}

pub fn encode(value: &Value, ty: &Type) -> pb::DynamicValue {
    pb::DynamicValue {
        msgpack: cty::msgpack::encode(value, ty).unwrap().into(),
        ..Default::default()
    }
}

pub fn decode(value: Option<&pb::DynamicValue>, ty: &Type) -> Value {
    value.filter(|value| !value.msgpack.is_empty()).map_or_else(
        || Value::null(ty.clone()),
        |value| cty::msgpack::decode(&value.msgpack, ty).unwrap(),
    )
}

/// A path as `.a["k"][0]`.
pub fn path_text(path: &pb::AttributePath) -> String {
    use pb::attribute_path::step::Selector;
    let step = |step: &pb::attribute_path::Step| match step.selector.as_ref().unwrap() {
        Selector::AttributeName(name) => format!(".{name}"),
        Selector::ElementKeyString(key) => format!("[{key:?}]"),
        Selector::ElementKeyInt(number) => format!("[{number}]"),
    };
    path.steps.iter().map(step).collect()
}

/// The summaries, and where each is.
pub fn said(diagnostics: &[pb::Diagnostic]) -> Vec<(String, String)> {
    diagnostics
        .iter()
        .map(|one| {
            (
                one.summary.clone(),
                one.attribute.as_ref().map(path_text).unwrap_or_default(),
            )
        })
        .collect()
}

pub fn text(value: &Value, name: &str) -> String {
    value
        .get_attr(name)
        .and_then(|inner| inner.as_str().map(str::to_owned))
        .unwrap_or_default()
}

pub fn attr_type(attr: &pb::schema::Attribute) -> Type {
    match &attr.nested_type {
        None => Type::from_json(&attr.r#type).unwrap(),
        Some(object) => {
            let inner = Type::object(
                object
                    .attributes
                    .iter()
                    .map(|attr| (attr.name.clone(), attr_type(attr))),
            );
            match object.nesting() {
                ObjectNesting::List => Type::list(inner),
                ObjectNesting::Set => Type::set(inner),
                ObjectNesting::Map => Type::map(inner),
                _ => inner,
            }
        }
    }
}

pub fn type_of(block: &pb::schema::Block) -> Type {
    let attributes = block
        .attributes
        .iter()
        .map(|attr| (attr.name.clone(), attr_type(attr)));
    let blocks = block.block_types.iter().map(|nested| {
        let inner = type_of(nested.block.as_ref().unwrap());
        let ty = match nested.nesting() {
            BlockNesting::List => Type::list(inner),
            BlockNesting::Set => Type::set(inner),
            BlockNesting::Map => Type::map(inner),
            _ => inner,
        };
        (nested.type_name.clone(), ty)
    });
    Type::object(attributes.chain(blocks))
}

pub fn config(block: &pb::schema::Block, json: Json) -> Value {
    let Json::Object(mut given) = json else {
        panic!("a configuration is an object")
    };
    let mut members: HashMap<String, Value> = HashMap::new();
    for attr in &block.attributes {
        let ty = attr_type(attr);
        let value = match given.remove(&attr.name) {
            None => Value::null(ty),
            Some(json) => attribute(attr, json),
        };
        members.insert(attr.name.clone(), value);
    }
    for nested in &block.block_types {
        let inner = nested.block.as_ref().unwrap();
        let ty = type_of(inner);
        let value = match (given.remove(&nested.type_name), nested.nesting()) {
            (Some(json), BlockNesting::Single) => config(inner, json),
            (None, BlockNesting::Single) => Value::null(ty),
            (json, nesting) => {
                let Json::Array(elements) = json.unwrap_or_else(|| Json::Array(vec![])) else {
                    panic!("blocks are a list")
                };
                let elements = elements
                    .into_iter()
                    .map(|element| config(inner, element))
                    .collect();
                if nesting == BlockNesting::Set {
                    Value::set(ty, elements)
                } else {
                    Value::list(ty, elements)
                }
            }
        };
        members.insert(nested.type_name.clone(), value);
    }
    assert!(given.is_empty(), "not in the schema: {given:?}");
    Value::object(members)
}

fn attribute(attr: &pb::schema::Attribute, json: Json) -> Value {
    let object = |inner: &pb::schema::Object, json: Json| {
        let block = pb::schema::Block {
            attributes: inner.attributes.clone(),
            ..Default::default()
        };
        config(&block, json)
    };
    match (&attr.nested_type, json) {
        (None, json) if attr_type(attr).is_dynamic() => {
            cty::json::decode_implied(json.to_string().as_bytes()).unwrap()
        }
        (None, json) => cty::json::decode(json.to_string().as_bytes(), &attr_type(attr)).unwrap(),
        (Some(inner), Json::Array(elements)) => {
            let ty = attr_type(attr).element_type().unwrap().clone();
            Value::list(
                ty,
                elements
                    .into_iter()
                    .map(|element| object(inner, element))
                    .collect(),
            )
        }
        (Some(inner), json) => object(inner, json),
    }
}

/// The configuration over what was there, as far as these tests need it: computed attributes keep
/// their value; blocks in a list are paired by their place.
pub fn proposed(block: &pb::schema::Block, prior: &Value, config: &Value) -> Value {
    if prior.is_null() {
        return config.clone();
    }
    let mut members: HashMap<String, Value> = HashMap::new();
    for attr in &block.attributes {
        let (old, new) = (
            prior.get_attr(&attr.name).unwrap(),
            config.get_attr(&attr.name).unwrap(),
        );
        let single = attr
            .nested_type
            .as_ref()
            .filter(|inner| inner.nesting() == ObjectNesting::Single);
        let value = match single {
            Some(inner) if old.is_given() && new.is_given() => {
                let block = pb::schema::Block {
                    attributes: inner.attributes.clone(),
                    ..Default::default()
                };
                proposed(&block, &old, &new)
            }
            _ if attr.computed && new.is_null() => old,
            _ => new,
        };
        members.insert(attr.name.clone(), value);
    }
    for nested in &block.block_types {
        let inner = nested.block.as_ref().unwrap();
        let (old, new) = (
            prior.get_attr(&nested.type_name).unwrap(),
            config.get_attr(&nested.type_name).unwrap(),
        );
        let value = match nested.nesting() {
            BlockNesting::Single if new.is_given() => proposed(inner, &old, &new),
            BlockNesting::List => {
                let pair = |(number, element): (usize, &Value)| match old.index_int(number) {
                    Some(old) => proposed(inner, &old, element),
                    None => element.clone(),
                };
                Value::list(
                    type_of(inner),
                    new.as_slice()
                        .unwrap_or_default()
                        .iter()
                        .enumerate()
                        .map(pair)
                        .collect(),
                )
            }
            _ => new,
        };
        members.insert(nested.type_name.clone(), value);
    }
    Value::object(members)
}
