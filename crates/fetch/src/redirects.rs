//! Redirects of registries, mirrors and servers with archives.

use crate::redact::redacted;
use reqwest::redirect::Policy;

/// Most redirects of one request.
const MAX_REDIRECTS: usize = 10;

/// Follows redirects as browsers do, but never from https to http, where anybody on the network
/// path could replace the download.
pub(crate) fn redirects() -> Policy {
    Policy::custom(|attempt| {
        let was_secure = attempt.previous().iter().any(|url| url.scheme() == "https");
        if attempt.previous().len() > MAX_REDIRECTS {
            attempt.error(format!("it redirects more than {MAX_REDIRECTS} times"))
        } else if was_secure && attempt.url().scheme() != "https" {
            let why = format!("it redirects from https to {}", attempt.url());
            attempt.error(redacted(&why))
        } else {
            attempt.follow()
        }
    })
}
