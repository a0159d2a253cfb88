//! The fold of events: what an operator sees at a moment. One piece of code for the live console,
//! for a reader that joins late and for the replay of an old deploy. Plain data; owned by whoever
//! folds.

use crate::engine::words::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// How many finished calls of one deploy are kept.
const CALLS_OF_A_DEPLOY: usize = 20_000;

/// How many attempts, crashes, diagnostics and finished calls are kept; older ones are in the
/// store.
const KEPT: usize = 200;

/// All that is known of one plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PluginView {
    pub id: PluginId,
    pub found: Option<PluginFound>,
    pub state: PluginState,
    /// Oldest first.
    pub attempts: VecDeque<LaunchAttempt>,
    pub usage: Option<Usage>,
    pub last_line: Option<String>,
    pub restarts: u32,
    pub crashes: VecDeque<Crash>,
}

impl PluginView {
    /// Whether it is part of flightdeck and never a process.
    pub fn is_builtin(&self) -> bool {
        self.found
            .as_ref()
            .is_some_and(|f| f.dialect.as_deref() == Some("builtin"))
    }
}

/// A plugin died while it was in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crash {
    pub incident: String,
    pub at: UnixMs,
    pub plugin: PluginId,
    pub text: String,
    pub trace: Vec<String>,
}

/// A call that waits or runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallView {
    pub call: CallId,
    pub plugin: PluginId,
    pub method: String,
    pub resource: Option<String>,
    pub queued_at: UnixMs,
    /// `None` while it waits.
    pub started_at: Option<UnixMs>,
    pub slot: Option<u32>,
    pub slots: u32,
    pub deadline_ms: Option<u64>,
    pub usual: Option<Latency>,
    pub waits_for: Option<String>,
    pub blocker: Option<CallId>,
}

/// How the last calls of one plugin went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latencies {
    pub all: Latency,
    pub methods: BTreeMap<String, Latency>,
}

/// A deploy as far as events tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeployView {
    pub deploy: DeployId,
    pub stage: StageId,
    pub mode: StageMode,
    pub who: String,
    pub host: String,
    pub began: UnixMs,
    pub operations: Vec<Operation>,
    pub summary: Option<DeploySummary>,
    pub cancel: Option<CancelRung>,
    /// The calls that were made for it, as they ended.
    pub calls: VecDeque<CallFinished>,
    /// For how long calls for a resource stood in line, in milliseconds.
    pub queued_ms: BTreeMap<String, u64>,
    /// Operations by address.
    #[serde(skip)]
    places: HashMap<String, usize>,
}

impl DeployView {
    /// A deploy of which no more is known than with what it began.
    pub fn new(started: DeployStarted, began: UnixMs) -> Self {
        let places = started
            .operations
            .iter()
            .enumerate()
            .map(|(i, o)| (o.address.clone(), i))
            .collect();
        Self {
            deploy: started.deploy,
            stage: started.stage,
            mode: started.mode,
            who: started.who,
            host: started.host,
            began,
            operations: started.operations,
            summary: None,
            cancel: None,
            calls: VecDeque::new(),
            queued_ms: BTreeMap::new(),
            places,
        }
    }

    /// The operation of an address.
    pub fn operation(&self, address: &str) -> Option<&Operation> {
        self.operations.get(*self.places.get(address)?)
    }

    /// The calls that were made for one resource, as they ended.
    pub fn calls_of<'a>(&'a self, resource: &'a str) -> impl Iterator<Item = &'a CallFinished> {
        self.calls
            .iter()
            .filter(move |c| c.resource.as_deref() == Some(resource))
    }

    /// What an operation needs and what is not done: first what is in its way for good, then what
    /// runs, then what waits.
    pub fn blockers<'a>(
        &'a self,
        operation: &'a Operation,
    ) -> Vec<(&'a str, Option<OperationState>)> {
        let state = |address: &str| self.operation(address).map(|o| o.state);
        let mut all: Vec<_> = operation
            .waits_for
            .iter()
            .map(|a| (a.as_str(), state(a)))
            .collect();
        all.retain(|(_, s)| *s != Some(OperationState::Done));
        all.sort_by_key(|(_, s)| match s {
            Some(
                OperationState::Failed | OperationState::HalfReplaced | OperationState::Unknown,
            ) => 0,
            Some(OperationState::NotAttempted) => 1,
            Some(OperationState::Running) => 2,
            _ => 3,
        });
        all
    }

    fn finished(&mut self, call: &CallFinished) {
        if self.summary.is_none() {
            if self.calls.len() == CALLS_OF_A_DEPLOY {
                self.calls.pop_front();
            }
            self.calls.push_back(call.clone());
        }
    }

    fn stood_in_line(&mut self, call: &CallStarted) {
        if let (None, Some(resource), 1..) = (&self.summary, &call.resource, call.queued_ms) {
            *self.queued_ms.entry(resource.clone()).or_default() += call.queued_ms;
        }
    }
}

/// What is being staged right now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staging {
    pub stage: StageId,
    pub mode: StageMode,
    pub since: UnixMs,
    pub done: u32,
    pub total: u32,
    pub now: String,
}

/// What an operator sees at a moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Number of the last event folded in.
    pub seq: u64,
    pub plugins: BTreeMap<PluginId, PluginView>,
    /// In the order of their numbers.
    pub calls: BTreeMap<CallId, CallView>,
    /// The last finished calls, newest last.
    pub finished: VecDeque<CallFinished>,
    /// How the last calls of each plugin went, as its lane measured them when the newest of them
    /// ended.
    pub latencies: BTreeMap<PluginId, Latencies>,
    pub staging: Option<Staging>,
    pub stage: Option<Arc<StageSummary>>,
    /// Addresses of the current stage that are left out.
    pub left: std::collections::BTreeSet<String>,
    pub stage_error: Option<String>,
    pub deploy: Option<DeployView>,
    pub diagnostics: VecDeque<Diagnostic>,
    /// What was begun and has no end on record, oldest first.
    pub unknown: Vec<Unknown>,
    /// Plugins that came with the workspace's own files and were not launched, as they have no yes.
    #[serde(default)]
    pub untrusted: Vec<WorkspacePlugin>,
    pub lock: Option<LockHolder>,
    pub lock_is_ours: bool,
    pub notices: VecDeque<(UnixMs, String)>,
    pub incidents: VecDeque<Crash>,
}

fn push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == KEPT {
        queue.pop_front();
    }
    queue.push_back(item);
}

impl View {
    /// Folds one event in. Events at or below `seq` are known already and change nothing.
    pub fn apply(&mut self, event: &Event) {
        if event.seq <= self.seq && event.seq != 0 {
            return;
        }
        self.seq = event.seq.max(self.seq);
        match &event.kind {
            EventKind::Plugin(plugin) => self.apply_plugin(event.at, plugin),
            EventKind::CallQueued(_) | EventKind::CallStarted(_) | EventKind::CallFinished(_) => {
                self.apply_call(event)
            }
            EventKind::Diagnostic(d) if self.diagnostics.contains(d) => {}
            EventKind::Diagnostic(d) => push(&mut self.diagnostics, d.clone()),
            EventKind::StageStarted(s) => {
                self.diagnostics.clear();
                self.stage_error = None;
                self.staging = Some(Staging {
                    stage: s.stage,
                    mode: s.mode,
                    since: event.at,
                    done: 0,
                    total: s.resources,
                    now: String::new(),
                });
            }
            EventKind::StageProgress {
                done, total, now, ..
            } => {
                if let Some(staging) = &mut self.staging {
                    (staging.done, staging.total) = (*done, *total);
                    staging.now.clone_from(now);
                }
            }
            EventKind::Staged(summary) => {
                self.staging = None;
                self.left = summary.left.iter().cloned().collect();
                self.stage = Some(summary.clone());
            }
            EventKind::StageFailed { text, .. } => {
                self.staging = None;
                self.stage_error = Some(text.clone());
            }
            EventKind::Selected { left, .. } => self.left = left.iter().cloned().collect(),
            EventKind::DeployStarted(started) => {
                self.deploy = Some(DeployView::new(started.clone(), event.at));
            }
            EventKind::Operation(op) => {
                if let Some(slot) = self
                    .deploy
                    .as_mut()
                    .and_then(|d| d.operations.get_mut(op.index as usize))
                {
                    *slot = op.clone();
                }
            }
            EventKind::DeployFinished(summary) => {
                if let Some(deploy) = &mut self.deploy {
                    deploy.summary = Some(summary.clone());
                }
            }
            EventKind::Cancel { rung, text } => {
                if let Some(deploy) = &mut self.deploy {
                    deploy.cancel = Some(*rung);
                }
                push(&mut self.notices, (event.at, text.clone()));
            }
            EventKind::Lock { holder, ours } => {
                self.lock.clone_from(holder);
                self.lock_is_ours = *ours;
            }
            EventKind::StateChanged(change) => {
                push(
                    &mut self.notices,
                    (
                        event.at,
                        format!("{} {}", change.address, change.what.word()),
                    ),
                );
            }
            EventKind::UnknownOutcomes { outcomes } => {
                let open = |intent: i64| outcomes.iter().any(|u| u.intent == intent);
                self.diagnostics.retain(|d| d.intent.is_none_or(open));
                self.unknown.clone_from(outcomes);
            }
            EventKind::UntrustedPlugins { plugins } => self.untrusted.clone_from(plugins),
            EventKind::Notice { text } => push(&mut self.notices, (event.at, text.clone())),
        }
    }

    fn plugin(&mut self, id: &PluginId) -> &mut PluginView {
        self.plugins
            .entry(id.clone())
            .or_insert_with(|| PluginView {
                id: id.clone(),
                found: None,
                state: PluginState::Discovered,
                attempts: VecDeque::new(),
                usage: None,
                last_line: None,
                restarts: 0,
                crashes: VecDeque::new(),
            })
    }

    fn apply_plugin(&mut self, at: UnixMs, event: &PluginEvent) {
        match event {
            PluginEvent::Found { plugin, found } => self.plugin(plugin).found = Some(found.clone()),
            PluginEvent::State { plugin, state } => {
                let view = self.plugin(plugin);
                if matches!(state, PluginState::Ready { .. })
                    && view
                        .attempts
                        .iter()
                        .filter(|a| a.verdict.as_ref().is_some_and(|v| v.kind == "ready"))
                        .count()
                        > 1
                {
                    view.restarts += 1;
                }
                if !matches!(state, PluginState::Ready { .. } | PluginState::Draining) {
                    view.usage = None;
                }
                view.state = state.clone();
            }
            PluginEvent::Attempt { plugin, attempt } => {
                let attempts = &mut self.plugin(plugin).attempts;
                match attempts.back_mut() {
                    Some(last) if last.began == attempt.began && last.number == attempt.number => {
                        *last = attempt.clone()
                    }
                    _ => push(attempts, attempt.clone()),
                }
            }
            PluginEvent::Log { line } => {
                self.plugin(&line.plugin).last_line = Some(line.text.clone())
            }
            PluginEvent::Usage { plugin, usage } => self.plugin(plugin).usage = Some(*usage),
            PluginEvent::Crash {
                plugin,
                incident,
                text,
                trace,
                ..
            } => {
                let crash = Crash {
                    incident: incident.clone(),
                    at,
                    plugin: plugin.clone(),
                    text: text.clone(),
                    trace: trace.clone(),
                };
                push(&mut self.plugin(plugin).crashes, crash.clone());
                push(&mut self.incidents, crash);
            }
        }
    }

    fn apply_call(&mut self, event: &Event) {
        match &event.kind {
            EventKind::CallQueued(q) => {
                let queued_at = self
                    .calls
                    .get(&q.call)
                    .map_or(event.at, |known| known.queued_at);
                self.calls.insert(
                    q.call,
                    CallView {
                        call: q.call,
                        plugin: q.plugin.clone(),
                        method: q.method.clone(),
                        resource: q.resource.clone(),
                        queued_at,
                        started_at: None,
                        slot: None,
                        slots: 0,
                        deadline_ms: None,
                        usual: None,
                        waits_for: Some(q.waits_for.clone()),
                        blocker: q.blocker,
                    },
                );
            }
            EventKind::CallStarted(s) => {
                if let Some(deploy) = &mut self.deploy {
                    deploy.stood_in_line(s);
                }
                self.calls.insert(
                    s.call,
                    CallView {
                        call: s.call,
                        plugin: s.plugin.clone(),
                        method: s.method.clone(),
                        resource: s.resource.clone(),
                        queued_at: event.at - i64::try_from(s.queued_ms).unwrap_or(0),
                        started_at: Some(event.at),
                        slot: (s.slot > 0).then_some(s.slot),
                        slots: s.slots,
                        deadline_ms: s.deadline_ms,
                        usual: s.usual,
                        waits_for: None,
                        blocker: None,
                    },
                );
            }
            EventKind::CallFinished(f) => {
                self.calls.remove(&f.call);
                if let Some(deploy) = &mut self.deploy {
                    deploy.finished(f);
                }
                if let Some(measured) = f.measured {
                    let latencies = self.latencies.entry(f.plugin.clone()).or_default();
                    latencies.all = measured.plugin;
                    latencies.methods.insert(f.method.clone(), measured.method);
                }
                push(&mut self.finished, f.clone());
            }
            _ => {}
        }
    }

    /// The time that 95 of a hundred of a plugin's last calls took at most.
    pub fn p95_ms(&self, plugin: &PluginId) -> Option<u64> {
        self.latencies
            .get(plugin)
            .map(|l| l.all)
            .filter(Latency::is_known)
            .map(|l| l.p95_ms)
    }

    /// The running call that has held its slot longest.
    pub fn longest_blocker(&self) -> Option<&CallView> {
        self.calls
            .values()
            .filter(|c| c.started_at.is_some())
            .min_by_key(|c| c.started_at)
    }

    /// Calls that hold a slot, and slots in all over plugins that are in use.
    pub fn slots(&self) -> (usize, usize) {
        let mut by_plugin: BTreeMap<&PluginId, u32> = BTreeMap::new();
        let running = self.calls.values().filter(|c| c.slot.is_some());
        let held = running.clone().count();
        for call in running {
            by_plugin.insert(&call.plugin, call.slots);
        }
        (held, by_plugin.values().map(|n| *n as usize).sum())
    }
}

#[cfg(test)]
mod tests;
