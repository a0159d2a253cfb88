//! `flightdeck reconcile`: runs the reconcile loop of groups until a signal, or once.

use crate::cli::exit::{CommandResult, OK};
use crate::cli::options::ReconcileArgs;
use crate::cli::output::Output;
use crate::cli::progress::Progress;
use crate::cli::session::{Session, settings};
use model::ReconcileOptions;
use model::settings::Access;

pub(super) async fn run(args: ReconcileArgs, out: &mut Output) -> CommandResult {
    let mut settings = settings("reconcile", Access::ReadWrite, args.parallelism)?;
    settings.variables.clone_from(&out.flags.variables);
    let mut session = Session::start(settings, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let options = ReconcileOptions {
        groups: args.groups,
        every: args.every,
        once: args.once,
        at_once: true,
    };
    let ended = session
        .wait(out, &mut progress, engine.reconcile(options))
        .await;
    session.finish(out).await;
    ended?;
    Ok(OK)
}
