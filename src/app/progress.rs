//! Progress of the shown deploy: counts, queued calls, time left, critical path. Computed once for
//! each frame, because title, headings and the cells of every row use it.

use super::doc::{Line, Role, address, line, span};
use super::filter::type_of;
use super::format::elapsed;
use super::state::{Screen, State};
use model::view::{CallView, DeployView, EndOfOperation};
use model::{Action, CallId, Operation, OperationState, UnixMs};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Progress of a deploy at a time.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Number of operations in each state, by its discriminant.
    counts: [usize; 7],
    /// Queued calls of running operations, by index of the operation.
    queued: HashMap<usize, CallId>,
    /// Expected time until the end; `None` if too little is known about it.
    pub left: Option<TimeLeft>,
    /// Operations of the critical path, from the first one to the last one.
    pub critical_path: Vec<usize>,
    is_critical: HashSet<usize>,
    /// Time from the begin of the deploy to its actual or expected end.
    pub whole_ms: i64,
}

/// Expected time until the end of a deploy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLeft {
    pub ms: u64,
    /// Some operations have no usual duration, or have exceeded it.
    pub is_minimum: bool,
}

impl Progress {
    /// Computes the progress of the shown deploy.
    pub fn of(state: &State) -> Self {
        let Some((deploy, now)) = state.shown_deploy() else {
            return Self::default();
        };
        let mut progress = Self::default();
        for operation in &deploy.operations {
            progress.counts[operation.state as usize] += 1;
        }
        if is_live(state) {
            progress.find_queued(deploy, &state.view.calls);
        }
        if deploy.summary.is_some() {
            progress.critical_path = deploy.critical_path(&deploy.ends());
        } else {
            progress.estimate(state, deploy, now);
        }
        progress.whole_ms = whole_ms(deploy, now, progress.left);
        progress.is_critical = progress.critical_path.iter().copied().collect();
        progress
    }

    /// Returns true for an operation of the critical path.
    pub fn is_critical(&self, at: usize) -> bool {
        self.is_critical.contains(&at)
    }

    /// Number of operations in a state. Queued operations do not count as running.
    pub fn count(&self, state: OperationState) -> usize {
        let all = self.counts[state as usize];
        match state {
            OperationState::Running => all.saturating_sub(self.queued()),
            _ => all,
        }
    }

    /// Number of running operations with a queued call.
    pub fn queued(&self) -> usize {
        self.queued.len()
    }

    /// A call names a resource and no operation, so the address connects them.
    fn find_queued(&mut self, deploy: &DeployView, calls: &BTreeMap<CallId, CallView>) {
        let queued = calls.iter().filter(|(_, c)| c.started_at.is_none());
        for (id, call) in queued {
            let resource = call.resource.as_deref();
            if let Some(operation) = resource.and_then(|r| deploy.operation(r))
                && operation.state == OperationState::Running
            {
                self.queued.entry(operation.index as usize).or_insert(*id);
            }
        }
    }

    /// Estimates the end from the usual durations of the unfinished operations and their needs, and
    /// from the number of operations that run at the same time.
    fn estimate(&mut self, state: &State, deploy: &DeployView, now: UnixMs) {
        let usual = UsualDurations::default();
        let (mut work, mut known, mut unknown) = (0, 0, 0);
        let mut rest = vec![None; deploy.operations.len()];
        let dependents = dependents(deploy);
        for at in operations_to_end(deploy, &dependents) {
            let operation = &deploy.operations[at];
            let worked = worked_with(state, self, deploy, operation, now);
            match usual.of_operation(deploy, operation) {
                Some(usual) if usual > worked => {
                    (rest[at], known) = (Some(usual - worked), known + 1);
                }
                _ => (rest[at], unknown) = (Some(0), unknown + 1),
            }
            work += rest[at].unwrap_or(0);
        }
        // A minimum that leaves out most of the work says nothing.
        if known <= unknown {
            return;
        }
        let ends = expected_ends(deploy, &dependents, &rest, now);
        let last = ends.iter().flatten().map(|(ms, _)| *ms).max();
        let chain = last.map_or(0, |last| last - now);
        let slots = i64::from(deploy.parallelism).max(1);
        // Without a known limit, only the chain of needs bounds the time.
        let shared = if deploy.parallelism == 0 {
            0
        } else {
            work / slots
        };
        let ms = u64::try_from(chain.max(shared)).unwrap_or(0);
        self.left = Some(TimeLeft {
            ms,
            is_minimum: unknown > 0,
        });
        self.critical_path = deploy.critical_path(&ends);
    }
}

/// Indexes of the operations that need each operation.
fn dependents(deploy: &DeployView) -> Vec<Vec<usize>> {
    let mut dependents = vec![Vec::new(); deploy.operations.len()];
    for at in 0..deploy.operations.len() {
        for need in deploy.needs(at) {
            dependents[*need].push(at);
        }
    }
    dependents
}

/// Indexes of the operations that the deploy still has to end. Excludes those that cannot start,
/// because a need failed or the deploy was cancelled.
fn operations_to_end(deploy: &DeployView, dependents: &[Vec<usize>]) -> Vec<usize> {
    use OperationState::{Done, Running, Waiting};
    let all = &deploy.operations;
    let has_failed = |at: &usize| !matches!(all[*at].state, Done | Running | Waiting);
    let mut blockers: Vec<usize> = (0..all.len()).filter(has_failed).collect();
    let mut is_blocked = vec![deploy.cancel.is_some(); all.len()];
    while let Some(blocker) = blockers.pop() {
        for dependent in &dependents[blocker] {
            if !std::mem::replace(&mut is_blocked[*dependent], true) {
                blockers.push(*dependent);
            }
        }
    }
    let goes_on = |at: &usize| match all[*at].state {
        Running => true,
        Waiting => !is_blocked[*at],
        _ => false,
    };
    (0..all.len()).filter(goes_on).collect()
}

/// Returns the time to the end of a deploy.
fn whole_ms(deploy: &DeployView, now: UnixMs, left: Option<TimeLeft>) -> i64 {
    let left = left.and_then(|left| i64::try_from(left.ms).ok());
    match &deploy.summary {
        None => now - deploy.began + left.unwrap_or(0),
        Some(s) => {
            // The end of a killed run is unknown; its operations have ended before it.
            s.ended
                .or_else(|| deploy.last_end())
                .unwrap_or(deploy.began)
                - deploy.began
        }
    }
}

/// Resource type and action.
type Kind<'a> = (&'a str, Action);

/// Durations of completed operations of this deploy, for operations without a history. Computed for
/// the first of these.
#[derive(Default)]
struct UsualDurations<'a> {
    /// Sum and number.
    done: OnceCell<HashMap<Kind<'a>, (u64, u64)>>,
}

impl<'a> UsualDurations<'a> {
    fn done(&self, deploy: &'a DeployView) -> &HashMap<Kind<'a>, (u64, u64)> {
        self.done.get_or_init(|| {
            let mut done = HashMap::<_, (u64, u64)>::new();
            for operation in &deploy.operations {
                if let (OperationState::Done, Some(took)) = (operation.state, operation.took_ms) {
                    let of_kind = done.entry((type_of(&operation.address), operation.action));
                    let (sum, n) = of_kind.or_default();
                    // Without the time in the queue, which depends on the other operations.
                    let queued = deploy.queued_ms.get(&operation.address).unwrap_or(&0);
                    (*sum, *n) = (*sum + took.saturating_sub(*queued), *n + 1);
                }
            }
            done
        })
    }

    fn of_operation(&self, deploy: &'a DeployView, operation: &Operation) -> Option<i64> {
        let of_this_deploy = || {
            let kind = (type_of(&operation.address), operation.action);
            self.done(deploy).get(&kind).map(|(sum, n)| sum / n)
        };
        let ms = operation.usual_ms.or_else(of_this_deploy)?;
        i64::try_from(ms).ok()
    }
}

/// Ends of all operations if those with a rest of their usual duration take it once their needs
/// have ended.
fn expected_ends(
    deploy: &DeployView,
    dependents: &[Vec<usize>],
    rest: &[Option<i64>],
    now: UnixMs,
) -> Vec<Option<EndOfOperation>> {
    let mut ends = deploy.ends();
    let goes_on = |at: &&usize| rest[**at].is_some();
    let open = |at| deploy.needs(at).iter().filter(goes_on).count();
    let mut open_needs: Vec<usize> = (0..rest.len()).map(open).collect();
    let is_ready = |at: &usize| open_needs[*at] == 0;
    let mut ready: Vec<usize> = (0..rest.len()).filter(is_ready).collect();
    while let Some(at) = ready.pop() {
        let Some(rest) = rest[at] else { continue };
        let needs = deploy.needs(at).iter().filter_map(|need| ends[*need]);
        let (begin, depth) = needs.max().unwrap_or((now, 0));
        ends[at] = Some((begin.max(now) + rest, depth + 1));
        for dependent in dependents[at].iter().filter(goes_on) {
            open_needs[*dependent] -= 1;
            if open_needs[*dependent] == 0 {
                ready.push(*dependent);
            }
        }
    }
    ends
}

/// Returns true if the shown deploy is running. Current calls do not belong to a replayed deploy.
fn is_live(state: &State) -> bool {
    state.is_deploying() && !(state.screen == Screen::History && state.loaded.replay.is_some())
}

/// Returns the queued call of a running operation.
pub fn queued<'a>(state: &'a State, op: &Operation) -> Option<&'a CallView> {
    let id = state.frame.progress.queued.get(&(op.index as usize))?;
    let call = state.view.calls.get(id)?;
    // The call may have started since the last frame.
    (call.started_at.is_none() && op.state == OperationState::Running).then_some(call)
}

/// Describes the time in the queue and the owner of the slot.
pub fn in_line(state: &State, call: &CallView) -> Line {
    let since = elapsed(state.now - call.queued_at);
    let holder = call
        .blocker
        .and_then(|b| state.view.calls.get(&b))
        .and_then(|b| b.resource.as_deref());
    match (holder, &call.waits_for) {
        (Some(holder), _) => vec![
            span(Role::Warn, format!("{since} queued behind ")),
            address(Role::Warn, holder),
        ],
        (None, Some(what)) => line(Role::Warn, format!("{since} queued: {what}")),
        (None, None) => line(Role::Warn, format!("{since} queued")),
    }
}

/// Working time of an operation in milliseconds: since its start, without the time in the queue.
pub fn worked_ms(state: &State, deploy: &DeployView, op: &Operation, now: UnixMs) -> i64 {
    worked_with(state, &state.frame.progress, deploy, op, now)
}

fn worked_with(
    state: &State,
    progress: &Progress,
    deploy: &DeployView,
    op: &Operation,
    now: UnixMs,
) -> i64 {
    let Some(began) = op.began else { return 0 };
    let before = deploy.queued_ms.get(&op.address).copied();
    let before = before.and_then(|ms| i64::try_from(ms).ok()).unwrap_or(0);
    // The current wait is not part of the recorded one yet.
    let call = progress.queued.get(&(op.index as usize));
    let call = call.and_then(|id| state.view.calls.get(id));
    let still = call.map_or(0, |c| now - c.queued_at);
    (now - began - before - still).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{DeployStarted, StageMode};

    /// Operation of a case: address, needs, state, start, duration, usual duration.
    type Case = (
        &'static str,
        &'static [&'static str],
        OperationState,
        Option<i64>,
        Option<u64>,
        Option<u64>,
    );

    fn deploy(cases: &[Case], parallelism: u32) -> DeployView {
        let operations = cases.iter().zip(0..);
        let operations =
            operations.map(
                |((address, needs, state, began, took, usual), index)| Operation {
                    deploy: 1,
                    index,
                    address: (*address).into(),
                    plugin: None,
                    action: Action::Create,
                    state: *state,
                    step: model::OperationProgress::Unsaid,
                    half_done: false,
                    attempt: 1,
                    retry: None,
                    waits_until_ready: None,
                    began: *began,
                    took_ms: *took,
                    waits_for: needs.iter().map(ToString::to_string).collect(),
                    waits_for_more: 0,
                    waits_for_all_of: Vec::new(),
                    usual_ms: *usual,
                    failure: None,
                    warnings: Vec::new(),
                    beside: Vec::new(),
                },
            );
        let started = DeployStarted {
            deploy: 1,
            stage: 1,
            mode: StageMode::Normal,
            who: String::new(),
            host: String::new(),
            parallelism,
            operations: operations.collect(),
        };
        DeployView::new(started, 0)
    }

    #[track_caller]
    fn check(deploy: DeployView, now: UnixMs, left: Option<(u64, bool)>, path: &[usize]) {
        let mut state = State::new("shop", "/shop");
        state.now = now;
        state.view.deploy = Some(deploy);
        let progress = Progress::of(&state);
        let found = progress.left.map(|left| (left.ms, left.is_minimum));
        assert_eq!((found, &progress.critical_path[..]), (left, path));
    }

    use OperationState::{Done, Failed, Running, Waiting};

    #[test]
    fn time_left_follows_the_longest_chain_of_needs() {
        let cases: &[Case] = &[
            ("t.a", &[], Running, Some(0), None, Some(10_000)),
            ("t.b", &["t.a"], Waiting, None, None, Some(5_000)),
            ("t.c", &["t.b"], Waiting, None, None, Some(1_000)),
            ("t.d", &[], Running, Some(0), None, Some(9_000)),
        ];
        check(deploy(cases, 10), 4_000, Some((12_000, false)), &[0, 1, 2]);
        // With one operation at a time, their sum decides.
        check(deploy(cases, 1), 4_000, Some((17_000, false)), &[0, 1, 2]);
    }

    #[test]
    fn operation_without_history_takes_as_long_as_others_of_its_type() {
        let cases: &[Case] = &[
            ("t.a", &[], Done, Some(0), Some(3_000), None),
            ("t.b", &[], Done, Some(0), Some(5_000), None),
            ("t.c", &["t.a"], Running, Some(3_000), None, None),
            ("t.d", &["t.c"], Waiting, None, None, None),
        ];
        check(deploy(cases, 10), 5_000, Some((6_000, false)), &[0, 2, 3]);
        let unknown: &[Case] = &[
            ("t.a", &[], Done, Some(0), Some(3_000), None),
            ("t.b", &[], Running, Some(0), None, None),
            ("t.c", &[], Running, Some(0), None, None),
            ("other.d", &[], Running, Some(0), None, None),
        ];
        check(deploy(unknown, 10), 1_000, Some((2_000, true)), &[]);
        check(deploy(&unknown[1..], 10), 1_000, None, &[]);
    }

    #[test]
    fn operations_behind_a_failure_take_no_time() {
        let cases: &[Case] = &[
            ("t.a", &[], Failed, Some(0), Some(1_000), Some(1_000)),
            ("t.b", &["t.a"], Waiting, None, None, Some(60_000)),
            ("t.c", &["t.b"], Waiting, None, None, Some(60_000)),
            ("t.d", &[], Running, Some(0), None, Some(3_000)),
        ];
        check(deploy(cases, 10), 2_000, Some((1_000, false)), &[]);
    }

    #[test]
    fn operation_beyond_its_usual_duration_makes_the_time_left_a_minimum() {
        let cases: &[Case] = &[
            ("t.a", &[], Running, Some(0), None, Some(1_000)),
            ("t.b", &["t.a"], Waiting, None, None, Some(4_000)),
            ("t.c", &["t.b"], Waiting, None, None, Some(4_000)),
        ];
        check(deploy(cases, 10), 30_000, Some((8_000, true)), &[0, 1, 2]);
    }
}
