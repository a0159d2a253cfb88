//! Errors for calls that did not run: messages, and the argument each one refers to.

use super::call::Argument;
use super::error_span::{closest, start_of};
use crate::diag::{Diagnostic, Message};
use crate::functions;
use crate::functions::{CallError, Function};
use crate::source::Span;
use crate::syntax::Call;

pub(super) fn invalid_argument(param: &str, reason: Message) -> Diagnostic {
    Diagnostic::error(
        "Invalid function argument",
        reason.wrap(|reason| format!("Invalid value for {param:?} parameter: {reason}.")),
    )
}

pub(super) fn wrong_count(
    call: &Call,
    function: &Function,
    args: &[Argument<'_>],
    whole: Span,
) -> Option<Diagnostic> {
    let want = function.params().len();
    if let Some(missing) = function.params().get(args.len()) {
        let least = if function.variadic().is_some() {
            " at least"
        } else {
            ""
        };
        let detail = Message::plain(format!(
            "Function {:?} expects{least} {want} argument(s). Missing value for {:?}.",
            &*call.name, &*missing.name
        ));
        return Some(
            Diagnostic::error("Not enough function arguments", detail)
                .at(call.close)
                .within(whole),
        );
    }
    if function.variadic().is_none()
        && let Some(extra) = args.get(want)
    {
        let detail = Message::plain(format!(
            "Function {:?} expects only {want} argument(s).",
            &*call.name
        ));
        return Some(
            Diagnostic::error("Too many function arguments", detail)
                .at(extra.place())
                .within(whole),
        );
    }
    None
}

/// `can` with the wrong number of arguments.
pub(super) fn wrong_lazy_count(name: &str, call: &Call) -> Option<Diagnostic> {
    let params: &[&str] = match name {
        "can" => &["expression"],
        _ => return None,
    };
    if call.expand_final {
        let detail = Message::plain(format!(
            "The arguments of {name:?} are expressions, so they cannot be expanded with the \
            symbol \"...\"."
        ));
        return Some(
            Diagnostic::error("Invalid expanding argument value", detail).at(call.name_span),
        );
    }
    let want = params.len();
    if let Some(missing) = params.get(call.args.len()) {
        let detail = Message::plain(format!(
            "Function {name:?} expects {want} argument(s). Missing value for {missing:?}."
        ));
        return Some(Diagnostic::error("Not enough function arguments", detail).at(call.close));
    }
    let extra = call.args.get(want)?;
    let detail = Message::plain(format!(
        "Function {name:?} expects only {want} argument(s)."
    ));
    Some(Diagnostic::error("Too many function arguments", detail).at(start_of(extra)))
}

pub(super) fn call_diagnostic(
    call: &Call,
    function: &Function,
    args: &[Argument<'_>],
    error: CallError,
    whole: Span,
) -> Diagnostic {
    let reason = match error {
        CallError::Argument { index, reason } => match function.param(index) {
            Some(param) => {
                let place = args.get(index).map_or(whole, Argument::place);
                return invalid_argument(&param.name, reason)
                    .at(place)
                    .within(whole);
            }
            // The position has no parameter, so the error is about the whole call.
            None => reason,
        },
        CallError::Call(reason) => reason,
    };
    let detail =
        reason.wrap(|reason| format!("Call to function {:?} failed: {reason}.", &*call.name));
    Diagnostic::error("Error in function call", detail)
        .at(call.name_span.to(call.open))
        .within(whole)
}

pub(super) fn unknown_function(call: &Call) -> Diagnostic {
    let name = &*call.name;
    let (summary, detail) = match name.rsplit_once("::") {
        Some(("core", short)) => (
            "Call to unknown function",
            format!("There is no builtin (core::) function named {short:?}."),
        ),
        Some((namespace, short)) if namespace.starts_with("provider::") => (
            "Call to unknown function",
            format!("There is no function named {short:?} in namespace {namespace}::."),
        ),
        Some(("provider", _)) => (
            "Invalid function format",
            format!(
                "Invalid provider function {name:?}: expected provider::<name>::<function> or provider::<name>::<alias>::<function>"
            ),
        ),
        Some(_) => (
            "Unknown function namespace",
            format!("Function {name:?} does not exist within a valid namespace (provider, core)"),
        ),
        None => {
            let hint = closest(name, functions::names())
                .map(|near| format!(" Did you mean {near:?}?"))
                .unwrap_or_default();
            (
                "Call to unknown function",
                format!("There is no function named {name:?}.{hint}"),
            )
        }
    };
    Diagnostic::error(summary, Message::plain(detail)).at(call.name_span)
}
