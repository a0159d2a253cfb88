//! Redirect policy for registries, mirrors and archive servers.

use crate::redact::redacted;
use reqwest::redirect::Policy;

/// Maximum number of redirects of one request.
const MAX_REDIRECTS: usize = 10;

/// Redirect policy of browsers, except that https never redirects to http, where anyone on the
/// network path could replace the download.
pub(crate) fn redirects() -> Policy {
    Policy::custom(|attempt| {
        let was_secure = attempt.previous().iter().any(|url| url.scheme() == "https");
        if attempt.previous().len() > MAX_REDIRECTS {
            attempt.error(format!(
                "the server redirected more than {MAX_REDIRECTS} times"
            ))
        } else if was_secure && attempt.url().scheme() != "https" {
            let why = format!(
                "the server redirected from https to {}, which is not encrypted",
                attempt.url()
            );
            attempt.error(redacted(&why))
        } else {
            attempt.follow()
        }
    })
}
