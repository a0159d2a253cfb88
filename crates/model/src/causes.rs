//! Formats an error with all its causes, because libraries keep the reason in the cause.

use std::error::Error;

/// Message of an error with its causes.
pub fn told(error: &dyn Error) -> String {
    append_causes(error.to_string(), error)
}

/// Appends the causes of an error to a text; skips causes that the text already contains.
pub fn append_causes(mut text: String, error: &dyn Error) -> String {
    let mut next = error.source();
    while let Some(cause) = next {
        let of_cause = cause.to_string();
        if text.is_empty() {
            text = of_cause;
        // Many libraries repeat the cause in their own message.
        } else if !text.contains(&of_cause) {
            text = format!("{text}: {of_cause}");
        }
        next = cause.source();
    }
    text
}
