//! Evaluates conditions (validations, preconditions, postconditions, assertions) and collects the
//! status of each checked object.

use super::nodes::Node;
use super::scope::ModuleScope;
use cty::{Type, Value};
use lang::addr::ConfigResource;
use lang::config::{Condition, Module};
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Status of a condition, or of all conditions of an object. Ordered by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pass,
    Unknown,
    Fail,
    Error,
}

impl Status {
    /// Returns the word of the plan representation.
    pub fn plan_name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Unknown => "unknown",
            Self::Fail => "fail",
            Self::Error => "error",
        }
    }
}

/// Statuses of all checked objects of a walk, by the address of the declaration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statuses(pub BTreeMap<String, Status>);

impl Statuses {
    /// Records the status of one condition; the worst of an object counts.
    pub fn record(&mut self, object: &str, status: Status) {
        let entry = self.0.entry(object.to_owned()).or_insert(status);
        *entry = (*entry).max(status);
    }
}

impl Statuses {
    /// Adds declared objects without a status: unknown if they were not evaluated, pass if they
    /// have no instances.
    pub fn complete(&mut self, root: &Module, looked_at: impl Fn(&Node) -> bool) {
        for node in declared(root) {
            let status = if looked_at(&node) {
                Status::Pass
            } else {
                Status::Unknown
            };
            self.0.entry(node.text()).or_insert(status);
        }
    }
}

/// Returns all objects declared with conditions.
pub fn declared(root: &Module) -> Vec<Node> {
    let mut declared: Vec<Node> = Vec::new();
    for module in root.all() {
        let path = &module.path;
        let checked = |r: &lang::config::Resource| {
            !r.lifecycle.preconditions.is_empty() || !r.lifecycle.postconditions.is_empty()
        };
        let resource = |r: &lang::config::Resource| ConfigResource {
            module: path.clone(),
            resource: r.name.clone(),
        };
        let checks = module.checks.keys();
        declared.extend(checks.map(|n| Node::Check(path.clone(), n.clone())));
        let resources = module.resources.values().filter(|r| checked(r));
        declared.extend(resources.map(|r| Node::Resource(resource(r))));
        let outputs = module.outputs.values();
        let outputs = outputs.filter(|o| !o.preconditions.is_empty());
        declared.extend(outputs.map(|o| Node::Output(path.clone(), o.name.clone())));
        let variables = module.variables.values();
        let variables = variables.filter(|v| !v.validations.is_empty());
        declared.extend(variables.map(|v| Node::Variable(path.clone(), v.name.clone())));
    }
    declared
}

/// Summary prefix of a message that is hidden.
pub const HIDDEN_MESSAGE: &str = "Error message refers to";
/// Text for a message that is not known.
pub const NO_MESSAGE: &str = "The error message is unknown or not a string.";

/// Kind of condition, for its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of a variable; a failure is reported at this place.
    Validation(Span),
    Precondition,
    Postcondition,
    OutputPrecondition,
    Assertion,
}

impl Kind {
    fn failed(self) -> &'static str {
        match self {
            Self::Validation(_) => "Invalid value for variable",
            Self::Precondition => "Resource precondition failed",
            Self::Postcondition => "Resource postcondition failed",
            Self::OutputPrecondition => "Module output value precondition failed",
            Self::Assertion => "Check block assertion failed",
        }
    }

    fn invalid(self) -> &'static str {
        match self {
            Self::Validation(_) => "Invalid variable validation result",
            _ => "Invalid condition result",
        }
    }
}

/// Evaluates one condition. A failure is an error (a warning for an assertion) at the condition.
pub fn check(scope: &ModuleScope<'_>, condition: &Condition, kind: Kind) -> (Status, Diagnostics) {
    let faults = faults_of(scope, condition);
    if faults.has_errors() {
        return (Status::Error, faults);
    }
    let (value, mut diags) = scope.evaluate(&condition.condition);
    let mut broken = diags.has_errors();
    // Errors of the message are reported even if the condition passes.
    let (message, found) = scope.evaluate(&condition.message);
    diags.append(found);
    // The message of a validation is judged only if the validation fails.
    let is_validation = matches!(kind, Kind::Validation(_));
    if !is_validation {
        diags.extend(message_error(&message).map(|detail| {
            Diagnostic::error("Invalid error message", detail).at(condition.message.span)
        }));
        broken = diags.has_errors();
    }
    if broken {
        return (Status::Error, diags);
    }
    // The marks do not matter: only pass or fail is shown.
    let (value, _) = value.unmark_deep();
    let span = condition.condition.span;
    if !value.is_known() {
        if kind == Kind::Assertion {
            let warning = Diagnostic::warning(
                "Check block assertion known after apply",
                "The condition depends on values known only after apply. The deploy reports its result.",
            );
            diags.push(warning.at(span));
        }
        return (Status::Unknown, diags);
    }
    let refuse = |detail: &'static str| Diagnostic::error(kind.invalid(), detail).at(span);
    if value.is_null() {
        diags.push(refuse(
            "Condition expression must return either true or false, not null.",
        ));
        return (Status::Error, diags);
    }
    let Ok(result) = cty::convert::convert(&value, &Type::Bool) else {
        diags.push(refuse(
            "Invalid condition result value: a bool is required.",
        ));
        return (Status::Error, diags);
    };
    if result.as_bool() == Some(true) {
        return (Status::Pass, diags);
    }
    // A rejected value needs a reason, so an unknown message is an error of its own.
    if is_validation && !diags.has_errors() && !message.is_known() {
        let detail = "The error message depends on values known only after apply.";
        diags.push(Diagnostic::error("Invalid error message", detail).at(condition.message.span));
        return (Status::Fail, diags);
    }
    let text = shown_message(&message, condition, kind, &mut diags);
    let failure = match kind {
        Kind::Assertion => Diagnostic::warning(kind.failed(), text),
        _ => Diagnostic::error(kind.failed(), text),
    };
    diags.push(match kind {
        Kind::Validation(place) => failure.at(place).within(condition.span),
        _ => failure.at(span),
    });
    (Status::Fail, diags)
}

/// Checks a resource's condition without judging its result: only a plan knows the objects that it
/// applies to.
pub fn check_evaluable(scope: &ModuleScope<'_>, condition: &Condition) -> Diagnostics {
    let mut diags = faults_of(scope, condition);
    if !diags.has_errors() {
        diags.append(scope.evaluate(&condition.condition).1);
        diags.append(scope.evaluate(&condition.message).1);
    }
    diags
}

/// Checks the names and the message of an assertion before anything is planned.
pub fn check_assertion(scope: &ModuleScope<'_>, assertion: &Condition) -> Diagnostics {
    let mut diags = faults_of(scope, assertion);
    if !diags.has_errors() {
        let (message, found) = scope.evaluate(&assertion.message);
        diags.append(found);
        diags.extend(message_error(&message).map(|detail| {
            Diagnostic::error("Invalid error message", detail).at(assertion.message.span)
        }));
    }
    diags
}

/// Checks the names in condition and message. If one of both has errors, the other is evaluated
/// too, so that one run reports the errors of both.
fn faults_of(scope: &ModuleScope<'_>, condition: &Condition) -> Diagnostics {
    let both = [&condition.condition, &condition.message];
    let mut diags = Diagnostics::new();
    let named = both.map(|expr| {
        let faults = scope.check(&expr.traversals());
        let fine = !faults.has_errors();
        diags.append(faults);
        fine
    });
    if diags.has_errors() {
        for (expr, _) in both.into_iter().zip(named).filter(|(_, fine)| *fine) {
            diags.append(scope.evaluate(expr).1);
        }
    }
    diags
}

/// Returns the reason that a value cannot be a message; unknown values are accepted.
fn message_error(message: &Value) -> Option<&'static str> {
    match cty::convert::convert(&message.clone().unmark_deep().0, &Type::String) {
        Err(_) => Some("Unsuitable value for error message: a string is required."),
        Ok(text) if text.is_null() => Some("Unsuitable value for error message: must not be null."),
        Ok(_) => None,
    }
}

/// Returns the message, or a placeholder with a diagnostic if it is sensitive or ephemeral.
fn shown_message(
    message: &Value,
    condition: &Condition,
    kind: Kind,
    diags: &mut Diagnostics,
) -> String {
    let hidden = match () {
        () if message.contains_mark(&cty::Mark::Sensitive) => "sensitive",
        () if message.contains_mark(&cty::Mark::Ephemeral) => "ephemeral",
        () => {
            return as_text(message).unwrap_or_else(|| NO_MESSAGE.to_owned());
        }
    };
    let detail =
        format!("The error message refers to {hidden} values, so it will not be displayed.");
    let summary = format!("{HIDDEN_MESSAGE} {hidden} values");
    // As in OpenTofu, this fails a validation, but only adds a warning to other conditions.
    let fault = if matches!(kind, Kind::Validation(_)) {
        Diagnostic::error(summary, detail.clone())
    } else {
        Diagnostic::warning(summary, detail.clone())
    };
    diags.push(fault.at(condition.message.span));
    detail
}

fn as_text(value: &Value) -> Option<String> {
    let value = cty::convert::convert(&value.clone().unmark_deep().0, &Type::String).ok()?;
    Some(value.as_str()?.trim().to_owned())
}
