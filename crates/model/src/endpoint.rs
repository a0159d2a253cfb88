//! Addresses of monitoring endpoints.

use std::fmt;
use std::str::FromStr;

/// Default path of a trace collector.
const PATH: &str = "/v1/traces";

/// Endpoint for traces, OTLP over HTTP: `http://127.0.0.1:4318`, optionally with a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(http::Uri);

/// Invalid endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}; use the URL of an OTLP/HTTP collector, such as http://127.0.0.1:4318")]
pub struct EndpointError {
    why: String,
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let refused = |why: String| EndpointError { why };
        let uri: http::Uri = text
            .parse()
            .map_err(|e| refused(format!("{text:?} is not a URL ({e})")))?;
        match uri.scheme_str() {
            Some("http" | "https") => Ok(Self(uri)),
            _ => Err(refused(format!(
                "{text:?} does not start with http:// or https://"
            ))),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.path() {
            "" | "/" => write!(f, "{}{PATH}", self.0.to_string().trim_end_matches('/')),
            _ => self.0.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    #[test]
    fn endpoint_without_a_path_uses_the_default_path() {
        for (text, whole) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("https://c.example/", "https://c.example/v1/traces"),
            ("https://c.example/a/b", "https://c.example/a/b"),
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), whole);
        }
        for text in ["127.0.0.1:4318", "grpc://a:1", "", "http://"] {
            let error = text.parse::<Endpoint>().unwrap_err().to_string();
            assert!(error.contains("http://127.0.0.1:4318"), "{error}");
        }
    }
}
