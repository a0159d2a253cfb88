//! JSON for `jsonencode` and `jsondecode`.

use std::borrow::Cow;

use cty::{Type, Value};

use crate::functions::call::{CallError, Function, Param, text};

/// Encodes a wholly known value.
pub(in crate::functions) fn encode(value: &Value) -> Result<String, String> {
    if value.is_null() {
        return Ok("null".to_owned());
    }
    let (bare, _) = value.clone().unmark_deep();
    cty::json::encode(&bare, bare.ty()).map_err(|e| e.to_string())
}

pub(in crate::functions) fn jsonencode() -> Function {
    Function::new(
        vec![Param::new("val", Type::Dynamic).unknown().dynamic().null()],
        Type::String,
        |args, _, _| {
            let value = &args[0];
            if value.is_wholly_known() {
                return Ok(encode(value)?.into());
            }
            let unknown = Value::unknown(Type::String);
            // The text could be `null`, so no prefix is known.
            if !value.is_definitely_not_null() {
                return Ok(unknown);
            }
            let builder = unknown.refine();
            Ok(match value.ty() {
                Type::String => builder.string_prefix_full("\"").finish(),
                Type::Object(_) | Type::Map(_) => builder.string_prefix_full("{").finish(),
                Type::Tuple(_) | Type::List(_) | Type::Set(_) => {
                    builder.string_prefix_full("[").finish()
                }
                _ => unknown,
            })
        },
    )
    .not_null()
}

pub(in crate::functions) fn jsondecode() -> Function {
    Function::typed(
        vec![Param::new("str", Type::String)],
        |args, _| match text(args, 0) {
            Ok(known) => decode(known).map(|value| value.ty().clone()),
            Err(_) => type_of_prefix(args[0].range().string_prefix()),
        },
        |args, _, _| decode(text(args, 0)?),
    )
}

fn decode(text: &str) -> Result<Value, CallError> {
    // Go accepts unpaired surrogates in JSON, and the decoder used here does not.
    let text = surrogates(text);
    if let Some(key) = denormal_key(&text) {
        return Err(CallError::call(format!("unsupported attribute {key:?}")));
    }
    cty::json::decode_implied(text.as_bytes()).map_err(|e| CallError::call(e.to_string()))
}

/// Replaces unpaired surrogates by the replacement character.
fn surrogates(text: &str) -> Cow<'_, str> {
    if !text.contains("\\u") {
        return Cow::Borrowed(text);
    }
    let code = |at: usize| -> Option<u32> {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        let escape = at + found;
        out.push_str(&text[at..escape]);
        let width = match (code(escape), code(escape + 6)) {
            // A valid pair stays as it is.
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push('\u{FFFD}');
                at = escape + 6;
                continue;
            }
            (Some(_), _) => 6,
            // Another escape, such as `\\`, whose second character must not start a new one.
            (None, _) => 1 + text[escape + 1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&text[escape..escape + width]);
        at = escape + width;
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

/// Finds a key that is not in normalization form C: the value would have an attribute that its type
/// lacks.
fn denormal_key(text: &str) -> Option<String> {
    // ASCII text is in normalization form C, unless an escape stands for another character.
    if text.is_ascii() && !text.contains("\\u") {
        return None;
    }
    let mut rest = text;
    while let Some(open) = rest.find('"') {
        let mut end = open + 1;
        while let Some(c) = rest[end..].chars().next() {
            match c {
                '"' => break,
                '\\' => end += 1 + rest[end + 1..].chars().next().map_or(0, char::len_utf8),
                c => end += c.len_utf8(),
            }
        }
        let quoted = rest.get(open..=end)?;
        rest = &rest[end + 1..];
        // Only a string before a colon is a key.
        if rest
            .trim_start_matches([' ', '\t', '\r', '\n'])
            .starts_with(':')
            && let Ok(key) = serde_json::from_str::<String>(quoted)
            && *cty::normalize(&key) != *key
        {
            return Some(key);
        }
    }
    None
}

/// Type of a JSON text, from its known prefix.
fn type_of_prefix(prefix: &str) -> Result<Type, CallError> {
    Ok(match prefix.trim().chars().next() {
        // The type depends on text that is still unknown.
        None | Some('{' | '[' | 'n') => Type::Dynamic,
        Some('"') => Type::String,
        Some('t' | 'f') => Type::Bool,
        Some('-' | '.' | '0'..='9') => Type::Number,
        Some(other) => {
            return Err(CallError::arg(
                0,
                format!("a JSON document cannot begin with the character '{other}'"),
            ));
        }
    })
}
