//! Lines about what takes long, for output that is no terminal: a runner takes a job for dead that
//! writes nothing for minutes.

use super::super::escape::safe;
use super::super::output::Output;
use super::super::time::{HEARTBEAT, elapsed};
use super::Progress;
use model::now_ms;
use std::time::Instant;

impl Progress {
    /// Writes a line for each operation that has run for another ten seconds; without operations,
    /// one about what the command does.
    pub(in crate::cli) fn heartbeat(&mut self, out: &mut Output, now: Instant) {
        if self.live.is_some() || out.json || out.concise {
            return;
        }
        for operation in self.running.values_mut().filter(|o| o.due <= now) {
            operation.due = now + HEARTBEAT;
            let step = operation.step.to_string();
            let step = operation.look.map_or(step, |look| look.text(now_ms()));
            let seconds = now.duration_since(operation.since).as_secs();
            let address = safe(&operation.address);
            let text = format!("{address}: Still {step}... [{} elapsed]", elapsed(seconds));
            out.line(&text);
        }
        if self.running.is_empty() && self.due <= now && !self.what.is_empty() {
            self.due = now + HEARTBEAT;
            let seconds = now.duration_since(self.began).as_secs();
            out.stderr_line(&format!("{} [{} elapsed]", self.what, elapsed(seconds)));
        }
    }
}
