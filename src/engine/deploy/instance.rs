//! Applies one managed resource instance: the request to the provider, the checks of its answer,
//! and the resulting state in each case. Same rules as OpenTofu.

use super::failure_class::class_of;
use crate::stage::managed::shown_prefix;
use calls::{CallContext, Method, ProviderDiagnostic, ProviderError};
use cty::Value;
use cty::schema::Schema;
use model::{Action, FailureClass, Severity};
use proto::Bytes;
use provider::{ApplyRequest, ApplyResponse, Provider};

/// Input of an apply.
pub struct Applying<'a> {
    pub type_name: &'a str,
    pub schema: &'a Schema,
    pub action: Action,
    /// Unmarked; null for a create.
    pub prior: Value,
    /// Unmarked; null for a destroy.
    pub planned: Value,
    /// The planned object with its marks, to hide sensitive paths.
    pub marked_plan: &'a Value,
    /// Wholly known; null for a destroy.
    pub config: Value,
    pub private: Bytes,
    pub identity: Option<Value>,
}

/// Result of an apply.
#[derive(Debug, Clone)]
pub struct Applied {
    /// Object after the call, unmarked. After a failure `None` means that the provider returned no
    /// object and the state keeps its own; otherwise the object is destroyed.
    pub object: Option<Value>,
    pub private: Bytes,
    pub identity: Option<Value>,
    /// True if a created object failed.
    pub tainted: bool,
    pub warnings: Vec<ProviderDiagnostic>,
    /// Failure, if any.
    pub failure: Option<Failed>,
}

/// Remedy for an unknown outcome.
pub const UNKNOWN_OUTCOME_REMEDY: &str = "The outcome is unknown: the plugin may have acted. Before the next stage, check the object in the target system. `flightdeck logs` shows the last output of the plugin.";

/// Failure of an apply.
#[derive(Debug, Clone)]
pub struct Failed {
    pub class: FailureClass,
    pub diagnostics: Vec<ProviderDiagnostic>,
    pub error: Option<ProviderError>,
    /// True if the outcome is unknown.
    pub unknown: bool,
}

impl Failed {
    /// Returns the method of the failed call, if known.
    pub fn method(&self) -> Option<Method> {
        match &self.error {
            Some(error) => error.method(),
            None => {
                let mut all = self.diagnostics.iter();
                let first = all.find(|d| d.severity == Severity::Error);
                first.and_then(|d| d.method)
            }
        }
    }

    /// Returns summary and detail of the first error.
    pub fn text(&self) -> (String, String) {
        match (
            &self.error,
            self.diagnostics
                .iter()
                .find(|d| d.severity == Severity::Error),
        ) {
            (Some(error), _) => (
                error.to_string(),
                if self.unknown {
                    UNKNOWN_OUTCOME_REMEDY.to_owned()
                } else {
                    String::new()
                },
            ),
            (None, Some(d)) => (d.summary.clone(), d.detail.clone()),
            (None, None) => ("failed".to_owned(), String::new()),
        }
    }
}

/// Calls the provider and checks its answer. A call that was sent is never dropped.
pub async fn apply(provider: &dyn Provider, asked: Applying<'_>, ctx: &CallContext) -> Applied {
    let request = ApplyRequest {
        type_name: asked.type_name.to_owned(),
        prior: asked.prior.clone(),
        planned: asked.planned.clone(),
        config: asked.config.clone(),
        private: asked.private.clone(),
        planned_identity: asked.identity.clone(),
    };
    // A replacement sends two calls, so the action of a call is not that of its change.
    let action = match (asked.prior.is_null(), asked.planned.is_null()) {
        (_, true) => Action::Destroy,
        (true, _) => Action::Create,
        _ => Action::Update,
    };
    let ctx = CallContext {
        action: Some(action),
        ..ctx.clone()
    };
    match provider.apply(request, &ctx).await {
        Ok(response) => checked_result(asked, response, &provider.info().address),
        Err(error) => without_answer(asked, error),
    }
}

/// Returns the result of a call without an answer: the state keeps its object.
fn without_answer(asked: Applying<'_>, error: ProviderError) -> Applied {
    // The outcome is known only if the error proves that the plugin has not acted.
    let unknown = error.may_have_changed_infrastructure();
    Applied {
        object: None,
        private: asked.private,
        identity: asked.identity,
        tainted: false,
        warnings: Vec::new(),
        failure: Some(Failed {
            class: error.class(),
            diagnostics: Vec::new(),
            error: Some(error),
            unknown,
        }),
    }
}

/// Returns the resulting object, and checks it against the plan.
pub fn checked_result(asked: Applying<'_>, response: ApplyResponse, who: &str) -> Applied {
    let (mut errors, warnings): (Vec<_>, Vec<_>) = response
        .diagnostics
        .into_iter()
        .partition(|d| d.severity == Severity::Error);
    let provider_failed = !errors.is_empty();
    let mut class = class_of(&errors);
    // The SDKs return no value instead of null.
    let mut new = response
        .new_state
        .unwrap_or_else(|| Value::null(asked.schema.implied_type().clone()));
    // After an error the result need not match the plan.
    if !provider_failed {
        errors = inconsistencies(&asked, &new, response.legacy, who);
        if !errors.is_empty() {
            class = FailureClass::InconsistentResult;
        }
    }
    // The state cannot contain unknown values.
    if !new.is_wholly_known() {
        new = new.unknown_as_null();
    }
    let failed = !errors.is_empty();
    let creates = asked.prior.is_null() && !asked.planned.is_null();
    let object = (!new.is_null()).then_some(new);
    Applied {
        tainted: failed && creates && object.is_some(),
        object,
        private: response.private,
        // A failed change may return no identity; the object keeps the known one.
        identity: response
            .identity
            .or(asked.identity.filter(|v| failed && v.is_wholly_known())),
        warnings,
        failure: failed.then_some(Failed {
            class,
            diagnostics: errors,
            error: None,
            unknown: false,
        }),
    }
}

/// Returns the differences between the plan and a result without errors.
fn inconsistencies(
    asked: &Applying<'_>,
    new: &Value,
    legacy: bool,
    who: &str,
) -> Vec<ProviderDiagnostic> {
    let mut faults = Vec::new();
    if !new.is_wholly_known() {
        faults.push(inconsistency(
            who,
            "the result still contains unknown values after the apply",
        ));
    }
    // Unknown values are reported above; the comparison treats them as null.
    let new = new.clone().unknown_as_null();
    match (asked.planned.is_null(), new.is_null()) {
        (true, true) => {}
        (true, false) => faults.push(inconsistency(
            who,
            "the result still contains an object after a destroy",
        )),
        (false, true) => faults.push(inconsistency(
            who,
            "the result contains no object after the apply",
        )),
        // The legacy SDK declares that it cannot keep to its plan.
        (false, false) if legacy => {}
        (false, false) => {
            let schema = asked.schema;
            for (path, text) in
                cty::plan::assert_object_compatible(&schema.block, &asked.planned, &new)
            {
                let hidden = asked.marked_plan.shown_prefix(&path);
                let text = match hidden.or_else(|| shown_prefix(schema, &new, &path)) {
                    Some(path) => format!("{path}: a sensitive value differs from the plan"),
                    None => format!("{path}: {text}"),
                };
                faults.push(inconsistency(who, &text).at(path));
            }
        }
    }
    faults
}

fn inconsistency(who: &str, fault: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        "Provider produced inconsistent result after apply",
        format!(
            "{who}: {fault}. This is a bug in the provider; report it to the provider's developers."
        ),
    )
}
