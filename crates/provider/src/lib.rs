//! Providers: the trait [`Provider`] over one model of schemas, plans and diagnostics. Each dialect
//! is a folder here with a line in [`dialect`]; the layers above use only the trait. Keeps no
//! state.
//!
//! ```
//! use flightdeck_provider::dialect::Dialects;
//!
//! let settings = model::settings::Settings::new("/srv/app");
//! let dialects = Dialects::of_workspace(&settings);
//! # let _ = dialects;
//! ```

pub mod bluelink;
pub mod builtin;
mod channel;
pub mod dialect;
pub mod functions;
mod grpc;
mod interface;
mod messages;
pub mod pool;
mod schemas;
pub mod tfplugin;

pub use interface::{Provider, ProviderInfo};
pub use messages::*;
pub use schemas::{ReadSchema, SchemaError, Schemas};
