//! How a provider process lives: the handshake line on its output, gRPC over a socket of its own,
//! its schema as the proof that it works, and `Shutdown` as the way to ask it to end. Owns nothing;
//! a launch owns what is made here.

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
