//! Progress of a command on a terminal: a line for each operation, and one live line below them.
//! With `--json` nothing is drawn.

mod heartbeat;

use super::escape::{safe, safe_lines};
use super::live_line::LiveLine;
use super::output::{Ink, Output, paint};
use super::time::{HEARTBEAT, format_local};
use model::view::View;
use model::{
    Action, CallId, CallStarted, Event, EventKind, LookupRequest, Operation, OperationProgress,
    OperationState, PluginEvent, PluginId, PluginState, ReconcileRun, RolloutProgress, duration,
    now_ms,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of printed members with drift.
const MAX_DRIFT: usize = 20;

/// Running operation.
struct Running {
    address: String,
    step: OperationProgress,
    since: Instant,
    /// Time of its next line without a terminal.
    due: Instant,
    look: Option<LookupRequest>,
}

/// State of the progress display.
pub(super) struct Progress {
    live: Option<LiveLine>,
    /// Last reported state and step of each operation.
    operations: BTreeMap<u32, (OperationState, OperationProgress)>,
    running: BTreeMap<u32, Running>,
    /// Calls that wait for a slot, with their resource.
    in_line: BTreeMap<CallId, Arc<str>>,
    /// Plugins that are draining, with the start time.
    stopping: BTreeMap<PluginId, Instant>,
    /// Plugins that crashed after they were ready, until their next launch.
    crashed: BTreeSet<PluginId>,
    done: usize,
    total: usize,
    what: String,
    began: Instant,
    /// Time of the next line without a terminal while no operation runs.
    due: Instant,
    last_rollout: String,
}

impl Progress {
    pub(super) fn new(out: &Output) -> Self {
        Self {
            live: out.live.then(LiveLine::default),
            operations: BTreeMap::new(),
            running: BTreeMap::new(),
            in_line: BTreeMap::new(),
            stopping: BTreeMap::new(),
            crashed: BTreeSet::new(),
            done: 0,
            total: 0,
            what: String::new(),
            began: Instant::now(),
            due: Instant::now() + HEARTBEAT,
            last_rollout: String::new(),
        }
    }

    /// Creates the display of a deploy that is already running.
    pub(super) fn for_running_deploy(out: &Output, view: &View) -> Self {
        let mut progress = Self::new(out);
        let Some(deploy) = view.deploy.as_ref().filter(|d| d.summary.is_none()) else {
            return progress;
        };
        progress.what = format!("deploy #{}", deploy.deploy);
        progress.total = deploy.operations.len();
        for operation in &deploy.operations {
            progress
                .operations
                .insert(operation.index, (operation.state, operation.step.clone()));
            match operation.state {
                OperationState::Running => {
                    // The view has wall clock times, but the display measures with the monotonic
                    // clock.
                    let ms =
                        u64::try_from(operation.began.map_or(0, |b| now_ms() - b)).unwrap_or(0);
                    let since = Instant::now()
                        .checked_sub(Duration::from_millis(ms))
                        .unwrap_or_else(Instant::now);
                    let (address, step) = (operation.address.clone(), operation.step.clone());
                    progress.running.insert(
                        operation.index,
                        Running {
                            address,
                            step,
                            since,
                            due: Instant::now() + HEARTBEAT,
                            look: operation.waits_until_ready,
                        },
                    );
                }
                OperationState::Waiting | OperationState::NotAttempted => {}
                _ => progress.done += 1,
            }
        }
        progress
    }

    /// Prints a line on stderr, above the live line.
    pub(super) fn print_line(&self, out: &Output, text: &str) {
        if !out.json {
            self.print_above(|| out.stderr_line(text));
        }
    }

    fn print_above(&self, print: impl FnOnce()) {
        // The line is printed over the live line, which the next tick draws again below.
        if let Some(live) = &self.live {
            live.clear();
        }
        print();
    }

    /// Redraws the live line.
    pub(super) fn tick(&self) {
        self.draw(&self.live_text());
    }

    /// Redraws the live line with `next` appended, or prints a line if there is no live line.
    pub(super) fn show(&self, out: &Output, next: &str) {
        let text = self.live_text() + next;
        if self.live.is_some() {
            self.draw(&text)
        } else {
            self.print_line(out, &text)
        }
    }

    fn draw(&self, text: &str) {
        if let Some(live) = &self.live {
            live.draw(text);
        }
    }

    /// Returns the text of the live line: the oldest running operation and its time.
    fn live_text(&self) -> String {
        let ago = |since: Instant| {
            duration(u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX))
        };
        // An operation whose call waits for a slot does no work, even if it has started.
        let in_line: HashSet<&str> = self.in_line.values().map(|r| &**r).collect();
        let (queued, at_work): (Vec<_>, Vec<_>) = self
            .running
            .values()
            .partition(|r| in_line.contains(r.address.as_str()));
        let queued = if queued.is_empty() {
            String::new()
        } else {
            format!(", {} queued", queued.len())
        };
        if let Some(Running {
            address,
            step,
            since,
            look,
            ..
        }) = at_work.iter().min_by_key(|r| r.since)
        {
            let more = if at_work.len() > 1 {
                format!(", {} more running", at_work.len() - 1)
            } else {
                String::new()
            };
            let step = look.map_or_else(|| step.to_string(), |look| look.text(now_ms()));
            return format!(
                "{} of {} done; {} {step} for {}{more}{queued}",
                self.done,
                self.total,
                safe(address),
                ago(*since)
            );
        }
        if !queued.is_empty() {
            return format!("{} of {} done{queued}", self.done, self.total);
        }
        match self.stopping.values().min() {
            Some(since) => {
                let names: Vec<&str> = self.stopping.keys().map(|p| &*p.0).collect();
                format!("stopping {} for {}", names.join(", "), ago(*since))
            }
            None => self.what.clone(),
        }
    }

    /// Removes the live line.
    pub(super) fn clear(&mut self) {
        if let Some(live) = &self.live {
            live.clear();
        }
        self.what.clear();
        self.running.clear();
    }

    /// Updates the display for one event.
    pub(super) fn event(&mut self, out: &mut Output, event: &Event) {
        // The output itself writes events for programs.
        if out.json {
            return;
        }
        match &event.kind {
            EventKind::Plugin(plugin) => self.plugin(out, plugin),
            EventKind::StageStarted(_) => self.what = "staging".into(),
            EventKind::StageProgress {
                done, total, now, ..
            } => self.what = format!("staging, {done} of {total}: {}", safe(now)),
            EventKind::DeployStarted(started) => {
                self.total = started.operations.len();
                self.done = 0;
                self.what = format!("deploy #{}", started.deploy);
            }
            EventKind::Operation(operation) => self.operation(out, operation),
            EventKind::CallQueued(call) => {
                let resource = call.resource.clone();
                self.in_line.extend(resource.map(|r| (call.call, r)));
            }
            EventKind::CallStarted(call) => self.exclude_queue_time(call),
            EventKind::CallFinished(call) => {
                self.in_line.remove(&call.call);
                if let Some(again) = &call.again {
                    let whose = call.resource.as_deref().unwrap_or(&call.plugin.0);
                    let error = safe_lines(call.error.as_deref().unwrap_or_default()).into_owned();
                    self.print_line(
                        out,
                        &format!("{}: {error}; {}", safe(whose), again.text(event.at)),
                    );
                }
            }
            EventKind::Notice { text } => {
                self.print_line(out, &format!("note: {}", safe_lines(text)))
            }
            EventKind::Rollout(rollout) => self.rollout(out, rollout),
            EventKind::Reconcile(run) => self.reconcile(out, run),
            EventKind::ReconcileLeader { owner, ours } => {
                let text = match owner {
                    Some(_) if *ours => "this process leads the reconcile loop".to_owned(),
                    Some(owner) => format!("the reconcile loop is led by {}", safe(owner)),
                    None => "the reconcile loop has no leader".to_owned(),
                };
                self.print_line(out, &text);
            }
            EventKind::Cancel { text, .. } => self.print_line(out, &safe_lines(text)),
            _ => {}
        }
    }

    /// Prints a rollout, unless only the progress of its health checks changed.
    fn rollout(&mut self, out: &mut Output, rollout: &RolloutProgress) {
        let reason = rollout.reason.as_deref().unwrap_or_default();
        if let Some(health) = &rollout.health {
            let healthy = rollout.healthy.map(|count| format!(", {}", count.text()));
            let healthy = healthy.unwrap_or_default();
            let group = safe(&rollout.group);
            self.what = format!("group {group}: {health}{healthy} {}", safe(reason));
            return;
        }
        let mut line = format!(
            "group {}: {}, batch {} of {}, {} of {} members done",
            safe(&rollout.group),
            rollout.state,
            rollout.batch,
            rollout.batches,
            rollout.done,
            rollout.total
        );
        if !reason.is_empty() {
            line.push_str(": ");
            line.push_str(&safe_lines(reason));
        }
        if self.last_rollout != line {
            self.print_line(out, &line);
            self.last_rollout = line;
        }
    }

    /// Prints a run of the reconcile loop.
    fn reconcile(&mut self, out: &mut Output, run: &ReconcileRun) {
        let head = format!(
            "{}: {}; next run {}",
            safe(&run.subject()),
            run.summary(),
            format_local(run.next)
        );
        self.print_line(out, &head);
        for drift in run.drift.iter().take(MAX_DRIFT) {
            let mut line = format!(
                "  {}  {}",
                safe(&drift.member),
                drift.kind.replace('_', " ")
            );
            if !drift.attributes.is_empty() {
                line.push_str(&format!(": {}", safe(&drift.attributes.join(", "))));
            }
            line.push_str(match drift.response.as_str() {
                "repair" => "  → repair",
                "ask_approval" => "  → needs an approval",
                _ => "",
            });
            self.print_line(out, &line);
        }
        if run.drift.len() > MAX_DRIFT {
            let more = run.drift.len() - MAX_DRIFT;
            self.print_line(out, &format!("  and {more} more; --json lists all"));
        }
        if let Some(reason) = &run.reason {
            self.print_line(out, &format!("  {}", safe_lines(reason)));
        }
        if let Some(stage) = run.stage {
            let text = format!("  to approve: flightdeck deploy {stage}");
            self.print_line(out, &text);
        }
    }

    /// Excludes the time in the queue from the running time of the operation.
    fn exclude_queue_time(&mut self, call: &CallStarted) {
        self.in_line.remove(&call.call);
        let its = |r: &&mut Running| call.resource.as_deref() == Some(r.address.as_str());
        if call.queued_ms > 0
            && let Some(running) = self.running.values_mut().find(its)
        {
            // Never in the future, because a part of the queue time may precede the operation's
            // start.
            running.since =
                (running.since + Duration::from_millis(call.queued_ms)).min(Instant::now());
        }
    }

    fn plugin(&mut self, out: &Output, event: &PluginEvent) {
        if let PluginEvent::State { plugin, state } = event {
            // Any other state ends the draining, whatever it is.
            if *state == PluginState::Draining {
                self.stopping.insert(plugin.clone(), Instant::now());
            } else {
                self.stopping.remove(plugin);
            }
        }
        match event {
            PluginEvent::State { plugin, state } => match state {
                PluginState::Launching { attempt, limit }
                | PluginState::Handshaking { attempt, limit }
                | PluginState::Registering { attempt, limit } => {
                    self.what = format!("launching {plugin}, attempt {attempt} of {limit}");
                }
                PluginState::Backoff {
                    attempt,
                    limit,
                    why,
                    ..
                } if !self.crashed.remove(plugin) => {
                    let why = safe(why);
                    let text = format!("{plugin}: launch {attempt} of {limit} failed: {why}");
                    self.print_line(out, &text);
                }
                // The plugin was ready before: its crash is reported, and no launch has failed.
                PluginState::Backoff { .. } => {
                    self.print_line(out, &format!("{plugin}: restarting after a pause"));
                }
                PluginState::Crashed { .. } => {
                    self.crashed.insert(plugin.clone());
                }
                _ => {}
            },
            PluginEvent::Replaced {
                plugin, leaving, ..
            } => {
                let why = safe(&leaving.why);
                self.print_line(out, &format!("{plugin}: process replaced: {why}"));
            }
            PluginEvent::Crash { plugin, text, .. } => {
                let crash = paint(out.err_color, Ink::Red, "crash:");
                let text = safe_lines(text);
                self.print_line(out, &format!("{crash} {plugin}: {text}"));
            }
            PluginEvent::Log { line }
                if out
                    .log_level
                    .is_some_and(|level| level.includes(line.level)) =>
            {
                let (level, text) = (line.level.label(), safe_lines(&line.text));
                self.print_line(out, &format!("[{}] {level} {text}", line.plugin));
            }
            _ => {}
        }
    }

    /// Shows the polls of an operation that waits until its object is ready: one line when the wait
    /// begins, later polls in the live line only.
    fn show_polls(&mut self, out: &mut Output, operation: &Operation) {
        let Some(running) = self.running.get_mut(&operation.index) else {
            return;
        };
        let begins = running.look.is_none();
        running.look = operation.waits_until_ready;
        if let (true, Some(wait)) = (begins, operation.readiness_wait(now_ms())) {
            let address = safe(&operation.address).into_owned();
            self.print_above(|| out.line(&format!("{address}: {wait}")));
        }
    }

    fn operation(&mut self, out: &mut Output, operation: &Operation) {
        self.show_polls(out, operation);
        let now = (operation.state, operation.step.clone());
        // Retries and warnings are events, too; only a new state or step gets a line.
        if self.operations.get(&operation.index) == Some(&now) {
            return;
        }
        let was = self
            .operations
            .insert(operation.index, now)
            .map(|(state, _)| state);
        let address = safe(&operation.address).into_owned();
        let (text, ink) = match operation.state {
            OperationState::Waiting | OperationState::NotAttempted => return,
            OperationState::Running => {
                let begun = Running {
                    address: operation.address.clone(),
                    step: operation.step.clone(),
                    since: Instant::now(),
                    due: Instant::now() + HEARTBEAT,
                    look: None,
                };
                self.running.insert(operation.index, begun);
                (format!("{address}: {}", operation.step), None)
            }
            OperationState::Done => {
                let took = operation
                    .took_ms
                    .map_or_else(String::new, |ms| format!(" in {}", duration(ms)));
                (
                    format!("{address}: {}{took}", operation.action.past_tense()),
                    Some(ink_of(operation.action)),
                )
            }
            OperationState::Failed => {
                let why = operation.failure.as_ref().map_or_else(String::new, |f| {
                    format!(": {} ({})", safe(&f.summary), f.class.label())
                });
                (format!("{address}: failed{why}"), Some(Ink::Red))
            }
            OperationState::Unknown => (format!("{address}: unknown outcome"), Some(Ink::Magenta)),
            OperationState::HalfReplaced => {
                let why = operation.failure.as_ref().map_or_else(String::new, |f| {
                    format!(": {} ({})", safe(&f.summary), f.class.label())
                });
                (
                    format!("{address}: {}{why}", operation.step),
                    Some(Ink::Red),
                )
            }
        };
        if operation.state != OperationState::Running {
            self.running.remove(&operation.index);
            // Only the change to a final state counts, not later updates of it.
            if matches!(
                was,
                None | Some(OperationState::Waiting | OperationState::Running)
            ) {
                self.done += 1;
            }
        }
        if out.concise {
            return;
        }
        let text = ink.map_or_else(|| text.clone(), |ink| out.paint(ink, &text));
        self.print_above(|| out.line(&text));
    }
}

/// Colour of an action, the same in all outputs.
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

#[cfg(test)]
mod tests;
