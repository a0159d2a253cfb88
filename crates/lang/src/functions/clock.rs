//! Time functions.

mod calendar;
mod duration;
mod time;

use cty::{Type, Value};

pub use duration::{DurationError, duration};

use self::time::Moment;
use super::call::{CallError, Function, Param, text};

fn texts(names: [&str; 2]) -> Vec<Param> {
    names
        .iter()
        .map(|name| Param::new(name, Type::String))
        .collect()
}

pub(super) fn timestamp() -> Function {
    Function::new(vec![], Type::String, |_, _, _| {
        let nanos = jiff::Timestamp::now().as_nanosecond();
        Ok(Moment { nanos, offset: 0 }.rfc3339().into())
    })
    .not_null()
    .impure()
}

pub(super) fn plantimestamp() -> Function {
    Function::new(vec![], Type::String, |_, _, host| {
        Ok(host
            .scope
            .plan_timestamp()
            .map_or_else(|| Value::unknown(Type::String), Value::from))
    })
}

pub(super) fn formatdate() -> Function {
    Function::new(texts(["format", "time"]), Type::String, |args, _, _| {
        let moment = Moment::parse(text(args, 1)?).map_err(|e| CallError::arg(1, e.to_string()))?;
        moment
            .format(text(args, 0)?)
            .map(Value::from)
            .map_err(|e| CallError::arg(0, e.to_string()))
    })
    .not_null()
}

pub(super) fn timeadd() -> Function {
    Function::new(
        texts(["timestamp", "duration"]),
        Type::String,
        |args, _, _| {
            let moment = Moment::parse(text(args, 0)?).map_err(CallError::from_error)?;
            let duration = duration::duration(text(args, 1)?).map_err(CallError::from_error)?;
            Ok(Moment {
                nanos: moment.nanos + duration,
                ..moment
            }
            .rfc3339()
            .into())
        },
    )
}

pub(super) fn timecmp() -> Function {
    Function::new(
        texts(["timestamp_a", "timestamp_b"]),
        Type::Number,
        |args, _, _| {
            let first =
                Moment::parse(text(args, 0)?).map_err(|e| CallError::arg(0, e.to_string()))?;
            let second =
                Moment::parse(text(args, 1)?).map_err(|e| CallError::arg(1, e.to_string()))?;
            Ok(Value::int(first.nanos.cmp(&second.nanos) as i64))
        },
    )
    .not_null()
}

/// Canonical form of a timestamp; `None` for other text.
pub(super) fn normal(text: &str) -> Option<String> {
    Moment::parse(text).ok().map(|m| m.rfc3339())
}
