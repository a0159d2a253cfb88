//! Rollouts of groups during a deploy: drains members, records their changes, and waits for their
//! health. The order is that of the steps; the state is that of `group::rollout`, which is stored
//! after each event.

mod health;
mod hook_trust;
mod hooks;
mod record;
mod requests;

use super::deploying::{Deploying, WHOLE_DEPLOY};
use crate::stage::groups::ChangedGroup;
use crate::stage::member_hash;
use crate::stage::plan::storable_configuration;
use crate::stage::steps::RolloutTask;
use cty::Value;
use cty::schema::Schema;
use graph::Step;
use group::MemberKey;
use group::rollout::{Event, MemberAction, Phase, Rollout, RolloutState, StepState};
pub(crate) use hook_trust::HookTrust;
use lang::config::GroupHook;
use lang::diag::Diagnostic;
pub(crate) use record::{Recorded, parse_rollout};
pub(super) use requests::Gate;
pub(crate) use requests::find_member;
use shell::Prober;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::sync::Notify;
use trust::commands::CommandError;

/// Rollouts of one deploy.
#[derive(Default)]
pub struct Rollouts {
    pub(super) groups: Vec<RunningRollout>,
    /// Rollout and step of each change of a member.
    members: BTreeMap<usize, (usize, usize)>,
    /// `None` if no group has hooks.
    prober: Option<Prober>,
    /// Checks the commands of hooks right before they start.
    trust: Option<HookTrust>,
    /// First command of a hook that is not trusted at its start.
    untrusted: Arc<OnceLock<CommandError>>,
    requests: RequestSettings,
}

/// Settings of requests of operators about rollouts.
#[derive(Default)]
pub struct RequestSettings {
    /// Time for which the deploy waits while an operator pauses a rollout.
    pub longest_pause: Duration,
    /// Notified when this process has stored a request.
    pub stored: Arc<Notify>,
}

/// Rollout of one group.
pub(super) struct RunningRollout {
    pub(super) group: ChangedGroup,
    recorded: Recorded,
    /// Skipped members whose changes this deploy has passed over.
    passed: Mutex<BTreeSet<MemberKey>>,
    /// Set once the deploy ends without the rest of a paused rollout.
    given_up: AtomicBool,
}

impl Rollouts {
    /// Creates the rollouts of a deploy. `prober` runs the hooks.
    pub(crate) fn new(
        groups: Vec<(ChangedGroup, Recorded)>,
        prober: Option<Prober>,
        requests: RequestSettings,
    ) -> Self {
        let running = |(group, recorded)| RunningRollout {
            group,
            recorded,
            passed: Mutex::default(),
            given_up: AtomicBool::default(),
        };
        let groups: Vec<RunningRollout> = groups.into_iter().map(running).collect();
        let members = groups.iter().enumerate().flat_map(|(at, running)| {
            let changes = running.group.changes.iter().zip(&running.group.former);
            changes
                .enumerate()
                .flat_map(move |(member, (change, former))| {
                    let all = former.iter().chain([change]);
                    all.map(move |change| (*change, (at, member)))
                })
        });
        Self {
            members: members.collect(),
            groups,
            prober,
            trust: None,
            untrusted: Arc::default(),
            requests,
        }
    }

    /// Checks the commands of hooks right before they start.
    #[must_use]
    pub(crate) fn with_trust(mut self, trust: HookTrust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// Returns the place of the first command that is not trusted at its start.
    pub(crate) fn untrusted(&self) -> Arc<OnceLock<CommandError>> {
        self.untrusted.clone()
    }

    /// Returns the rollout and the step of the member that a change belongs to.
    fn member_of(&self, change: usize) -> Option<(&RunningRollout, usize)> {
        let (group, member) = self.members.get(&change)?;
        Some((self.groups.get(*group)?, *member))
    }

    /// Returns the groups in the order of their indexes.
    pub(super) fn changed(&self) -> Vec<&ChangedGroup> {
        self.groups.iter().map(|running| &running.group).collect()
    }
}

impl Deploying {
    /// Runs a part of a rollout. Returns false if nothing that needs it may start.
    pub(super) async fn rollout(&self, step: Step, group: usize, task: RolloutTask) -> bool {
        let Some(running) = self.rollouts.groups.get(group) else {
            return false;
        };
        match task {
            RolloutTask::Begin(batch) => self.begin_batch(step, running, batch).await,
            RolloutTask::Drain(member) => self.drain(running, member).await,
            RolloutTask::DrainOld(member) => self.drain_old(running, member).await,
            RolloutTask::Changed(member) => self.changed(running, member).await,
            RolloutTask::Health(batch) => self.wait_for_health(running, batch).await,
        }
    }

    /// Applies an event, and waits while an operator pauses the rollout. Returns true if it
    /// continues.
    async fn handle(&self, running: &RunningRollout, event: Event) -> bool {
        self.record(running, event).await && self.may_go_on(running).await
    }

    /// Applies an event. Returns false if it cannot be stored.
    async fn record(&self, running: &RunningRollout, event: Event) -> bool {
        match running.recorded.handle(event, &self.recorder).await {
            Ok(_) => true,
            Err(error) => self.stop(running, error),
        }
    }

    /// Reports that a rollout cannot go on.
    fn stop(&self, running: &RunningRollout, error: String) -> bool {
        let name = &running.group.declared.name;
        let found = Diagnostic::error(format!("Rollout of group \"{name}\" stopped"), error);
        self.walk.cells.add_diagnostics(WHOLE_DEPLOY, found);
        false
    }

    async fn changed(&self, running: &RunningRollout, member: usize) -> bool {
        let member = running.group.member(member).member.clone();
        match running.recorded.member_state(&member).await {
            Some(StepState::Skipped) => self.may_go_on(running).await,
            _ => self.handle(running, Event::Done { member }).await,
        }
    }

    async fn begin_batch(&self, step: Step, running: &RunningRollout, batch: usize) -> bool {
        if batch == 0 && !self.handle(running, Event::Start).await {
            return false;
        }
        let rolls = |batch| running.group.phase(batch) == Some(Phase::Roll);
        let pause = running.group.declared.policy.pause_between;
        if batch > 0 && rolls(batch - 1) && rolls(batch) && !pause.is_zero() {
            let stopping = &self.scheduler.stops().starting;
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stopping.cancelled() => {}
            }
        }
        self.answer_requests().await;
        loop {
            if !self.may_go_on(running).await || !self.scheduler.may_start(step) {
                return false;
            }
            // An operator may skip all members of a batch.
            if running.recorded.read(|r| r.batch_is_done(batch)).await {
                return true;
            }
            // A pause may come at any time, also after the check above.
            let begin = |rollout: &Rollout| {
                let runs = rollout.state() == RolloutState::Running;
                runs.then_some(Event::BatchBegan { batch })
            };
            match running.recorded.handle_if(begin, &self.recorder).await {
                Ok(true) => return self.may_go_on(running).await,
                Ok(false) => {}
                Err(error) => return self.stop(running, error),
            }
        }
    }

    /// Drains a member before its change.
    async fn drain(&self, running: &RunningRollout, member: usize) -> bool {
        match self.gate(running, member).await {
            Gate::Open => {}
            Gate::Skip => return true,
            Gate::Closed => return false,
        }
        let key = running.group.member(member).member.clone();
        match self.run_drain(running, member).await {
            Ok(()) => self.handle(running, Event::Done { member: key }).await,
            // The end of the deploy records the interruption.
            Err(_) if self.must_not_act() => false,
            Err(reason) => {
                let removed = running.group.member(member).phase == Phase::Shrink;
                let text = format!("the drain of {key} failed: {reason}");
                let hook = running.group.declared.drain.as_ref();
                self.report(running, hook, &text, removed);
                let member = key;
                self.handle(running, Event::Failed { member, reason }).await
            }
        }
    }

    /// Drains the old object of a member whose successor is healthy. A failure keeps the object.
    async fn drain_old(&self, running: &RunningRollout, member: usize) -> bool {
        if !self.may_go_on(running).await {
            return false;
        }
        let Err(reason) = self.run_drain(running, member).await else {
            return true;
        };
        if self.must_not_act() {
            return false;
        }
        let key = &running.group.member(member).member;
        let text = format!("the drain of {key} failed, so its old object stays: {reason}");
        let hook = running.group.declared.drain.as_ref();
        self.report(running, hook, &text, false);
        false
    }

    /// Returns true once this process can record nothing more, or another one has the lock.
    fn must_not_act(&self) -> bool {
        self.scheduler.has_lost_store() || self.scheduler.stops().lock_lost.get().is_some()
    }

    /// Reports a fault of a hook.
    fn report(&self, running: &RunningRollout, hook: Option<&GroupHook>, text: &str, warns: bool) {
        let name = &running.group.declared.name;
        let summary = format!("Group \"{name}\" was not updated as planned");
        let detail = format!("{}.", text.trim_end_matches('.'));
        let found = match warns {
            true => Diagnostic::warning(summary, detail),
            false => Diagnostic::error(summary, detail),
        };
        let found = match hook {
            Some(hook) => found.at(hook.settings.span),
            None => found,
        };
        self.walk.cells.add_diagnostics(WHOLE_DEPLOY, found);
    }

    /// Takes over the hash of a member's arguments, which may have been unknown in the stage.
    pub(super) async fn member_evaluated(
        &self,
        change: usize,
        schema: &Schema,
        arguments: Value,
        after: &Value,
    ) {
        let Some((running, at)) = self.rollouts.member_of(change) else {
            return;
        };
        // A committed group has the hash of its specification.
        let arguments = match running.group.declared.committed {
            None => storable_configuration(schema, arguments),
            Some(_) => None,
        };
        if let Some(arguments) = arguments {
            let hash = member_hash::of_arguments(&arguments, after);
            let member = &running.group.member(at).member;
            running.recorded.set_new_hash(member, hash).await;
        }
    }

    /// Records that the change of an instance failed.
    pub(super) async fn member_failed(&self, id: &str, reason: &str) {
        let change = self.selection.index(id);
        let member = change.and_then(|change| self.rollouts.member_of(change));
        let Some((running, at)) = member else {
            return;
        };
        let member = running.group.member(at).member.clone();
        let in_progress = |state| matches!(state, Some(StepState::Running(action)) if action != MemberAction::Drain);
        // The destroy of an old object is no part of the rollout.
        if in_progress(running.recorded.member_state(&member).await) {
            let reason = reason.to_owned();
            self.record(running, Event::Failed { member, reason }).await;
        }
    }

    /// Pauses the rollouts that the end of the deploy leaves unfinished. Returns true if there was
    /// one.
    pub(super) async fn end_rollouts(&self, cancelled: bool) -> bool {
        let mut any_unfinished = false;
        for running in &self.rollouts.groups {
            let event = self.end_event(cancelled);
            let is_unfinished = match running.recorded.state().await {
                RolloutState::Running | RolloutState::WaitingHealth => true,
                // The state says why.
                RolloutState::Paused(_) | RolloutState::Aborted | RolloutState::RolledBack => false,
                _ => continue,
            };
            any_unfinished = true;
            if is_unfinished {
                self.record(running, event).await;
            }
            // Their operations have ended after the stop, or have not started.
            for member in running.recorded.members_in_progress().await {
                let event = self.end_of(running, member, is_unfinished && cancelled);
                self.record(running, event).await;
            }
        }
        any_unfinished
    }

    /// Event for a rollout that the end of the deploy leaves unfinished.
    fn end_event(&self, cancelled: bool) -> Event {
        let lost = self.scheduler.stops().lock_lost.get().cloned();
        match (lost, cancelled) {
            (Some(reason), _) => Event::LockLost { reason },
            (None, true) => Event::Pause,
            (None, false) => Event::Blocked {
                reason: "a change that the group needs failed".to_owned(),
            },
        }
    }

    /// Event for an action that the rollout records as begun at the end of the deploy. The end of a
    /// cancelled rollout may have interrupted it.
    fn end_of(&self, running: &RunningRollout, member: MemberKey, is_cancelled: bool) -> Event {
        let steps = running.group.rollout.steps().iter();
        let mut steps = steps.zip(&running.group.changes);
        let place = steps.find(|(step, _)| step.member == member);
        let id = place.map(|(_, change)| self.selection.stage.changes[*change].id());
        let is_lost = self.scheduler.stops().lock_lost.get().is_some();
        match id {
            Some(id) if self.recorder.is_done(&id) => Event::Done { member },
            Some(id) if (!is_cancelled || is_lost) && !self.recorder.has_begun(&id) => {
                Event::NotBegun { member }
            }
            _ => Event::Failed {
                member,
                reason: "not started".to_owned(),
            },
        }
    }
}

fn goes_on(state: RolloutState) -> bool {
    use RolloutState::{Converged, Running, WaitingHealth};
    matches!(state, Running | WaitingHealth | Converged)
}
