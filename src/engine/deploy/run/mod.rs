//! One deploy from beginning to end: the walk over its steps, with every call that changes the
//! world on record before and after. Owns the values of the deploy; state and history belong to the
//! store.

mod apply;
mod approved;
mod aside;
mod checked;
mod deploying;
mod destroy;
mod instances;
mod links;
mod outcome;
mod outputs;
mod read;
mod step;
mod trouble;
mod turns;

pub use deploying::{Deploying, Stops, Went};
pub use trouble::Trouble;
