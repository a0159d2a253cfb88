//! `--trust-workspace-plugins`: trusts plugins that ship in the workspace before the command runs,
//! and credential programs named in its files when they are first needed. Runs its own engine,
//! whose events are not printed.

use crate::cli::escape::safe;
use crate::cli::exit::CliError;
use crate::cli::output::Output;
use crate::cli::session::settings;
use engine::error::EngineError;
use engine::handle::Engine;
use model::WorkspacePlugin;
use model::settings::Access;
use trust::commands::take_newly_trusted;

pub(super) async fn run(out: &mut Output) -> Result<(), CliError> {
    let engine = Engine::start(settings("trust", Access::ReadOnly, None)?).await?;
    let given = trust_all(&engine).await;
    // Before the error of the decision is returned, so that the engine always ends.
    engine.shutdown().await;
    for plugin in given? {
        let (address, executable) = (safe(&plugin.address), safe(&plugin.executable));
        out.stderr_line(&format!(
            "trusted from now on: {address} in {executable} ({})",
            plugin.digest
        ));
    }
    report_commands(out);
    Ok(())
}

/// Reports commands of the workspace trusted since the last call.
pub(in crate::cli) fn report_commands(out: &mut Output) {
    for trusted in take_newly_trusted() {
        let (command, file) = (safe(&trusted.command), trusted.file.display().to_string());
        out.stderr_line(&format!(
            "trusted from now on: the command {command:?} in {} ({})",
            safe(&file),
            trusted.digest
        ));
    }
}

async fn trust_all(engine: &Engine) -> Result<Vec<WorkspacePlugin>, EngineError> {
    let plugins = engine.untrusted_plugins().await?;
    engine.trust_plugins(plugins.clone()).await?;
    Ok(plugins)
}
