//! Evaluates operators: converts operands and reports errors of both sides, unless a known side of
//! `&&` or `||` decides.

use cty::{Marks, Type, Value};

use super::env::{Env, Outcome, failed};
use crate::diag::{Diagnostic, Diagnostics, Message};
use crate::source::Span;
use crate::syntax::{BinaryOp, Expr, UnaryOp};

const FAILED: &str = "Operation failed";

/// Errors of operators.
#[derive(Debug, PartialEq, thiserror::Error)]
enum OperationError {
    #[error("argument must not be null")]
    Null,
    #[error("can't use modulo with zero and infinity")]
    Modulo,
    #[error(transparent)]
    Number(#[from] cty::NumberError),
}

fn operand_type(op: BinaryOp) -> Type {
    match op {
        BinaryOp::Or | BinaryOp::And => Type::Bool,
        BinaryOp::Equal | BinaryOp::NotEqual => Type::Dynamic,
        _ => Type::Number,
    }
}

fn result_type(op: BinaryOp) -> Type {
    match op {
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Modulo => Type::Number,
        _ => Type::Bool,
    }
}

/// Applies one operator to two evaluated operands.
pub(super) fn apply(
    op: BinaryOp,
    left: Outcome,
    left_span: Span,
    right: Outcome,
    right_span: Span,
    whole: Span,
) -> Outcome {
    let ty = operand_type(op);
    let mut diags = Diagnostics::new();
    let ((left, left_diags), (right, right_diags)) = (left, right);
    let left = operand(&left, &ty, "left", left_span, whole, &mut diags);
    let right = operand(&right, &ty, "right", right_span, whole, &mut diags);
    let (Some(left), Some(right)) = (left, right) else {
        diags.append(left_diags);
        diags.append(right_diags);
        return (failed(result_type(op)), diags);
    };
    // A comparison depends on nested values, so nested marks count too.
    let (left, mut marks) = left.unmark_deep();
    let (right, right_marks) = right.unmark_deep();
    marks.extend(&right_marks);
    if let BinaryOp::And | BinaryOp::Or = op
        && let Some((value, side)) = decided_by_one_side(op, &left, &right, left_diags.has_errors())
    {
        let diags = match side {
            Side::Left => left_diags,
            Side::Right => right_diags,
        };
        return (value.with_marks(&marks), diags);
    }
    diags.append(left_diags);
    diags.append(right_diags);
    if diags.has_errors() {
        return (failed(result_type(op)).with_marks(&marks), diags);
    }
    match compute(op, &left, &right) {
        Ok(value) => (value.with_marks(&marks), diags),
        Err(error) => {
            let detail = format!("Error during operation: {error}.");
            diags.push(
                Diagnostic::error(FAILED, detail)
                    .at(whole)
                    .redacted_if(marks.needs_redaction()),
            );
            (failed(result_type(op)), diags)
        }
    }
}

fn operand(
    value: &Value,
    ty: &Type,
    word: &str,
    place: Span,
    whole: Span,
    diags: &mut Diagnostics,
) -> Option<Value> {
    match cty::convert(value, ty) {
        Ok(value) => Some(value),
        Err(error) => {
            let detail = Message::from(&error)
                .wrap(|error| format!("Unsuitable value for {word} operand: {error}."));
            diags.push(
                Diagnostic::error("Invalid operand", detail)
                    .at(place)
                    .within(whole),
            );
            None
        }
    }
}

enum Side {
    Left,
    Right,
}

/// Result of `&&` and `||` if one side decides it, and the side whose errors count.
fn decided_by_one_side(
    op: BinaryOp,
    left: &Value,
    right: &Value,
    left_failed: bool,
) -> Option<(Value, Side)> {
    // False decides `&&`, true decides `||`; the other value leaves it to the other side.
    let settles = op == BinaryOp::Or;
    let left_says = truth(left);
    let right_says = truth(right);
    match (left.is_known(), right.is_known()) {
        // The left side may still decide, and then errors of the right side do not count.
        (false, false) => (!left_failed).then(|| (Value::unknown_bool(), Side::Left)),
        _ if left_says == Some(settles) => Some((Value::bool(settles), Side::Left)),
        _ if right_says == Some(settles) => Some((Value::bool(settles), Side::Right)),
        (false, true) if right_says == Some(!settles) => Some((Value::unknown_bool(), Side::Left)),
        (true, false) if left_says == Some(!settles) => Some((Value::unknown_bool(), Side::Right)),
        _ => None,
    }
}

/// Truth of a value; null counts as false.
fn truth(value: &Value) -> Option<bool> {
    if value.is_null() {
        Some(false)
    } else {
        value.as_bool()
    }
}

fn compute(op: BinaryOp, left: &Value, right: &Value) -> Result<Value, OperationError> {
    if !matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) && (left.is_null() || right.is_null()) {
        return Err(OperationError::Null);
    }
    match op {
        BinaryOp::Or => Ok(left.or(right)),
        BinaryOp::And => Ok(left.and(right)),
        BinaryOp::Equal => Ok(left.equals(right)),
        BinaryOp::NotEqual => Ok(left.equals(right).not()),
        BinaryOp::Greater => Ok(left.greater_than(right)),
        BinaryOp::GreaterOrEqual => Ok(left.at_least(right)),
        BinaryOp::Less => Ok(left.less_than(right)),
        BinaryOp::LessOrEqual => Ok(left.at_most(right)),
        // The result of an unknown operand has no bounds.
        _ if !left.is_known() || !right.is_known() => {
            Ok(Value::unknown(Type::Number).refine_not_null())
        }
        BinaryOp::Add => Ok(left.add(right)?),
        BinaryOp::Subtract => Ok(left.sub(right)?),
        BinaryOp::Multiply => Ok(left.mul(right)?),
        BinaryOp::Divide => Ok(left.div(right)?),
        BinaryOp::Modulo if infinite(left) || infinite(right) => Err(OperationError::Modulo),
        BinaryOp::Modulo => Ok(left.modulo(right)?),
    }
}

fn infinite(value: &Value) -> bool {
    value.as_number().is_some_and(cty::Number::is_infinite)
}

impl Env<'_> {
    pub(super) fn unary(&self, op: UnaryOp, operand: &Expr, whole: Span) -> Outcome {
        let ty = match op {
            UnaryOp::Not => Type::Bool,
            UnaryOp::Negate => Type::Number,
        };
        let (given, mut diags) = self.value(operand);
        let value = match cty::convert(&given, &ty) {
            Ok(value) => value,
            Err(error) => {
                let detail = Message::from(&error)
                    .wrap(|error| format!("Unsuitable value for unary operand: {error}."));
                diags.push(
                    Diagnostic::error("Invalid operand", detail)
                        .at(operand.span)
                        .within(whole),
                );
                return (failed(ty), diags);
            }
        };
        if diags.has_errors() {
            return (failed(ty), diags);
        }
        if value.is_null() {
            let detail =
                Message::plain(format!("Error during operation: {}.", OperationError::Null));
            diags.push(Diagnostic::error(FAILED, detail).at(whole));
            return (failed(ty), diags);
        }
        let (value, marks): (Value, Marks) = value.unmark();
        let result = match op {
            UnaryOp::Not => value.not(),
            UnaryOp::Negate => value.neg(),
        };
        (result.with_marks(&marks), diags)
    }
}
