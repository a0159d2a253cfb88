//! What of an answer is the same whatever was asked: what the provider has to say about it.

use super::Method;
use crate::engine::secrets::Secrets;
use crate::engine::words::{FailureClass, Severity};
use cty::Path;

/// An error or warning that a provider answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderDiagnostic {
    pub severity: Severity,
    pub summary: String,
    pub detail: String,
    /// Where in the value that was sent; `None` for the whole.
    pub path: Option<Path>,
    /// Of what kind it is, where the dialect has the provider say so; else its words tell.
    pub class: Option<FailureClass>,
    /// The call that it comes from, where that is another one than the engine's request.
    pub method: Option<Method>,
}

impl ProviderDiagnostic {
    /// An error about the value as a whole.
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

    /// The same, from the answer to a call of this method.
    pub fn from_call(self, method: Option<Method>) -> Self {
        Self { method, ..self }
    }

    /// The same, of a kind that the provider has said.
    pub fn of_class(self, class: Option<FailureClass>) -> Self {
        Self { class, ..self }
    }

    /// Takes out of its texts what must not be shown.
    pub fn hide(&mut self, secrets: &Secrets) {
        secrets.hide_in(&mut self.summary);
        secrets.hide_in(&mut self.detail);
    }

    /// The same about a part of the value.
    pub fn at(self, path: Path) -> Self {
        Self {
            path: Some(path),
            ..self
        }
    }
}

/// An answer that may carry errors in it.
pub trait Answer {
    /// Errors and warnings, in the provider's order.
    fn diagnostics(&self) -> &[ProviderDiagnostic];

    /// Takes out of its texts what must not be shown.
    fn hide(&mut self, secrets: &Secrets);

    /// The first error, if there is any.
    fn first_error(&self) -> Option<&ProviderDiagnostic> {
        self.diagnostics()
            .iter()
            .find(|d| d.severity == Severity::Error)
    }
}

/// The answer where there is nothing besides diagnostics.
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
