//! Write a provider in Rust: the server side of provider protocol 6.
//!
//! An author writes a [`Provider`] with [`Resource`]s and [`DataSource`]s, and a `main` of one line:
//! `fn main() -> std::process::ExitCode { sdk::main(MyProvider::default()) }`. Processes, sockets,
//! certificates and encodings are done here; the state of the world is the author's.

mod check;
mod codec;
mod diagnostics;
pub mod log;
mod object;
mod plan;
mod provider;
pub mod schema;
mod serve;
mod service;
mod services;
mod transport;
mod wire_schema;

pub use async_trait::async_trait;
pub use codec::{from_json, to_json};
pub use diagnostics::{Diagnostic, Diagnostics, Failure, Severity};
pub use object::Object;
pub use provider::{Change, Context, DataSource, Planned, Planning, Provider, Resource, State, import_by};
pub use schema::{Attr, Block, Nested, Nesting, Schema};
pub use serve::{Options, ServeError, main, serve, serve_with};
