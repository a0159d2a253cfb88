//! Conditions: validation, preconditions, postconditions, assertions; and how each checked object stands.

use super::nodes::Node;
use super::scope::ModuleScope;
use cty::{Type, Value};
use lang::addr::ConfigResource;
use lang::config::{Condition, Module};
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

impl Statuses {
    /// Adds what is declared with conditions and was not noted: unknown where it was not looked at, passed where it has
    /// no instances.
    pub fn complete(&mut self, root: &Module, looked_at: impl Fn(&Node) -> bool) {
        let mut declared: Vec<Node> = Vec::new();
        for module in root.all() {
            let path = &module.path;
            let checked = |r: &lang::config::Resource| !r.lifecycle.preconditions.is_empty() || !r.lifecycle.postconditions.is_empty();
            let resource = |r: &lang::config::Resource| ConfigResource { module: path.clone(), resource: r.name.clone() };
            declared.extend(module.checks.keys().map(|n| Node::Check(path.clone(), n.clone())));
            declared.extend(module.resources.values().filter(|r| checked(r)).map(|r| Node::Resource(resource(r))));
            let outputs = module.outputs.values().filter(|o| !o.preconditions.is_empty());
            declared.extend(outputs.map(|o| Node::Output(path.clone(), o.name.clone())));
            let variables = module.variables.values().filter(|v| !v.validations.is_empty());
            declared.extend(variables.map(|v| Node::Variable(path.clone(), v.name.clone())));
        }
        for node in declared {
            let status = if looked_at(&node) { Status::Pass } else { Status::Unknown };
            self.0.entry(node.text()).or_insert(status);
        }
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
    let (value, mut diags) = scope.evaluate(&condition.condition);
    if diags.has_errors() {
        return (Status::Error, diags);
    }
    let (value, _) = value.unmark_deep();
    let span = condition.condition.span;
    if !value.is_known() {
        return (Status::Unknown, diags);
    }
    let refuse = |detail: &'static str| Diagnostic::error(kind.invalid(), detail).at(span);
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
    let (value, mut diags) = scope.evaluate(&condition.message);
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
