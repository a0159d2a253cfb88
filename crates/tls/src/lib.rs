//! TLS configuration of all clients of remote servers: registries, mirrors, backends, databases,
//! collectors. Plugin connections use their own. Owns no state.

mod config;
mod verifier;

pub use config::{Identity, TlsError, certificates, client, web_client};
pub use verifier::{Roots, any_server, verifier};
