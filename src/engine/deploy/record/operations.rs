//! Where each operation stands: told to everybody who watches, and kept soon after, together with
//! what others have come to meanwhile.

use super::DeployRecord;
use crate::engine::deploy::waits::{Line, Waits};
use crate::engine::mutex::lock;
use crate::engine::store::StoreError;
use crate::engine::words::*;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub(super) struct Operations {
    pub(super) all: Vec<Operation>,
    pub(super) by_id: HashMap<String, usize>,
    pub(super) waits: Waits,
    /// The places of those that have changed since they were kept.
    pub(super) unkept: BTreeSet<usize>,
}

/// How soon a change is kept, so that an operation that begins and ends within this time is written
/// once. What was done to its object is on record before, by its intents and outcomes: they tell
/// what became of it where flightdeck dies within this time.
const KEPT_WITHIN: Duration = Duration::from_millis(50);

/// Those in a line who still wait, with the names of what they wait for now.
fn name(all: &mut [Operation], line: &Line) -> Vec<Operation> {
    let names: Vec<String> = (line.named.iter())
        .map(|n| all[*n].address.clone())
        .collect();
    let mut told = Vec::new();
    for at in &line.waiting {
        let operation = &mut all[*at];
        if operation.state == OperationState::Waiting {
            operation.waits_for.clone_from(&names);
            told.push(operation.clone());
        }
    }
    told
}

impl DeployRecord {
    /// Changes one operation and tells everybody who watches; [`Self::keep_current`] keeps it.
    pub(super) fn change(&self, id: &str, change: impl FnOnce(&mut Operation)) {
        let operation = {
            let mut operations = lock(&self.operations);
            let Some(&at) = operations.by_id.get(id) else {
                return;
            };
            operations.unkept.insert(at);
            change(&mut operations.all[at]);
            operations.all[at].clone()
        };
        self.bus.emit(EventKind::Operation(operation));
        self.changed.notify_one();
    }

    /// Keeps what changes until `done`, and by then all of it.
    pub async fn keep_current(&self, done: &CancellationToken) {
        let some_have_changed = || async {
            self.changed.notified().await;
            tokio::time::sleep(KEPT_WITHIN).await;
        };
        while done
            .run_until_cancelled(some_have_changed())
            .await
            .is_some()
        {
            self.keep_changed().await;
        }
        self.keep_changed().await;
    }

    /// Keeps what has changed by now; what is asked of the store next is durable no sooner.
    pub(super) async fn keep_changed(&self) {
        let changed: Vec<Operation> = {
            let mut operations = lock(&self.operations);
            let Operations { all, unkept, .. } = &mut *operations;
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
                text: format!("the progress of operations was not kept: {error}"),
            })
        };
        let failed = Box::new(not_kept.clone());
        if let Err(error) = self.store.operations_changed(changed, failed).await {
            not_kept(error);
        }
    }

    /// Tells of the pauses between calls of an operation.
    pub fn pauses(&self, id: &str) -> Arc<dyn Fn(Option<Pause>) + Send + Sync> {
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
            (operation.retry, operation.stabilising) = match pause {
                Some(Pause::Retry(retry)) => (Some(retry), None),
                Some(Pause::Look(look)) => (None, Some(look)),
                None => (None, None),
            };
            let attempt = operation.retry.as_ref().map_or(0, |retry| retry.attempt);
            operation.attempt = operation.attempt.max(attempt);
            // Kept with the next change of it.
            bus.emit(EventKind::Operation(operation.clone()));
        })
    }

    /// Whether the first half of a replacement is done.
    pub fn is_half_done(&self, id: &str) -> bool {
        let operations = lock(&self.operations);
        operations
            .by_id
            .get(id)
            .is_some_and(|at| operations.all[*at].half_done)
    }

    /// The place of an operation in the deploy.
    pub fn place(&self, id: &str) -> Option<usize> {
        lock(&self.operations).by_id.get(id).copied()
    }

    /// What operations wait for, known before anything runs; some of it is told.
    pub fn waits_for(&self, waits: Waits) {
        let told: Vec<Operation> = {
            let mut operations = lock(&self.operations);
            operations.waits = waits;
            let Operations { all, waits, .. } = &mut *operations;
            let lines = waits.lines().iter();
            lines.flat_map(|line| name(all, line)).collect()
        };
        self.tell_waiting(told);
    }

    /// Those who waited for one that is done, and of whose needs no more is told, wait for others.
    fn others_wait_for(&self, id: &str) {
        let told: Vec<Operation> = {
            let mut operations = lock(&self.operations);
            let Operations {
                all, by_id, waits, ..
            } = &mut *operations;
            let Some(&at) = by_id.get(id) else { return };
            let lines = waits.done(at).into_iter();
            lines.flat_map(|line| name(all, line)).collect()
        };
        self.tell_waiting(told);
    }

    fn tell_waiting(&self, told: Vec<Operation>) {
        for operation in told {
            self.bus.emit(EventKind::Operation(operation));
        }
    }

    /// A step of an operation begins.
    pub fn began(&self, id: &str, doing: Doing) {
        self.change(id, |o| {
            o.state = OperationState::Running;
            o.step = Reached::At(doing);
            o.waits_for.clear();
            o.attempt = o.attempt.max(1);
            o.began.get_or_insert_with(now_ms);
        });
    }

    /// A step of an operation has ended well; with a state, the whole operation has.
    pub fn ended(&self, id: &str, state: Option<OperationState>) {
        self.change(id, |o| match state {
            Some(state) => {
                o.state = state;
                o.step = Reached::Done(o.action);
                o.took_ms = o.began.map(|b| u64::try_from(now_ms() - b).unwrap_or(0));
            }
            None => {
                o.half_done = true;
                o.step = Reached::BetweenHalves;
            }
        });
        if state == Some(OperationState::Done) {
            self.others_wait_for(id);
        }
    }

    /// An operation was about to begin when the end was asked for.
    pub fn not_begun(&self, id: &str) {
        self.change(id, |o| {
            let half = o.missing_half();
            (o.state, o.step) = match half {
                Some(missing) => (OperationState::HalfReplaced, missing),
                None => {
                    o.began = None;
                    (OperationState::NotAttempted, Reached::NotAttempted)
                }
            };
        });
    }

    pub(super) fn began_at(&self, id: &str) -> Option<UnixMs> {
        let operations = lock(&self.operations);
        operations.all[*operations.by_id.get(id)?].began
    }

    /// Whether an operation was stopped by the end that was asked for.
    pub fn stopped_any(&self) -> bool {
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

    /// Everything that has not begun will not.
    pub fn rest_not_attempted(&self) {
        let rest: Vec<String> = {
            let operations = lock(&self.operations);
            let unfinished = |o: &&Operation| {
                matches!(o.state, OperationState::Waiting | OperationState::Running)
            };
            operations
                .all
                .iter()
                .filter(unfinished)
                .map(|o| o.address.clone())
                .collect()
        };
        for id in rest {
            self.change(&id, |o| {
                (o.state, o.step) = match o.missing_half() {
                    Some(missing) => (OperationState::HalfReplaced, missing),
                    None if o.state == OperationState::Running => {
                        (OperationState::NotAttempted, Reached::NotFinished)
                    }
                    None => (OperationState::NotAttempted, Reached::NotAttempted),
                };
            });
        }
    }

    /// How many ended how.
    pub fn counts(&self) -> OperationCounts {
        OperationCounts::of(&lock(&self.operations).all)
    }
}
