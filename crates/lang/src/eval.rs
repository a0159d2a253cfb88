//! Evaluator: expressions to values, with a source position for every error. It keeps no state
//! between calls; a `Scope` resolves names, except those bound by the expression itself.

mod access;
mod binary;
mod call;
mod call_refused;
mod compound;
mod conditional;
mod env;
mod error_span;
mod iterate;
mod scope;
mod splat;
mod steps;
mod template;

pub(crate) use access::apply_steps;
pub use access::{attribute, index};
pub use env::Env;
pub use error_span::{closest, start_of};
pub use scope::{Bindings, Scope};
pub use steps::{MAX_STEPS, Steps};
pub(crate) use template::render;

use cty::{Type, Value};

use crate::diag::{Diagnostic, Diagnostics, Message};
use crate::syntax::Expr;

/// Evaluates an expression. With errors the value is unknown, of the right type if known, so that
/// callers can find further errors.
pub fn evaluate(expr: &Expr, scope: &dyn Scope) -> (Value, Diagnostics) {
    let steps = Steps::new(scope.steps());
    let (value, mut diags) = Env::new(scope, &steps).value(expr);
    // The limit is an error even if a `try` or `can` swallowed it.
    match steps.exhausted_error() {
        Some(fault) if !diags.has_errors() => {
            diags.push(fault.at(expr.span));
            (Value::dynamic(), diags)
        }
        _ => (value, diags),
    }
}

/// Evaluates an expression and converts the value to `ty`.
pub fn evaluate_as(expr: &Expr, ty: &Type, scope: &dyn Scope) -> (Value, Diagnostics) {
    let (value, mut diags) = evaluate(expr, scope);
    match cty::convert(&value, ty) {
        Ok(value) => (value, diags),
        Err(error) => {
            diags.push(
                Diagnostic::error(
                    "Incorrect value type",
                    Message::from(&error)
                        .wrap(|error| format!("Invalid expression value: {error}.")),
                )
                .at(expr.span),
            );
            (Value::unknown(ty.without_optional()), diags)
        }
    }
}
