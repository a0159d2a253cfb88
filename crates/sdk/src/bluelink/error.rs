//! Conversion of failures to the host's error messages.

use prost::Message as _;
use prost_types::Any;
use proto::bluelink::sharedtypesv1::{ErrorCode, ErrorResponse};

use crate::calls::failure_diagnostics;
use crate::diagnostics::{Diagnostic, Failure, Severity};

/// Encoding of details: JSON in a bytes value in `Any`.
pub(super) const BYTES: &str = "type.googleapis.com/google.protobuf.BytesValue";

/// Converts a failure. The code is "transient" if a retry can help, "bad input" if an attribute is
/// named, and "unexpected" otherwise.
pub(super) fn error_response(failure: Failure) -> ErrorResponse {
    let transient = failure.transient;
    // A failure without an error would be a response without a reason.
    let said = failure_diagnostics(failure);
    let errors = || said.0.iter().filter(|one| one.severity == Severity::Error);
    let reasons: Vec<String> = errors().map(sentence).collect();
    let code = match errors().any(|one| one.attribute.is_some()) {
        _ if transient => ErrorCode::Transient,
        true => ErrorCode::BadInput,
        false => ErrorCode::Unexpected,
    };
    // Some hosts show only the message of a transient error.
    let message = match (code, &reasons[..]) {
        (ErrorCode::Transient, _) => reasons.join("; "),
        (_, [_]) => errors().map(|one| one.summary.clone()).collect(),
        (_, all) => format!("{} errors", all.len()),
    };
    let details = serde_json::json!({ "failureReasons": reasons });
    ErrorResponse {
        code: code.into(),
        message,
        details: Some(Any {
            type_url: BYTES.to_owned(),
            value: details.to_string().into_bytes().encode_to_vec(),
        }),
    }
}

/// Creates an unexpected error with this message.
pub(super) fn unexpected(message: impl Into<String>) -> ErrorResponse {
    ErrorResponse {
        code: ErrorCode::Unexpected.into(),
        message: message.into(),
        details: None,
    }
}

/// Formats a diagnostic as one line: attribute, summary and detail.
pub(super) fn sentence(one: &Diagnostic) -> String {
    let place = one.attribute.as_ref().map(ToString::to_string);
    let mut text = match place.as_deref().map(|place| place.trim_start_matches('.')) {
        Some(place) if !place.is_empty() => format!("{place}: {}", one.summary),
        _ => one.summary.clone(),
    };
    if !one.detail.is_empty() {
        text = format!("{text}: {}", one.detail);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Diagnostics;

    fn reasons(error: &ErrorResponse) -> serde_json::Value {
        let bytes = Vec::<u8>::decode(&*error.details.as_ref().unwrap().value).unwrap();
        serde_json::from_slice::<serde_json::Value>(&bytes).unwrap()["failureReasons"].clone()
    }

    #[test]
    fn failures_map_to_error_codes_and_reasons() {
        let plain = error_response(Failure::new("refused", "403"));
        assert_eq!(plain.code(), ErrorCode::Unexpected);
        assert_eq!(plain.message, "refused");
        assert_eq!(reasons(&plain), serde_json::json!(["refused: 403"]));
        let passing = error_response(Failure::new("throttled", "429").transient());
        assert_eq!(passing.code(), ErrorCode::Transient);
        assert_eq!(passing.message, "throttled: 429");
        let input = error_response(Diagnostic::error("too long", "").at_attr("name").into());
        assert_eq!(input.code(), ErrorCode::BadInput);
        assert_eq!(reasons(&input), serde_json::json!(["name: too long"]));
        let mut two = Diagnostics::new();
        two.error("one", "");
        two.error("two", "");
        assert_eq!(error_response(two.into()).message, "2 errors");
    }
}
