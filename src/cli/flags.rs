//! Flags of OpenTofu's commands: a table of all of them, and those that many commands share.

mod booleans;
mod groups;
mod shared;
mod table;
#[cfg(test)]
mod tests;

pub(super) use booleans::spelled;
pub(super) use shared::{SharedFlags, built, command, parse};
pub(super) use table::{reference_names, refusal};
