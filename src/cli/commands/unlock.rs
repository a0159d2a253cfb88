//! `--force-unlock`: takes the workspace's lock from a holder that cannot be judged, after a yes,
//! before the command runs.

use crate::cli::exit::CliError;
use crate::cli::output::Output;
use crate::cli::safe::safe;
use crate::cli::time::moment;
use crate::engine::error::EngineError;
use crate::engine::holder::this_process;
use crate::engine::settings::Access;
use crate::engine::store::Store;
use crate::engine::workspace::home;
use std::io::IsTerminal;
use std::path::Path;

pub(super) async fn run(out: &mut Output) -> Result<(), CliError> {
    let refuse = |e| CliError::Engine(EngineError::from(e));
    let here = Path::new(".");
    let named = home::selected(here, |name| std::env::var_os(name))
        .map_err(|e| CliError::Refused(e.to_string()))?;
    let dir = home::store_below(here, &named);
    let store = Store::open(dir, Access::ReadWrite).map_err(EngineError::from)?;
    let Some(holder) = store.holder().await.map_err(refuse)? else {
        out.note("nobody holds the workspace; there is no lock to take away");
        return Ok(());
    };
    if !std::io::stdin().is_terminal() {
        return Err(CliError::Refused(
            "nobody can be asked for a yes here; run it with --force-unlock once on a terminal"
                .to_owned(),
        ));
    }
    eprint!(
        "The workspace is held by {} on {} (pid {}, {}) since {}. If that process still runs, both will change the same objects.\n\
         Take the lock from it? Only `yes` is taken for a yes: ",
        safe(&holder.who),
        safe(&holder.host),
        holder.pid,
        safe(&holder.reason),
        moment(holder.since)
    );
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    });
    if !matches!(answer.await, Ok(Ok(line)) if line.trim() == "yes") {
        return Err(CliError::Refused("the lock was left as it is".to_owned()));
    }
    if let Some(from) = store
        .force_unlock(this_process("force-unlock"))
        .await
        .map_err(refuse)?
    {
        out.note(&format!(
            "the lock was taken from {} (pid {} on {}); that is on record",
            safe(&from.who),
            from.pid,
            safe(&from.host)
        ));
    }
    Ok(())
}
