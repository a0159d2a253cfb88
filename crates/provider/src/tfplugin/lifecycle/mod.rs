//! Lifecycle of a provider process: handshake line on its output, gRPC over its socket, the schema
//! as a readiness check, and `Shutdown` to end it. Keeps no state; a launch owns everything created
//! here.

mod connection;
mod failure;
mod launch;
mod schema;
mod stdio;
mod transport;

pub use connection::TfLink;
pub use failure::TfFailure;
pub use launch::TfLifecycle;
pub use schema::SchemaReply;
pub use transport::MESSAGE_LIMIT;
