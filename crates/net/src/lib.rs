//! Clients of remote servers: TLS configuration, check of servers against trusted certificates, and
//! the HTTP client of registries, mirrors, backends and collectors. Plugin connections use their
//! own TLS. Owns no state.
//!
//! ```
//! let client = net::http_client(&net::HttpOptions::default()).unwrap();
//! let request = client.get("https://registry.opentofu.org/.well-known/terraform.json");
//! assert!(request.build().is_ok());
//! ```

mod config;
mod http_client;
mod redact;
mod verifier;

pub use config::{Identity, TlsError, certificates, client};
pub use http_client::{HttpClientError, HttpOptions, Redirects, http_client};
pub use redact::{mask, redacted};
pub use verifier::{Roots, any_server, verifier};
