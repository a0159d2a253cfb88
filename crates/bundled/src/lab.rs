//! Fake cloud in a file, for the demo and for tests: networks, servers, databases, buckets, DNS
//! records and generic things. Every call can be made to fail, by [`control`] and by `fault` blocks
//! of the configuration. The file is the only state, so a process can be killed at any time.

mod addresses;
mod call;
mod cloud;
pub mod control;
mod fault;
mod fault_block;
mod id;
mod image;
mod journal;
mod kinds;
mod lab_file;
mod machines;
mod network;
mod parsed;
mod provider;
mod resource;
mod session;
mod store;
mod thing;

use std::path::{Path, PathBuf};

pub use cloud::{Cloud, Object};
pub use fault::{Kind, On};
pub use lab_file::LabFile;
pub use provider::{Lab, serve};
pub use session::sessions;
pub use store::SharedFile;

/// Variable with the directory of the lab file if the configuration names none, and of the launch
/// counter of `slowstart`.
pub const DIRECTORY_VARIABLE: &str = "FLIGHTDECK_LAB_DIR";

/// Returns the directory in [`DIRECTORY_VARIABLE`], or `.flightdeck` in the working directory.
pub fn directory() -> PathBuf {
    match std::env::var_os(DIRECTORY_VARIABLE).filter(|value| !value.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(".flightdeck").to_owned(),
    }
}

/// Failure to use the lab's files.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// System error.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// Operation.
        doing: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file does not have the expected content.
    #[error("{} is damaged: {source}; repair it or remove it", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: serde_json::Error,
    },
    /// A line of the journal does not have the expected content.
    #[error(
        "{} is damaged: line {line}, column {column}: {why}; repair this journal, or remove it to lose the changes that it records",
        path.display()
    )]
    Damaged {
        /// Path of the journal.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Column number, from 1.
        column: usize,
        /// Cause.
        why: String,
    },
    /// Another program replaces the file faster than it can be read.
    #[error("{} was replaced repeatedly for {waited_s} s; end the program that replaces it", path.display())]
    ReplacedRepeatedly {
        /// Path of the file.
        path: PathBuf,
        /// Waiting time in seconds.
        waited_s: u64,
    },
    /// Another process holds the lock.
    #[error("another process has kept {} locked for {waited_s} s; end that process", path.display())]
    Locked {
        /// Path of the locked file.
        path: PathBuf,
        /// Waiting time in seconds.
        waited_s: u64,
    },
    /// The object does not exist.
    #[error("there is no object {id} in the lab")]
    NoObject {
        /// Requested id.
        id: String,
    },
}

impl From<LabError> for sdk::Failure {
    fn from(error: LabError) -> sdk::Failure {
        sdk::Failure::new("the lab's files cannot be used", error.to_string())
    }
}
