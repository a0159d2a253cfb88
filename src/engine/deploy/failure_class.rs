//! Classifies failures that a provider reports: by the class that its dialect transmits, otherwise
//! by the text and attribute paths of its diagnostics. Pure.

use calls::ProviderDiagnostic;
use model::{FailureClass, Severity};
use regex::Regex;
use std::sync::LazyLock;

/// HTTP status as clients write it: `StatusCode: 403`, `Error 429:`, `HTTP/1.1 503`, `403
/// Forbidden`.
static STATUS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)\b(?:status(?:[ _-]?code)?|http(?:/[0-9.]+)?|error|code|response)[ :=("']{1,3}([45][0-9]{2})\b|\b([45][0-9]{2})[ :-]{1,3}(?:bad request|unauthorized|forbidden|too many requests|unprocessable|bad gateway|service unavailable|gateway time-?out)"#,
    )
});
/// Phrases for rate limits and temporary unavailability.
static PASSES: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)throttl|rate.?limit|rate exceeded|too ?many ?requests|request ?limit ?exceeded|\bslow ?down\b|(?:try|retry) again later|temporarily unavailable|service unavailable",
    )
});
/// Phrases for missing permissions.
static DENIED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)access ?denied|permission ?denied|unauthorized ?operation|not authorized|authorization ?failed|is forbidden: user|insufficient (?:permission|privilege)|unauthenticated|expired ?token|invalid ?client ?token",
    )
});
/// Phrases for a call that was cancelled.
static STOPPED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\bcancel|\bstopped\b|\binterrupted\b|\baborted\b"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test compiles every pattern")
}

/// Returns the class of provider diagnostics: as declared, otherwise by their text. With several
/// errors the first one with a class decides.
pub fn class_of(said: &[ProviderDiagnostic]) -> FailureClass {
    let errors = || said.iter().filter(|d| d.severity == Severity::Error);
    if let Some(said) = errors().find_map(|d| d.class) {
        return said;
    }
    let by_words = errors()
        .map(|d| class_of_text(&format!("{}\n{}", d.summary, d.detail)))
        .find(|c| *c != FailureClass::Unexpected);
    // A diagnostic that points to an argument blames the configuration.
    by_words.unwrap_or(if errors().any(|d| d.path.is_some()) {
        FailureClass::BadInput
    } else {
        FailureClass::Unexpected
    })
}

fn class_of_text(text: &str) -> FailureClass {
    // Phrases come first: some services report throttling with status 400.
    if PASSES.is_match(text) {
        return FailureClass::Transient;
    }
    if DENIED.is_match(text) {
        return FailureClass::Denied;
    }
    let status = STATUS
        .captures(text)
        .and_then(|found| found.get(1).or(found.get(2)));
    match status.map(|s| s.as_str()) {
        Some("401" | "403") => FailureClass::Denied,
        Some("400" | "422") => FailureClass::BadInput,
        Some("408" | "425" | "429" | "502" | "503" | "504") => FailureClass::Transient,
        _ => FailureClass::Unexpected,
    }
}

/// Returns true if the text of an otherwise unclassified failure says that the call was cancelled.
pub fn mentions_cancellation(summary: &str, detail: &str) -> bool {
    STOPPED.is_match(summary) || STOPPED.is_match(detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_errors_are_classified_by_their_text() {
        use FailureClass::*;
        for (text, class) in [
            // As written by the SDKs of cloud providers.
            (
                "creating S3 Bucket: operation error S3: CreateBucket, https response error StatusCode: 403, RequestID: Q, api error AccessDenied: no",
                Denied,
            ),
            (
                "https response error StatusCode: 403, RequestID: 1, something new",
                Denied,
            ),
            (
                "googleapi: Error 403: Required 'compute.create' permission for 'projects/p', forbidden",
                Denied,
            ),
            (
                "UnauthorizedOperation: You are not authorized to perform this operation.",
                Denied,
            ),
            (
                "pods is forbidden: User \"dev\" cannot create resource \"pods\"",
                Denied,
            ),
            ("GET https://api.example.com/v1: 401 Unauthorized", Denied),
            ("unexpected response: 429 Too Many Requests", Transient),
            (
                "googleapi: Error 429: Quota exceeded for quota metric 'Queries', rateLimitExceeded",
                Transient,
            ),
            (
                "api error ThrottlingException: Rate exceeded, StatusCode: 400",
                Transient,
            ),
            (
                "retry quota exceeded; the service answered with status code 503",
                Transient,
            ),
            ("HTTP/1.1 504 while waiting", Transient),
            (
                "https response error StatusCode: 400, api error MalformedPolicy: no",
                BadInput,
            ),
            // Numbers that are not a status, and words of no class.
            ("cannot create bucket error-403-pages", Unexpected),
            ("port 403 is in use", Unexpected),
            (
                "Statefulset is invalid: spec: Forbidden: updates are not allowed",
                Unexpected,
            ),
            ("https response error StatusCode: 500", Unexpected),
            ("something went wrong after 429 ms", Unexpected),
        ] {
            assert_eq!(
                class_of(&[ProviderDiagnostic::error("failed", text)]),
                class,
                "{text}"
            );
            assert_eq!(
                class_of(&[ProviderDiagnostic::error(text, "")]),
                class,
                "{text}"
            );
        }
    }

    #[test]
    fn failure_class_uses_text_before_the_attribute_path() {
        let at =
            |text: &str| ProviderDiagnostic::error(text, "").at(cty::Path::root().attr("name"));
        assert_eq!(class_of(&[at("too long")]), FailureClass::BadInput);
        assert_eq!(class_of(&[at("AccessDenied")]), FailureClass::Denied);
        assert_eq!(
            class_of(&[ProviderDiagnostic::error("no", ""), at("no")]),
            FailureClass::BadInput
        );
        assert_eq!(class_of(&[]), FailureClass::Unexpected);
        assert!(
            mentions_cancellation("waiting for it", "context canceled")
                && mentions_cancellation("cannot create: stopped", "")
        );
        assert!(!mentions_cancellation("the name is taken", "unstoppable"));
    }
}
