//! Values that must be written out: no references, no function calls. In JSON, strings are taken as they stand.

use cty::{Type, Value};

use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::syntax::json::Node;
use crate::syntax::{Attribute, Expr, ExprKind, Traversal, UnaryOp};

/// What references mean where some are allowed.
pub(super) type Resolve<'a> = &'a dyn Fn(&Traversal) -> Result<Value, Box<Diagnostic>>;

/// The value of an argument, or `None` with errors.
pub(crate) fn value(attribute: &Attribute, diags: &mut Diagnostics) -> Option<Value> {
    json_or(attribute.json.as_deref(), &attribute.expr, diags)
}

fn json_or(json: Option<&Node>, expr: &Expr, diags: &mut Diagnostics) -> Option<Value> {
    match json {
        Some(node) => Some(node.literal()),
        None => of_expr(expr, diags),
    }
}

/// The value of an expression of the native syntax, or `None` with errors.
pub(crate) fn of_expr(expr: &Expr, diags: &mut Diagnostics) -> Option<Value> {
    let mark = diags.len();
    for traversal in expr.traversals() {
        diags.error(traversal.root_span, "Variables not allowed", "Variables may not be used here.");
    }
    for call in expr.calls() {
        diags.error(call.name_span.to(call.close), "Function calls not allowed", "Functions may not be called here.");
    }
    if diags.len() > mark {
        return None;
    }
    let none: Resolve<'_> =
        &|t: &Traversal| Err(Box::new(Diagnostic::error("Variables not allowed", "Variables may not be used here.").at(t.root_span)));
    match evaluate(expr, none) {
        Ok(value) => Some(value),
        Err(found) => {
            diags.push(*found);
            None
        }
    }
}

/// The value of an expression made of literals, constructors and references that `resolve` knows.
pub(super) fn evaluate(expr: &Expr, resolve: Resolve<'_>) -> Result<Value, Box<Diagnostic>> {
    let fail = |span: Span, detail: &str| Err(Box::new(Diagnostic::error("Invalid constant", detail).at(span)));
    match &expr.kind {
        ExprKind::Literal(value) => Ok(value.clone()),
        ExprKind::Error => Ok(Value::dynamic()),
        ExprKind::Traversal(traversal) => resolve(traversal),
        ExprKind::Parens(inner) | ExprKind::TemplateWrap(inner) => evaluate(inner, resolve),
        ExprKind::Tuple(items) => Ok(Value::tuple(items.iter().map(|item| evaluate(item, resolve)).collect::<Result<_, _>>()?)),
        ExprKind::Template { parts, .. } => {
            let mut text = String::new();
            for part in parts {
                match evaluate(part, resolve)?.convert(&Type::String) {
                    Ok(value) if value.as_str().is_some() => text.push_str(value.as_str().unwrap_or_default()),
                    _ => return fail(part.span, "The value cannot be included in a string template: a string is required."),
                }
            }
            Ok(Value::string(text))
        }
        ExprKind::Object(items) => {
            let mut out = Vec::with_capacity(items.len());
            for item in items {
                let key = match &item.name {
                    Some(name) => name.to_string(),
                    None => match evaluate(&item.key, resolve)?.convert(&Type::String) {
                        Ok(key) if key.as_str().is_some() => key.as_str().unwrap_or_default().to_owned(),
                        _ => return fail(item.key.span, "Cannot use this value as a key: a string is required."),
                    },
                };
                out.push((key, evaluate(&item.value, resolve)?));
            }
            Ok(Value::object(out))
        }
        ExprKind::Unary { op: UnaryOp::Negate, operand, .. } => {
            let value = evaluate(operand, resolve)?.convert(&Type::Number).ok();
            match value.as_ref().and_then(Value::as_number) {
                Some(number) => Ok(Value::number(number.neg())),
                None => fail(operand.span, "Unsuitable value for unary operand: a number is required."),
            }
        }
        ExprKind::Unary { op: UnaryOp::Not, operand, .. } => {
            match evaluate(operand, resolve)?.convert(&Type::Bool).ok().and_then(|v| v.as_bool()) {
                Some(value) => Ok(Value::bool(!value)),
                None => fail(operand.span, "Unsuitable value for unary operand: a bool is required."),
            }
        }
        _ => fail(expr.span, "Only literal values may be written here."),
    }
}

/// The value of an argument as a type; `None` with errors. Null is an error too.
pub(crate) fn of_type(attribute: &Attribute, ty: &Type, diags: &mut Diagnostics) -> Option<Value> {
    let value = value(attribute, diags)?;
    let wrong = |why: String| Diagnostic::error("Unsuitable value type", format!("Unsuitable value: {why}.")).at(attribute.expr.span);
    match value.convert(ty) {
        Ok(value) if value.is_null() => {
            diags.push(wrong("value must not be null".to_owned()));
            None
        }
        Ok(value) if !value.is_known() => None,
        Ok(value) => Some(value),
        Err(error) => {
            diags.push(wrong(error.to_string()));
            None
        }
    }
}

/// The text of an argument.
pub(crate) fn text(attribute: &Attribute, diags: &mut Diagnostics) -> Option<String> {
    of_type(attribute, &Type::String, diags)?.as_str().map(str::to_owned)
}

/// The truth of an argument.
pub(crate) fn flag(attribute: &Attribute, diags: &mut Diagnostics) -> Option<bool> {
    of_type(attribute, &Type::Bool, diags)?.as_bool()
}
