//! Redirects of servers that store states. Only those to the same server are followed, because
//! headers have credentials and the body is a state.

use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Method, Url};

/// Maximum number of redirects of one request.
pub(super) const MOST: usize = 10;

/// Reasons why a redirect is not followed. Addresses are shown without user, password and query.
#[derive(Debug, thiserror::Error)]
pub enum RedirectError {
    #[error(
        "the server {from} redirects to another server, {to} (code {status}); nothing was sent there. If that server is correct, set its address in the configuration"
    )]
    OtherServer {
        from: String,
        to: String,
        status: u16,
    },
    /// Clients repeat a write with this code as a read.
    #[error(
        "the server redirects to {to} with code {status}, which turns a write into a read, so nothing was written. Set that address in the configuration"
    )]
    Write { to: String, status: u16 },
    #[error("the server redirects to an invalid address: {source}")]
    Address { source: super::error::BadUrl },
    #[error("the server redirected more than {MOST} times")]
    TooMany,
}

/// Returns the next address of a redirected request; `None` if this is the final answer.
pub(super) fn next(
    method: &Method,
    url: &Url,
    status: u16,
    headers: &HeaderMap,
) -> Result<Option<Url>, RedirectError> {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, location) else {
        return Ok(None);
    };
    let next = url.join(location);
    let next = next.map_err(|source| RedirectError::Address { source })?;
    // Credentials and state must not reach another server.
    if !is_same_server(url, &next) {
        return Err(RedirectError::OtherServer {
            from: server(url),
            to: server(&next),
            status,
        });
    }
    // Only these codes and methods repeat the request unchanged.
    if matches!(status, 307 | 308) || *method == Method::GET || *method == Method::HEAD {
        return Ok(Some(next));
    }
    Err(RedirectError::Write {
        to: format!("{}{}", server(&next), next.path()),
        status,
    })
}

/// Do both addresses belong to one server? An upgrade from http to https on default ports does. A
/// downgrade does not, because it would send the request unencrypted.
fn is_same_server(from: &Url, to: &Url) -> bool {
    let upgrade = (from.scheme(), to.scheme()) == ("http", "https")
        && from.port().is_none()
        && to.port().is_none();
    from.host_str() == to.host_str()
        && (upgrade
            || from.scheme() == to.scheme()
                && from.port_or_known_default() == to.port_or_known_default())
}

/// Scheme, host and port.
fn server(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;

    fn of(method: &str, from: &str, status: u16, to: &str) -> Result<Option<String>, String> {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, to.parse().unwrap());
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        next(&method, &Url::parse(from).unwrap(), status, &headers)
            .map(|found| found.map(String::from))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn redirect_within_the_same_server_keeps_the_method() {
        for (method, from, status, to, next) in [
            ("GET", "http://a/s", 302, "/t?x=1", "http://a/t?x=1"),
            ("GET", "http://a/s", 301, "https://a/s", "https://a/s"),
            ("HEAD", "https://a:443/s", 303, "https://a/t", "https://a/t"),
            (
                "POST",
                "http://a:81/s",
                307,
                "http://a:81/t",
                "http://a:81/t",
            ),
            ("LOCK", "http://a/s", 308, "https://a/s", "https://a/s"),
        ] {
            assert_eq!(of(method, from, status, to), Ok(Some(next.to_owned())));
        }
        assert_eq!(of("GET", "http://a/s", 200, "/t"), Ok(None));
        assert_eq!(of("GET", "http://a/s", 304, "/t"), Ok(None));
        let without = next(
            &Method::GET,
            &Url::parse("http://a/").unwrap(),
            301,
            &HeaderMap::new(),
        );
        assert!(without.unwrap().is_none());
    }

    #[test]
    fn redirect_to_another_server_is_refused_and_names_both() {
        for (from, to) in [
            ("http://a/s", "http://b/s"),
            ("http://a/s", "//b/s"),
            ("http://a/s", "http://a.b/s"),
            ("http://a/s", "http://a:81/s"),
            ("https://a/s", "http://a/s"),
            ("http://a:81/s", "https://a/s"),
            ("http://a/s", "file:///etc/passwd"),
        ] {
            for status in [301, 302, 303, 307, 308] {
                for method in ["GET", "POST", "LOCK", "DELETE"] {
                    let refused = of(method, from, status, to).unwrap_err();
                    assert!(refused.contains("nothing was sent there"), "{refused}");
                }
            }
        }
        let refused = of(
            "PUT",
            "http://u:secret@a/s?t=secret",
            307,
            "http://v:secret@b/s?t=secret",
        );
        let refused = refused.unwrap_err();
        assert!(
            refused.contains("http://a ") && refused.contains("http://b "),
            "{refused}"
        );
        assert!(!refused.contains("secret"), "{refused}");
    }

    #[test]
    fn redirect_that_would_turn_a_write_into_a_read_is_refused() {
        for (method, status) in [("POST", 302), ("PUT", 301), ("LOCK", 303), ("DELETE", 302)] {
            let refused = of(method, "http://a/s", status, "/t?t=secret").unwrap_err();
            assert!(refused.contains("http://a/t with code"), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
