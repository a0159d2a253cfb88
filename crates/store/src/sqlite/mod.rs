//! The store in SQLite. The SQL is private to this folder.
//!
//! A [`Sqlite`] is cheap to clone. Writes go to one thread, which commits all queued jobs in one
//! transaction. Readers use their own read-only connections.

mod deploys;
mod failures;
mod fault;
mod file;
mod file_check;
mod guard;
mod interrupted;
mod launches;
mod lock;
mod logs;
mod manual_changes;
mod observations;
mod reconciles;
mod rollouts;
mod running_deploy;
mod saved_selections;
mod stages;
mod state;
mod writer;

pub use file::Sqlite;

#[cfg(test)]
mod tests;
