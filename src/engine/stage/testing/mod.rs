//! Test support of planning: a provider in this process, and tables over stages of short
//! configurations.

mod lab;
mod plan;
mod state;
mod table;
mod workspace;

pub use lab::address;
pub use state::state;
pub use table::check;
pub use workspace::Unplanned;
