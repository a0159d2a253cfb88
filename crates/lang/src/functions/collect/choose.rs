//! Functions that select an element: by index, the first valid one, the only one.

use cty::{Type, Value};

use super::lists::any;
use crate::diag::Message;
use crate::functions::call::{CallError, Function, Param, int_argument, items};

pub(in crate::functions) fn element() -> Function {
    Function::typed(
        vec![any("list").marked(), Param::new("index", Type::Number)],
        |args, _| match args[0].ty() {
            Type::List(element) => Ok((**element).clone()),
            Type::Tuple(types) => {
                // The type of a tuple's element depends on the index.
                if !args[1].is_known() {
                    return Ok(Type::Dynamic);
                }
                Ok(types[wrapped(&args[1], types.len())?].clone())
            }
            other => Err(CallError::call(Message::plain(format!(
                "cannot read elements from {}",
                other.friendly_name()
            )))),
        },
        |args, ty, _| {
            let (list, marks) = args[0].clone().unmark();
            let Some(all) = list.as_slice() else {
                return Ok(Value::unknown(ty.clone()));
            };
            let at = wrapped(&args[1], all.len())?;
            Ok(all[at].clone().with_marks(&marks))
        },
    )
}

/// Index that wraps around at both ends.
fn wrapped(index: &Value, length: usize) -> Result<usize, CallError> {
    let index = int_argument(std::slice::from_ref(index), 0)
        .map_err(|e| CallError::call(Message::plain(format!("invalid index: {e}"))))?;
    if length == 0 {
        return Err(CallError::call(
            "cannot use element function with an empty list",
        ));
    }
    Ok(index.rem_euclid(length as i64) as usize)
}

pub(in crate::functions) fn one() -> Function {
    const WRONG_TYPE: &str = "must be a list, set, or tuple value with either zero or one elements";
    Function::typed(
        vec![any("list")],
        |args, _| match args[0].ty() {
            Type::List(element) | Type::Set(element) => Ok((**element).clone()),
            Type::Tuple(types) if types.is_empty() => Ok(Type::Dynamic),
            Type::Tuple(types) if types.len() == 1 => Ok(types[0].clone()),
            _ => Err(CallError::arg(0, WRONG_TYPE)),
        },
        |args, ty, _| {
            let list = &args[0];
            // Unknown elements of a set may turn out equal, so its length can be unknown.
            let known = list.length().is_some_and(|l| l.is_known());
            if !known {
                return Ok(Value::unknown(ty.clone()));
            }
            match items(list) {
                [] => Ok(Value::null(ty.clone())),
                [single] => Ok(single.clone()),
                _ => Err(CallError::arg(0, WRONG_TYPE)),
            }
        },
    )
}

pub(in crate::functions) fn coalescelist() -> Function {
    Function::typed(
        vec![],
        |args, _| {
            if args.is_empty() {
                return Err(CallError::call("at least one argument is required"));
            }
            for arg in args {
                if !arg.is_known() {
                    return Ok(Type::Dynamic);
                }
                if !arg.ty().is_list() && !arg.ty().is_tuple() {
                    return Err(CallError::call(
                        "coalescelist arguments must be lists or tuples",
                    ));
                }
            }
            let first = args[0].ty();
            Ok(if args.iter().all(|a| a.ty() == first) {
                first.clone()
            } else {
                Type::Dynamic
            })
        },
        |args, ty, _| {
            for arg in args {
                if !arg.is_known() {
                    return Ok(Value::unknown(ty.clone()));
                }
                if arg.len().is_some_and(|l| l > 0) {
                    return Ok(arg.clone());
                }
            }
            Err(CallError::call("no non-null arguments"))
        },
    )
    .more(any("vals").null().unknown().dynamic())
    .not_null()
}

pub(in crate::functions) fn coalesce() -> Function {
    Function::typed(
        vec![],
        |args, _| {
            let types: Vec<Type> = args.iter().map(|a| a.ty().clone()).collect();
            cty::unify_unsafe(&types)
                .map(|u| u.ty)
                .ok_or_else(|| CallError::call("all arguments must have the same type"))
        },
        |args, ty, _| {
            for arg in args {
                let arg = cty::convert(arg, ty).map_err(|e| CallError::call(e.to_string()))?;
                if !arg.is_known() {
                    return Ok(Value::unknown(ty.clone()));
                }
                // In the reference, an empty string counts as missing too.
                if arg.is_null() || arg.as_str() == Some("") {
                    continue;
                }
                return Ok(arg);
            }
            Err(CallError::call("no non-null, non-empty-string arguments"))
        },
    )
    .more(any("vals").null().unknown().dynamic())
    .not_null()
}
