//! Commands on this machine and on others, and copies to them: run to their end or ended with the
//! deploy, their output told in bounded lines. Knows nothing of configuration.

mod command;
pub mod guard;
mod output;
pub(in crate::engine) mod ssh;

pub(in crate::engine) use command::{Ended, LocalCommand};
pub(in crate::engine) use output::Output;
