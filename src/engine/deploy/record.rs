//! What a deploy leaves behind: events for those who watch, records for those who come later. Every
//! operation's state lives here. Only intents and outcomes are waited for; where an operation
//! stands is durable with the next of them.

use super::waits::Waits;
use crate::engine::bus::Bus;
use crate::engine::mutex::lock;
use crate::engine::pool::Pool;
use crate::engine::secrets::Secrets;
use crate::engine::stage::change::Change;
use crate::engine::store::model::{Intent, Outcome, StateEdit, UnknownOutcome};
use crate::engine::store::{Store, StoreError};
use crate::engine::words::*;
use cty::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How many of a plugin's last lines a failure keeps.
const KEPT_LINES: usize = 100;
/// How long to wait for lines that a plugin has written and nobody has read yet.
const HEARD_WITHIN: Duration = Duration::from_millis(500);

/// Records one deploy.
pub struct Recorder {
    store: Store,
    bus: Bus,
    pool: Pool,
    deploy: DeployId,
    operations: Arc<Mutex<Operations>>,
    /// What earlier deploys left unknown.
    unknown_before: Vec<UnknownOutcome>,
}

struct Operations {
    all: Vec<Operation>,
    by_id: HashMap<String, usize>,
    waits: Waits,
}

impl Operations {
    fn name(&mut self, at: usize, names: &[usize]) -> Operation {
        self.all[at].waits_for = names.iter().map(|n| self.all[*n].address.clone()).collect();
        self.all[at].clone()
    }
}

impl Recorder {
    /// For a deploy whose operations are on record.
    pub fn new(
        store: Store,
        bus: Bus,
        pool: Pool,
        deploy: DeployId,
        operations: Vec<Operation>,
        unknown_before: Vec<UnknownOutcome>,
    ) -> Self {
        let by_id = operations
            .iter()
            .enumerate()
            .map(|(i, o)| (o.address.clone(), i))
            .collect();
        Self {
            store,
            bus,
            pool,
            deploy,
            operations: Arc::new(Mutex::new(Operations {
                all: operations,
                by_id,
                waits: Waits::default(),
            })),
            unknown_before,
        }
    }

    /// Changes one operation, tells the store and everybody who watches.
    async fn change(&self, id: &str, change: impl FnOnce(&mut Operation)) {
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

    /// What an operation waits for, known before anything runs; some of it is told.
    pub fn waits_for(&self, id: &str, needs: impl IntoIterator<Item = String>) {
        let operation = {
            let mut operations = lock(&self.operations);
            let Operations { by_id, waits, .. } = &mut *operations;
            let Some(&at) = by_id.get(id) else { return };
            let names = waits.add(
                at,
                needs
                    .into_iter()
                    .filter_map(|need| by_id.get(&need).copied()),
            );
            operations.name(at, &names)
        };
        self.bus.emit(EventKind::Operation(operation));
    }

    /// Those who waited for one that is done, and of whose needs no more is told, wait for others.
    fn others_wait_for(&self, id: &str) {
        let told: Vec<Operation> = {
            let mut operations = lock(&self.operations);
            let Some(&at) = operations.by_id.get(id) else {
                return;
            };
            let mut named = operations.waits.done(at);
            named.retain(|(at, _)| operations.all[*at].state == OperationState::Waiting);
            named
                .iter()
                .map(|(at, names)| operations.name(*at, names))
                .collect()
        };
        told.into_iter()
            .for_each(|o| self.bus.emit(EventKind::Operation(o)));
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

    /// An operation has failed. `gone`: its address has no object now.
    pub async fn failed(&self, id: &str, mut failure: Failure, unknown: bool, gone: bool) {
        if let Some(plugin) = failure
            .plugin
            .as_ref()
            .and_then(|p| self.pool.plugins().get(p))
        {
            // The line that says why may have been written right before the answer.
            plugin.heard(HEARD_WITHIN).await;
            let incident = failure
                .incident
                .as_deref()
                .and_then(|id| plugin.incident_named(id));
            let lines =
                incident.map_or_else(|| plugin.last_lines(KEPT_LINES), |i| i.last_lines.clone());
            // What it said before the operation began is about something else.
            let began = self.began_at(id).unwrap_or(0);
            (failure.last_lines, failure.last_lines_at) = lines
                .into_iter()
                .filter(|l| l.at >= began)
                .map(|l| (l.text, l.at))
                .unzip();
        }
        self.secrets().hide_in(&mut failure.summary);
        self.secrets().hide_in(&mut failure.detail);
        if let Err(error) = self.store.put_failure(self.deploy, failure.clone()).await {
            self.bus.emit(EventKind::Notice {
                text: format!("a failure's reason was not kept: {error}"),
            });
        }
        self.change(id, |o| {
            o.step = Reached::Failed(o.action);
            o.state = match o.missing_half() {
                _ if unknown => OperationState::Unknown,
                Some(missing) if o.action == Action::Replace && gone => {
                    o.step = missing;
                    OperationState::HalfReplaced
                }
                _ => OperationState::Failed,
            };
            o.took_ms = o.began.map(|b| u64::try_from(now_ms() - b).unwrap_or(0));
            o.failure = Some(Box::new(failure));
        })
        .await;
    }

    fn began_at(&self, id: &str) -> Option<UnixMs> {
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

    /// What must not be in what is said and kept.
    pub fn secrets(&self) -> &Secrets {
        self.pool.secrets()
    }

    /// What a provisioner or the like says of an operation.
    pub fn say(&self, address: &str, text: &str) {
        let plugin = PluginId(format!("provisioner {address}"));
        let line = crate::engine::words::LogLine {
            plugin,
            at: now_ms(),
            level: crate::engine::words::LogLevel::Info,
            stream: crate::engine::words::LogStream::Engine,
            module: None,
            text: self
                .secrets()
                .hide(&crate::engine::visible::uncoloured(text))
                .into_owned(),
            panic: false,
        };
        self.bus
            .emit(EventKind::Plugin(crate::engine::words::PluginEvent::Log {
                line,
            }));
    }

    /// Commits what is about to be done; only then may it be done. `object` is what is there before
    /// it, or for a create what is planned.
    pub async fn intend(
        &self,
        change: &Change,
        deposed: &str,
        step: OperationStep,
        object: &Value,
    ) -> Result<(), StoreError> {
        self.store
            .intend(self.intent(change, deposed, step, object))
            .await
    }

    /// Commits a step that changes the state and for which nobody is asked, together with the state
    /// that it leaves.
    pub async fn done(
        &self,
        change: &Change,
        deposed: &str,
        step: OperationStep,
        edits: Vec<StateEdit>,
    ) -> Result<(), StoreError> {
        self.store
            .record_done(
                self.intent(change, deposed, step.clone(), &change.before),
                edits,
            )
            .await?;
        if step == OperationStep::Import {
            let made = self
                .unknown_before
                .iter()
                .filter(|u| u.address == change.address.to_string() && u.is_creation());
            self.settle_earlier(made, &step).await?;
        }
        Ok(())
    }

    fn intent(
        &self,
        change: &Change,
        deposed: &str,
        step: OperationStep,
        object: &Value,
    ) -> Intent {
        let mut detail = serde_json::json!({"provider": change.provider.to_string(), "type": &*change.address.resource.kind});
        if let (Some(id), Some(all)) = (plain_id(object), detail.as_object_mut()) {
            all.insert("id".to_owned(), id.into());
        }
        Intent {
            deploy: self.deploy,
            index: self.index(&change.id()),
            address: change.address.to_string(),
            deposed: deposed.to_owned(),
            step,
            at: now_ms(),
            detail: detail.to_string(),
        }
    }

    fn index(&self, id: &str) -> u32 {
        let operations = lock(&self.operations);
        operations
            .by_id
            .get(id)
            .map_or(0, |at| operations.all[*at].index)
    }

    /// Commits what came of it, together with the state that it left.
    pub async fn settle(
        &self,
        change: &Change,
        step: &OperationStep,
        ok: bool,
        edits: Vec<StateEdit>,
    ) -> Result<(), StoreError> {
        let removed = edits.iter().find_map(|e| {
            if let StateEdit::Remove { deposed, .. } = e {
                Some(deposed.clone())
            } else {
                None
            }
        });
        let deposed = removed.unwrap_or_default();
        let outcome = Outcome {
            deploy: self.deploy,
            index: self.index(&change.id()),
            step: step.clone(),
            at: now_ms(),
            ok,
            edits,
        };
        self.store.settle(outcome).await?;
        if ok && *step != OperationStep::Create && !step.is_provisioner() {
            // What is known to be so now was reached from whatever an earlier deploy left. Not so a
            // creation: what it may have made would not be this object.
            let address = change.address.to_string();
            let answered = |u: &&UnknownOutcome| {
                u.address == address
                    && !u.is_creation()
                    && (u.deposed.is_empty() || u.deposed == deposed)
            };
            self.settle_earlier(self.unknown_before.iter().filter(answered), step)
                .await?;
        }
        Ok(())
    }

    async fn settle_earlier(
        &self,
        unknown: impl Iterator<Item = &UnknownOutcome>,
        step: &OperationStep,
    ) -> Result<(), StoreError> {
        let ids: Vec<i64> = unknown.map(|u| u.id).collect();
        if !ids.is_empty() {
            self.store
                .settle_unknown(ids, &format!("{step} in deploy #{}", self.deploy))
                .await?;
        }
        Ok(())
    }

    /// Commits a change of the state for which no call was made.
    pub async fn edit(&self, edits: Vec<StateEdit>) -> Result<(), StoreError> {
        self.store.edit_state(edits).await.map(|_| ())
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

/// The `id` of an object, where it has one that is known and no secret.
fn plain_id(object: &Value) -> Option<String> {
    if object.is_null() || !object.is_known() {
        return None;
    }
    let id = object.clone().unmark_deep_with_paths();
    let secret = id.1.iter().any(|(path, marks)| {
        marks.is_sensitive() && cty::Path::root().attr("id").starts_with(path)
    });
    let id =
        id.0.get_attr("id")
            .filter(|v| !secret && v.is_known() && !v.is_null())?;
    id.as_str().map(str::to_owned)
}

/// Equal for failures that are the same but for names, numbers and ids: digits and quoted parts do
/// not count.
pub fn fingerprint(class: FailureClass, kind: &str, summary: &str, detail: &str) -> String {
    let alike = |text: &str| {
        let mut quoted = false;
        let mut alike = text.to_owned();
        alike.retain(|c| match c {
            '"' | '\'' | '`' => {
                quoted = !quoted;
                false
            }
            c => !quoted && !c.is_ascii_digit(),
        });
        alike
    };
    let text = format!(
        "{} {kind} {}\n{}",
        class.word(),
        alike(summary),
        alike(detail.lines().next().unwrap_or(""))
    );
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(8).map(|b| format!("{b:02x}")).collect()
}
