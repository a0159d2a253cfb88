//! The real binary, its words and its exit codes.

mod support;
mod usage;
