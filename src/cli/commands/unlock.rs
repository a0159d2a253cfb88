//! `--force-unlock`: releases the workspace's lock when its owner's liveness cannot be verified,
//! after a confirmation, before the command runs.

use crate::cli::confirmation::confirm;
use crate::cli::escape::safe;
use crate::cli::exit::{CliError, ERROR};
use crate::cli::output::Output;
use crate::cli::session::settings;
use crate::cli::signals::Signals;
use crate::cli::time::format_local;
use engine::handle::StoredLock;
use model::settings::Access;

pub(super) async fn run(out: &mut Output) -> Result<(), CliError> {
    let mut settings = settings("force-unlock", Access::ReadWrite, None)?;
    out.flags.apply(&mut settings);
    let lock = StoredLock::open(&settings).await?;
    let Some(holder) = lock.owner().await? else {
        out.stderr_line("the workspace is not locked");
        return Ok(());
    };
    out.stderr_line(&format!(
        "The workspace is locked by {} on {} (pid {}, {}) since {}. If that process still runs, both will change the same objects.",
        safe(&holder.who),
        safe(&holder.host),
        holder.pid,
        safe(&holder.reason),
        format_local(holder.since)
    ));
    let instead = "run the command with --force-unlock on a terminal";
    let signals = &mut Signals::listen()?;
    if !confirm("Release its lock?", instead, signals, out).await? {
        out.stderr_line("the lock was not released");
        return Err(CliError::AlreadyReported(ERROR));
    }
    // `None` if the owner released the lock during the prompt.
    if let Some(from) = lock.release("force-unlock").await? {
        out.stderr_line(&format!(
            "released the lock of {} (pid {} on {}); the store records it",
            safe(&from.who),
            from.pid,
            safe(&from.host)
        ));
    }
    Ok(())
}
