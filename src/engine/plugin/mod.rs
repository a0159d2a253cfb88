//! Plugin processes: search, launch, supervision and logs. One supervisor task owns each process;
//! all other code holds a handle, [`Plugin`]. Reports are sent to [`PluginObserver`]. The module
//! knows no dialect: [`life::Life`] defines how a process is prepared, becomes ready and ends.

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
mod incident;
mod launch;
pub mod life;
mod logs;
pub mod marked;
mod newborn;
mod observer;
mod oom;
pub mod orphans;
mod parse;
mod programs;
mod settings;
mod spawn;
mod supervisor;
mod usage;

pub use connection::Connection;
pub(in crate::engine) use executable::FileIdentity;
pub use failure::{Exit, StartFailure, Suspicion, Unfit};
pub(in crate::engine) use failure::{ITS_ERROR, REINSTALL};
pub use fleet::Plugins;
pub(in crate::engine) use group::Group;
pub(in crate::engine) use handle::{Fit, NotReplaced};
pub use handle::{Plugin, PluginError};
pub use incident::Incident;
pub(in crate::engine) use logs::read_line;
pub use newborn::{Feed, Newborn, Pieces};
pub use observer::PluginObserver;
pub use oom::Memory;
pub use parse::{LineParser, Parsed, opens_panic};
pub(in crate::engine) use programs::Expected;
pub use programs::{Pinned, Programs};
pub use settings::{Address, PluginSettings, Reattach, SocketError, SpawnSpec, Start};
pub(in crate::engine) use spawn::die_with_parent;
