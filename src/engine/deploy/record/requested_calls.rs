//! Records the calls that an operation's plugin requests from other plugins: an intent before and
//! an outcome after each, as for the operation, and shown with it. The state does not contain the
//! objects of these calls.

use super::DeployRecorder;
use crate::stage::change::Change;
use async_trait::async_trait;
use calls::{NotRecorded, SideEffectRecord, StateEntry};
use lang::addr::AbsInstance;
use model::mutex::lock;
use model::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use store::records::{Intent, Outcome, StateObject};

/// Limit of requests by one operation, because each is shown with it.
const MAX_REQUESTS: usize = 256;

/// Objects of the state during a deploy.
pub type Objects = Arc<Mutex<HashMap<AbsInstance, StateObject>>>;

/// Records the calls that one operation's plugin requests from other plugins.
pub struct RequestRecorder {
    recorder: Arc<DeployRecorder>,
    /// Id of the operation.
    id: String,
    address: String,
    objects: Objects,
}

impl std::fmt::Debug for RequestRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl RequestRecorder {
    /// Creates the account for the calls of one change.
    pub fn of(recorder: &Arc<DeployRecorder>, change: &Change, objects: &Objects) -> Arc<Self> {
        Arc::new(Self {
            recorder: recorder.clone(),
            id: change.id(),
            address: change.address.to_string(),
            objects: objects.clone(),
        })
    }

    /// Changes the operation and stores it at once.
    async fn change(&self, change: impl FnOnce(&mut Operation)) {
        self.recorder.change(&self.id, change);
        self.recorder.store_changes().await;
    }

    /// Adds a request to the operation; `None` if the limit is reached.
    async fn add_request(&self, deed: &SideEffect, asked_by: &str) -> Option<u32> {
        let mut place = None;
        self.change(|o| {
            if o.beside.len() < MAX_REQUESTS {
                let next = u32::try_from(o.beside.len() + 1).unwrap_or(u32::MAX);
                o.beside.push(RequestedCall {
                    place: next,
                    deed: deed.clone(),
                    asked_by: asked_by.to_owned(),
                    began: now_ms(),
                    took_ms: None,
                    end: SideEffectOutcome::Open,
                });
                place = Some(next);
            }
        })
        .await;
        place
    }

    /// Sets the end of a request and returns it.
    async fn set_end(&self, place: u32, end: SideEffectOutcome) -> Option<SideEffect> {
        let (mut deed, mut unknown) = (None, None);
        self.change(|o| {
            if let Some(beside) = o.beside.iter_mut().find(|b| b.place == place) {
                beside.took_ms = u64::try_from(now_ms() - beside.began).ok();
                beside.end = end;
                deed = Some(beside.deed.clone());
                unknown =
                    matches!(beside.end, SideEffectOutcome::Unknown(_)).then(|| beside.text());
            }
        })
        .await;
        if let Some(what) = unknown {
            // Reported at once, not only by the next command.
            let text = format!("{}: side effect: {what}", self.id);
            self.recorder.bus.emit(EventKind::Notice { text });
        }
        deed
    }
}

#[async_trait]
impl SideEffectRecord for RequestRecorder {
    async fn record_intent(
        &self,
        deed: SideEffect,
        asked_by: &str,
        id: Option<String>,
    ) -> Result<u32, NotRecorded> {
        let Some(place) = self.add_request(&deed, asked_by).await else {
            return Err(NotRecorded::TooMany {
                asks: self.id.clone(),
                most: MAX_REQUESTS,
            });
        };
        let detail = serde_json::json!({"type": deed.kind, "asked_by": asked_by, "id": id});
        let intent = Intent {
            deploy: self.recorder.deploy,
            index: self.recorder.index(&self.id),
            address: self.address.clone(),
            deposed: String::new(),
            step: OperationStep::Beside { deed, place },
            at: now_ms(),
            detail: detail.to_string(),
        };
        // The intent must be durable before the other plugin is called.
        if let Err(error) = self.recorder.store.record_intent(intent).await {
            let why = NotRecorded::from(error);
            // The call is not sent, so the request has failed and its outcome is not unknown.
            self.set_end(place, SideEffectOutcome::Failed(why.to_string()))
                .await;
            return Err(why);
        }
        Ok(place)
    }

    async fn record_outcome(&self, place: u32, mut end: SideEffectOutcome) {
        if let SideEffectOutcome::Failed(why) | SideEffectOutcome::Unknown(why) = &mut end {
            self.recorder.secrets().redact_in_place(why);
        }
        let ok = match &end {
            SideEffectOutcome::Done => Some(true),
            SideEffectOutcome::Failed(_) => Some(false),
            // An unknown outcome is an intent without an outcome.
            SideEffectOutcome::Open | SideEffectOutcome::Unknown(_) => None,
        };
        let Some(deed) = self.set_end(place, end).await else {
            return;
        };
        let Some(ok) = ok else { return };
        let outcome = Outcome {
            deploy: self.recorder.deploy,
            index: self.recorder.index(&self.id),
            step: OperationStep::Beside { deed, place },
            at: now_ms(),
            ok,
            starts_over: false,
            edits: Vec::new(),
        };
        // Without a stored outcome the request has an unknown one.
        if let Err(error) = self.recorder.store.record_outcome(outcome).await {
            let why = format!("failed to record the outcome: {error}");
            self.set_end(place, SideEffectOutcome::Unknown(why)).await;
        }
    }

    fn objects(&self, provider: &str, kind: &str) -> Vec<StateEntry> {
        let of_it = |object: &StateObject| {
            ConfigKey::parse(&object.provider).is_some_and(|key| *key.address == *provider)
        };
        let objects = lock(&self.objects);
        let mut all: Vec<StateEntry> = objects
            .iter()
            .filter(|(address, object)| *address.resource.kind == *kind && of_it(object))
            .map(|(_, object)| StateEntry::from(object))
            .collect();
        // Sorted, so that each run gives plugins the same order.
        all.sort_by(|a, b| a.address.cmp(&b.address));
        all
    }

    async fn warn(&self, mut text: String) {
        self.recorder.secrets().redact_in_place(&mut text);
        self.change(|o| {
            if !o.warnings.contains(&text) {
                o.warnings.push(text);
            }
        })
        .await;
    }
}
