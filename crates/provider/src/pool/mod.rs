//! Pool of provider processes: maps provider configurations to processes. The first process of an
//! address serves all calls without configuration and the first configuration; each further
//! configuration has its own process, unless its dialect sends it with each call. Owns the
//! assignment, the schemas and the adapters; supervisors own the processes.

mod assignment;
mod exit_watcher;
mod handle;
mod launched;
mod maintenance;
mod pooled_provider;
mod process;
mod processes;
mod registration;
mod replacement;
mod replicas;
mod schema_cache;
mod settings;
mod transformers;

pub use handle::Pool;
pub use processes::Blocked;
pub use settings::PoolSettings;
