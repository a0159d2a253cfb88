//! `--trust-workspace-plugins`: a yes for the plugins that the workspace itself brings, before the command begins.

use crate::cli::exit::CliError;
use crate::cli::output::Output;
use crate::cli::progress::Progress;
use crate::cli::safe::safe;
use crate::cli::session::{Session, settings};
use crate::engine::settings::Access;

pub(super) async fn run(out: &mut Output) -> Result<(), CliError> {
    let mut session = Session::start(settings("trust", Access::ReadOnly, None)?).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let given = async {
        let plugins = engine.untrusted_plugins().await?;
        engine.trust_plugins(plugins.clone()).await?;
        Ok(plugins)
    };
    let given = session.wait(out, &mut progress, given).await;
    session.end(out).await;
    for plugin in given? {
        let (address, executable) = (safe(&plugin.address), safe(&plugin.executable));
        out.note(&format!("trusted from now on: {address} in {executable} ({})", plugin.digest));
    }
    Ok(())
}
