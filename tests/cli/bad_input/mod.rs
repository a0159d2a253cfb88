//! Tests of invalid workspaces: each gets its error, its place and its exit code, without a panic
//! or a hang.

mod case;
mod invalid_configurations;
mod size_limits;
mod unusual_files;
