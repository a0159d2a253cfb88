//! Functions of the builtin provider `terraform` for values in the language's notation; they need
//! no process. Scopes with that provider offer them as `provider::terraform::NAME`.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use cty::{Type, Value};

use super::call::{CallError, Function, Param, text};
use crate::body::Body;
use crate::eval::{Bindings, evaluate};
use crate::source::SourceMap;
use crate::syntax::strings::escaped;

/// Function of the builtin provider by short name: `encode_expr`, `encode_tfvars`, `decode_tfvars`.
pub fn of_builtin_provider(name: &str) -> Option<Arc<Function>> {
    static TABLE: OnceLock<BTreeMap<&'static str, Arc<Function>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        [
            ("encode_expr", encode_expr()),
            ("encode_tfvars", encode_tfvars()),
            ("decode_tfvars", decode_tfvars()),
        ]
        .into_iter()
        .map(|(name, function)| (name, Arc::new(function)))
        .collect()
    });
    table.get(name).cloned()
}

fn encode_expr() -> Function {
    Function::new(
        vec![Param::new("expr", Type::Dynamic)],
        Type::String,
        |args, _, _| {
            if !args[0].is_wholly_known() {
                return Err(CallError::call("input is not wholly known"));
            }
            Ok(expression(&args[0], 0).into())
        },
    )
}

fn encode_tfvars() -> Function {
    Function::new(
        vec![Param::new("input", Type::Dynamic)],
        Type::String,
        |args, _, _| {
            if !args[0].ty().is_object() {
                return Err(CallError::call("invalid input: must be an object"));
            }
            if !args[0].is_wholly_known() {
                return Err(CallError::call("input is not wholly known"));
            }
            let members = args[0].as_map().into_iter().flatten();
            let mut items = Vec::new();
            for (name, value) in members {
                if !crate::syntax::is_identifier(name) {
                    return Err(CallError::call(format!(
                        "invalid input: object key: {name} - must be a valid identifier"
                    )));
                }
                items.push((name.to_string(), expression(value, 0)));
            }
            Ok(assignments(items, 0).into())
        },
    )
}

fn decode_tfvars() -> Function {
    Function::new(
        vec![Param::new("content", Type::String)],
        Type::Dynamic,
        |args, _, _| decode(text(args, 0)?),
    )
}

fn decode(content: &str) -> Result<Value, CallError> {
    let file = SourceMap::new().add("<tfvars content>", content);
    let failed =
        |detail: &str| CallError::call(format!("failed to decode tfvars content: {detail}"));
    let words = |diags: &crate::diag::Diagnostics| {
        diags
            .errors()
            .next()
            .map(|d| format!("{}; {}", d.summary, d.detail.trim_end_matches('.')))
            .unwrap_or_default()
    };
    let (native, diags) = crate::syntax::parse_file(content, file);
    if diags.has_errors() {
        return Err(failed(&words(&diags)));
    }
    let (attributes, diags) = Body::native(Arc::new(native)).just_attributes();
    if diags.has_errors() {
        return Err(failed(&words(&diags)));
    }
    let mut members = BTreeMap::new();
    let nothing = Bindings::new(BTreeMap::new());
    for (name, attribute) in attributes {
        // Checked before evaluation, because that would find the built-in functions.
        if let Some(call) = attribute.expr.calls().first() {
            return Err(failed(&format!(
                "function calls are not allowed here: {}",
                call.name
            )));
        }
        let (value, diags) = evaluate(&attribute.expr, &nothing);
        if diags.has_errors() {
            return Err(failed(&words(&diags)));
        }
        members.insert(name, value);
    }
    Ok(Value::object_from_map(members))
}

/// Formats a wholly known value as an expression at nesting `depth`.
fn expression(value: &Value, depth: usize) -> String {
    if let Some(text) = value.as_str() {
        return quoted(text);
    }
    if let Some(number) = value.as_number() {
        return number.to_text();
    }
    if let Some(truth) = value.as_bool() {
        return truth.to_string();
    }
    if let Some(items) = value.as_slice() {
        return format!(
            "[{}]",
            items
                .iter()
                .map(|v| expression(v, depth))
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
    match value.as_map() {
        Some(members) if members.is_empty() => "{}".to_owned(),
        Some(members) => {
            let key = |name: &str| {
                if crate::syntax::is_identifier(name) {
                    name.to_owned()
                } else {
                    quoted(name)
                }
            };
            let items = members
                .iter()
                .map(|(name, value)| (key(name), expression(value, depth + 1)))
                .collect();
            format!(
                "{{\n{}{}}}",
                assignments(items, depth + 1),
                "  ".repeat(depth)
            )
        }
        None => "null".to_owned(),
    }
}

/// Formats `name = value` lines; equals signs of neighbouring single-line values are aligned.
fn assignments(items: Vec<(String, String)>, depth: usize) -> String {
    let mut out = String::new();
    let mut at = 0;
    while at < items.len() {
        let run = items[at..]
            .iter()
            .take_while(|(_, value)| !value.contains('\n'))
            .count();
        let width = items[at..at + run]
            .iter()
            .map(|(name, _)| name.chars().count())
            .max()
            .unwrap_or(0);
        // A value of several lines stands alone and is not aligned.
        for (name, value) in &items[at..at + run.max(1)] {
            let pad = width.saturating_sub(name.chars().count());
            out.push_str(&format!(
                "{}{name}{} = {value}\n",
                "  ".repeat(depth),
                " ".repeat(pad)
            ));
        }
        at += run.max(1);
    }
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_attributes_are_aligned_in_printed_expressions() {
        let inner = Value::object([
            ("c", Value::from("q\"${x}")),
            ("d e", Value::empty_object()),
        ]);
        let value = Value::object([
            ("a", inner),
            (
                "b",
                Value::tuple(vec![Value::int(1), Value::null(Type::Dynamic)]),
            ),
            ("longer", Value::bool(true)),
        ]);
        let text = "{\n  a = {\n    c     = \"q\\\"$${x}\"\n    \"d e\" = {}\n  }\n  b      = [1, null]\n  longer = true\n}";
        assert_eq!(expression(&value, 0), text);
    }
}
