//! The workspace on disk: configuration, backend, references. Reads files; evaluates nothing.

mod agreed;
mod encrypted;
pub mod home;
pub mod initialize;
pub mod links;
pub mod load;
pub mod named;
pub mod provider_addr;
pub mod refs;
