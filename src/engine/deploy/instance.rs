//! The apply of one managed resource instance: what the provider is asked, how its answer is
//! checked, and what is left in the state whatever happens. Rules: 3.5 of the project's engine
//! reference, after the reference engine.

use super::class::class_of;
use crate::engine::calls::{CallContext, ProviderDiagnostic, ProviderError};
use crate::engine::provider::{ApplyRequest, Provider};
use crate::engine::stage::managed::at_sensitive;
use crate::engine::words::{Action, FailureClass, Severity};
use cty::Value;
use cty::schema::Schema;
use proto::Bytes;

/// One apply.
pub struct Order<'a> {
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
    /// The object that is there now, unmarked; `None` where there is none.
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
pub async fn apply(provider: &dyn Provider, order: Order<'_>, ctx: &CallContext) -> Applied {
    let request = ApplyRequest {
        type_name: order.type_name.to_owned(),
        prior: order.prior.clone(),
        planned: order.planned.clone(),
        config: order.config.clone(),
        private: order.private.clone(),
        planned_identity: order.identity.clone(),
    };
    let action = match (order.prior.is_null(), order.planned.is_null()) {
        (_, true) => "destroy",
        (true, _) => "create",
        _ => "update",
    };
    let ctx = CallContext {
        action: Some(action),
        ..ctx.clone()
    };
    let response = match provider.apply(request, &ctx).await {
        Ok(response) => response,
        Err(error) => {
            let unknown = error.may_have_acted();
            return Applied {
                object: (!order.prior.is_null()).then(|| order.prior.clone()),
                private: order.private,
                identity: order.identity,
                tainted: false,
                warnings: Vec::new(),
                failure: Some(Failed {
                    class: error.class(),
                    diagnostics: Vec::new(),
                    error: Some(error),
                    unknown,
                }),
            };
        }
    };
    let (mut errors, warnings): (Vec<_>, Vec<_>) = response
        .diagnostics
        .into_iter()
        .partition(|d| d.severity == Severity::Error);
    let provider_failed = !errors.is_empty();
    let mut class = class_of(&errors);
    let destroys = order.planned.is_null();
    let null = Value::null(order.schema.implied_type().clone());
    let who = &provider.info().address;

    let mut new = match response.new_state {
        Some(value) => value,
        // An answer without a value: the object counts as it was; for a delete as gone only where
        // there is no error.
        None if destroys && !provider_failed => null.clone(),
        None => order.prior.clone(),
    };
    if !new.is_wholly_known() {
        if !provider_failed {
            errors.push(broken(who, "it left values unknown after the apply"));
            class = FailureClass::InconsistentResult;
        }
        new = new.unknown_as_null();
    }
    if !provider_failed && destroys && !new.is_null() {
        errors.push(broken(who, "it left an object after a destroy"));
        class = FailureClass::InconsistentResult;
    }
    if !provider_failed && !destroys && new.is_null() {
        errors.push(broken(who, "it left no object after the apply"));
        class = FailureClass::InconsistentResult;
    }
    if !provider_failed && !destroys && !new.is_null() && !response.legacy {
        for (path, text) in
            cty::plan::assert_object_compatible(&order.schema.block, &order.planned, &new)
        {
            let text = match order
                .shown
                .hides_at(&path)
                .or_else(|| at_sensitive(order.schema, &new, &path))
            {
                Some(path) => format!("{path}: a sensitive value differs from the plan"),
                None => format!("{path}: {text}"),
            };
            errors.push(broken(who, &text).at(path));
            class = FailureClass::InconsistentResult;
        }
    }
    let failed = !errors.is_empty();
    // Errors and no object from a create or update: what was there stays.
    if failed && provider_failed && new.is_null() && !destroys {
        new = order.prior.clone();
    }
    let creates = order.prior.is_null() && !destroys;
    let object = (!new.is_null()).then_some(new);
    Applied {
        tainted: failed && creates && object.is_some(),
        object,
        private: response.private,
        // A failed change may come without: the object is still known by what it was known by.
        identity: response
            .identity
            .or(order.identity.filter(|v| failed && v.is_wholly_known())),
        warnings,
        failure: failed.then_some(Failed {
            class,
            diagnostics: errors,
            error: None,
            unknown: false,
        }),
    }
}

fn broken(who: &str, what: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        "Provider produced inconsistent result after apply",
        format!("{who}: {what}. This is a bug in the provider; report it there."),
    )
}
