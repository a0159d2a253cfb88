//! The go-plugin start of a conversation, both ends: environment names, handshake line,
//! certificates, TLS. Knows nothing of gRPC or of processes; owns no state but the session's
//! certificate.

pub mod env;
pub mod handshake;
pub mod identity;
pub mod tls;

pub use handshake::{Address, Handshake, HandshakeError};
pub use identity::{CertificateError, Identity};
pub use tls::TlsError;
