//! The lab: a fake cloud kept in a file, for the demo and for tests. It has networks, servers,
//! databases, buckets, DNS records and things, and anything in it can be made to fail: see
//! [`control`] and the `fault` blocks of its configuration. The file is the only state; a process
//! of it can die at any time.

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

/// The folder of the lab file where the configuration names none, and of what `slowstart` counts.
pub const DIRECTORY_VARIABLE: &str = "FLIGHTDECK_LAB_DIR";

/// The folder that [`DIRECTORY_VARIABLE`] names, or `.flightdeck` in the working folder.
pub fn directory() -> PathBuf {
    match std::env::var_os(DIRECTORY_VARIABLE).filter(|value| !value.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(".flightdeck").to_owned(),
    }
}

/// Why the lab's files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The machine refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file holds something else.
    #[error("{} is not what the lab wrote: {source}; mend it or remove it", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A line of the journal holds something else.
    #[error(
        "{} is not what the lab wrote: line {line}, column {column}: {why}; mend it, or remove it with the changes in it",
        path.display()
    )]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// Which line, counted from 1.
        line: usize,
        /// Which column, counted from 1.
        column: usize,
        /// What is wrong there.
        why: String,
    },
    /// Somebody else replaces it faster than it can be read.
    #[error("{} was replaced again and again for {waited_s} s; end the program that does so", path.display())]
    Restless {
        /// Which file.
        path: PathBuf,
        /// How long that was watched, in seconds.
        waited_s: u64,
    },
    /// Somebody else keeps it.
    #[error("somebody else has kept {} locked for {waited_s} s; end the process that hangs", path.display())]
    Locked {
        /// What is locked.
        path: PathBuf,
        /// How long it was waited for, in seconds.
        waited_s: u64,
    },
    /// There is no such object.
    #[error("there is no object {id} in the lab")]
    NoObject {
        /// The id that was asked for.
        id: String,
    },
}

impl From<LabError> for sdk::Failure {
    fn from(error: LabError) -> sdk::Failure {
        sdk::Failure::new("the lab's files cannot be used", error.to_string())
    }
}
