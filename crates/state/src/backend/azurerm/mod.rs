//! The azurerm backend: one blob for each workspace, locked by a lease without an end. The blob's
//! metadata names the lock owner.

mod access;
mod assertion;
mod blob;
mod cloud;
mod container;
mod error;
mod states;
mod tokens;

pub(super) use states::Azure;
