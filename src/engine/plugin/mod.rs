//! Plugin processes: finding, launching, supervising, logs. Each process is owned by one supervisor task; everything
//! else holds a [`Plugin`], a handle. Reports leave through [`record::PluginObserver`].

mod board;
mod connection;
mod executable;
mod failure;
pub mod find;
mod fleet;
mod gate;
mod group;
mod handle;
mod hearing;
mod identity;
mod incident;
mod launch;
mod logs;
mod oom;
mod parse;
pub mod record;
mod schema;
mod settings;
mod spawn;
mod stdio;
mod supervisor;
mod transport;
mod usage;

pub use connection::Connection;
pub use failure::{Exit, StartFailure};
pub use fleet::Plugins;
pub(in crate::engine) use group::Group;
pub use handle::{Plugin, PluginError};
pub use identity::ProcessIdentity;
pub use incident::Incident;
pub(in crate::engine) use logs::read_line;
pub use oom::Memory;
pub use parse::{LineParser, Parsed, opens_panic};
pub use schema::SchemaReply;
pub use settings::{PluginSettings, Reattach, SpawnSpec, Start};
pub(in crate::engine) use spawn::die_with_parent;
pub use transport::MESSAGE_LIMIT;
pub(super) use transport::too_large;
