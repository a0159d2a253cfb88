//! `--force-unlock`: releases the workspace's lock when its owner's liveness cannot be verified,
//! after a confirmation, before the command runs.

use crate::cli::confirmation::confirm;
use crate::cli::exit::{CliError, ERROR};
use crate::cli::output::Output;
use crate::cli::safe::safe;
use crate::cli::session::settings;
use crate::cli::signals::Signals;
use crate::cli::time::moment;
use crate::engine::error::EngineError;
use crate::engine::holder::this_process;
use crate::engine::settings::Access;
use crate::engine::store::Store;
use crate::engine::workspace::home;

pub(super) async fn run(out: &mut Output) -> Result<(), CliError> {
    let refuse = |e| CliError::Engine(EngineError::from(e));
    let mut settings = settings("force-unlock", Access::ReadWrite, None)?;
    out.flags.apply(&mut settings);
    // Without an engine, which would ask for the lock itself.
    let dir = home::store_here(&settings);
    let store = Store::open(dir, Access::ReadWrite).map_err(EngineError::from)?;
    let Some(holder) = store.holder().await.map_err(refuse)? else {
        out.note("the workspace is not locked");
        return Ok(());
    };
    out.note(&format!(
        "The workspace is locked by {} on {} (pid {}, {}) since {}. If that process still runs, both will change the same objects.",
        safe(&holder.who),
        safe(&holder.host),
        holder.pid,
        safe(&holder.reason),
        moment(holder.since)
    ));
    let instead = "run the command with --force-unlock on a terminal";
    let signals = &mut Signals::listen()?;
    if !confirm("Release its lock?", instead, signals, out).await? {
        out.note("the lock was not released");
        return Err(CliError::Said(ERROR));
    }
    // `None` if the owner released the lock during the prompt.
    if let Some(from) = store
        .force_unlock(this_process("force-unlock"))
        .await
        .map_err(refuse)?
    {
        out.note(&format!(
            "released the lock of {} (pid {} on {}); the store records it",
            safe(&from.who),
            from.pid,
            safe(&from.host)
        ));
    }
    Ok(())
}
