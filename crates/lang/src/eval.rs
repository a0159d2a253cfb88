//! Evaluation: expressions to values, with every fault at its place. The evaluator keeps nothing
//! between calls; what names mean is the affair of a `Scope`, except for names that an expression
//! binds itself.

mod access;
mod binary;
mod call;
mod call_refused;
mod compound;
mod conditional;
mod env;
mod iterate;
mod place;
mod scope;
mod splat;
mod steps;
mod template;

pub(crate) use access::follow;
pub use access::{attribute, index};
pub use env::Env;
pub use place::{closest, start_of};
pub use scope::{Bindings, Scope};
pub use steps::{MOST, Steps};
pub(crate) use template::render;

use cty::{Type, Value};

use crate::diag::{Diagnostic, Diagnostics, Said};
use crate::syntax::Expr;

/// The value of an expression. With errors the value is unknown, of the right type where that is
/// known, so that the caller can go on and find further faults.
pub fn evaluate(expr: &Expr, scope: &dyn Scope) -> (Value, Diagnostics) {
    let steps = Steps::new(scope.steps());
    let (value, mut diags) = Env::new(scope, &steps).value(expr);
    // What a `try` or `can` got over has come to nothing all the same.
    match steps.fault() {
        Some(fault) if !diags.has_errors() => {
            diags.push(fault.at(expr.span));
            (Value::dynamic(), diags)
        }
        _ => (value, diags),
    }
}

/// The value of an expression, converted to `ty`.
pub fn evaluate_as(expr: &Expr, ty: &Type, scope: &dyn Scope) -> (Value, Diagnostics) {
    let (value, mut diags) = evaluate(expr, scope);
    match cty::convert(&value, ty) {
        Ok(value) => (value, diags),
        Err(error) => {
            diags.push(
                Diagnostic::error(
                    "Incorrect value type",
                    Said::from(&error)
                        .within(|error| format!("Invalid expression value: {error}.")),
                )
                .at(expr.span),
            );
            (Value::unknown(ty.without_optional()), diags)
        }
    }
}
