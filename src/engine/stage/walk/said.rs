//! What providers say, as what a stage has to say.

use crate::engine::calls::{ProviderDiagnostic, ProviderError};
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::Span;

/// The failure of a call.
pub fn call_failed(error: &ProviderError, address: &str, span: Option<Span>) -> Diagnostic {
    let mut d = Diagnostic::error("Plugin call failed", error.to_string()).about(address);
    d.subject = span;
    d
}

/// What a provider said, at the argument it is about where that can be found.
pub fn placed(
    said: &[ProviderDiagnostic],
    address: &str,
    body: Option<&lang::body::Body>,
    span: Option<Span>,
) -> Diagnostics {
    let mut out = Diagnostics::new();
    for d in said {
        let mut placed = match d.severity {
            crate::engine::words::Severity::Error => {
                Diagnostic::error(&d.summary, d.detail.clone())
            }
            crate::engine::words::Severity::Warning => {
                Diagnostic::warning(&d.summary, d.detail.clone())
            }
        }
        .about(address);
        placed.subject = span;
        if let (Some(body), Some(path)) = (body, &d.path) {
            let place = lang::decode::place_of(body, path);
            // What is not written there at all is about the block as a whole.
            if place != body.missing_span() {
                placed.subject = Some(place);
                placed.context = span;
            }
        }
        out.push(placed);
    }
    out
}
