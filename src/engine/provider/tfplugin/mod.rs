//! The dialects tfplugin 5 and 6 over the one model. Their messages are the same on the wire but
//! for schemas, so one adapter serves both; what differs is in `wire` (paths) and `schema`
//! (attributes).

mod adapter;
mod convert;
mod function;
mod life;
mod plan;
mod requests;
mod schema;
mod speaking;
mod wire;

pub use adapter::{Identities, TfProvider};
pub use life::{MESSAGE_LIMIT, SchemaReply, TfFailure, TfLife, TfLink};
pub use plan::plan_answer;
pub use schema::provider_schema;
pub use speaking::TfPlugin;
pub use wire::Protocol;
