//! The apply of one managed resource instance: what the provider is asked, how its answer is
//! checked, and what is left in the state whatever happens. Rules: 3.5 of the project's engine
//! reference, after the reference engine.

use super::class::class_of;
use crate::engine::calls::{CallContext, Method, ProviderDiagnostic, ProviderError};
use crate::engine::provider::{ApplyRequest, ApplyResponse, Provider};
use crate::engine::stage::managed::at_sensitive;
use crate::engine::words::{Action, FailureClass, Severity};
use cty::Value;
use cty::schema::Schema;
use proto::Bytes;

/// What is applied.
pub struct Applying<'a> {
    pub type_name: &'a str,
    pub schema: &'a Schema,
    pub action: Action,
    /// Unmarked; null for a create.
    pub prior: Value,
    /// Unmarked; null for a destroy.
    pub planned: Value,
    /// The same with its marks: what must not be said of it.
    pub shown: &'a Value,
    /// Wholly known; null for a destroy.
    pub config: Value,
    pub private: Bytes,
    pub identity: Option<Value>,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Applied {
    /// The object that the provider left, unmarked. `None` with a failure: the provider answered no
    /// object, and the state keeps its own. `None` without one: the object is destroyed.
    pub object: Option<Value>,
    pub private: Bytes,
    pub identity: Option<Value>,
    /// A created object that is not as it should be.
    pub tainted: bool,
    pub warnings: Vec<ProviderDiagnostic>,
    /// Why it failed, where it did.
    pub failure: Option<Failed>,
}

/// What to do about an outcome that is not known.
pub const WHAT_NOW: &str = "What the plugin did is not known: look whether the object is there before the next stage. `flightdeck logs` has what the plugin said last.";

/// Why an apply failed.
#[derive(Debug, Clone)]
pub struct Failed {
    pub class: FailureClass,
    pub diagnostics: Vec<ProviderDiagnostic>,
    pub error: Option<ProviderError>,
    /// Whether it is not known what the plugin did.
    pub unknown: bool,
}

impl Failed {
    /// The call that failed, where it is known by name.
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

    /// The first error's summary and detail.
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
                    WHAT_NOW.to_owned()
                } else {
                    String::new()
                },
            ),
            (None, Some(d)) => (d.summary.clone(), d.detail.clone()),
            (None, None) => ("failed".to_owned(), String::new()),
        }
    }
}

/// Calls the provider and judges what it answers. Never drops a call that was sent.
pub async fn apply(provider: &dyn Provider, asked: Applying<'_>, ctx: &CallContext) -> Applied {
    let request = ApplyRequest {
        type_name: asked.type_name.to_owned(),
        prior: asked.prior.clone(),
        planned: asked.planned.clone(),
        config: asked.config.clone(),
        private: asked.private.clone(),
        planned_identity: asked.identity.clone(),
    };
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
        Ok(response) => judged(asked, response, &provider.info().address),
        Err(error) => unanswered(asked, error),
    }
}

/// The outcome of a call without an answer: the state keeps its object.
fn unanswered(asked: Applying<'_>, error: ProviderError) -> Applied {
    let unknown = error.may_have_acted();
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

/// What an answer leaves in the state, and whether it is what was asked for.
fn judged(asked: Applying<'_>, response: ApplyResponse, who: &str) -> Applied {
    let (mut errors, warnings): (Vec<_>, Vec<_>) = response
        .diagnostics
        .into_iter()
        .partition(|d| d.severity == Severity::Error);
    let provider_failed = !errors.is_empty();
    let mut class = class_of(&errors);
    // The SDKs answer no value at all where they mean null.
    let mut new = response
        .new_state
        .unwrap_or_else(|| Value::null(asked.schema.implied_type().clone()));
    // A provider that failed has said so, and what it left is what it could.
    if !provider_failed {
        errors = faults(&asked, &new, response.legacy, who);
        if !errors.is_empty() {
            class = FailureClass::InconsistentResult;
        }
    }
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
        // A failed change may come without: the object is still known by what it was known by.
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

/// In what an answer that tells of no error is not what was planned.
fn faults(asked: &Applying<'_>, new: &Value, legacy: bool, who: &str) -> Vec<ProviderDiagnostic> {
    let mut faults = Vec::new();
    if !new.is_wholly_known() {
        faults.push(broken(who, "it left values unknown after the apply"));
    }
    let new = new.clone().unknown_as_null();
    match (asked.planned.is_null(), new.is_null()) {
        (true, true) => {}
        (true, false) => faults.push(broken(who, "it left an object after a destroy")),
        (false, true) => faults.push(broken(who, "it left no object after the apply")),
        // The old SDK cannot keep to what it planned, and says so.
        (false, false) if legacy => {}
        (false, false) => {
            let schema = asked.schema;
            for (path, text) in
                cty::plan::assert_object_compatible(&schema.block, &asked.planned, &new)
            {
                let hidden = asked.shown.hides_at(&path);
                let text = match hidden.or_else(|| at_sensitive(schema, &new, &path)) {
                    Some(path) => format!("{path}: a sensitive value differs from the plan"),
                    None => format!("{path}: {text}"),
                };
                faults.push(broken(who, &text).at(path));
            }
        }
    }
    faults
}

fn broken(who: &str, what: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        "Provider produced inconsistent result after apply",
        format!("{who}: {what}. This is a bug in the provider; report it there."),
    )
}
