//! Progress of downloads and installations: a line for each step, and progress bars on a terminal.
//! Owns these lines; the engine reports the steps.

use super::escape::safe;
use super::exit::CliError;
use super::live_line::LiveLine;
use super::output::Output;
use super::signals::Signals;
use engine::error::EngineError;
use engine::install::{Step, Tell};
use model::bar;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Time for cleanup after the first signal.
const KILL_GRACE: Duration = Duration::from_secs(10);
/// Interval of redraws.
const TICK: Duration = Duration::from_millis(100);
/// Minimum interval of JSON lines about one download.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Reported steps that are not shown yet.
#[derive(Default)]
struct PendingSteps {
    steps: Vec<Step>,
    /// Progress of each download: bytes received and, if known, the total.
    bytes: BTreeMap<String, (u64, Option<u64>)>,
}

/// Runs an installation and shows its progress. The first signal cancels it at its next wait, the
/// second at once.
pub(super) async fn run_with_progress<T, F>(
    out: &mut Output,
    work: impl FnOnce(Tell, CancellationToken) -> F,
) -> Result<T, CliError>
where
    F: Future<Output = Result<T, EngineError>>,
{
    let told = Arc::new(Mutex::new(PendingSteps::default()));
    let hears = told.clone();
    let tell: Tell = Arc::new(move |step| {
        // The engine reports from its own tasks; the display reads at the next tick.
        let mut told = hears.lock().unwrap_or_else(PoisonError::into_inner);
        match step {
            Step::Bytes { what, done, total } => drop(told.bytes.insert(what, (done, total))),
            step => told.steps.push(step),
        }
    });
    let mut signals = Signals::listen()?;
    let stop = CancellationToken::new();
    let mut shown = ShownSteps::new(out);
    let mut work = std::pin::pin!(work(tell, stop.clone()));
    let mut ticks = tokio::time::interval(TICK);
    let mut until: Option<tokio::time::Instant> = None;
    let answer = loop {
        // select! evaluates the timer even if its branch is disabled, so it needs a time.
        let deadline = until.unwrap_or_else(tokio::time::Instant::now);
        tokio::select! { biased;
            () = signals.next() => {
                if until.is_some() {
                    break Err(EngineError::Cancelled);
                }
                stop.cancel();
                until = Some(tokio::time::Instant::now() + KILL_GRACE);
            }
            () = tokio::time::sleep_until(deadline), if until.is_some() => break Err(EngineError::Cancelled),
            answer = &mut work => break answer,
            _ = ticks.tick() => shown.show(&told, out),
        }
    };
    shown.show(&told, out);
    shown.clear();
    answer.map_err(CliError::Engine)
}

/// Lines on the screen.
struct ShownSteps {
    live: Option<LiveLine>,
    /// Bytes and time of the last JSON line about each download.
    last: BTreeMap<String, (u64, Instant)>,
}

impl ShownSteps {
    fn new(out: &Output) -> Self {
        Self {
            live: out.live.then(LiveLine::default),
            last: BTreeMap::new(),
        }
    }

    fn clear(&self) {
        if let Some(live) = &self.live {
            live.clear();
        }
    }

    fn show(&mut self, told: &Mutex<PendingSteps>, out: &mut Output) {
        let (steps, bytes) = {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            let steps = std::mem::take(&mut told.steps);
            // A finished download must lose its bar in the same redraw that prints its step.
            for step in &steps {
                if let Some(over) = step.ended_download() {
                    told.bytes.remove(over);
                }
            }
            (steps, told.bytes.clone())
        };
        if !steps.is_empty() {
            self.clear();
        }
        for step in &steps {
            json_line(step, out);
            if !out.json && !out.concise {
                out.stderr_line(&safe(&step.text()));
            }
        }
        if out.has_program() {
            self.emit_json_progress(&bytes, out);
        }
        if out.json {
            return;
        }
        if let Some(live) = &self.live {
            let bars: Vec<String> = bytes
                .iter()
                .map(|(what, (done, total))| bar(what, *done, *total))
                .collect();
            match bars.is_empty() {
                true => live.draw("installing"),
                false => live.draw(&safe(&bars.join("  "))),
            }
        }
    }

    fn emit_json_progress(
        &mut self,
        bytes: &BTreeMap<String, (u64, Option<u64>)>,
        out: &mut Output,
    ) {
        for (what, (done, total)) in bytes {
            let last = self.last.get(what);
            // Unchanged downloads and frequent reports would flood the JSON output.
            if last.is_some_and(|(was, at)| was == done || at.elapsed() < PROGRESS_INTERVAL) {
                continue;
            }
            self.last.insert(what.clone(), (*done, Instant::now()));
            let step = Step::Bytes {
                what: what.clone(),
                done: *done,
                total: *total,
            };
            json_line(&step, out);
        }
    }
}

fn json_line(step: &Step, out: &mut Output) {
    match serde_json::to_string(step) {
        Ok(text) => out.program_line(&text),
        Err(e) => tracing::warn!(error = %e, "failed to write an installation step as JSON"),
    }
}
