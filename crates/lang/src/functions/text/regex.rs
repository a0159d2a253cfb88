//! Pattern functions: `regex`, `regexall`, `replace`.

use cty::{Type, Value};
use regex::{Captures, Regex};

use super::pattern;
use crate::functions::call::{CallError, Function, Param, text};

fn params() -> Vec<Param> {
    vec![
        Param::new("pattern", Type::String),
        Param::new("string", Type::String),
    ]
}

/// Type of a match: a string, a tuple of its groups, or an object of its named groups.
fn result_type(pattern: &str) -> Result<Type, CallError> {
    let compiled = pattern::compile(pattern).map_err(|e| CallError::arg(0, e))?;
    let names: Vec<Option<&str>> = compiled.capture_names().skip(1).collect();
    let named = names.iter().flatten().count();
    if names.is_empty() {
        Ok(Type::String)
    } else if named == 0 {
        Ok(Type::tuple(vec![Type::String; names.len()]))
    } else if named < names.len() {
        Err(CallError::arg(
            0,
            "invalid regexp pattern: cannot mix both named and unnamed capture groups",
        ))
    } else {
        Ok(Type::object(
            names.into_iter().flatten().map(|name| (name, Type::String)),
        ))
    }
}

fn result(compiled: &Regex, found: &Captures<'_>, ty: &Type) -> Value {
    let group = |part: Option<regex::Match<'_>>| {
        // A group that took no part in the match is null.
        part.map_or_else(|| Value::null(Type::String), |m| m.as_str().into())
    };
    match ty {
        Type::Tuple(_) => Value::tuple(found.iter().skip(1).map(group).collect()),
        Type::Object(_) => Value::object(
            compiled
                .capture_names()
                .flatten()
                .map(|name| (name.to_owned(), group(found.name(name)))),
        ),
        _ => group(found.get(0)),
    }
}

pub(in crate::functions) fn regex() -> Function {
    Function::typed(
        params(),
        |args, _| {
            if args[0].is_known() {
                result_type(text(args, 0)?)
            } else {
                Ok(Type::Dynamic)
            }
        },
        |args, ty, _| {
            let compiled = pattern::compile(text(args, 0)?).map_err(|e| CallError::arg(0, e))?;
            match compiled.captures(text(args, 1)?) {
                Some(found) => Ok(result(&compiled, &found, ty)),
                None => Err(CallError::call(
                    "pattern did not match any part of the given string",
                )),
            }
        },
    )
    .not_null()
}

pub(in crate::functions) fn regexall() -> Function {
    Function::typed(
        params(),
        |args, _| {
            let element = if args[0].is_known() {
                result_type(text(args, 0)?)?
            } else {
                Type::Dynamic
            };
            Ok(Type::list(element))
        },
        |args, ty, _| {
            let compiled = pattern::compile(text(args, 0)?).map_err(|e| CallError::arg(0, e))?;
            let element = ty.element_type().cloned().unwrap_or(Type::Dynamic);
            let all = compiled
                .captures_iter(text(args, 1)?)
                .map(|found| result(&compiled, &found, &element))
                .collect();
            Ok(Value::list(element, all))
        },
    )
    .not_null()
}

/// If the second argument is in slashes, it is a pattern, and `$1`, `${name}` in the third insert
/// its groups.
pub(in crate::functions) fn replace() -> Function {
    let params = ["str", "substr", "replace"]
        .map(|name| Param::new(name, Type::String))
        .to_vec();
    Function::new(params, Type::String, |args, _, host| {
        let (whole, part, with) = (text(args, 0)?, text(args, 1)?, text(args, 2)?);
        if part.len() > 1 && part.starts_with('/') && part.ends_with('/') {
            let compiled = pattern::compile(&part[1..part.len() - 1]).map_err(CallError::call)?;
            // Counted before the text is built, because each match may be replaced by a long text.
            host.check_memory(compiled.find_iter(whole).count().saturating_mul(with.len()))?;
            return Ok(compiled.replace_all(whole, with).into_owned().into());
        }
        host.check_memory(whole.matches(part).count().saturating_mul(with.len()))?;
        Ok(whole.replace(part, with).into())
    })
    .not_null()
}
