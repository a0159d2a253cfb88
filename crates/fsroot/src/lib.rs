//! File access below a root directory, bounded reads, and locks of files.
//!
//! A workspace can be a clone of an untrusted repository, which can hold symbolic links.
//! [`RootedPath`] creates, replaces and removes files relative to open directory handles, and
//! follows no link below the root. [`read_regular`] reads files named by an operator or a
//! configuration with a size limit, and never blocks on a pipe or a device.

mod entries;
mod file_lock;
mod read;
mod refusal;
mod rooted_path;
mod walk;

#[cfg(test)]
mod below_tests;

pub use file_lock::{is_locked, try_lock};
pub use read::{
    MAX_FILE, open_regular, read_at_most, read_input, read_named, read_named_async, read_regular,
    read_text,
};
pub use refusal::{Kind, Refusal};
pub use rooted_path::{RootedPath, is_same_file, normalize, roots};
