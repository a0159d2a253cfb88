//! States of operations: emitted as events at once, stored shortly after together with other
//! changes.

use super::DeployRecorder;
use crate::deploy::waits::{Line, Waits};
use lang::addr::{AbsInstance, InstanceKey};
use model::mutex::lock;
use model::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use tokio_util::sync::CancellationToken;

pub(super) struct Operations {
    pub(super) all: Vec<Operation>,
    pub(super) by_id: HashMap<String, usize>,
    pub(super) waits: Waits,
    /// Indexes of operations that changed since they were stored.
    pub(super) unstored: BTreeSet<usize>,
}

/// Delay before changes are stored, so that an operation that starts and ends within it is written
/// once. Recovery does not depend on it: intents and outcomes are durable before.
const STORE_INTERVAL: Duration = Duration::from_millis(50);

/// Sets the displayed needs of operations that still wait, and returns these.
fn name(all: &mut [Operation], line: &Line) -> Vec<Operation> {
    let names: Vec<String> = (line.displayed.iter())
        .map(|n| all[*n].address.clone())
        .collect();
    let mut told = Vec::new();
    for at in &line.waiting {
        let operation = &mut all[*at];
        if operation.state == OperationState::Waiting {
            operation.waits_for.clone_from(&names);
            operation.waits_for_more = line.more();
            operation.waits_for_all_of.clone_from(&line.all_of);
            told.push(operation.clone());
        }
    }
    told
}

/// Returns the resource of an instance; `None` for a deposed object.
fn resource_of(address: &str) -> Option<String> {
    let address: AbsInstance = address.parse().ok()?;
    (address.key != InstanceKey::None).then(|| address.abs().to_string())
}

/// Sets for each line the resources of which it needs all instances that change, because a
/// dependency on a whole resource differs from one on the instance that fails.
fn find_whole_resources(all: &[Operation], waits: &mut Waits) {
    let resources: Vec<Option<String>> = all.iter().map(|o| resource_of(&o.address)).collect();
    let count = |places: &mut dyn Iterator<Item = usize>| {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for resource in places.filter_map(|at| resources[at].as_deref()) {
            *counts.entry(resource).or_default() += 1;
        }
        counts
    };
    let instances = count(&mut (0..all.len()));
    for line in waits.lines_mut() {
        let needed = count(&mut line.needs());
        let whole = needed
            .into_iter()
            .filter(|(resource, n)| *n > 1 && instances.get(resource) == Some(n));
        line.all_of = whole.map(|(resource, _)| resource.to_owned()).collect();
    }
}

impl DeployRecorder {
    /// Changes one operation and emits it; [`Self::store_changes_until`] stores it later.
    pub(super) fn change(&self, id: &str, change: impl FnOnce(&mut Operation)) {
        let operation = {
            let mut operations = lock(&self.operations);
            let Some(&at) = operations.by_id.get(id) else {
                return;
            };
            operations.unstored.insert(at);
            change(&mut operations.all[at]);
            operations.all[at].clone()
        };
        self.bus.emit(EventKind::Operation(operation));
        self.changed.notify_one();
    }

    /// Stores changes until `done`, and finally all remaining ones.
    pub async fn store_changes_until(&self, done: &CancellationToken) {
        // One write per interval, however many operations change in it.
        let some_have_changed = || async {
            self.changed.notified().await;
            tokio::time::sleep(STORE_INTERVAL).await;
        };
        while done
            .run_until_cancelled(some_have_changed())
            .await
            .is_some()
        {
            self.store_changes().await;
        }
        // `done` may have interrupted the wait for the next interval.
        self.store_changes().await;
    }

    /// Stores all changes so far. Later requests to the store become durable after them.
    pub(super) async fn store_changes(&self) {
        // The lock is released before the store is awaited.
        let changed: Vec<Operation> = {
            let mut operations = lock(&self.operations);
            let Operations {
                all,
                unstored: unkept,
                ..
            } = &mut *operations;
            std::mem::take(unkept)
                .into_iter()
                .map(|at| all[at].clone())
                .collect()
        };
        if changed.is_empty() {
            return;
        }
        let bus = self.bus.clone();
        let not_kept = move |error: StoreError| {
            bus.emit(EventKind::Notice {
                text: format!("failed to record the progress of operations: {error}"),
            })
        };
        let failed = Box::new(not_kept.clone());
        if let Err(error) = self.store.operations_changed(changed, failed).await {
            not_kept(error);
        }
    }

    /// Returns a callback that reports the pauses between calls of an operation.
    pub fn pause_reporter(&self, id: &str) -> Arc<dyn Fn(Option<Pause>) + Send + Sync> {
        let (operations, bus, id) = (
            Arc::clone(&self.operations),
            self.bus.clone(),
            id.to_owned(),
        );
        Arc::new(move |pause| {
            let mut operations = lock(&operations);
            let Some(&at) = operations.by_id.get(&id) else {
                return;
            };
            let operation = &mut operations.all[at];
            (operation.retry, operation.waits_until_ready) = match pause {
                Some(Pause::Retry(retry)) => (Some(retry), None),
                Some(Pause::Look(look)) => (None, Some(look)),
                None => (None, None),
            };
            let attempt = operation.retry.as_ref().map_or(0, |retry| retry.attempt);
            operation.attempt = operation.attempt.max(attempt);
            // Stored with the next change of the operation.
            bus.emit(EventKind::Operation(operation.clone()));
        })
    }

    /// Returns true if the first half of a replacement is done.
    pub fn is_half_done(&self, id: &str) -> bool {
        let operations = lock(&self.operations);
        operations
            .by_id
            .get(id)
            .is_some_and(|at| operations.all[*at].half_done)
    }

    /// Returns true if an operation has succeeded.
    pub fn is_done(&self, id: &str) -> bool {
        let operations = lock(&self.operations);
        let place = operations.by_id.get(id);
        place.is_some_and(|at| operations.all[*at].state == OperationState::Done)
    }

    /// Returns true if a step of the operation has begun.
    pub fn has_begun(&self, id: &str) -> bool {
        let operations = lock(&self.operations);
        let place = operations.by_id.get(id);
        place.is_some_and(|at| operations.all[*at].began.is_some())
    }

    /// Returns the index of an operation in the deploy.
    pub fn index_of(&self, id: &str) -> Option<usize> {
        lock(&self.operations).by_id.get(id).copied()
    }

    /// Sets the waits of all operations before the first one runs, and emits the displayed part.
    pub fn set_waits(&self, waits: Waits) {
        let told: Vec<Operation> = {
            let mut operations = lock(&self.operations);
            operations.waits = waits;
            let Operations { all, waits, .. } = &mut *operations;
            find_whole_resources(all, waits);
            let lines = waits.lines().iter();
            lines.flat_map(|line| name(all, line)).collect()
        };
        self.report_waiting(told);
    }

    /// Updates operations that waited for one that is done, if all their displayed needs are done.
    fn update_waiting(&self, id: &str) {
        let told: Vec<Operation> = {
            let mut operations = lock(&self.operations);
            let Operations {
                all, by_id, waits, ..
            } = &mut *operations;
            let Some(&at) = by_id.get(id) else { return };
            let lines = waits.done(at).into_iter();
            lines.flat_map(|line| name(all, line)).collect()
        };
        self.report_waiting(told);
    }

    fn report_waiting(&self, told: Vec<Operation>) {
        for operation in told {
            self.bus.emit(EventKind::Operation(operation));
        }
    }

    /// Records that a step of an operation starts.
    pub fn step_started(&self, id: &str, doing: Activity) {
        self.change(id, |o| {
            o.state = OperationState::Running;
            o.step = OperationProgress::At(doing);
            o.waits_for.clear();
            o.waits_for_more = 0;
            o.waits_for_all_of.clear();
            o.attempt = o.attempt.max(1);
            // The second half of a replacement keeps the start time of the first.
            o.began.get_or_insert_with(now_ms);
        });
    }

    /// Records that a step of an operation succeeded; with a state the whole operation has ended.
    pub fn step_succeeded(&self, id: &str, state: Option<OperationState>) {
        self.change(id, |o| match state {
            Some(state) => {
                o.state = state;
                o.step = OperationProgress::Done(o.action);
                o.took_ms = o.began.map(|b| u64::try_from(now_ms() - b).unwrap_or(0));
            }
            None => {
                o.half_done = true;
                o.step = OperationProgress::BetweenHalves;
            }
        });
        if state == Some(OperationState::Done) {
            self.update_waiting(id);
        }
    }

    /// Records that an operation did not start because of a cancellation.
    pub fn not_started(&self, id: &str) {
        self.change(id, |o| {
            let half = o.missing_half();
            (o.state, o.step) = match half {
                Some(missing) => (OperationState::HalfReplaced, missing),
                None => {
                    // It was reported as started before its call could be sent.
                    o.began = None;
                    (
                        OperationState::NotAttempted,
                        OperationProgress::NotAttempted,
                    )
                }
            };
        });
    }

    pub(super) fn began_at(&self, id: &str) -> Option<UnixMs> {
        let operations = lock(&self.operations);
        operations.all[*operations.by_id.get(id)?].began
    }

    /// Returns true if an operation failed because it was cancelled.
    pub fn any_cancelled(&self) -> bool {
        let class = |o: &Operation| o.failure.as_ref().map(|f| f.class);
        lock(&self.operations)
            .all
            .iter()
            .any(|o| o.state == OperationState::Failed && class(o) == Some(FailureClass::Cancelled))
    }

    pub(super) fn index(&self, id: &str) -> u32 {
        let operations = lock(&self.operations);
        operations
            .by_id
            .get(id)
            .map_or(0, |at| operations.all[*at].index)
    }

    /// Marks all unfinished operations as not attempted.
    pub fn mark_unfinished_as_not_attempted(&self) {
        // Collected first, because `change` locks the operations too.
        let rest: Vec<String> = {
            let mut operations = lock(&self.operations);
            let Operations { all, waits, .. } = &mut *operations;
            // Nothing ends any more, so the named needs are the final ones.
            for line in waits.lines_mut() {
                line.display_reasons(|n| all[n].is_incomplete());
                name(all, line);
            }
            let unfinished = |o: &&Operation| {
                matches!(o.state, OperationState::Waiting | OperationState::Running)
            };
            all.iter()
                .filter(unfinished)
                .map(|o| o.address.clone())
                .collect()
        };
        for id in rest {
            self.change(&id, |o| {
                (o.state, o.step) = match o.missing_half() {
                    Some(missing) => (OperationState::HalfReplaced, missing),
                    None if o.state == OperationState::Running => {
                        (OperationState::NotAttempted, OperationProgress::NotFinished)
                    }
                    None => (
                        OperationState::NotAttempted,
                        OperationProgress::NotAttempted,
                    ),
                };
            });
        }
    }

    /// Counts operations by end state.
    pub fn counts(&self) -> OperationCounts {
        OperationCounts::of(&lock(&self.operations).all)
    }

    /// Returns the operations that succeeded, and the creates that failed, which may have made an
    /// object.
    pub fn with_objects(&self) -> Vec<Operation> {
        let has_object = |o: &&Operation| match o.state {
            OperationState::Done => true,
            OperationState::Failed => o.action == Action::Create,
            _ => false,
        };
        let operations = lock(&self.operations);
        operations.all.iter().filter(has_object).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_of_which_all_instances_are_needed_are_found() {
        let addresses = ["a.x[0]", "a.x[1]", "a.x[2]", "a.y[\"k\"]", "a.z", "b.x"];
        let all: Vec<Operation> = addresses.iter().map(|a| operation(a)).collect();
        // `a.z` needs all of `a.x`, `b.x` two of them and an only instance.
        let mut waits = Waits::of([(vec![4], vec![0, 1, 2]), (vec![5], vec![0, 1, 3])]);
        find_whole_resources(&all, &mut waits);
        let found: Vec<_> = waits.lines().iter().map(|l| l.all_of.clone()).collect();
        assert_eq!(found, [vec!["a.x".to_owned()], vec![]]);
    }

    fn operation(address: &str) -> Operation {
        Operation {
            deploy: 1,
            index: 0,
            address: address.into(),
            plugin: None,
            action: Action::Create,
            state: OperationState::Waiting,
            step: OperationProgress::Waiting,
            half_done: false,
            attempt: 0,
            retry: None,
            waits_until_ready: None,
            began: None,
            took_ms: None,
            waits_for: Vec::new(),
            waits_for_more: 0,
            waits_for_all_of: Vec::new(),
            usual_ms: None,
            failure: None,
            warnings: Vec::new(),
            beside: Vec::new(),
        }
    }
}
