//! Which process serves which provider configuration. The first process of an address serves
//! everything that needs no configuration and the first configuration; every further configuration
//! has a process of its own, unless its dialect sends it with each call. Where that is wanted, more
//! processes serve one configuration, as many as there is work for; those that nobody uses end, and
//! those that are worn or whose file has changed are replaced while their calls go on. Beside them
//! are the transformers, which serve none. Owns the assignment, the providers' schemas and the
//! adapters; the processes belong to their supervisors.

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
