//! Sequence of one deploy: walks its steps and records every call that changes something before and
//! after it. Owns the deploy's values; the store owns state and history.

mod apply;
mod approved;
mod check_results;
mod data_sources;
mod deploying;
mod destroy;
mod instances;
mod link_values;
mod operation_error;
mod outcome;
mod outputs;
mod preparation;
mod step;
mod turns;

pub use deploying::{DeployResult, Deploying, Stops};
pub use operation_error::OperationError;
