//! Compares the plan of the deploy with the approved one.

use super::deploying::Deploying;
use super::instances::Subject;
use super::operation_error::OperationError;
use crate::deploy::instance::Failed;
use crate::stage::change::Change;
use crate::stage::managed::{self};
use calls::{Method, ProviderDiagnostic};
use cty::schema::Schema;
use cty::{Path, Value};
use lang::diag::{Diagnostic, Diagnostics};
use model::*;

impl Deploying {
    /// Returns an error if the plan differs from the approved one, except in values that were
    /// unknown.
    pub(super) fn check_approved(
        &self,
        subject: &Subject<'_>,
        config: &Value,
        now: &managed::Planned,
    ) -> Result<(), Box<OperationError>> {
        let (change, schema) = (subject.change, subject.schema);
        let faults = differences(change, schema, now);
        if faults.is_empty() {
            return Ok(());
        }
        // Different arguments explain a different plan, so the provider is blamed only without
        // them.
        if let Some(other) = other_arguments(change, schema, config) {
            return Err(Diagnostics::from(other).into());
        }
        let who = &subject.provider.info().address;
        let detail = format!(
            "When expanding the plan for {} to include new values learned so far, {who} produced an invalid new value: {}. This is a bug in the provider; report it to the provider's developers.",
            change.address,
            faults.join("; ")
        );
        let failed = Failed {
            class: FailureClass::InconsistentResult,
            diagnostics: vec![ProviderDiagnostic::error(
                "Provider produced inconsistent final plan",
                detail,
            )],
            error: None,
            unknown: false,
        };
        Err(Box::new(OperationError::Provider {
            failed,
            method: Some(Method::Plan),
        }))
    }
}

/// Returns the differences between the new plan and the approved one.
fn differences(change: &Change, schema: &Schema, now: &managed::Planned) -> Vec<String> {
    let becomes = now.action;
    // A replacement creates here, because its destroy is a separate step. An update may turn into a
    // no-op once its unknown values are known.
    let fits = matches!(
        (change.action(), becomes),
        (
            Action::Create | Action::Replace | Action::ReplaceCreateFirst,
            Action::Create
        ) | (Action::Update, Action::Update | Action::NoOp)
    );
    if !fits {
        return vec![format!(
            "the action changed from {} to {}",
            change.action().label(),
            becomes.label()
        )];
    }
    let approved = change.after.value.clone().unmark_deep().0;
    let planned = now.after.clone().unmark_deep().0;
    if planned.raw_equals(&approved) {
        return Vec::new();
    }
    let one = |(path, text): (Path, String)| {
        let marked = change
            .after
            .value
            .shown_prefix(&path)
            .or_else(|| now.after.shown_prefix(&path));
        match marked.or_else(|| managed::shown_prefix(schema, &planned, &path)) {
            Some(path) => format!("{path}: a sensitive value differs"),
            None => format!("{path}: {text}"),
        }
    };
    cty::plan::assert_object_compatible(&schema.block, &approved, &planned)
        .into_iter()
        .map(one)
        .collect()
}

/// Returns an error if the arguments differ from the staged ones.
fn other_arguments(change: &Change, schema: &Schema, config: &Value) -> Option<Diagnostic> {
    let staged = change.config()?.clone().unmark_deep().0;
    let others = cty::plan::assert_object_compatible(&schema.block, &staged, config);
    if others.is_empty() {
        return None;
    }
    let places: Vec<String> = others.iter().map(|(path, _)| path.to_string()).collect();
    let detail = format!(
        "{}: these arguments have other values than in the stage: {}. Run `flightdeck stage` again.",
        change.address,
        places.join(", ")
    );
    Some(Diagnostic::error("Arguments differ from the stage", detail))
}
