//! Stored record of a rollout: each event changes the state, and is stored before anything follows
//! it.

use crate::deploy::record::DeployRecorder;
use group::rollout::{Event, Phase, Rollout, RolloutState, Step, StepState};
use group::{ConfigHash, MemberKey};
use model::{DeployId, EventKind, HealthyCount, RolloutProgress, UnixMs, now_ms};
use serde_json::Value as Json;
use store::Store;
use store::records::{MemberHash, RolloutRecord};
use tokio::sync::watch;

/// Field of the steps in the JSON of a rollout.
const STEPS: &str = "steps";

/// Rollout with its record in the store.
pub struct Recorded {
    store: Store,
    name: String,
    deploy: DeployId,
    began: UnixMs,
    inner: tokio::sync::Mutex<Inner>,
    /// State after the newest event.
    state: watch::Sender<RolloutState>,
}

struct Inner {
    rollout: Rollout,
    id: Option<i64>,
    /// Steps as stored, to write only those that an event changes.
    stored: Vec<Step>,
}

impl Recorded {
    /// Creates a rollout that is stored with its first event.
    pub fn new(store: Store, name: String, deploy: DeployId, rollout: Rollout) -> Self {
        Self {
            store,
            name,
            deploy,
            began: now_ms(),
            state: watch::channel(rollout.state()).0,
            inner: tokio::sync::Mutex::new(Inner {
                rollout,
                id: None,
                stored: Vec::new(),
            }),
        }
    }

    /// Continues a stored rollout.
    pub fn of_record(store: Store, record: &RolloutRecord) -> Option<Self> {
        let rollout = parse_rollout(record)?;
        Some(Self {
            store,
            name: record.name.clone(),
            deploy: record.deploy,
            began: record.began,
            state: watch::channel(rollout.state()).0,
            inner: tokio::sync::Mutex::new(Inner {
                id: record.id,
                stored: rollout.steps().to_vec(),
                rollout,
            }),
        })
    }

    /// Returns the states after events to come.
    pub fn states(&self) -> watch::Receiver<RolloutState> {
        self.state.subscribe()
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the id once the rollout is stored.
    pub async fn stored_id(&self) -> Option<i64> {
        self.inner.lock().await.id
    }

    /// Reads the rollout.
    pub async fn read<T>(&self, read: impl FnOnce(&Rollout) -> T) -> T {
        read(&self.inner.lock().await.rollout)
    }

    pub async fn state(&self) -> RolloutState {
        self.read(Rollout::state).await
    }

    /// Sets the hash that a member gets. The event of its change stores it.
    pub async fn set_new_hash(&self, member: &MemberKey, hash: ConfigHash) {
        self.inner.lock().await.rollout.set_new_hash(member, hash);
    }

    /// Returns the members with an action in progress.
    pub async fn members_in_progress(&self) -> Vec<MemberKey> {
        let is_running = |step: &&Step| matches!(step.state, StepState::Running(_));
        let members = |rollout: &Rollout| {
            let running = rollout.steps().iter().filter(is_running);
            running.map(|step| step.member.clone()).collect()
        };
        self.read(members).await
    }

    pub async fn member_state(&self, member: &MemberKey) -> Option<StepState> {
        self.read(|rollout| rollout.step(member).map(|step| step.state))
            .await
    }

    /// Applies an event and stores the result.
    ///
    /// # Errors
    /// The state does not allow the event, or the store cannot be written. The text says which.
    pub async fn handle(
        &self,
        event: Event,
        recorder: &DeployRecorder,
    ) -> Result<RolloutState, String> {
        let (state, progress) = self.apply(event).await?;
        recorder.emit(EventKind::Rollout(progress));
        Ok(state)
    }

    /// Applies the event that `choose` returns for the present rollout, and stores the result.
    /// Returns false without an event.
    ///
    /// # Errors
    /// As [`Self::handle`].
    pub async fn handle_if(
        &self,
        choose: impl FnOnce(&Rollout) -> Option<Event>,
        recorder: &DeployRecorder,
    ) -> Result<bool, String> {
        let applied = self.apply_if(choose).await?;
        let chosen = applied.is_some();
        if let Some((_, progress)) = applied {
            recorder.emit(EventKind::Rollout(progress));
        }
        Ok(chosen)
    }

    /// Applies an event and stores the result, without an event for readers.
    pub async fn apply(&self, event: Event) -> Result<(RolloutState, RolloutProgress), String> {
        let applied = self.apply_if(|_| Some(event)).await?;
        applied.ok_or_else(|| "the event was not applied".to_owned())
    }

    async fn apply_if(
        &self,
        choose: impl FnOnce(&Rollout) -> Option<Event>,
    ) -> Result<Option<(RolloutState, RolloutProgress)>, String> {
        let mut inner = self.inner.lock().await;
        let Some(event) = choose(&inner.rollout) else {
            return Ok(None);
        };
        let handled = inner.rollout.handle(event, now_ms());
        handled.map_err(|error| error.to_string())?;
        self.save(&mut inner).await?;
        let state = inner.rollout.state();
        self.state.send_replace(state);
        Ok(Some((state, self.summary(&inner.rollout))))
    }

    fn summary(&self, rollout: &Rollout) -> RolloutProgress {
        let (done, total) = rollout.progress();
        let (batch, batches) = rollout.batch();
        let counted = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        RolloutProgress {
            group: self.name.clone(),
            deploy: self.deploy,
            state: rollout.state().to_string(),
            batch: counted(batch.saturating_add(1).min(batches)),
            batches: counted(batches),
            done: counted(done),
            total: counted(total),
            health: None,
            healthy: None,
            reason: rollout.reason().map(str::to_owned),
        }
    }

    /// Reports the progress of a wait for health.
    pub fn progress(
        &self,
        health: String,
        healthy: HealthyCount,
        reason: Option<String>,
        recorder: &DeployRecorder,
    ) {
        let Ok(inner) = self.inner.try_lock() else {
            return;
        };
        let progress = RolloutProgress {
            health: Some(health),
            healthy: Some(healthy),
            reason,
            ..self.summary(&inner.rollout)
        };
        drop(inner);
        recorder.emit(EventKind::Rollout(progress));
    }

    async fn save(&self, inner: &mut Inner) -> Result<(), String> {
        let text = |error: &dyn std::fmt::Display| format!("the rollout was not stored: {error}");
        let header = serde_json::to_string(&inner.rollout.without_steps());
        let header = header.map_err(|e| text(&e))?;
        let steps = inner.rollout.steps();
        let is_new = |at: usize, step: &Step| inner.stored.get(at) != Some(step);
        let changed: Vec<usize> = (0..steps.len())
            .filter(|at| is_new(*at, &steps[*at]))
            .collect();
        let written = changed.iter().map(|at| {
            let step = serde_json::to_string(&steps[*at]).map_err(|e| text(&e))?;
            Ok((u32::try_from(*at).map_err(|e| text(&e))?, step))
        });
        let written = written.collect::<Result<_, String>>()?;
        let record = RolloutRecord {
            id: inner.id,
            name: self.name.clone(),
            deploy: self.deploy,
            state: inner.rollout.state().to_string(),
            began: self.began,
            updated: now_ms(),
            header,
            steps: written,
            members: changed
                .iter()
                .filter_map(|at| changed_hash(&steps[*at]))
                .collect(),
        };
        let id = self.store.put_rollout(record).await.map_err(|e| text(&e))?;
        inner.id = Some(id);
        for at in changed {
            let step = inner.rollout.steps()[at].clone();
            match inner.stored.get_mut(at) {
                Some(stored) => *stored = step,
                None => inner.stored.push(step),
            }
        }
        Ok(())
    }
}

/// Returns the hash of a member once its change is done.
fn changed_hash(step: &Step) -> Option<MemberHash> {
    let hash = match step.phase {
        Phase::Shrink if step.state == StepState::Done => None,
        Phase::Roll | Phase::Grow if step.has_changed() => {
            step.new.as_ref().map(ToString::to_string)
        }
        _ => return None,
    };
    Some(MemberHash {
        member: step.member.to_string(),
        hash,
    })
}

/// Parses a stored rollout; `None` if it has another form.
pub fn parse_rollout(record: &RolloutRecord) -> Option<Rollout> {
    let mut whole: Json = serde_json::from_str(&record.header).ok()?;
    let steps = record
        .steps
        .iter()
        .map(|(_, step)| serde_json::from_str(step));
    let steps: Vec<Json> = steps.collect::<Result<_, _>>().ok()?;
    whole
        .as_object_mut()?
        .insert(STEPS.to_owned(), Json::Array(steps));
    serde_json::from_value(whole).ok()
}
