//! Life cycle of a provider process: handshake line on its output, gRPC over its socket, the schema
//! as a readiness check, and `Shutdown` to end it. Keeps no state; a launch owns everything created
//! here.

mod failure;
mod launch;
mod link;
mod schema;
mod stdio;
mod transport;

pub use failure::TfFailure;
pub use launch::TfLife;
pub use link::TfLink;
pub use schema::SchemaReply;
pub use transport::MESSAGE_LIMIT;
