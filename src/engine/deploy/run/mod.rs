//! Sequence of one deploy: walks its steps and records every call that changes something before and
//! after it. Owns the deploy's values; the store owns state and history.

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
