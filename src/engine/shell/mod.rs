//! Commands on this machine and on others, and copies to others. They run to their end or end with
//! the deploy, and their output is passed on in bounded lines. Independent of the configuration.

mod command;
pub mod guard;
mod output;
pub(in crate::engine) mod ssh;

pub(in crate::engine) use command::{CommandExit, LocalCommand};
pub(in crate::engine) use output::Output;
