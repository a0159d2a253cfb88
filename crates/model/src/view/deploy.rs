//! View of the running or replayed deploy, and the fold of its events.

use super::{View, push};
use crate::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Limit of finished calls kept per deploy.
const CALLS_OF_A_DEPLOY: usize = 20_000;

/// Deploy as folded from events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeployView {
    pub deploy: DeployId,
    pub stage: StageId,
    pub mode: StageMode,
    pub who: String,
    pub host: String,
    pub began: UnixMs,
    /// Maximum number of operations that run at the same time; 0 if it is not known.
    #[serde(default)]
    pub parallelism: u32,
    pub operations: Vec<Operation>,
    /// Largest number of operations that ran at the same time so far.
    #[serde(default)]
    pub peak: usize,
    #[serde(skip)]
    running: usize,
    pub summary: Option<DeploySummary>,
    pub cancel: Option<CancelRung>,
    /// Finished calls of the deploy, in order.
    pub calls: VecDeque<CallFinished>,
    /// Queue time per resource, in milliseconds.
    pub queued_ms: BTreeMap<String, u64>,
    /// Errors and warnings of the deploy.
    #[serde(default)]
    pub diagnostics: VecDeque<Diagnostic>,
    /// Rollouts of groups, as last reported.
    #[serde(default)]
    pub rollouts: Vec<RolloutProgress>,
    /// Indexes of operations by address.
    #[serde(skip)]
    places: HashMap<String, usize>,
    /// Needs of each operation that its events have named so far, as indexes. An operation forgets
    /// them when it starts, and its need that ended last is always among them.
    #[serde(skip)]
    needs: Vec<Vec<usize>>,
}

impl DeployView {
    /// Creates the view of a deploy that has just started.
    pub fn new(started: DeployStarted, began: UnixMs) -> Self {
        let places = started
            .operations
            .iter()
            .enumerate()
            .map(|(i, o)| (o.address.clone(), i))
            .collect();
        let running = started.operations.iter();
        let running = running.filter(|o| o.state == OperationState::Running);
        let running = running.count();
        let mut view = Self {
            deploy: started.deploy,
            stage: started.stage,
            mode: started.mode,
            who: started.who,
            host: started.host,
            began,
            parallelism: started.parallelism,
            needs: vec![Vec::new(); started.operations.len()],
            running,
            peak: running,
            operations: started.operations,
            summary: None,
            cancel: None,
            calls: VecDeque::new(),
            queued_ms: BTreeMap::new(),
            diagnostics: VecDeque::new(),
            rollouts: Vec::new(),
            places,
        };
        for at in 0..view.operations.len() {
            view.learn_needs(at);
        }
        view
    }

    /// Creates the view of a recorded deploy from its folded events, which may be some of them
    /// only. Without a start event, the deploy is built from its summary.
    pub fn of_record(record: &DeployRecord, folded: Option<Self>, is_whole: bool) -> Self {
        let s = &record.summary;
        let mut view = folded.unwrap_or_else(|| {
            let started = DeployStarted {
                deploy: s.deploy,
                stage: s.stage,
                mode: s.mode,
                who: s.who.clone(),
                host: s.host.clone(),
                parallelism: 0,
                operations: if is_whole {
                    record.operations.clone()
                } else {
                    Vec::new()
                },
            };
            Self::new(started, s.began)
        });
        if is_whole {
            // The stored record includes facts without events, such as the outcome of an
            // interrupted deploy, which a later run determined.
            view.operations.clone_from(&record.operations);
            view.summary = Some(s.clone());
        }
        view
    }

    /// Takes over an operation. An event contains the whole operation, so it replaces the previous
    /// one.
    fn set_operation(&mut self, operation: &Operation) {
        let at = operation.index as usize;
        if let Some(slot) = self.operations.get_mut(at) {
            self.running -= usize::from(slot.state == OperationState::Running);
            self.running += usize::from(operation.state == OperationState::Running);
            self.peak = self.peak.max(self.running);
            slot.clone_from(operation);
            self.learn_needs(at);
        }
    }

    /// Adds the needs that an operation names to the known ones.
    fn learn_needs(&mut self, at: usize) {
        let named = self.operations[at].waits_for.iter();
        for need in named.filter_map(|address| self.places.get(address)) {
            if !self.needs[at].contains(need) {
                self.needs[at].push(*need);
            }
        }
    }

    /// Returns the indexes of the known needs of an operation, done or not.
    pub fn needs(&self, at: usize) -> &[usize] {
        self.needs.get(at).map_or(&[], Vec::as_slice)
    }

    /// Returns the operation of an address.
    pub fn operation(&self, address: &str) -> Option<&Operation> {
        self.operations.get(*self.places.get(address)?)
    }

    /// Returns the finished calls for one resource, in order.
    pub fn calls_of<'a>(&'a self, resource: &'a str) -> impl Iterator<Item = &'a CallFinished> {
        self.calls
            .iter()
            .filter(move |c| c.resource.as_deref() == Some(resource))
    }

    /// Returns the unfinished needs of an operation: failed ones first, then running ones, then
    /// waiting ones.
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
        // Needs without an operation of their own stay, because their state is unknown.
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

    pub(super) fn finished(&mut self, call: &CallFinished) {
        // Calls after the end belong to no operation of the deploy.
        if self.summary.is_none() {
            if self.calls.len() == CALLS_OF_A_DEPLOY {
                self.calls.pop_front();
            }
            self.calls.push_back(call.clone());
        }
    }

    pub(super) fn add_queue_time(&mut self, call: &CallStarted) {
        if let (None, Some(resource), 1..) = (&self.summary, &call.resource, call.queued_ms) {
            *self.queued_ms.entry(resource.to_string()).or_default() += call.queued_ms;
        }
    }
}

impl View {
    pub(super) fn apply_rollout(&mut self, rollout: &RolloutProgress) {
        if let Some(deploy) = &mut self.deploy {
            deploy.rollouts.retain(|other| other.group != rollout.group);
            deploy.rollouts.push(rollout.clone());
        }
    }

    pub(super) fn apply_deploy(&mut self, event: &Event) {
        match &event.kind {
            EventKind::DeployStarted(started) => {
                self.deploy = Some(DeployView::new(started.clone(), event.at));
            }
            EventKind::Operation(op) => {
                if let Some(deploy) = &mut self.deploy {
                    deploy.set_operation(op);
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
            _ => {}
        }
    }
}
