//! The store: SQLite with one writer thread. Nothing durable goes round it.
//!
//! A [`Store`] is cheap to clone. Writes go to the thread that owns the writing connection, which
//! commits all that is queued in one transaction; readers have read-only connections of their own.
//! The SQL is private to this room.

mod anchor;
mod by_hand;
mod deploys;
mod error;
mod export;
mod failures;
mod file;
mod guard;
mod interrupted;
mod launches;
mod lease;
mod liveness;
mod lock;
mod logs;
pub mod model;
mod recorder;
mod rows;
pub mod sensitive;
mod shadow;
mod stages;
mod state;
mod writer;

pub use crate::engine::settings::Access;
pub use deploys::{KEPT_EVENTS, NewDeploy};
pub use error::StoreError;
pub use export::version4;
pub use file::Store;
pub use launches::CallSample;
pub use liveness::this_process;
pub use lock::Acquired;
pub use logs::KEPT_LINES;
pub use recorder::Recorder;
pub use rows::rows;

#[cfg(test)]
mod tests;
