//! File access below a root directory, and bounded reads.
//!
//! A workspace can be a clone of an untrusted repository, which can hold symbolic links. [`Below`]
//! creates, replaces and removes files relative to open directory handles, and follows no link
//! below the root. [`read_regular`] reads files named by an operator or a configuration with a size
//! limit, and never blocks on a pipe or a device.

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
