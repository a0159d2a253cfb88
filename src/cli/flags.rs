//! OpenTofu's flags: a table of all of them, and the shared flags of several commands.

mod booleans;
mod groups;
mod shared;
mod table;
#[cfg(test)]
mod tests;

pub(super) use booleans::normalize_booleans;
pub(super) use shared::{SharedFlags, built, command, parse};
pub(super) use table::{reference_names, refusal};
