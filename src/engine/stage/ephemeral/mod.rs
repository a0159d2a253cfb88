//! Ephemeral resources: opened when a walk reaches them, renewed while a step needs them, closed
//! afterwards. Neither the state nor the stage contains them.

mod leases;
mod open;

pub use leases::Leases;
pub use open::{OpenTime, unknown_value};
