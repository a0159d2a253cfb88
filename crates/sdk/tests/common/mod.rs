//! Minimal host for tests: reads a handshake line, connects with mutual TLS, and calls protocol 6
//! with the schema of the provider.
#![allow(dead_code, clippy::unwrap_used)]

mod host;
mod proposed;

#[allow(unused_imports, reason = "not every target needs all of it")]
pub use host::{Applied, Host, Plan};
#[allow(unused_imports, reason = "not every target needs all of it")]
pub use proposed::{attr_type, config, proposed, type_of};

use cty::{Type, Value};
use proto::tfplugin6 as pb;
use tonic::transport::Channel;

const LIMIT: usize = 256 << 20;

/// Connects as a host does; without an identity, without TLS.
pub async fn connect(line: &str, identity: Option<&wire::Identity>) -> Result<Channel, String> {
    let connected = sdk::testing::connect(line, identity).await;
    connected.map_err(|failure| format!("{failure:?}"))
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

/// Formats a path as `.a["k"][0]`.
pub fn path_text(path: &pb::AttributePath) -> String {
    use pb::attribute_path::step::Selector;
    let step = |step: &pb::attribute_path::Step| match step.selector.as_ref().unwrap() {
        Selector::AttributeName(name) => format!(".{name}"),
        Selector::ElementKeyString(key) => format!("[{key:?}]"),
        Selector::ElementKeyInt(number) => format!("[{number}]"),
    };
    path.steps.iter().map(step).collect()
}

/// Returns the summaries with their paths.
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
