//! File access below a root directory, and bounded reads.
//!
//! A workspace may be a clone of anybody's repository, and a repository can hold symbolic links.
//! [`Below`] creates, replaces and removes files below such a directory relative to open directory
//! handles, and follows no link on the way. [`read_regular`] reads files that an operator or a
//! configuration names, with a bound, and never waits for a pipe or a device.

mod below;
mod entries;
mod read;
mod refusal;
mod walk;

#[cfg(test)]
mod below_tests;

pub use below::{Below, is_same_file};
pub use read::{
    MAX_FILE, open_regular, read_at_most, read_input, read_named, read_named_async, read_regular,
    read_text,
};
pub use refusal::{Kind, Refusal};
