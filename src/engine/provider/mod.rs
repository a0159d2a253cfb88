//! What a provider can be asked, whatever it speaks: the trait [`Provider`] over one model of
//! schema, plan and diagnostics. A dialect is a folder in here, with a line in [`dialect`]; above
//! there is only the trait. Owns no state itself.

pub mod bluelink;
pub mod builtin;
mod channel;
pub mod dialect;
pub mod functions;
mod grpc;
mod interface;
mod model;
mod schemas;
pub mod tfplugin;

pub use interface::{Provider, ProviderInfo};
pub use model::*;
pub use schemas::{ReadSchema, SchemaError, Schemas};
