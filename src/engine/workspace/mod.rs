//! The workspace on disk: configuration, selected workspace, backend and its metadata, references
//! in expressions. `init` and the workspace commands write here; all else reads. Launches no
//! plugin.

mod agreed;
mod encrypted;
pub mod home;
pub mod initialize;
pub mod links;
pub mod load;
pub mod named;
pub mod provider_addr;
pub mod refs;
