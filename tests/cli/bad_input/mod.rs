//! Tests of invalid workspaces: each gets its error, its place and its exit code, without a panic
//! or a hang.

mod case;
mod large;
mod odd_files;
mod refused;
