//! Pool of provider processes: maps provider configurations to processes. The first process of an
//! address serves all calls without configuration and the first configuration; each further
//! configuration has its own process, unless its dialect sends it with each call. Owns the
//! assignment, the schemas and the adapters; supervisors own the processes.

mod assignment;
mod crew;
mod declared;
mod follow;
mod handle;
mod keeper;
mod launched;
mod process;
mod processes;
mod renewal;
mod settings;
mod shelf;
mod transformers;
mod witness;

pub use handle::Pool;
pub use processes::Blocked;
pub use settings::PoolSettings;
