//! Library for providers in Rust: the server side of provider protocol 6 and of Bluelink's
//! protocol.
//!
//! The typed layer is for most authors: structs with `#[derive(Resource)]` are schemas, the traits
//! [`Lifecycle`], [`Updatable`], [`Lookup`] and [`Ephemeral`] have the calls, and [`TypedProvider`]
//! puts them together. The untyped traits [`Provider`], [`Resource`] and [`DataSource`] are below
//! it. The SDK handles process setup, sockets, certificates and encodings. [`internal_validate`]
//! and [`testing`] are for tests of a provider.
//!
//! The environment tells which kind of host started the process. With go-plugin's magic cookie, the
//! process serves protocol 6. With the port of a registration server, as Bluelink hosts set it, the
//! provider registers as `PUBLISHER/NAME`, and its type `notes_note` becomes `notes/note`. A
//! Bluelink host receives the parts of the schema that it plans by: defaults, computed attributes,
//! replacement and sensitivity. It does not support ephemeral resources, write-only attributes and
//! private data of a state.
//!
//! ```no_run
//! use sdk::{Computed, Context, Lifecycle, Resource, Result, TypedProvider, async_trait};
//!
//! /// Note.
//! #[derive(Resource)]
//! #[resource(name = "notes_note")]
//! struct Note {
//!     /// Title.
//!     #[attr(replaces)]
//!     title: String,
//!     /// Text.
//!     #[attr(replaces, default = "")]
//!     text: String,
//!     /// Id.
//!     #[attr(stable)]
//!     id: Computed<String>,
//! }
//!
//! #[async_trait]
//! impl Lifecycle for Note {
//!     type Client = ();
//!     async fn create(_: &Context, _: &(), mut note: Note) -> Result<Note> {
//!         note.id.set("note-1");
//!         Ok(note)
//!     }
//!     async fn read(_: &Context, _: &(), note: Note) -> Result<Option<Note>> {
//!         Ok(Some(note))
//!     }
//!     async fn delete(_: &Context, _: &(), _: Note) -> Result<()> {
//!         Ok(())
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     let provider = TypedProvider::new("notes", |_, _: ()| async { Ok(()) });
//!     sdk::main(provider.immutable_resource::<Note>())
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
pub use sdk_derive::{DataSource, EphemeralResource, Model, Resource};
pub use serve::{Options, ServeError, main, serve, serve_with};
pub use typed::{
    AttributeType, BlockType, Computed, Ephemeral, Lifecycle, Lookup, Model, Named, Plan,
    TypedProvider, Updatable, Update, Variadic,
};
pub use validate::{SchemaError, SchemaFlaw, internal_validate};
