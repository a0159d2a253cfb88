//! The arguments of commands that scripts bring along and that have few of their own.

use crate::cli::options::Variables;
use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct GetArgs {
    #[command(flatten)]
    pub(in crate::cli) variables: Variables,
    /// Fetch all anew, in the newest versions that are allowed
    #[arg(long)]
    pub(in crate::cli) update: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
