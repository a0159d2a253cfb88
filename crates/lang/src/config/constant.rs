//! Evaluates constant expressions: no references, no function calls. JSON strings are used
//! literally.

use std::collections::BTreeMap;

use cty::{Type, Value};

use crate::diag::{Diagnostic, Diagnostics};
use crate::eval::{self, Bindings, Scope};
use crate::source::SourceMap;
use crate::syntax::{Attribute, Expr, ExprKind, Traversal};

/// The value of an argument, or `None` with errors.
pub(crate) fn value(attribute: &Attribute, diags: &mut Diagnostics) -> Option<Value> {
    match &attribute.json {
        Some(node) => Some(node.literal()),
        None => of_expr(&attribute.expr, diags),
    }
}

/// The value of an expression of the native syntax, or `None` with errors.
pub(crate) fn of_expr(expr: &Expr, diags: &mut Diagnostics) -> Option<Value> {
    let mark = diags.len();
    for traversal in expr.traversals() {
        diags.error(
            traversal.root_span,
            "Variables not allowed",
            "Variables may not be used here.",
        );
    }
    for call in expr.calls() {
        diags.error(
            call.name_span.to(call.close),
            "Function calls not allowed",
            "Functions may not be called here.",
        );
    }
    if diags.len() > mark {
        return None;
    }
    let (value, found) = eval::evaluate(expr, &Bindings::new(BTreeMap::new()));
    let failed = found.has_errors();
    diags.append(found);
    (!failed).then_some(value)
}

/// Returns the value of a constant expression: one without references and calls. A JSON expression
/// is always constant: its text is the value, even where it would be a template elsewhere.
pub fn constant_value(expr: &Expr, sources: &SourceMap) -> Option<Value> {
    match sources.get(expr.span.file) {
        Some(file) if file.name.ends_with(".json") => {
            let start = expr.span.start as usize;
            // The span of a string that is a single template starts after the quote.
            let start = match expr.kind {
                ExprKind::TemplateWrap(_) => start.checked_sub(1)?,
                _ => start,
            };
            let mut values = serde_json::Deserializer::from_str(file.text.get(start..)?)
                .into_iter::<serde_json::Value>();
            let json = values.next()?.ok()?;
            cty::json::decode_value(&json, &cty::json::implied_type(&json)).ok()
        }
        _ => {
            // `NeverWritten` stops each iteration, so names and calls in loops are searched
            // beforehand.
            let (value, diags) = match loops(expr) {
                true => return of_expr(expr, &mut Diagnostics::new()),
                // Errors in an arm that is not evaluated do not matter.
                false => eval::evaluate(expr, &Nothing),
            };
            (!diags.has_errors() && value.is_wholly_known()).then_some(value)
        }
    }
}

/// Returns true if the expression contains a `for` or a splat.
fn loops(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |inner| {
        found |= matches!(inner.kind, ExprKind::For(_) | ExprKind::Splat(_));
    });
    found
}

/// Scope without names or functions.
struct Nothing;

impl Scope for Nothing {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        let fault = Diagnostic::error("Variables not allowed", "Variables may not be used here.");
        Err(fault.at(traversal.root_span).into())
    }

    fn stop_reason(&self) -> Option<Diagnostic> {
        // The evaluator asks before each call, so this rejects all functions.
        let detail = "Functions may not be called here.";
        Some(Diagnostic::error("Function calls not allowed", detail))
    }
}

/// Value of an argument, converted to `ty`; `None` with errors. Null is an error.
pub(crate) fn of_type(attribute: &Attribute, ty: &Type, diags: &mut Diagnostics) -> Option<Value> {
    let value = value(attribute, diags)?;
    let wrong = |why: String| {
        Diagnostic::error("Unsuitable value type", format!("Unsuitable value: {why}."))
            .at(attribute.expr.span)
    };
    match value.convert(ty) {
        Ok(value) if value.is_null() => {
            diags.push(wrong("value must not be null".to_owned()));
            None
        }
        // Only an expression with a reported syntax error is unknown here.
        Ok(value) if !value.is_known() => None,
        Ok(value) => Some(value),
        Err(error) => {
            diags.push(wrong(error.to_string()));
            None
        }
    }
}

/// String value of an argument.
pub(crate) fn text(attribute: &Attribute, diags: &mut Diagnostics) -> Option<String> {
    of_type(attribute, &Type::String, diags)?
        .as_str()
        .map(str::to_owned)
}

/// Boolean value of an argument.
pub(crate) fn flag(attribute: &Attribute, diags: &mut Diagnostics) -> Option<bool> {
    of_type(attribute, &Type::Bool, diags)?.as_bool()
}
