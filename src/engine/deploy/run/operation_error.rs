//! Failures of operations: classification, messages and records.

use super::deploying::{Deploying, WHOLE_DEPLOY};
use crate::deploy::failure_class::{class_of, mentions_cancellation};
use crate::deploy::instance::{Failed, UNKNOWN_OUTCOME_REMEDY};
use crate::deploy::record::fingerprint;
use crate::stage::cell::Cell;
use crate::stage::change::Change;
use crate::stage::encoding::StageCodecError;
use crate::stage::walk::placed;
use calls::{Method, ProviderDiagnostic, ProviderError};
use graph::Step;
use lang::config::Resource;
use lang::diag::{Diagnostic, Diagnostics};
use model::*;
use store::StoreError;
use types::TypeSettings;

/// Failure of an operation.
pub enum OperationError {
    /// Cancelled before anything was done.
    NotStarted,
    /// Found by flightdeck.
    Found {
        diags: Diagnostics,
        class: FailureClass,
        /// True if the call may still run, or have ended, unobserved.
        unknown: bool,
    },
    /// Reported by a provider, or its call failed.
    Provider {
        failed: Failed,
        method: Option<Method>,
    },
}

impl OperationError {
    /// Creates a failure found by flightdeck.
    pub fn of(diags: Diagnostics, class: Option<FailureClass>, unknown: bool) -> Box<Self> {
        Box::new(Self::Found {
            diags,
            class: class.unwrap_or(FailureClass::BadInput),
            unknown,
        })
    }

    /// Creates a failure from a text.
    pub fn text(text: impl Into<lang::diag::Message>) -> Box<Self> {
        Diagnostics::from(Diagnostic::error("Operation cannot run", text)).into()
    }

    /// Creates a failure from an apply.
    pub(super) fn applied(failed: Failed) -> Box<Self> {
        let method = failed.method().or(Some(Method::Apply));
        Box::new(Self::Provider { failed, method })
    }

    /// Creates a failure with an unknown outcome: the plugin has acted, but its result is not
    /// recorded and the intent stays open.
    fn unknown_outcome(summary: &str, detail: String) -> Box<Self> {
        let diagnostics = vec![ProviderDiagnostic::error(summary, detail)];
        Self::applied(Failed {
            class: FailureClass::Unexpected,
            diagnostics,
            error: None,
            unknown: true,
        })
    }

    /// Creates a failure for an object that the state cannot contain. `acted`: the provider may
    /// have changed something.
    pub(super) fn not_storable(why: &StageCodecError, acted: bool) -> Box<Self> {
        let (summary, detail) = (
            "Object cannot be stored in the state",
            format!(
                "{why}. This is a bug in the provider; report it to the provider's developers."
            ),
        );
        match acted {
            true => Self::unknown_outcome(summary, format!("{detail} {UNKNOWN_OUTCOME_REMEDY}")),
            false => Self::of(
                Diagnostic::error(summary, detail).into(),
                Some(FailureClass::Unexpected),
                false,
            ),
        }
    }

    /// Returns true if the outcome is unknown.
    fn is_unknown(&self) -> bool {
        match self {
            Self::NotStarted => false,
            Self::Found { unknown, .. } => *unknown,
            Self::Provider { failed, .. } => failed.unknown,
        }
    }

    /// Builds the failure record. `asked`: plugins were asked to stop by then.
    fn failure(
        &self,
        change: &Change,
        plugin: Option<&PluginId>,
        settings: &TypeSettings,
        asked: bool,
    ) -> Option<Failure> {
        let (mut class, (summary, detail)) = match self {
            Self::NotStarted => return None,
            Self::Found { diags, class, .. } => {
                let first = diags.errors().next();
                (
                    *class,
                    first
                        .map(|d| (d.summary.clone(), d.detail.clone()))
                        .unwrap_or_default(),
                )
            }
            Self::Provider { failed, .. } => (failed.class, failed.text()),
        };
        // Only for what the plugin says of the object; a crash or a deadline is certain.
        if let Self::Provider { failed, .. } = self
            && failed.error.is_none()
            && let Some(declared) = settings.failure_class(&format!("{summary}\n{detail}"))
        {
            class = declared;
        }
        let (error, method) = match self {
            Self::Provider { failed, method } => (failed.error.as_ref(), *method),
            _ => (None, None),
        };
        // Plugins report a requested stop as an ordinary error.
        if asked && class == FailureClass::Unexpected && mentions_cancellation(&summary, &detail) {
            class = FailureClass::Cancelled;
        }
        // All calls that one crash interrupted share a fingerprint, independently of resource
        // types.
        let crash = match error {
            Some(ProviderError::Crashed { plugin, text, .. }) => {
                Some(fingerprint(class, &plugin.base().0, "", text))
            }
            _ => None,
        };
        Some(Failure {
            class,
            fingerprint: crash.unwrap_or_else(|| {
                fingerprint(class, &change.address.resource.kind, &summary, &detail)
            }),
            summary,
            detail,
            address: Some(change.id()),
            plugin: plugin.cloned(),
            method: method.map(MethodName::from),
            incident: error.and_then(ProviderError::incident).map(str::to_owned),
            last_lines: Vec::new(),
            last_lines_at: Vec::new(),
        })
    }
}

impl From<Diagnostics> for Box<OperationError> {
    fn from(diags: Diagnostics) -> Self {
        OperationError::of(diags, None, false)
    }
}

impl From<ProviderError> for Box<OperationError> {
    fn from(error: ProviderError) -> Self {
        let method = error.method();
        let failed = Failed {
            class: error.class(),
            diagnostics: Vec::new(),
            error: Some(error),
            unknown: false,
        };
        Box::new(OperationError::Provider { failed, method })
    }
}

impl Deploying {
    /// Adds diagnostics to an operation.
    pub(super) fn add_diagnostics(&self, change: &Change, diags: impl Into<Diagnostics>) {
        let diags = diags.into();
        if !diags.is_empty() {
            self.walk
                .cells
                .add_diagnostics(self.diagnostics_step(change), diags);
        }
    }

    /// Publishes the cell of a part of an operation.
    pub(super) fn publish_cell(&self, change: &Change, mut cell: Cell) {
        let said = std::mem::take(&mut cell.diags);
        self.add_diagnostics(change, said);
        self.walk.publish(self.diagnostics_step(change), cell);
    }

    /// Returns the step for diagnostics of an operation: after all nodes, in the order of changes.
    fn diagnostics_step(&self, change: &Change) -> Step {
        self.walk.nodes.nodes.len()
            + self
                .selection
                .index(&change.id())
                .unwrap_or(self.selection.stage.changes.len())
    }

    /// Turns provider errors into a failure; without errors the warnings are added to the
    /// operation.
    pub(super) fn check_provider_diagnostics(
        &self,
        said: &[ProviderDiagnostic],
        change: &Change,
        resource: &Resource,
    ) -> Result<(), Box<OperationError>> {
        if !said.iter().any(|d| d.severity == Severity::Error) {
            self.add_diagnostics(
                change,
                placed(
                    said,
                    &change.address,
                    Some(&resource.body),
                    Some(resource.span),
                ),
            );
            return Ok(());
        }
        let failed = Failed {
            class: class_of(said),
            diagnostics: said.to_vec(),
            error: None,
            unknown: false,
        };
        Err(Box::new(OperationError::Provider {
            failed,
            method: None,
        }))
    }

    /// Handles a failed write before a call: the call is not sent and nothing more starts.
    pub(super) fn store_failure(&self, error: StoreError) -> Box<OperationError> {
        if let StoreError::NotLeader { .. } = error {
            // The process that leads now decides; the store itself is intact.
            if self.scheduler.stops().lose_lock(error.to_string()) {
                let found = Diagnostic::error("Another process has taken over", error.to_string());
                self.walk.cells.add_diagnostics(WHOLE_DEPLOY, found);
            }
            return Box::new(OperationError::NotStarted);
        }
        // Reported once, because every operation that is about to start fails in the same way.
        if self.scheduler.lose_store() {
            self.walk.cells.add_diagnostics(
                WHOLE_DEPLOY,
                Diagnostic::error("Failed to record the deploy", error.to_string()),
            );
        }
        Box::new(OperationError::NotStarted)
    }

    /// Handles a failed write after a call: the outcome is unknown.
    pub(super) fn outcome_trouble(&self, error: StoreError) -> Box<OperationError> {
        // Nothing more starts: the next intent could not be recorded either.
        self.scheduler.lose_store();
        OperationError::unknown_outcome("Failed to record the outcome", error.to_string())
    }

    /// Records a failed operation and reports its diagnostics.
    pub(super) async fn fail(&self, change: &Change, trouble: OperationError) {
        let id = change.id();
        let declared = self
            .declared(&change.address.config())
            .map(|(_, r)| (r.span, r.body.clone()));
        let plugin = self
            .walk
            .ready(&change.provider)
            .map(|p| p.info().plugin.clone());
        let settings = self.type_settings(change);
        let Some(failure) = trouble.failure(
            change,
            plugin.as_ref(),
            &settings,
            self.scheduler.stops().all.is_cancelled(),
        ) else {
            // No call was sent, so there is no failure to record.
            self.recorder.not_started(&id);
            return;
        };
        let (unknown, span) = (trouble.is_unknown(), declared.as_ref().map(|d| d.0));
        match trouble {
            OperationError::NotStarted => {}
            OperationError::Provider { failed, .. } if failed.error.is_none() => {
                self.add_diagnostics(
                    change,
                    placed(
                        &failed.diagnostics,
                        &id,
                        declared.as_ref().map(|d| &d.1),
                        span,
                    ),
                );
            }
            OperationError::Provider { .. } => {
                let mut d = Diagnostic::error(&failure.summary, failure.detail.clone())
                    .with_address(id.as_str());
                d.subject = span;
                self.add_diagnostics(change, d);
            }
            OperationError::Found { mut diags, .. } => {
                for d in &mut diags.0 {
                    d.address.get_or_insert_with(|| id.clone());
                    d.subject = d.subject.or(span);
                }
                self.add_diagnostics(change, diags);
            }
        }
        // Distinguishes a half replacement from a failure of its first half.
        let gone = !self.objects.contains(&change.address);
        let reason = failure.summary.clone();
        self.recorder
            .record_failure(&id, failure, unknown, gone)
            .await;
        self.member_failed(&id, &reason).await;
    }
}
