//! `--trust-workspace`: trusts plugins that ship in the workspace before the command runs, and
//! commands and settings of its files when they are first needed. Each is shown before it is used.
//! Runs its own engine, whose events are not printed.

use crate::cli::escape::safe;
use crate::cli::exit::CliError;
use crate::cli::output::Output;
use crate::cli::session::settings;
use engine::error::EngineError;
use engine::handle::Engine;
use model::mutex::lock;
use model::settings::Access;
use model::{VariableFlag, WorkspacePlugin};
use std::io::Write as _;
use std::sync::Mutex;
use trust::commands::{WorkspaceCommand, trust_all};

/// Everything that the flag trusts.
const NOTICE: &str = "--trust-workspace trusts what files of this directory start, until it changes: plugins that ship in it, hooks of groups, commands and credentials of `secret` blocks, `enforce` of the reconcile loop with its provisioners, and `credential_process` lines. Each is listed below before its first use.";

/// Commands that became trusted while the console had the terminal.
static IN_CONSOLE: Mutex<Vec<WorkspaceCommand>> = Mutex::new(Vec::new());

pub(super) async fn run(
    variables: Vec<VariableFlag>,
    has_console: bool,
    out: &mut Output,
) -> Result<(), CliError> {
    out.stderr_line(NOTICE);
    trust_all(match has_console {
        true => |command| lock(&IN_CONSOLE).push(command.clone()),
        false => |command| announce(command),
    });
    let mut settings = settings("trust", Access::ReadOnly, None)?;
    settings.variables = variables;
    let engine = Engine::start(settings).await?;
    let given = trust_plugins(&engine, out).await;
    // Before the error of the decision is returned, so that the engine always ends.
    engine.shutdown().await;
    Ok(given?)
}

/// Reports commands that became trusted while the console had the terminal.
pub(in crate::cli) fn report_commands(out: &mut Output) {
    for trusted in lock(&IN_CONSOLE).drain(..) {
        out.stderr_line(&text(&trusted));
    }
}

fn announce(command: &WorkspaceCommand) {
    // A closed stderr must not stop the command.
    writeln!(std::io::stderr().lock(), "{}", text(command)).ok();
}

fn text(trusted: &WorkspaceCommand) -> String {
    let (command, file) = (safe(&trusted.command), trusted.file.display().to_string());
    let covers = trusted.coverage();
    format!(
        "trusted from now on: the {} {command:?} in {} ({}); covers {}, not what these load themselves",
        trusted.kind(),
        safe(&file),
        trusted.digest,
        safe(&covers)
    )
}

async fn trust_plugins(engine: &Engine, out: &mut Output) -> Result<(), EngineError> {
    let plugins: Vec<WorkspacePlugin> = engine.untrusted_plugins().await?;
    for plugin in &plugins {
        let (address, executable) = (safe(&plugin.address), safe(&plugin.executable));
        out.stderr_line(&format!(
            "trusted from now on: {address} in {executable} ({})",
            plugin.digest
        ));
    }
    engine.trust_plugins(plugins).await
}
