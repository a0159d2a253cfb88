//! Which process serves which provider configuration. The first process of an address serves
//! everything that needs no configuration and the first configuration; every further configuration
//! has a process of its own, unless its dialect sends it with each call. Owns the assignment, the
//! providers' schemas and the adapters; the processes belong to their supervisors.

mod assignment;
mod declared;
mod follow;
mod handle;
mod process;
mod processes;
mod settings;
mod shelf;

pub use handle::Pool;
pub use processes::Blocked;
pub use settings::PoolSettings;
