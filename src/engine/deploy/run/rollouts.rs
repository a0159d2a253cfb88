//! Rollouts of groups during a deploy: drains members, records their changes, and waits for their
//! health. The order is that of the steps; the state is that of `group::rollout`, which is stored
//! after each event.

mod hooks;
mod record;

use super::deploying::{Deploying, WHOLE_DEPLOY};
use crate::stage::groups::{ChangedGroup, Target};
use crate::stage::steps::RolloutTask;
use futures_util::stream::{self, StreamExt as _};
use graph::Step;
use group::health::{Answer, HealthWait};
use group::policy::{HealthPolicy, OnUnhealthy};
use group::rollout::{Event, MemberAction, Phase, RolloutState, StepState};
use group::{Health, MemberKey};
use lang::config::GroupHook;
use lang::diag::Diagnostic;
use model::now_ms;
pub(crate) use record::{Recorded, parse_rollout};
use shell::Prober;
use std::time::Duration;

/// Members that are probed at the same time.
const PROBES_AT_A_TIME: usize = 50;
/// Longest single probe; a policy with a shorter interval is limited by the interval.
const MAX_PROBE: Duration = Duration::from_secs(10);

/// Rollouts of one deploy.
#[derive(Default)]
pub struct Rollouts {
    pub(super) groups: Vec<RunningRollout>,
    /// `None` if no group has hooks.
    prober: Option<Prober>,
}

/// Rollout of one group.
pub(super) struct RunningRollout {
    pub(super) group: ChangedGroup,
    recorded: Recorded,
}

impl Rollouts {
    /// Creates the rollouts of a deploy. `prober` runs the hooks.
    pub(crate) fn new(groups: Vec<(ChangedGroup, Recorded)>, prober: Option<Prober>) -> Self {
        let groups = groups.into_iter();
        let groups = groups.map(|(group, recorded)| RunningRollout { group, recorded });
        Self {
            groups: groups.collect(),
            prober,
        }
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
            RolloutTask::Changed(member) => {
                let member = running.group.member(member).member.clone();
                self.handle(running, Event::Done { member }).await
            }
            RolloutTask::Health(batch) => self.wait_for_health(running, batch).await,
        }
    }

    /// Applies an event. Returns true while the rollout goes on.
    async fn handle(&self, running: &RunningRollout, event: Event) -> bool {
        match running.recorded.handle(event, &self.recorder).await {
            Ok(state) => goes_on(state),
            Err(error) => {
                let summary = format!(
                    "Rollout of group \"{}\" stopped",
                    running.group.declared.name
                );
                let found = Diagnostic::error(summary, error);
                self.walk.cells.add_diagnostics(WHOLE_DEPLOY, found);
                false
            }
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
        if !self.scheduler.may_start(step) {
            return false;
        }
        self.handle(running, Event::BatchBegan { batch }).await
    }

    /// Drains a member before its change.
    async fn drain(&self, running: &RunningRollout, member: usize) -> bool {
        let key = running.group.member(member).member.clone();
        match self.run_drain(running, member).await {
            Ok(()) => self.handle(running, Event::Done { member: key }).await,
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
        let Err(reason) = self.run_drain(running, member).await else {
            return true;
        };
        let key = &running.group.member(member).member;
        let text = format!("the drain of {key} failed, so its old object stays: {reason}");
        let hook = running.group.declared.drain.as_ref();
        self.report(running, hook, &text, false);
        false
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

    /// Polls the new members until they are healthy, or not in time.
    async fn wait_for_health(&self, running: &RunningRollout, batch: usize) -> bool {
        let group = &running.group;
        let Some(policy) = &group.declared.policy.health else {
            return true;
        };
        let members = (0..=batch).flat_map(|b| group.batch(b));
        let new = members.filter(|member| group.member(*member).phase != Phase::Shrink);
        let new = new.map(|member| group.target(member));
        let new: Vec<Target> = new.chain(group.unproven.iter().cloned()).collect();
        let mut wait = HealthWait::new(policy, new.len(), group.size, now_ms());
        let stopping = &self.scheduler.stops().starting;
        loop {
            let polled = self.poll(running, &new, policy).await;
            let health: Vec<Health> = polled.iter().map(|(_, result)| health(result)).collect();
            let unhealthy = polled
                .iter()
                .find_map(|(key, r)| Some((key, r.as_ref().err()?)));
            let reason = unhealthy.map(|(key, reason)| format!("{key}: {reason}"));
            match wait.poll(&health, now_ms()) {
                Answer::Ready => return self.handle(running, Event::BatchHealthy).await,
                Answer::TimedOut => return self.unhealthy(running, reason, policy).await,
                Answer::Wait => running
                    .recorded
                    .progress(wait.progress(), reason, &self.recorder),
            }
            tokio::select! {
                () = tokio::time::sleep(policy.interval) => {}
                () = stopping.cancelled() => {
                    self.handle(running, Event::Pause).await;
                    return false;
                }
            }
        }
    }

    /// Probes members at the same time.
    async fn poll(
        &self,
        running: &RunningRollout,
        members: &[Target],
        policy: &HealthPolicy,
    ) -> Vec<(MemberKey, Result<(), String>)> {
        let limit = policy.interval.clamp(Duration::from_secs(1), MAX_PROBE);
        // Owned, because a stream of borrowing futures is not `Send`.
        let members: Vec<Target> = members.to_vec();
        let each = members.into_iter().map(|member| async move {
            let result = self.is_healthy(running, &member, limit).await;
            (member.key, result)
        });
        stream::iter(each)
            .buffered(PROBES_AT_A_TIME)
            .collect()
            .await
    }

    async fn unhealthy(
        &self,
        running: &RunningRollout,
        reason: Option<String>,
        policy: &HealthPolicy,
    ) -> bool {
        let reason = reason.unwrap_or_else(|| "no answer".to_owned());
        let reason = reason.trim_end_matches('.').to_owned();
        let time = policy.timeout;
        let reaction = match running.group.declared.policy.on_unhealthy {
            OnUnhealthy::Pause => "; the rollout is paused, and the other members are unchanged",
            OnUnhealthy::Abort => "; the rollout is aborted, and the other members are unchanged",
            OnUnhealthy::Continue => "; the rollout continues",
        };
        let goes_on = running.group.declared.policy.on_unhealthy == OnUnhealthy::Continue;
        let text = format!("a new member was not healthy within {time:?} ({reason}){reaction}");
        let hook = running.group.declared.health.as_ref();
        self.report(running, hook, &text, goes_on);
        self.handle(running, Event::Unhealthy { reason }).await
    }

    /// Records that the change of an instance failed.
    pub(super) async fn member_failed(&self, id: &str, reason: &str) {
        let change = self.selection.index(id);
        for running in &self.rollouts.groups {
            let at = running
                .group
                .changes
                .iter()
                .position(|c| Some(*c) == change);
            let Some(at) = at else { continue };
            let member = running.group.member(at).member.clone();
            let in_progress = |state| matches!(state, Some(StepState::Running(action)) if action != MemberAction::Drain);
            // The destroy of an old object is no part of the rollout.
            if in_progress(running.recorded.member_state(&member).await) {
                let reason = reason.to_owned();
                self.handle(running, Event::Failed { member, reason }).await;
            }
        }
    }

    /// Pauses the rollouts that the end of the deploy leaves unfinished.
    pub(super) async fn end_rollouts(&self, cancelled: bool) {
        for running in &self.rollouts.groups {
            match running.recorded.state().await {
                RolloutState::Running | RolloutState::WaitingHealth => {}
                _ => continue,
            }
            let event = match cancelled {
                true => Event::Pause,
                false => Event::Blocked {
                    reason: "a change that the group needs failed".to_owned(),
                },
            };
            self.handle(running, event).await;
            // Their operations have ended after the stop, or have not started.
            for member in running.recorded.members_in_progress().await {
                let steps = running.group.rollout.steps().iter();
                let place = steps
                    .zip(&running.group.changes)
                    .find(|(s, _)| s.member == member);
                let id = place.map(|(_, change)| self.selection.stage.changes[*change].id());
                let event = match id.is_some_and(|id| self.recorder.is_done(&id)) {
                    true => Event::Done { member },
                    false => Event::Failed {
                        member,
                        reason: "not started".to_owned(),
                    },
                };
                self.handle(running, event).await;
            }
        }
    }
}

fn goes_on(state: RolloutState) -> bool {
    use RolloutState::{Converged, Running, WaitingHealth};
    matches!(state, Running | WaitingHealth | Converged)
}

fn health(result: &Result<(), String>) -> Health {
    match result {
        Ok(()) => Health::Healthy,
        Err(_) => Health::Unhealthy,
    }
}
