//! Instances of a resource or module from `count`, `for_each` and `enabled`. Same rules as
//! OpenTofu.

use super::scope::{ModuleScope, Phase};
use super::values::Expansion;
use cty::{Mark, Type, Value};
use lang::config::for_each_instances;
use lang::diag::{Diagnostic, Diagnostics};
use lang::syntax::ast::Expr;
use std::sync::Arc;

/// Meta-arguments that decide the instances; at most one is set.
#[derive(Debug, Clone, Copy, Default)]
pub struct Meta<'a> {
    pub count: Option<&'a Expr>,
    pub for_each: Option<&'a Expr>,
    pub enabled: Option<&'a Expr>,
}

/// Evaluates the expansion; `None` comes with errors. While validating, unknown values are not
/// errors.
pub fn expand(scope: &ModuleScope<'_>, meta: Meta<'_>) -> (Option<Expansion>, Diagnostics) {
    let validating = scope.context.phase == Phase::Validate;
    match meta {
        Meta {
            count: Some(expr), ..
        } => {
            let (n, diags) = count(scope, expr);
            let expansion = if diags.has_errors() {
                None
            } else {
                n.map(Expansion::Count)
            };
            match expansion {
                // Validation must hold for any number of instances.
                _ if validating => (Some(Expansion::Unknown { count: true }), diags),
                None if !diags.has_errors() => (None, unknown_count(expr).into()),
                expansion => (expansion, diags),
            }
        }
        Meta {
            for_each: Some(expr),
            ..
        } => {
            let (items, diags) = for_each(scope, expr);
            match items {
                _ if validating => (Some(Expansion::Unknown { count: false }), diags),
                Some(items) if !diags.has_errors() => (Some(Expansion::Each(items)), diags),
                None if !diags.has_errors() => (None, unknown_for_each(expr).into()),
                _ => (None, diags),
            }
        }
        Meta {
            enabled: Some(_), ..
        } if validating => {
            // Like in OpenTofu, its value is only judged by the plan.
            (Some(Expansion::Single), Diagnostics::new())
        }
        Meta {
            enabled: Some(expr),
            ..
        } => enabled(scope, expr),
        Meta { .. } => (Some(Expansion::Single), Diagnostics::new()),
    }
}

fn unknown_count(expr: &Expr) -> Diagnostic {
    Diagnostic::error(
        "Invalid count argument",
        "The \"count\" value depends on resource attributes that cannot be determined until apply, so flightdeck cannot predict how many instances will be created. \
         Deploy the dependencies of \"count\" first (--target), or exclude this resource (--exclude).",
    )
    .at(expr.span)
}

fn unknown_for_each(expr: &Expr) -> Diagnostic {
    Diagnostic::error(
        "Invalid for_each argument",
        "The \"for_each\" value includes keys derived from resource attributes that cannot be determined until apply, so flightdeck cannot determine the full set of instances. \
         Use known keys, deploy their dependencies first (--target), or exclude this resource (--exclude).",
    )
    .at(expr.span)
}

/// Evaluates `count`; the first part is `None` if it is unknown or in error.
fn count(scope: &ModuleScope<'_>, expr: &Expr) -> (Option<u64>, Diagnostics) {
    let (value, mut diags) = scope.evaluate(expr);
    if diags.has_errors() {
        return (None, diags);
    }
    let fault = |detail: String| Diagnostic::error("Invalid count argument", detail).at(expr.span);
    if value.contains_mark(&Mark::Ephemeral) {
        diags.push(fault(
            "The given \"count\" value is ephemeral, so it cannot be stored in the plan for the apply."
                .to_owned(),
        ));
        return (None, diags);
    }
    // A sensitive `count` is allowed: only the error about a too large number hides it.
    let (value, marks) = value.unmark_deep();
    if value.is_known() && value.is_null() {
        diags.push(fault(
            "The given \"count\" argument value is null. A whole number greater than or equal to zero is required.".to_owned(),
        ));
        return (None, diags);
    }
    let number = match cty::convert::convert(&value, &Type::Number) {
        Ok(number) => number,
        Err(error) => {
            diags.push(fault(format!(
                "The given \"count\" argument value is unsuitable: {error}."
            )));
            return (None, diags);
        }
    };
    let Some(n) = number.as_number() else {
        return (None, diags);
    };
    match n.to_u64() {
        // Limits memory: each instance has a value and a task.
        Some(n) if n <= 1_000_000 => (Some(n), diags),
        Some(n) => {
            diags.push(
                fault(format!(
                    "The given \"count\" argument value is unsuitable: {n} instances exceed the limit of 1,000,000."
                ))
                .redacted_if(marks.needs_redaction()),
            );
            (None, diags)
        }
        None if n.is_negative() => {
            diags.push(fault("The given \"count\" argument value is unsuitable: must be greater than or equal to zero.".to_owned()));
            (None, diags)
        }
        None => {
            diags.push(fault(
                "The given \"count\" argument value is unsuitable: a whole number is required."
                    .to_owned(),
            ));
            (None, diags)
        }
    }
}

/// Evaluates `for_each`; the first part is `None` if it is unknown or in error.
fn for_each(scope: &ModuleScope<'_>, expr: &Expr) -> (Option<Vec<(Arc<str>, Value)>>, Diagnostics) {
    let (value, mut diags) = scope.evaluate(expr);
    if diags.has_errors() {
        // Like in OpenTofu, errors that depend on the value are reported by the plan.
        let named = scope.check(&expr.traversals());
        let ty = value.ty();
        let may_fit = ty.is_dynamic() || ty.is_map() || ty.is_object() || ty.is_set();
        if scope.context.phase == Phase::Validate && !named.has_errors() && may_fit {
            return (None, Diagnostics::new());
        }
        return (None, diags);
    }
    match for_each_instances(value, expr.span) {
        Ok(items) => (items, diags),
        Err(fault) => {
            diags.push(fault);
            (None, diags)
        }
    }
}

fn enabled(scope: &ModuleScope<'_>, expr: &Expr) -> (Option<Expansion>, Diagnostics) {
    let (value, mut diags) = scope.evaluate(expr);
    if diags.has_errors() {
        return (None, diags);
    }
    let fault =
        |detail: &'static str| Diagnostic::error("Invalid enabled argument", detail).at(expr.span);
    if value.contains_mark(&Mark::Sensitive) || value.contains_mark(&Mark::Ephemeral) {
        diags.push(fault("The given \"enabled\" value must be neither sensitive nor ephemeral, because the existence of the object would reveal it."));
        return (None, diags);
    }
    if value.is_known() && value.is_null() {
        diags.push(fault(
            "The given \"enabled\" argument value is null. A bool is required.",
        ));
        return (None, diags);
    }
    let Ok(result) = cty::convert::convert(&value, &Type::Bool) else {
        diags.push(fault(
            "The given \"enabled\" argument value is unsuitable: a bool is required.",
        ));
        return (None, diags);
    };
    match result.as_bool() {
        Some(true) => (Some(Expansion::Single), diags),
        Some(false) => (Some(Expansion::Disabled), diags),
        None => {
            diags.push(fault("The given \"enabled\" value depends on resource attributes that cannot be determined until apply."));
            (None, diags)
        }
    }
}
