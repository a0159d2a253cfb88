//! The same provider for hosts of Bluelink's kind: it registers itself with its host, and serves
//! the provider service there. Such a host plans by schemas and keeps the configuration, so what
//! it sends is put together here to what an author's code is given in any case.

mod config;
mod data;
mod error;
mod host;
mod links;
mod node;
mod reply;
mod resource;
mod serve;
mod server;
mod set;
mod value;

pub(crate) use serve::serve;
