//! Where each operation stands: told to everybody who watches, and durable with the next intent or
//! outcome.

use super::DeployRecord;
use crate::engine::deploy::waits::{Line, Waits};
use crate::engine::mutex::lock;
use crate::engine::store::StoreError;
use crate::engine::words::*;
use std::collections::HashMap;
use std::sync::Arc;

pub(super) struct Operations {
    pub(super) all: Vec<Operation>,
    pub(super) by_id: HashMap<String, usize>,
    pub(super) waits: Waits,
}

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
    /// Changes one operation, tells the store and everybody who watches.
    pub(super) async fn change(&self, id: &str, change: impl FnOnce(&mut Operation)) {
        let operation = {
            let mut operations = lock(&self.operations);
            let Some(&at) = operations.by_id.get(id) else {
                return;
            };
            change(&mut operations.all[at]);
            operations.all[at].clone()
        };
        self.tell(operation).await;
    }

    async fn tell(&self, operation: Operation) {
        self.bus.emit(EventKind::Operation(operation.clone()));
        let bus = self.bus.clone();
        let not_kept = move |error: StoreError| {
            bus.emit(EventKind::Notice {
                text: format!("an operation's progress was not kept: {error}"),
            })
        };
        if let Err(error) = self
            .store
            .operation_changed(operation, Box::new(not_kept.clone()))
            .await
        {
            not_kept(error);
        }
    }

    /// Tells of the attempts at calls of an operation.
    pub fn attempts(&self, id: &str) -> Arc<dyn Fn(Option<Retry>) + Send + Sync> {
        let (operations, bus, id) = (
            Arc::clone(&self.operations),
            self.bus.clone(),
            id.to_owned(),
        );
        Arc::new(move |retry| {
            let mut operations = lock(&operations);
            let Some(&at) = operations.by_id.get(&id) else {
                return;
            };
            let operation = &mut operations.all[at];
            operation.retry = retry;
            operation.attempt = operation
                .attempt
                .max(retry.map_or(0, |retry| retry.attempt));
            // Durable with the next change of it.
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
            let Operations { all, by_id, waits } = &mut *operations;
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
    pub async fn began(&self, id: &str, doing: Doing) {
        self.change(id, |o| {
            o.state = OperationState::Running;
            o.step = Reached::At(doing);
            o.waits_for.clear();
            o.attempt = o.attempt.max(1);
            o.began.get_or_insert_with(now_ms);
        })
        .await;
    }

    /// A step of an operation has ended well; with a state, the whole operation has.
    pub async fn ended(&self, id: &str, state: Option<OperationState>) {
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
        })
        .await;
        if state == Some(OperationState::Done) {
            self.others_wait_for(id);
        }
    }

    /// An operation was about to begin when the end was asked for.
    pub async fn not_begun(&self, id: &str) {
        self.change(id, |o| {
            let half = o.missing_half();
            (o.state, o.step) = match half {
                Some(missing) => (OperationState::HalfReplaced, missing),
                None => {
                    o.began = None;
                    (OperationState::NotAttempted, Reached::NotAttempted)
                }
            };
        })
        .await;
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
    pub async fn rest_not_attempted(&self) {
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
            })
            .await;
        }
    }

    /// How many ended how.
    pub fn counts(&self) -> OperationCounts {
        OperationCounts::of(&lock(&self.operations).all)
    }
}
