//! One module per target. Each accepts any bytes; its doc comment names their interpretation and
//! the guarantees.

#[cfg(feature = "engine")]
mod answers;
mod config;
pub mod handshake;
pub mod json;
#[cfg(feature = "engine")]
pub mod log_line;
pub mod msgpack;
#[cfg(feature = "engine")]
pub mod plan_answer;
pub mod plan_rules;
#[cfg(feature = "engine")]
pub mod state;
pub mod tf;
pub mod tf_json;

/// Splits the input into a type, as JSON on the first line, and the rest.
fn typed(data: &[u8]) -> Option<(cty::Type, &[u8])> {
    let end = data.iter().position(|b| *b == b'\n')?;
    Some((cty::Type::from_json(&data[..end]).ok()?, &data[end + 1..]))
}
