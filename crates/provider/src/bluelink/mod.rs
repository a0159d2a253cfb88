//! Dialect of Bluelink (formerly Celerity) plugins. A process registers at a service of the host
//! and is called back at the address it reports. The protocol has no plan call, so the adapter
//! computes changes, defaults and merged values, and repeats transient calls.

mod adapter;
mod changes;
mod check;
mod context;
mod convert;
mod cross_plugin_calls;
mod data;
mod decode_error;
mod deploy;
mod dialect;
mod documentation;
mod drift;
mod function;
mod host_requests;
mod lifecycle;
mod links;
mod merge;
mod paths;
mod plan;
mod read;
mod replies;
mod retain;
mod retry;
mod schema;
mod settings;
mod signature;
mod stability;
mod state;
#[cfg(test)]
mod tests;
mod wire;

pub use dialect::Bluelink;
pub use settings::BluelinkSettings;
