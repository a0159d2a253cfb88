//! Errors and warnings in a provider's answer, and the trait [`Answer`] that returns them for every
//! method.

use super::Method;
use cty::Path;
use model::secrets::Secrets;
use model::{FailureClass, Severity};
use std::sync::Arc;

/// Error or warning in a provider's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderDiagnostic {
    pub severity: Severity,
    pub summary: String,
    pub detail: String,
    /// Path within the sent value; `None` for the whole.
    pub path: Option<Path>,
    /// Failure class, if the dialect transmits one; otherwise it is derived from the text.
    pub class: Option<FailureClass>,
    /// The call that it comes from, where that is another one than the engine's request.
    pub method: Option<Method>,
}

impl ProviderDiagnostic {
    /// Creates an error about the whole value.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            summary: summary.into(),
            detail: detail.into(),
            path: None,
            class: None,
            method: None,
        }
    }

    /// Sets the method of the call that the answer belongs to.
    pub fn from_call(self, method: Option<Method>) -> Self {
        Self { method, ..self }
    }

    /// Sets the failure class that the provider reported.
    pub fn of_class(self, class: Option<FailureClass>) -> Self {
        Self { class, ..self }
    }

    /// Redacts secrets in its texts.
    pub fn hide(&mut self, secrets: &Secrets) {
        secrets.redact_in_place(&mut self.summary);
        secrets.redact_in_place(&mut self.detail);
    }

    /// Sets the path within the value.
    pub fn at(self, path: Path) -> Self {
        Self {
            path: Some(path),
            ..self
        }
    }
}

/// Answer that may contain diagnostics.
pub trait Answer {
    /// Returns errors and warnings, in the provider's order.
    fn diagnostics(&self) -> &[ProviderDiagnostic];

    /// Redacts secrets in its texts.
    fn hide(&mut self, secrets: &Secrets);

    /// Returns the first error, if there is one.
    fn first_error(&self) -> Option<&ProviderDiagnostic> {
        self.diagnostics()
            .iter()
            .find(|d| d.severity == Severity::Error)
    }
}

/// Answer that its receivers share. Its texts must not contain secrets, because a shared value
/// cannot be redacted.
pub trait SharedAnswer {
    /// Returns errors and warnings, in the provider's order.
    fn diagnostics(&self) -> &[ProviderDiagnostic];
}

impl<T: SharedAnswer> Answer for Arc<T> {
    fn diagnostics(&self) -> &[ProviderDiagnostic] {
        T::diagnostics(self)
    }

    fn hide(&mut self, _: &Secrets) {}
}

/// Answer with diagnostics only.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Checked {
    pub diagnostics: Vec<ProviderDiagnostic>,
}

impl Answer for Checked {
    fn diagnostics(&self) -> &[ProviderDiagnostic] {
        &self.diagnostics
    }

    fn hide(&mut self, secrets: &Secrets) {
        self.diagnostics.iter_mut().for_each(|d| d.hide(secrets));
    }
}
