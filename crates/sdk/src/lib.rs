//! Library for providers in Rust: the server side of provider protocol 6 and of Bluelink's
//! protocol.
//!
//! An author implements [`Provider`] with [`Resource`]s, [`DataSource`]s and
//! [`EphemeralResource`]s, and a `main` of one line. The SDK handles process setup, sockets,
//! certificates and encodings.
//!
//! The environment tells which kind of host started the process. With go-plugin's magic cookie, the
//! process serves protocol 6. With the port of a registration server, as Bluelink hosts set it, the
//! provider registers as `PUBLISHER/NAME`, and its type `notes_note` becomes `notes/note`. A
//! Bluelink host receives the parts of the schema that it plans by: defaults, computed attributes,
//! replacement and sensitivity. It does not support ephemeral resources, write-only attributes and
//! private data of a state.
//!
//! ```no_run
//! use std::sync::Arc;
//! use sdk::schema::{Attr, Schema};
//! use sdk::{Change, Context, Diagnostics, Failure, Object, Provider, Resource, State};
//! use sdk::async_trait;
//!
//! struct Notes;
//!
//! impl Provider for Notes {
//!     fn name(&self) -> &str {
//!         "notes"
//!     }
//!     fn resources(&self) -> Vec<Arc<dyn Resource>> {
//!         vec![Arc::new(Note)]
//!     }
//! }
//!
//! struct Note;
//!
//! #[async_trait]
//! impl Resource for Note {
//!     fn name(&self) -> &str {
//!         "notes_note"
//!     }
//!     fn schema(&self) -> Schema {
//!         Schema::new()
//!             .attr(Attr::string("title").required().replaces())
//!             .attr(Attr::string("text").default("".into()))
//!             .attr(Attr::string("id").computed().stable())
//!     }
//!     async fn create(&self, _: &Context, change: Change) -> Result<State, Failure> {
//!         let wrong = |problem| Failure::new("the note is not valid", problem);
//!         let mut note = Object::of(&change.planned).map_err(wrong)?;
//!         note.set("id", "note-1");
//!         note.into_value().map(State::new).map_err(wrong)
//!     }
//!     async fn read(&self, _: &Context, state: State) -> Result<Option<State>, Failure> {
//!         Ok(Some(state))
//!     }
//!     async fn update(&self, _: &Context, change: Change) -> Result<State, Failure> {
//!         Ok(State::new(change.planned))
//!     }
//!     async fn delete(&self, _: &Context, _: State) -> Result<Diagnostics, Failure> {
//!         Ok(Diagnostics::new())
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     sdk::main(Notes)
//! }
//! ```

mod bluelink;
mod calls;
mod check;
mod codec;
mod diagnostics;
mod function;
mod identity;
mod limits;
pub mod log;
mod methods;
mod object;
mod partial;
mod plan;
mod provider;
pub mod schema;
mod serve;
mod service;
mod services;
pub mod testing;
mod transport;
pub mod typed;
mod validate;
mod values;
mod wire_schema;

/// Result of a call.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

pub use async_trait::async_trait;
pub use codec::{from_json, to_json};
pub use cty::{Path, Type, Value};
pub use diagnostics::{Deferral, Diagnostic, Diagnostics, Failure, Severity};
pub use function::{Function, FunctionError, Parameter, Signature};
pub use object::{Object, ObjectError};
pub use partial::Partial;
pub use provider::{
    Change, Context, DataSource, EphemeralResource, MovedState, Opened, Planned, Planning,
    Provider, Renewed, Resource, State, Upgrader, import_by, no_update,
};
pub use schema::{Attr, Block, Nested, Nesting, Operation, Schema, Timeouts};
pub use sdk_derive::{DataSource, Model, Resource};
pub use serve::{Options, ServeError, main, serve, serve_with};
pub use typed::{
    AttributeType, BlockType, Computed, Lifecycle, Lookup, Model, Named, TypedProvider, Updatable,
    Update,
};
pub use validate::{SchemaError, SchemaFlaw, internal_validate};
