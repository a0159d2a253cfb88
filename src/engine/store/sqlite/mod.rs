//! The store in SQLite: one writer thread, readers with connections of their own. The SQL is
//! private to this folder.
//!
//! A [`Sqlite`] is cheap to clone. Writes go to the thread that owns the writing connection, which
//! commits all that is queued in one transaction; readers have read-only connections of their own.

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
