//! Commands on this machine and on others, and copies to others. They run to their end or end with
//! the deploy, and their output is passed on in bounded lines. Independent of the configuration.

mod command;
pub mod guard;
mod output;
pub mod ssh;

pub use command::{CommandExit, LocalCommand};
pub use output::Output;
