//! Serves a provider to Bluelink hosts: registers it with the host and implements the provider
//! service. A Bluelink host plans by itself and keeps the configuration, so this module
//! reconstructs the arguments that an author's code gets over protocol 6.

mod computed_values;
mod config;
mod data;
mod error;
mod function;
mod host;
mod node;
mod reply;
mod resource;
mod serve;
mod server;
mod test_host;
mod unsupported;
mod value;

pub(crate) use serve::serve;
pub(crate) use test_host::TestHost;
