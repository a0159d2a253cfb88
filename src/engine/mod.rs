//! The engine: launches plugins, stages, deploys, remembers. Knows neither the console nor the
//! command line.

pub mod bus;
pub mod calls;
mod causes;
mod cores;
pub mod deploy;
pub mod doctor;
pub mod error;
pub mod fmt;
pub mod graph;
pub mod handle;
pub mod holder;
pub mod install;
pub mod logging;
pub mod memory;
pub mod metrics;
mod mutex;
pub mod plugin;
pub mod pool;
pub mod process;
pub mod provider;
pub mod room;
mod secrets;
pub mod settings;
pub mod shell;
pub mod source;
pub mod stage;
pub mod state;
pub mod store;
pub mod told;
pub mod traces;
pub mod trust;
mod trust_file;
pub mod trusted_commands;
pub mod view;
pub mod visible;
pub mod words;
mod work;
pub mod workspace;

pub use error::EngineError;
pub use handle::Engine;
pub use secrets::Secrets;
pub use settings::{Access, Settings};
