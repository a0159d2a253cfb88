//! The store in SQLite. The SQL is private to this folder.
//!
//! A [`Sqlite`] is cheap to clone. Writes go to one thread, which commits all queued jobs in one
//! transaction. Readers use their own read-only connections.

mod anchor;
mod by_hand;
mod deploys;
mod failures;
mod fault;
mod file;
mod guard;
mod interrupted;
mod launches;
mod lock;
mod logs;
mod shadow;
mod stages;
mod state;
mod writer;

pub use file::Sqlite;

#[cfg(test)]
mod tests;
