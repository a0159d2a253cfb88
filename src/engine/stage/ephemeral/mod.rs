//! Ephemeral resources: opened where a walk comes to them, renewed while something needs them,
//! closed once nothing does. Nothing of them is kept: not in the state, not with the stage.

mod leases;
mod open;

pub use leases::Leases;
pub use open::{When, nothing_known};
