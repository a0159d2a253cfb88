//! Functions that search and count.

use cty::{Type, Value};

use crate::diag::Message;
use crate::functions::call::{CallError, Function, Param, items};
use crate::functions::text::plain;

fn any(name: &str) -> Param {
    Param::new(name, Type::Dynamic)
}

pub(in crate::functions) fn length() -> Function {
    Function::typed(
        vec![any("value").dynamic().unknown().marked()],
        |args, _| match args[0].ty() {
            Type::Number | Type::Bool => Err(CallError::call(
                "argument must be a string, a collection type, or a structural type",
            )),
            _ => Ok(Type::Number),
        },
        |args, _, _| {
            let value = &args[0];
            let length = match value.ty() {
                Type::String => match value.as_str() {
                    Some(text) => Value::number(plain::length(text)),
                    None => {
                        // The known prefix gives a lower bound.
                        let least = plain::length(value.range().string_prefix());
                        Value::unknown(Type::Number)
                            .refine()
                            .not_null()
                            .number_min(cty::Number::from(least), true)
                            .finish()
                    }
                },
                Type::Dynamic => Value::unknown(Type::Number),
                _ => value
                    .length()
                    .unwrap_or_else(|| Value::unknown(Type::Number)),
            };
            Ok(length.with_marks(value.marks()))
        },
    )
    .not_null()
}

pub(in crate::functions) fn contains() -> Function {
    Function::new(vec![any("list"), any("value")], Type::Bool, |args, _, _| {
        let (list, wanted) = (&args[0], &args[1]);
        if !(list.ty().is_list() || list.ty().is_tuple() || list.ty().is_set()) {
            return Err(CallError::call("argument must be list, tuple, or set"));
        }
        let mut open = false;
        for item in items(list) {
            match wanted.equals(item).as_bool() {
                Some(true) => return Ok(true.into()),
                Some(false) => {}
                // An unknown element may still be the wanted one.
                None => open = true,
            }
        }
        Ok(if open {
            Value::unknown(Type::Bool)
        } else {
            false.into()
        })
    })
    .not_null()
}

pub(in crate::functions) fn index() -> Function {
    Function::new(
        vec![any("list"), any("value")],
        Type::Number,
        |args, _, _| {
            let list = &args[0];
            if !list.ty().is_list() && !list.ty().is_tuple() {
                return Err(CallError::call("argument must be a list or tuple"));
            }
            if items(list).is_empty() {
                return Err(CallError::call("cannot search an empty list"));
            }
            for (at, item) in items(list).iter().enumerate() {
                match item.equals(&args[1]).as_bool() {
                    Some(true) => return Ok(Value::number(at)),
                    Some(false) => {}
                    // The unknown element may be the first match, so the index is unknown.
                    None => return Ok(Value::unknown(Type::Number)),
                }
            }
            Err(CallError::call("item not found"))
        },
    )
    .not_null()
}

pub(in crate::functions) fn alltrue() -> Function {
    Function::new(
        vec![Param::new("list", Type::list(Type::Bool))],
        Type::Bool,
        |args, _, _| {
            for item in items(&args[0]) {
                // As in the reference, an unknown element decides before a later false one.
                if !item.is_known() {
                    return Ok(Value::unknown(Type::Bool));
                }
                if item.as_bool() != Some(true) {
                    return Ok(false.into());
                }
            }
            Ok(true.into())
        },
    )
    .not_null()
}

pub(in crate::functions) fn anytrue() -> Function {
    Function::new(
        vec![Param::new("list", Type::list(Type::Bool))],
        Type::Bool,
        |args, _, _| {
            let all = items(&args[0]);
            if all.iter().any(|v| v.as_bool() == Some(true)) {
                return Ok(true.into());
            }
            Ok(if all.iter().any(|v| !v.is_known()) {
                Value::unknown(Type::Bool)
            } else {
                false.into()
            })
        },
    )
    .not_null()
}

pub(in crate::functions) fn matchkeys() -> Function {
    let list = || Type::list(Type::Dynamic);
    let params = vec![
        Param::new("values", list()),
        Param::new("keys", list()),
        Param::new("searchset", list()),
    ];
    let common = |args: &[Value]| {
        cty::unify_unsafe(&[args[1].ty().clone(), args[2].ty().clone()])
            .map(|u| u.ty)
            .ok_or_else(|| CallError::call("keys and searchset must be of the same type"))
    };
    Function::typed(
        params,
        move |args, _| common(args).map(|_| args[0].ty().clone()),
        move |args, ty, host| {
            let values = items(&args[0]);
            if values.len() != items(&args[1]).len() {
                return Err(CallError::call("length of keys and values should be equal"));
            }
            let element = ty.element_type().cloned().unwrap_or(Type::Dynamic);
            let key_type = common(args)?;
            let convert =
                |v: &Value| cty::convert(v, &key_type).map_err(|e| CallError::call(e.to_string()));
            let (keys, wanted) = (convert(&args[1])?, convert(&args[2])?);
            if items(&wanted).is_empty() {
                return Ok(Value::list(element, Vec::new()));
            }
            if !args[0].is_wholly_known() || !keys.is_wholly_known() {
                return Ok(Value::unknown(ty.clone()));
            }
            let mut kept = Vec::new();
            for (key, value) in items(&keys).iter().zip(values) {
                // Nested loops cost more than the arguments, which are counted already.
                host.consume_steps(items(&wanted).len() as u64 / 2)?;
                for want in items(&wanted) {
                    match key.equals(want).as_bool() {
                        Some(true) => {
                            kept.push(value.clone());
                            break;
                        }
                        Some(false) => {}
                        // The reference gives an empty list here, not an unknown one.
                        None => return Ok(Value::list(element, Vec::new())),
                    }
                }
            }
            Ok(Value::list(element, kept))
        },
    )
    .not_null()
}

/// Removed functions; their error names the replacement.
pub(in crate::functions) fn removed_function(
    name: &'static str,
    instead: &'static str,
) -> Function {
    let reason = move || {
        CallError::call(Message::plain(format!(
            "the {name:?} function was deprecated and is not available; use {instead}"
        )))
    };
    Function::typed(
        vec![],
        move |_, _| Err(reason()),
        move |_, _, _| Err(reason()),
    )
    .more(any("vals").null().unknown().dynamic())
}
