//! Dialect of Bluelink (formerly Celerity) plugins. A process registers at a service of the host
//! and is called back at the address it reports. The protocol has no plan call, so the adapter
//! computes changes, defaults and merged values, and repeats transient calls.

mod adapter;
mod changes;
mod check;
mod context;
mod convert;
mod data;
mod deploy;
mod documentation;
mod drift;
mod function;
mod gate;
mod life;
mod links;
mod looking;
mod merge;
mod neighbours;
mod paths;
mod plan;
mod replies;
mod retain;
mod retry;
mod schema;
mod settings;
mod signature;
mod speaking;
mod stability;
mod state;
#[cfg(test)]
mod tests;
mod unfit;
mod wire;

pub use settings::BluelinkSettings;
pub use speaking::Bluelink;
