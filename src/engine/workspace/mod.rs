//! The workspace: what is declared on disk, and what refers to what. Reads files; evaluates
//! nothing.

mod agreed;
mod encrypted;
pub mod home;
pub mod initialize;
pub mod links;
pub mod load;
pub mod named;
pub mod provider_addr;
pub mod refs;
