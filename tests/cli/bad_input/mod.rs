//! What can be wrong with a workspace: each gets its words, its place and its exit code; none a
//! panic or a hang.

mod case;
mod large;
mod odd_files;
mod refused;
