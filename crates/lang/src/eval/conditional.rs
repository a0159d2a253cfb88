//! Evaluates `cond ? then : other`: both arms are evaluated to find a common type, but only the
//! selected arm's errors count.

use std::cmp::Ordering;

use cty::convert::Conversion;
use cty::{Marks, Number, Type, Value};

use super::env::{Env, Outcome};
use crate::diag::{Diagnostic, Message};
use crate::source::Span;
use crate::syntax::Expr;

const INCONSISTENT: &str = "Inconsistent conditional result types";

impl Env<'_> {
    pub(super) fn conditional(
        &self,
        cond: &Expr,
        then: &Expr,
        other: &Expr,
        whole: Span,
    ) -> Outcome {
        // Both arms are evaluated for the common type; only the selected arm's errors are reported.
        let (then_value, then_diags) = self.value(then);
        let (other_value, other_diags) = self.value(other);
        let Some(Common { ty, conversions }) = common_type(&then_value, &other_value) else {
            let fault = inconsistent(&then_value, &other_value).at(then.span.to(other.span));
            return (Value::dynamic(), fault.within(whole).into());
        };
        let (cond_value, mut diags) = self.value(cond);
        let (cond_value, mut marks) = cond_value.unmark();
        let choice = match choice(&cond_value) {
            Ok(choice) => choice,
            Err(fault) => {
                diags.push(fault.at(cond.span).within(whole));
                return (Value::unknown(ty), diags);
            }
        };
        let (then_value, then_marks) = then_value.unmark();
        let (other_value, other_marks) = other_value.unmark();
        // Callers must expect marks of either arm, so the result has those of both, as in HCL.
        marks.extend(&then_marks);
        marks.extend(&other_marks);
        let [then_conversion, other_conversion] = conversions;
        let (value, arm_diags, arm, word, conversion) = match choice {
            // While the choice is open, errors of an arm may not matter, so they are dropped.
            None => return (unknown_result(&then_value, &other_value, ty, &marks), diags),
            Some(true) => (then_value, then_diags, then, "true", then_conversion),
            Some(false) => (other_value, other_diags, other, "false", other_conversion),
        };
        diags.append(arm_diags);
        let Some(conversion) = conversion else {
            return (value.with_marks(&marks), diags);
        };
        match conversion.apply(&value) {
            Ok(value) => (value.with_marks(&marks), diags),
            Err(error) => {
                let detail = Message::from(&error)
                    .wrap(|error| format!("The {word} result value has the wrong type: {error}."));
                let fault = Diagnostic::error(INCONSISTENT, detail).at(arm.span);
                diags.push(fault.within(whole).redacted_if(marks.needs_redaction()));
                (Value::unknown(ty).with_marks(&marks), diags)
            }
        }
    }
}

/// Value of the condition; `None` while it is unknown.
fn choice(cond: &Value) -> Result<Option<bool>, Diagnostic> {
    if cond.is_null() {
        let detail = "The condition value is null. Conditions must either be true or false.";
        return Err(Diagnostic::error("Null condition", detail));
    }
    if !cond.is_known() {
        return Ok(None);
    }
    let choice = cty::convert(cond, &Type::Bool).ok();
    match choice.and_then(|value| value.as_bool()) {
        Some(choice) => Ok(Some(choice)),
        None => {
            let detail = "The condition expression must be of type bool.";
            Err(Diagnostic::error("Incorrect condition type", detail))
        }
    }
}

fn inconsistent(then: &Value, other: &Value) -> Diagnostic {
    let detail = format!(
        "The true and false result expressions must have consistent types. {}.",
        mismatch(then.ty(), other.ty())
    );
    // Types of objects contain attribute names, which may come from sensitive values.
    let secret = then.needs_redaction() || other.needs_redaction();
    Diagnostic::error(INCONSISTENT, detail).redacted_if(secret)
}

fn untyped_null(value: &Value) -> bool {
    value.is_null() && value.ty().is_dynamic() && !value.is_marked()
}

/// Type of the result, and the conversion that each arm needs.
struct Common {
    ty: Type,
    conversions: [Option<Conversion>; 2],
}

/// Dynamic while the type of an arm is unknown; `None` if the arms are incompatible.
fn common_type(then: &Value, other: &Value) -> Option<Common> {
    let retyped = |ty: &Type| (!ty.is_dynamic()).then(|| Conversion::To(ty.clone()));
    // A null without a type takes the type of the other arm.
    if untyped_null(then) {
        return Some(Common {
            ty: other.ty().clone(),
            conversions: [retyped(other.ty()), None],
        });
    }
    if untyped_null(other) {
        return Some(Common {
            ty: then.ty().clone(),
            conversions: [None, retyped(then.ty())],
        });
    }
    if then.ty().is_dynamic() || other.ty().is_dynamic() {
        return Some(Common {
            ty: Type::Dynamic,
            conversions: [None, None],
        });
    }
    let unified = cty::unify_unsafe(&[then.ty().clone(), other.ty().clone()])?;
    let mut conversions = unified.conversions.into_iter();
    Some(Common {
        ty: unified.ty,
        conversions: [conversions.next().flatten(), conversions.next().flatten()],
    })
}

/// Result for an unknown condition: an unknown value with the refinements that both arms share.
fn unknown_result(then: &Value, other: &Value, ty: Type, marks: &Marks) -> Value {
    if then.is_null() && other.is_null() {
        return Value::null(ty).with_marks(marks);
    }
    let (a, b) = (then.range(), other.range());
    let not_null = a.definitely_not_null() && b.definitely_not_null();
    let mut builder = Value::unknown(ty.clone()).refine();
    if not_null {
        builder = builder.not_null();
    }
    if *then.ty() == Type::Number && *other.ty() == Type::Number {
        if let (Some(x), Some(y)) = (a.number_min(), b.number_min()) {
            let (bound, inclusive) = looser_bound(x, y, Ordering::Less);
            builder = builder.number_min(bound, inclusive);
        }
        if let (Some(x), Some(y)) = (a.number_max(), b.number_max()) {
            let (bound, inclusive) = looser_bound(x, y, Ordering::Greater);
            builder = builder.number_max(bound, inclusive);
        }
    } else if then.ty().is_collection() && then.ty() == other.ty() {
        builder = builder.length_min(a.length_min().min(b.length_min()));
        if let (Some(x), Some(y)) = (a.length_max(), b.length_max()) {
            builder = builder.length_max(x.max(y));
        }
    }
    builder.finish().with_marks(marks)
}

/// Looser of two bounds: the first if it compares as `when`, else the second.
fn looser_bound(x: &(Number, bool), y: &(Number, bool), when: Ordering) -> (Number, bool) {
    match x.0.compare(&y.0) {
        // An inclusive bound is looser than an exclusive one.
        Ordering::Equal => (x.0.clone(), x.1 || y.1),
        order if order == when => x.clone(),
        _ => y.clone(),
    }
}

/// Describes the first difference of two types.
fn mismatch(then: &Type, other: &Type) -> String {
    if let (Type::Object(a), Type::Object(b)) = (then, other) {
        for (name, ty) in &a.attributes {
            let Some(theirs) = b.attributes.get(name) else {
                return format!(
                    "The 'true' value includes object attribute {name:?}, which is absent in the 'false' value"
                );
            };
            if ty != theirs {
                return format!(
                    "Type mismatch for object attribute {name:?}: {}",
                    mismatch(ty, theirs)
                );
            }
        }
        if let Some(name) = b
            .attributes
            .keys()
            .find(|name| !a.attributes.contains_key(*name))
        {
            return format!(
                "The 'false' value includes object attribute {name:?}, which is absent in the 'true' value"
            );
        }
    }
    if let (Type::Tuple(a), Type::Tuple(b)) = (then, other) {
        if a.len() != b.len() {
            return format!(
                "The 'true' tuple has length {}, but the 'false' tuple has length {}",
                a.len(),
                b.len()
            );
        }
        if let Some((at, (x, y))) = a
            .iter()
            .zip(b.iter())
            .enumerate()
            .find(|(_, (x, y))| x != y)
        {
            return format!("Type mismatch for tuple element {at}: {}", mismatch(x, y));
        }
    }
    let noun = match (then, other) {
        (Type::List(_), Type::List(_)) => Some("list"),
        (Type::Set(_), Type::Set(_)) => Some("set"),
        (Type::Map(_), Type::Map(_)) => Some("map"),
        _ => None,
    };
    if let (Some(noun), Some(x), Some(y)) = (noun, then.element_type(), other.element_type())
        && ((x.is_object() && y.is_object()) || (x.is_tuple() && y.is_tuple()))
    {
        return format!("Mismatched {noun} element types: {}", mismatch(x, y));
    }
    let (a, b) = (then.friendly_name(), other.friendly_name());
    // The names leave out nested types, so equal names hide the difference.
    if a == b {
        return "At least one deeply-nested attribute or element is not compatible across both the 'true' and the 'false' value".to_owned();
    }
    format!("The 'true' value is {a}, but the 'false' value is {b}")
}
