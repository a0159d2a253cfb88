//! Plugin processes: search, launch, supervision and logs. One supervisor task owns each process;
//! all other code holds a handle, [`Plugin`]. Reports are sent to [`PluginObserver`]. The module
//! knows no dialect: [`lifecycle::Lifecycle`] defines how a process is prepared, becomes ready and
//! ends.
//!
//! ```
//! use flightdeck_plugin::LineParser;
//!
//! let line = LineParser::default().parse(r#"{"@level":"warn","@message":"slow"}"#);
//! assert_eq!((line.level, line.text.as_str()), (model::LogLevel::Warn, "slow"));
//! ```

mod connection;
pub mod descendants;
mod executable;
mod failure;
pub mod find;
mod fleet;
mod group;
mod handle;
mod incident;
mod launch;
pub mod lifecycle;
mod log_rate_limit;
mod logs;
mod observer;
mod oom;
pub mod orphans;
mod parse;
mod pipe_drain;
mod programs;
mod settings;
mod spawn;
mod starting;
mod status;
mod supervisor;
pub mod trust;
mod usage;
pub mod withheld;

pub use connection::Connection;
pub use executable::FileIdentity;
pub use failure::{Exit, IncompatiblePlugin, StartFailure, Suspicion};
pub use failure::{ITS_ERROR, REINSTALL};
pub use fleet::Plugins;
pub use group::Group;
pub use handle::{Fit, NotReplaced};
pub use handle::{Plugin, PluginError};
pub use incident::Incident;
pub use logs::read_line;
pub use observer::PluginObserver;
pub use oom::Memory;
pub use parse::{LineParser, Parsed, opens_panic, panic_message};
pub use programs::Expected;
pub use programs::{Pin, PinnedExecutables};
pub use settings::{Address, PluginSettings, Reattach, SocketError, SpawnSpec, Start};
pub use spawn::{detach_from_terminal, set_parent_death_signal};
pub use starting::{LogInput, Pieces, StartingProcess};
