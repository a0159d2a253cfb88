//! Test support of planning: a provider in this process, and tables over stages of short
//! configurations.

mod lab;
mod plan;
mod single_provider;
mod state;
mod table;
mod workspace;

pub use lab::address;
pub use plan::plan;
pub use single_provider::{SingleProvider, link_id, unknown, with};
pub use state::state;
pub use table::check;
pub use workspace::Unplanned;
