//! Percent-encoding of URL queries.

/// Percent-encodes everything but letters, digits and `-_.~`; a space becomes `+`.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(byte as char)
            }
            b' ' => out.push('+'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Errors in percent-encoded text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnescapeError {
    #[error("invalid URL escape {0:?}")]
    Escape(String),
    #[error("the decoded text is not valid UTF-8")]
    NoText,
}

/// Decodes text encoded by [`escape`].
///
/// # Errors
/// An escape is invalid, or the result is not UTF-8.
pub(crate) fn unescape(text: &str) -> Result<String, UnescapeError> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'+' => out.push(b' '),
            b'%' => {
                let digits = bytes
                    .get(at + 1..at + 3)
                    .and_then(|d| std::str::from_utf8(d).ok());
                // The digits are checked, because the number parser would accept a sign.
                let value = digits
                    .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))
                    .and_then(|d| u8::from_str_radix(d, 16).ok());
                let Some(value) = value else {
                    let shown =
                        String::from_utf8_lossy(&bytes[at..(at + 3).min(bytes.len())]).into_owned();
                    return Err(UnescapeError::Escape(shown));
                };
                out.push(value);
                at += 2;
            }
            other => out.push(other),
        }
        at += 1;
    }
    String::from_utf8(out).map_err(|_| UnescapeError::NoText)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_escapes_round_trip_and_malformed_escapes_are_rejected() {
        let text = "foo:bar@localhost?a=b&c=ä ö+~";
        assert_eq!(
            escape(text),
            "foo%3Abar%40localhost%3Fa%3Db%26c%3D%C3%A4+%C3%B6%2B~"
        );
        assert_eq!(unescape(&escape(text)).unwrap(), text);
        assert!(unescape("%zz").is_err() && unescape("%2").is_err() && unescape("%FF").is_err());
    }
}
