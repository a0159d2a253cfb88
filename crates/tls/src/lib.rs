//! The TLS configuration of every client of a server outside of this machine's plugins: registries,
//! mirrors, backends, databases, collectors. Owns no state.

mod config;
mod verifier;

pub use config::{Identity, TlsError, certificates, client, web_client};
pub use verifier::{Roots, any_server, verifier};
