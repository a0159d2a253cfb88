//! `flightdeck plugin`: commands for the development of plugins.

mod choice;
mod conform;
mod dev;
mod docs;
mod new_crate;
mod scaffold;

use crate::cli::exit::{CliError, CommandResult};
use crate::cli::options::PluginSubcommand;
use crate::cli::output::Output;

pub(super) async fn run(command: PluginSubcommand, out: &mut Output) -> CommandResult {
    match command {
        PluginSubcommand::Dev(args) => Box::pin(dev::run(args, out)).await,
        PluginSubcommand::New(args) => new_crate::run(&args, out),
        PluginSubcommand::Docs(args) => docs::run(args, out).await,
        PluginSubcommand::Conform(args) => conform::run(args, out).await,
        PluginSubcommand::Scaffold(args) => scaffold::run(args, out).await,
        // `main` serves plugins before it builds a runtime, so this arm is not reached.
        PluginSubcommand::Serve { .. } | PluginSubcommand::Web { .. } => Err(CliError::usage(
            "a bundled plugin must be served in its own process",
        )),
    }
}
