//! Functions that refine unknown values by assumptions, which are checked once the value is known.

use cty::{Mark, RefinementBuilder, Type, Value};

use super::call::{CallError, Function, Param, text};
use crate::diag::Message;

type Refine = fn(&[Value], RefinementBuilder) -> Result<RefinementBuilder, CallError>;

/// Function with an assumption about a value of `constraint`; further parameters give its terms.
fn assumption(constraint: Type, more: &[(&str, Type)], refine: Refine) -> Function {
    // An unknown value is the main case: the assumption then becomes a refinement of it.
    let mut params = vec![
        Param::new("value", constraint.clone())
            .null()
            .unknown()
            .dynamic(),
    ];
    params.extend(more.iter().map(|(name, ty)| Param::new(name, ty.clone())));
    Function::typed(
        params,
        move |args, _| {
            Ok(if args[0].ty().is_dynamic() {
                constraint.clone()
            } else {
                args[0].ty().clone()
            })
        },
        move |args, _, _| {
            refine(args, args[0].refine())?
                .build()
                .map_err(|_| CallError::arg(0, "assumption was not upheld"))
        },
    )
}

pub(super) fn notnull() -> Function {
    assumption(Type::Dynamic, &[], |args, builder| {
        if args[0].ty().is_dynamic() {
            let reason = "given value must have a known type; consider using the \"convert\" function to specify a type to assume";
            return Err(CallError::arg(0, reason));
        }
        Ok(builder.not_null())
    })
}

pub(super) fn stringprefix() -> Function {
    assumption(
        Type::String,
        &[("prefix", Type::String)],
        |args, builder| Ok(builder.string_prefix(text(args, 1)?)),
    )
}

/// Collection type of an assumption about lengths.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    List,
    Set,
    Map,
}

impl Kind {
    fn ty(self) -> Type {
        match self {
            Kind::List => Type::list(Type::Dynamic),
            Kind::Set => Type::set(Type::Dynamic),
            Kind::Map => Type::map(Type::Dynamic),
        }
    }
}

fn bound(args: &[Value], index: usize) -> Result<usize, CallError> {
    let number = args
        .get(index)
        .and_then(Value::as_number)
        .and_then(cty::Number::to_usize);
    number.ok_or_else(|| {
        CallError::arg(
            index,
            Message::plain(format!("must be a whole number between 0 and {}", i64::MAX)),
        )
    })
}

pub(super) fn length(kind: Kind) -> Function {
    assumption(
        kind.ty(),
        &[("min_length", Type::Number), ("max_length", Type::Number)],
        |args, builder| {
            Ok(builder
                .length_min(bound(args, 1)?)
                .length_max(bound(args, 2)?))
        },
    )
}

pub(super) fn length_min(kind: Kind) -> Function {
    assumption(
        kind.ty(),
        &[("min_length", Type::Number)],
        |args, builder| Ok(builder.length_min(bound(args, 1)?)),
    )
}

pub(super) fn length_max(kind: Kind) -> Function {
    assumption(
        kind.ty(),
        &[("max_length", Type::Number)],
        |args, builder| Ok(builder.length_max(bound(args, 1)?)),
    )
}

pub(super) fn equal() -> Function {
    let any = |name| {
        Param::new(name, Type::Dynamic)
            .null()
            .unknown()
            .dynamic()
            .marked()
    };
    Function::typed(
        vec![any("actual_value"), any("expected_value")],
        |args, _| Ok(args[1].ty().clone()),
        |args, _, _| {
            let (actual, expected) = (&args[0], &args[1]);
            let converted = cty::convert(actual, expected.ty()).map_err(|_| {
                let (got, want) = (actual.ty().friendly_name(), expected.ty().friendly_name());
                CallError::arg(
                    0,
                    format!("actual value type {got} does not match assumed value type {want}"),
                )
            })?;
            // An unknown comparison is accepted, because the assumption may hold.
            if converted.equals(expected).as_bool() == Some(false) {
                return Err(CallError::arg(
                    0,
                    "the actual value does not match the assumed value",
                ));
            }
            // The assumption itself is not sensitive, even if the value is.
            let (_, marks) = converted.unmark_deep_with_paths();
            let kept: Vec<_> = marks
                .into_iter()
                .map(|(path, marks)| {
                    (
                        path,
                        marks.without(&Mark::Sensitive).without(&Mark::Ephemeral),
                    )
                })
                .filter(|(_, marks)| !marks.is_empty())
                .collect();
            Ok(expected.clone().mark_with_paths(&kept))
        },
    )
}
