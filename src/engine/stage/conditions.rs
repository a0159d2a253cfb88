//! Conditions: validation, preconditions, postconditions, assertions; and how each checked object stands.

use super::scope::ModuleScope;
use cty::{Type, Value};
use lang::config::Condition;
use lang::diag::{Diagnostic, Diagnostics};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a condition, or all conditions of an object together, stand. In the order of what counts more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pass,
    Unknown,
    Fail,
    Error,
}

impl Status {
    /// As the plan representation writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Unknown => "unknown",
            Self::Fail => "fail",
            Self::Error => "error",
        }
    }
}

/// Statuses of all checked objects of a walk, by the address of what the configuration declares.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statuses(pub BTreeMap<String, Status>);

impl Statuses {
    /// Notes one condition's status; the worst of an object counts.
    pub fn note(&mut self, object: &str, status: Status) {
        let entry = self.0.entry(object.to_owned()).or_insert(status);
        *entry = (*entry).max(status);
    }
}

/// What kind of condition, for its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Validation,
    Precondition,
    Postcondition,
    OutputPrecondition,
    Assertion,
}

impl Kind {
    fn failed(self) -> &'static str {
        match self {
            Self::Validation => "Invalid value for variable",
            Self::Precondition => "Resource precondition failed",
            Self::Postcondition => "Resource postcondition failed",
            Self::OutputPrecondition => "Module output value precondition failed",
            Self::Assertion => "Check block assertion failed",
        }
    }

    fn invalid(self) -> &'static str {
        match self {
            Self::Validation => "Invalid variable validation result",
            _ => "Invalid condition result",
        }
    }
}

/// Evaluates one condition. A failure is an error (a warning for an assertion) at the condition.
pub fn check(scope: &ModuleScope<'_>, condition: &Condition, kind: Kind) -> (Status, Diagnostics) {
    let mut refs = condition.condition.traversals();
    refs.extend(condition.message.traversals());
    let faults = scope.check(&refs);
    if faults.has_errors() {
        return (Status::Error, faults);
    }
    let (value, mut diags) = lang::eval::evaluate(&condition.condition, scope);
    if diags.has_errors() {
        return (Status::Error, diags);
    }
    let (value, _) = value.unmark_deep();
    let span = condition.condition.span;
    if !value.is_known() {
        return (Status::Unknown, diags);
    }
    let refuse = |detail: &str| Diagnostic::error(kind.invalid(), detail).at(span);
    if value.is_null() {
        diags.push(refuse("Condition expression must return either true or false, not null."));
        return (Status::Error, diags);
    }
    let Ok(result) = cty::convert::convert(&value, &Type::Bool) else {
        diags.push(refuse("Invalid condition result value: a bool is required."));
        return (Status::Error, diags);
    };
    match result.as_bool() {
        Some(true) => (Status::Pass, diags),
        _ => {
            let (text, more) = message(scope, condition);
            let failed = more.has_errors();
            diags.append(more);
            if !failed || kind != Kind::Validation {
                let failure = match kind {
                    Kind::Assertion => Diagnostic::warning(kind.failed(), text),
                    _ => Diagnostic::error(kind.failed(), text),
                };
                diags.push(failure.at(span));
            }
            (Status::Fail, diags)
        }
    }
}

fn message(scope: &ModuleScope<'_>, condition: &Condition) -> (String, Diagnostics) {
    let (value, mut diags) = lang::eval::evaluate(&condition.message, scope);
    if diags.has_errors() {
        return ("The error message cannot be evaluated.".to_owned(), diags);
    }
    if value.contains_mark(&cty::Mark::Sensitive) {
        let detail = "The error message included a sensitive value, so it will not be displayed.";
        diags.push(Diagnostic::warning("Error message refers to sensitive values", detail).at(condition.message.span));
        return (detail.to_owned(), diags);
    }
    if value.contains_mark(&cty::Mark::Ephemeral) {
        let detail = "The error message included an ephemeral value, so it will not be displayed.";
        diags.push(Diagnostic::error("Error message refers to ephemeral values", detail).at(condition.message.span));
        return (detail.to_owned(), diags);
    }
    match as_text(&value) {
        Some(text) => (text, diags),
        None => ("The error message is not known, or is no text.".to_owned(), diags),
    }
}

fn as_text(value: &Value) -> Option<String> {
    let value = cty::convert::convert(&value.clone().unmark_deep().0, &Type::String).ok()?;
    Some(value.as_str()?.trim().to_owned())
}
