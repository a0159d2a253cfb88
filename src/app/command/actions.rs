//! What commands do to the state, and when they can be used.

mod general;
mod places;
mod stage;

pub use general::*;
pub use places::*;
pub use stage::*;
