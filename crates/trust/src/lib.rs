//! Trust decisions of the user about what a workspace brings along: the file that keeps them, and
//! the check of commands that workspace files name.

pub mod commands;
pub mod file;
