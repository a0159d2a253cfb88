//! Conversion functions: `tostring`, `tolist` and others.

use cty::{Mark, Type, Value};

use super::call::{CallError, Function, Param};
use crate::diag::Message;

/// The function that converts to `want`.
pub(super) fn to(want: Type) -> Function {
    let target = want.clone();
    Function::typed(
        vec![Param::new("v", Type::Dynamic).null().marked().dynamic()],
        move |args, _| {
            let got = args[0].ty();
            if *got == target || cty::can_convert(got, &target) {
                return Ok(target.clone());
            }
            Err(CallError::arg(0, refusal("", got, &target)))
        },
        move |args, _, _| {
            cty::convert(&args[0], &want).map_err(|_| CallError::arg(0, reason(&args[0], &want)))
        },
    )
}

fn refusal(kind: &str, got: &Type, want: &Type) -> Message {
    Message::plain(format!(
        "cannot convert {kind}{} to {}",
        got.friendly_name(),
        want.friendly_constraint_name()
    ))
}

/// Quotes a text, shortened to fit a message.
fn quoted(text: &str) -> String {
    const MAX_QUOTED: usize = 200;
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{:?} and {} more bytes", &text[..end], text.len() - end),
        None => format!("{text:?}"),
    }
}

/// Reason why a value of a convertible type cannot be converted. Quotes the value only if it is not
/// sensitive.
fn reason(value: &Value, want: &Type) -> Message {
    let got = value.ty();
    if value.contains_mark(&Mark::Ephemeral) {
        return refusal("this ephemeral ", got, want);
    }
    if value.contains_mark(&Mark::Sensitive) {
        return refusal("this sensitive ", got, want);
    }
    match (value.as_str(), want) {
        (Some(text), Type::Bool) => {
            let put = |text: &str| {
                format!(
                    "cannot convert {text} to bool; only the strings \"true\" or \"false\" are allowed"
                )
            };
            Message::either(put(&quoted(text)), put("(sensitive value)"))
        }
        (Some(text), Type::Number) => {
            let put = |text: &str| {
                format!(
                    "cannot convert {text} to number; given string must be a decimal representation of a number"
                )
            };
            Message::either(put(&quoted(text)), put("(sensitive value)"))
        }
        _ => refusal("", got, want),
    }
}
