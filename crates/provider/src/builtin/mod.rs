//! Builtin provider `terraform.io/builtin/terraform`, which runs in this process: the resource
//! `terraform_data` and the data source `terraform_remote_state`. Keeps no state; reads files
//! relative to the workspace.

mod adapter;
mod data;
mod remote_state;

pub use adapter::Builtin;
pub use remote_state::{Outputs, RemoteStates, outputs};
