//! Connection setup of go-plugin, for both ends: environment variables, handshake line,
//! certificates, TLS. Independent of gRPC and processes. The only state is the session's
//! certificate.

pub mod env;
pub mod handshake;
pub mod identity;
pub mod tls;

pub use handshake::{Address, Handshake, HandshakeError};
pub use identity::{CertificateError, Identity};
pub use tls::TlsError;
