//! Functions on the marks for sensitive and ephemeral values.

use cty::{Mark, Type, Value};

use super::call::{CallError, Function, Param};

fn any_param() -> Vec<Param> {
    vec![
        Param::new("value", Type::Dynamic)
            .unknown()
            .null()
            .marked()
            .dynamic(),
    ]
}

fn same_type(run: fn(&Value) -> Value) -> Function {
    Function::typed(
        any_param(),
        |args, _| Ok(args[0].ty().clone()),
        move |args, _, _| Ok(run(&args[0])),
    )
}

pub(super) fn sensitive() -> Function {
    same_type(|value| value.clone().mark(Mark::Sensitive))
}

pub(super) fn nonsensitive() -> Function {
    same_type(|value| {
        // Only the mark of the value itself: sensitive parts inside it stay sensitive.
        let (bare, marks) = value.clone().unmark();
        bare.with_marks(&marks.without(&Mark::Sensitive))
    })
}

pub(super) fn issensitive() -> Function {
    Function::new(any_param(), Type::Bool, |args, _, _| {
        // The marks of an unknown value are not final.
        Ok(if args[0].is_known() {
            args[0].has_mark(&Mark::Sensitive).into()
        } else {
            Value::unknown(Type::Bool)
        })
    })
    .not_null()
}

pub(super) fn ephemeralasnull() -> Function {
    Function::typed(
        any_param(),
        |args, _| Ok(args[0].ty().clone()),
        |args, _, _| {
            args[0].transform(&mut |_, value: Value| {
                let ephemeral = value.has_mark(&Mark::Ephemeral);
                if !ephemeral && value.is_given() {
                    return Ok(value);
                }
                let ty = value.ty().clone();
                let (bare, marks) = value.unmark();
                let plain = if bare.is_null() || (ephemeral && bare.is_known()) {
                    Value::null(ty)
                } else {
                    Value::unknown(ty)
                };
                Ok::<_, CallError>(plain.with_marks(&marks.without(&Mark::Ephemeral)))
            })
        },
    )
}
