//! Sequence of one deploy: walks its steps and records every call that changes something before and
//! after it. Owns the deploy's values; the store owns state and history.

mod apply;
mod approved;
mod check_results;
mod conditions;
mod data_sources;
mod deploying;
mod destroy;
mod expansions;
mod instances;
mod link_values;
mod objects;
mod operation;
mod operation_error;
mod outcome;
mod outputs;
mod preparation;
mod readiness;
mod rollouts;
mod scheduler;
mod selection;
mod step;

pub use deploying::{DeployResult, Deploying, Stops};
pub use operation_error::OperationError;
pub(crate) use rollouts::{HookTrust, Recorded, find_member, parse_rollout};
pub use rollouts::{RequestSettings, Rollouts};
