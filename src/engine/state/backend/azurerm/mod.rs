//! States in a container of Azure's storage: a blob a workspace, locked by a lease without an end,
//! whose holder stands in the blob's metadata.

mod access;
mod assertion;
mod blob;
mod cloud;
mod container;
mod error;
mod states;
mod tokens;

pub(super) use states::Azure;
