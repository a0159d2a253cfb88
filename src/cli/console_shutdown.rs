//! Shutdown after the console has restored the terminal: waits for running operations before the
//! shell's next prompt. Shows the operations, their time and the next step. Goes down the cancel
//! ladder by timeout, or at once with each signal.

use super::escape::safe;
use super::output::Output;
use super::progress::Progress;
use super::session::print_update;
use super::show;
use super::signals::Signals;
use engine::Engine;
use futures_util::FutureExt;
use model::bus::Update;
use model::view::{DeployView, View};
use model::{CancelRung, DeploySummary, EventKind, Operation, OperationState};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

/// Time that running operations get on each rung before the next one is used.
const RUNG: Duration = Duration::from_secs(15);
/// Interval of redraws of the live line.
const TICK: Duration = Duration::from_millis(100);
/// Interval of progress lines on an output without a live line.
const LINES: Duration = Duration::from_secs(5);

/// Remaining rungs, each with the announcement of it.
const RUNGS: [(CancelRung, &str); 2] = [
    (CancelRung::AskPlugins, "the plugins are asked to stop"),
    (CancelRung::KillPlugins, "the plugins are killed"),
];

/// Shuts the engine down and reports progress.
pub(super) async fn farewell(engine: Engine, out: &mut Output) {
    // Subscribed before the cancellation, so that no outcome is missed.
    let (view, mut events) = engine.subscribe();
    let mut progress = Progress::for_running_deploy(out, &view);
    let deploying = begin_shutdown(&engine, &view, &progress, out);
    // Without a signal listener the ladder still advances by its timeouts.
    let mut signals = Signals::listen().ok();
    // A signal that ended the console must not count as a rung.
    if let Some(signals) = &mut signals {
        signals.register_engine(&engine);
    }
    let mut shutdown = std::pin::pin!(engine.shutdown());
    let mut rungs = RUNGS.iter();
    let (mut next, mut due) = (rungs.next(), Instant::now() + RUNG);
    let mut ticks = interval(if out.live { TICK } else { LINES });
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // The first tick would be immediate, but there is no progress yet.
    ticks.reset();
    let mut summary = None;
    loop {
        let asked = async {
            match &mut signals {
                Some(signals) => signals.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! { biased; // an operator's signal first; a flood of events holds nothing up
            () = asked => due = Instant::now(),
            () = &mut shutdown => break,
            () = sleep_until(due) => match next {
                Some((rung, _)) => {
                    engine.cancel(*rung);
                    (next, due) = (rungs.next(), Instant::now() + RUNG);
                }
                None => {
                    progress.print_line(out, "some operations did not end; run `flightdeck history` to list unknown outcomes");
                    break;
                }
            },
            Some(update) = events.recv() => handle_update(update, out, &mut progress, &mut summary),
            _ = ticks.tick() => progress.show(out, &next_rung_text(next.filter(|_| deploying && summary.is_none()), due)),
        }
    }
    // Events that arrived before the shutdown ended are still unread; the summary may be among
    // them.
    while let Some(Some(update)) = tokio::task::unconstrained(events.recv()).now_or_never() {
        handle_update(update, out, &mut progress, &mut summary);
    }
    progress.clear();
    // The outcome of a deploy stays on the terminal after the console's screen.
    let ended = view.deploy.as_ref().filter(|d| d.summary.is_some());
    if let Some(summary) = summary.filter(|_| deploying) {
        show::print_deploy_outcome(out, &summary);
    } else if let Some(deploy) = ended {
        print_ended(deploy, out);
    }
}

/// Maximum number of printed failures.
const FAILURES: usize = 10;

/// Prints the outcome of the last deploy of the console, and its failures.
fn print_ended(deploy: &DeployView, out: &mut Output) {
    let failed = deploy.operations.iter().filter(|o| o.failure.is_some());
    let failed: Vec<&Operation> = failed.collect();
    for operation in failed.iter().take(FAILURES) {
        let reason = operation.failure.as_ref().map_or("", |f| &f.summary);
        out.line(&format!("  {}: {}", safe(&operation.address), safe(reason)));
    }
    if failed.len() > FAILURES {
        out.line(&format!("  and {} more", failed.len() - FAILURES));
    }
    if let Some(summary) = &deploy.summary {
        show::print_deploy_outcome(out, summary);
    }
}

/// Stops a deploy from starting further operations, and announces the wait. Returns true if a
/// deploy runs.
fn begin_shutdown(engine: &Engine, view: &View, progress: &Progress, out: &Output) -> bool {
    let Some(deploy) = view.deploy.as_ref().filter(|d| d.summary.is_none()) else {
        return false;
    };
    let running = deploy
        .operations
        .iter()
        .filter(|o| o.state == OperationState::Running)
        .count();
    let plural = if running == 1 { "" } else { "s" };
    progress.print_line(
        out,
        &format!(
            "deploy #{}: waiting for {running} running operation{plural}; press Ctrl-C to stop in steps",
            deploy.deploy
        ),
    );
    engine.cancel(CancelRung::StopStarting);
    true
}

fn handle_update(
    update: Update,
    out: &mut Output,
    progress: &mut Progress,
    summary: &mut Option<DeploySummary>,
) {
    if let Update::Events(events) = &update {
        let ended = events.iter().rev().find_map(|e| {
            if let EventKind::DeployFinished(s) = &e.kind {
                Some(s.clone())
            } else {
                None
            }
        });
        *summary = ended.or(summary.take());
    }
    print_update(update, out, progress);
}

/// Announces the next rung and the time until it.
fn next_rung_text(next: Option<&(CancelRung, &str)>, due: Instant) -> String {
    let in_seconds = due.saturating_duration_since(Instant::now()).as_secs() + 1;
    next.map_or_else(String::new, |(_, words)| {
        format!("; {words} in {in_seconds} s, or now with Ctrl-C")
    })
}
