//! Converts provider diagnostics and failed calls to diagnostics of the stage with a source
//! position.

use calls::{ProviderDiagnostic, ProviderError};
use cty::{Mark, Value};
use lang::config::Output;
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::Span;
use std::fmt::Display;

/// Converts the failure of a call.
pub fn call_failed(error: &ProviderError, address: &dyn Display, span: Option<Span>) -> Diagnostic {
    let mut d = Diagnostic::error("Plugin call failed", error.to_string())
        .with_address(address.to_string());
    d.subject = span;
    d
}

/// Converts provider diagnostics, placed at the argument that they name if it can be found.
pub fn placed(
    said: &[ProviderDiagnostic],
    address: &dyn Display,
    body: Option<&lang::body::Body>,
    span: Option<Span>,
) -> Diagnostics {
    let mut out = Diagnostics::new();
    for d in said {
        let mut placed = match d.severity {
            model::Severity::Error => Diagnostic::error(&d.summary, d.detail.clone()),
            model::Severity::Warning => Diagnostic::warning(&d.summary, d.detail.clone()),
        }
        .with_address(address.to_string());
        placed.subject = span;
        if let (Some(body), Some(path)) = (body, &d.path) {
            let place = lang::decode::place_of(body, path);
            // A missing argument concerns the block as a whole.
            if place != body.missing_span() {
                placed.subject = Some(place);
                placed.context = span;
            }
        }
        out.push(placed);
    }
    out
}

/// Returns an error if an output's value has marks that the output does not declare.
pub(super) fn undeclared_marks(
    output: &Output,
    value: &Value,
    of_root: bool,
) -> Option<Diagnostic> {
    if value.contains_mark(&Mark::Ephemeral) && !output.ephemeral {
        let detail = "The value of this output is ephemeral. In a child module, declare the output with ephemeral = true; root outputs cannot be ephemeral.";
        let error = Diagnostic::error("Output refers to ephemeral values", detail);
        return Some(error.at(output.value.span));
    }
    // Within the configuration the mark stays; a root output would be readable outside.
    (value.contains_mark(&Mark::Sensitive) && !output.sensitive && of_root).then(|| {
        let detail = "To reduce the risk of accidentally exporting sensitive data that was intended to be only internal, root module outputs that contain sensitive data are required to be explicitly marked as sensitive: sensitive = true";
        Diagnostic::error("Output refers to sensitive values", detail).at(output.span)
    })
}

/// Returns an error if the state cannot contain the value of a root output: infinite numbers have
/// no JSON. Reported while planning.
pub(super) fn check_storable(output: &Output, value: &Value) -> Option<Diagnostic> {
    // Parts that are still unknown cannot be judged yet.
    let value = value.clone().unmark_deep().0.unknown_as_null();
    let error = cty::json::encode(&value, value.ty()).err()?;
    Some(not_storable(output, &error))
}

/// Returns the error for a value that the state cannot contain.
pub fn not_storable(output: &Output, error: &impl Display) -> Diagnostic {
    let detail = format!(
        "The value of output {} cannot be encoded for the state: {error}.",
        output.name
    );
    Diagnostic::error("Output cannot be stored", detail).at(output.span)
}
