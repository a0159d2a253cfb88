//! What people see while a command runs: a line for each operation, and on a terminal one live line below. Nothing is
//! drawn where a program reads.

use super::output::{Ink, Output, paint};
use super::safe::safe;
use super::time::duration;
use crate::engine::event::{Action, Event, EventKind, Operation, OperationState};
use crate::engine::plugin::record::{PluginEvent, PluginState};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::time::Instant;

/// The state of the lines.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    /// What each operation was last said to be doing, and since when.
    operations: BTreeMap<u32, (OperationState, String)>,
    running: BTreeMap<u32, (String, Instant)>,
    done: usize,
    total: usize,
    what: String,
}

impl Progress {
    pub(super) fn new(out: &Output) -> Self {
        Self {
            bar: out.live.then(live_line),
            operations: BTreeMap::new(),
            running: BTreeMap::new(),
            done: 0,
            total: 0,
            what: String::new(),
        }
    }

    /// A line for people on stderr, above the live line.
    pub(super) fn say(&self, out: &Output, text: &str) {
        if !out.json {
            self.above(|| out.note(text));
        }
    }

    fn above(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Redraws the live line.
    pub(super) fn tick(&self) {
        let Some(bar) = &self.bar else { return };
        let text = match self.running.values().min_by_key(|(_, since)| *since) {
            Some((what, since)) => {
                let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
                let more = if self.running.len() > 1 { format!(", {} more running", self.running.len() - 1) } else { String::new() };
                format!("{} of {} done; {what} for {}{more}", self.done, self.total, duration(ms))
            }
            None => self.what.clone(),
        };
        bar.set_message(text);
        bar.tick();
    }

    /// Takes the live line away.
    pub(super) fn clear(&mut self) {
        if let Some(bar) = &mut self.bar {
            bar.finish_and_clear();
            // Another one for what comes next: to reset this one would draw it again, and leave it there.
            *bar = live_line();
        }
        self.what.clear();
        self.running.clear();
    }

    /// Takes one event.
    pub(super) fn event(&mut self, out: &mut Output, event: &Event) {
        if out.json {
            return;
        }
        match &event.kind {
            EventKind::Plugin(plugin) => self.plugin(out, plugin),
            EventKind::StageStarted(_) => self.what = "staging".into(),
            EventKind::StageProgress { done, total, now, .. } => self.what = format!("staging, {done} of {total}: {}", safe(now)),
            EventKind::DeployStarted(started) => {
                self.total = started.operations.len();
                self.done = 0;
                self.what = format!("deploy #{}", started.deploy);
            }
            EventKind::Operation(operation) => self.operation(out, operation),
            EventKind::Notice { text } => self.say(out, &format!("note: {}", safe(text))),
            EventKind::Cancel { text, .. } => self.say(out, &safe(text)),
            _ => {}
        }
    }

    fn plugin(&mut self, out: &Output, event: &PluginEvent) {
        match event {
            PluginEvent::State { plugin, state } => match state {
                PluginState::Launching { attempt, limit } | PluginState::Handshaking { attempt, limit } => {
                    self.what = format!("launching {plugin}, {attempt} of {limit}");
                }
                PluginState::Backoff { attempt, limit, why, .. } => {
                    self.say(out, &format!("{plugin}: launch {attempt} of {limit} failed: {}", safe(why)));
                }
                _ => {}
            },
            PluginEvent::Crash { plugin, text, .. } => {
                self.say(out, &format!("{} {plugin}: {}", paint(out.err_color, Ink::Red, "crash:"), safe(text)));
            }
            PluginEvent::Log { line } if out.log_level.is_some_and(|level| level.shows(line.level)) => {
                self.say(out, &format!("[{}] {} {}", line.plugin, line.level.word(), safe(&line.text)));
            }
            _ => {}
        }
    }

    fn operation(&mut self, out: &mut Output, operation: &Operation) {
        let now = (operation.state, operation.step.clone());
        if self.operations.get(&operation.index) == Some(&now) {
            return;
        }
        let was = self.operations.insert(operation.index, now).map(|(state, _)| state);
        let address = safe(&operation.address).into_owned();
        let (text, ink) = match operation.state {
            OperationState::Waiting | OperationState::NotAttempted => return,
            OperationState::Running => {
                let attempt = if operation.attempt > 1 { format!(", attempt {}", operation.attempt) } else { String::new() };
                self.running.insert(operation.index, (format!("{address} {}", operation.step), Instant::now()));
                (format!("{address}: {}{attempt}", operation.step), None)
            }
            OperationState::Done => {
                let took = operation.took_ms.map_or_else(String::new, |ms| format!(" in {}", duration(ms)));
                (format!("{address}: {}{took}", past(operation.action)), Some(ink_of(operation.action)))
            }
            OperationState::Failed => {
                let why = operation.failure.as_ref().map_or_else(String::new, |f| format!(": {} ({})", safe(&f.summary), f.class.word()));
                (format!("{address}: failed{why}"), Some(Ink::Red))
            }
            OperationState::Unknown => (format!("{address}: the outcome is unknown"), Some(Ink::Magenta)),
            OperationState::HalfReplaced => {
                let why = operation.failure.as_ref().map_or_else(String::new, |f| format!(": {} ({})", safe(&f.summary), f.class.word()));
                (format!("{address}: {}{why}", operation.step), Some(Ink::Red))
            }
        };
        if operation.state != OperationState::Running {
            self.running.remove(&operation.index);
            if matches!(was, None | Some(OperationState::Waiting | OperationState::Running)) {
                self.done += 1;
            }
        }
        let text = ink.map_or_else(|| text.clone(), |ink| out.paint(ink, &text));
        let bar = self.bar.clone();
        match bar {
            Some(bar) => bar.suspend(|| out.line(&text)),
            None => out.line(&text),
        }
    }
}

/// The live line; nothing is drawn before its first tick.
fn live_line() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template("{spinner} {wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar
}

/// What has been done, in one word.
fn past(action: Action) -> &'static str {
    match action {
        Action::NoOp => "unchanged",
        Action::Read => "read",
        Action::Create => "created",
        Action::Update => "updated",
        Action::Replace | Action::ReplaceCreateFirst => "replaced",
        Action::Destroy => "destroyed",
        Action::Forget => "forgotten",
    }
}

/// The colour of an action, the same everywhere.
pub(super) fn ink_of(action: Action) -> Ink {
    match action {
        Action::NoOp => Ink::Dim,
        Action::Read => Ink::Cyan,
        Action::Create => Ink::Green,
        Action::Update => Ink::Yellow,
        Action::Replace | Action::ReplaceCreateFirst => Ink::Magenta,
        Action::Destroy => Ink::Red,
        Action::Forget => Ink::Blue,
    }
}
