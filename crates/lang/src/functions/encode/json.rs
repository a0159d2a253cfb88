//! JSON as `jsonencode` and `jsondecode` have it.

use cty::{Type, Value};

use crate::functions::call::{CallError, Function, Param, text};

/// A wholly known value as JSON text.
pub(in crate::functions) fn encode(value: &Value) -> Result<String, String> {
    if value.is_null() {
        return Ok("null".to_owned());
    }
    let (bare, _) = value.clone().unmark_deep();
    cty::json::encode(&bare, bare.ty()).map_err(|e| e.to_string())
}

pub(in crate::functions) fn jsonencode() -> Function {
    Function::new(vec![Param::new("val", Type::Dynamic).unknown().dynamic().null()], Type::String, |args, _, _| {
        let value = &args[0];
        if value.is_wholly_known() {
            return Ok(encode(value)?.into());
        }
        let unknown = Value::unknown(Type::String);
        if !value.is_definitely_not_null() {
            return Ok(unknown);
        }
        let builder = unknown.refine();
        Ok(match value.ty() {
            Type::String => builder.string_prefix_full("\"").finish(),
            Type::Object(_) | Type::Map(_) => builder.string_prefix_full("{").finish(),
            Type::Tuple(_) | Type::List(_) | Type::Set(_) => builder.string_prefix_full("[").finish(),
            _ => unknown,
        })
    })
    .not_null()
}

pub(in crate::functions) fn jsondecode() -> Function {
    Function::typed(
        vec![Param::new("str", Type::String)],
        |args, _| match text(args, 0) {
            Ok(known) => decode(known).map(|value| value.ty().clone()),
            Err(_) => begun_type(args[0].range().string_prefix()),
        },
        |args, _, _| decode(text(args, 0)?),
    )
}

fn decode(text: &str) -> Result<Value, CallError> {
    cty::json::decode_implied(text.as_bytes()).map_err(|e| CallError::call(e.to_string()))
}

/// What the known beginning of a JSON text says about the type of the whole.
fn begun_type(prefix: &str) -> Result<Type, CallError> {
    Ok(match prefix.trim().chars().next() {
        None | Some('{' | '[' | 'n') => Type::Dynamic,
        Some('"') => Type::String,
        Some('t' | 'f') => Type::Bool,
        Some('-' | '.' | '0'..='9') => Type::Number,
        Some(other) => return Err(CallError::arg(0, format!("a JSON document cannot begin with the character '{other}'"))),
    })
}
