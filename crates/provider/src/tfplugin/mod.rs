//! Dialects tfplugin 5 and 6. Except for schemas, their messages are identical on the wire, so one
//! adapter serves both; the differences are in `wire` (paths) and `schema` (attributes).

mod adapter;
mod convert;
mod dialect;
mod function;
mod lifecycle;
mod plan;
mod requests;
mod schema;
mod wire;

pub use adapter::{Identities, TfProvider};
pub use dialect::TfPlugin;
pub use lifecycle::{MESSAGE_LIMIT, SchemaReply, TfFailure, TfLifecycle, TfLink};
pub use plan::plan_answer;
pub use schema::provider_schema;
pub use wire::Protocol;
