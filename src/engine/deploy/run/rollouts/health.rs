//! Wait for the health of changed members.

use super::{RunningRollout, goes_on};
use crate::deploy::run::deploying::Deploying;
use crate::stage::groups::Target;
use futures_util::stream::{self, StreamExt as _};
use group::health::{Answer, HealthWait};
use group::policy::{HealthPolicy, OnUnhealthy};
use group::rollout::{Event, Phase, Rollout, RolloutState, StepState};
use group::{Health, MemberKey};
use model::{HealthyCount, SteadyClock};
use std::collections::BTreeMap;
use std::time::Duration;

/// Members that are probed at the same time.
const PROBES_AT_A_TIME: usize = 50;
/// Longest single probe; a policy with a shorter interval is limited by the interval.
const MAX_PROBE: Duration = Duration::from_secs(10);

impl Deploying {
    /// Polls the new members until they are healthy, or not in time.
    pub(super) async fn wait_for_health(&self, running: &RunningRollout, batch: usize) -> bool {
        let group = &running.group;
        let Some(policy) = &group.declared.policy.health else {
            return true;
        };
        let stopping = self.scheduler.stops().starting.clone();
        let mut states = running.recorded.states();
        let mut waited: Option<(HealthWait, usize)> = None;
        // The system's clock may be set during the wait.
        let clock = SteadyClock::start();
        loop {
            if !goes_on(*states.borrow_and_update()) {
                // The wait begins anew after a pause.
                waited = None;
                if !self.may_go_on(running).await {
                    return false;
                }
            }
            if running.recorded.read(|r| r.batch_is_done(batch)).await {
                return true;
            }
            let new = self.new_members(running, batch).await;
            if waited.as_ref().is_none_or(|(_, of)| *of != new.len()) {
                let wait = HealthWait::new(policy, new.len(), group.size, clock.now());
                waited = Some((wait, new.len()));
            }
            let Some((wait, _)) = &mut waited else {
                return false;
            };
            let polled = self.poll(running, &new, policy).await;
            if self.must_not_act() {
                self.handle(running, self.end_event(true)).await;
                return false;
            }
            if self.rollouts.untrusted.get().is_some() {
                return self.end_untrusted_wait(running).await;
            }
            let health: Vec<Health> = polled.iter().map(|(_, result)| health(result)).collect();
            let failures: BTreeMap<MemberKey, String> = polled
                .into_iter()
                .filter_map(|(key, result)| Some((key, without_dot(&result.err()?))))
                .collect();
            let first = failures.first_key_value();
            let reason = first.map(|(key, reason)| format!("{key}: {reason}"));
            let answer = wait.poll(&health, clock.now());
            let recorded = &running.recorded;
            let event = match answer {
                Answer::Wait => None,
                Answer::Ready => Some(Event::BatchHealthy),
                Answer::TimedOut => Some(Event::Unhealthy {
                    reason: reason.clone().unwrap_or_else(|| "no answer".to_owned()),
                    members: failures,
                }),
            };
            match event {
                None => recorded.progress(wait.progress(), count(&health), reason, &self.recorder),
                Some(event) => match self.end_wait(running, event, policy).await {
                    Some(goes_on) => return goes_on,
                    None => continue,
                },
            }
            tokio::select! {
                () = tokio::time::sleep(policy.interval) => {}
                _ = states.changed() => {}
                () = stopping.cancelled() => {
                    self.handle(running, self.end_event(true)).await;
                    return false;
                }
            }
        }
    }

    /// Ends a wait whose command is not trusted, whatever the policy says about unhealthy members:
    /// the operator decides only after this deploy.
    async fn end_untrusted_wait(&self, running: &RunningRollout) -> bool {
        let reason = "the health command is not trusted".to_owned();
        let hook = running.group.declared.health.as_ref();
        let text = format!("{reason}; the other members are unchanged");
        self.report(running, hook, &text, false);
        self.record(running, Event::Blocked { reason }).await;
        false
    }

    /// Returns the members whose health counts: those that this rollout has changed so far, and
    /// those that an earlier one left without health.
    async fn new_members(&self, running: &RunningRollout, batch: usize) -> Vec<Target> {
        let group = &running.group;
        let counts = |rollout: &Rollout| -> Vec<Target> {
            let members = (0..=batch).flat_map(|b| group.batch(b));
            let new = members.filter(|member| {
                let step = &rollout.steps()[*member];
                let counts = matches!(step.state, StepState::Pending | StepState::Done);
                counts && step.phase != Phase::Shrink
            });
            new.map(|member| group.target(member)).collect()
        };
        let mut new = running.recorded.read(counts).await;
        new.extend(group.unproven.iter().cloned());
        new
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

    /// Ends the wait, unless an operator paused the rollout meanwhile. Returns true if the rollout
    /// goes on.
    async fn end_wait(
        &self,
        running: &RunningRollout,
        event: Event,
        policy: &HealthPolicy,
    ) -> Option<bool> {
        let reason = match &event {
            Event::Unhealthy { reason, .. } => Some(reason.clone()),
            _ => None,
        };
        let end =
            |rollout: &Rollout| (rollout.state() == RolloutState::WaitingHealth).then_some(event);
        match running.recorded.handle_if(end, &self.recorder).await {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(self.stop(running, error)),
        }
        if let Some(reason) = reason {
            self.report_unhealthy(running, &reason, policy.timeout);
        }
        Some(self.may_go_on(running).await)
    }

    fn report_unhealthy(&self, running: &RunningRollout, reason: &str, time: Duration) {
        let reacts = running.group.declared.policy.on_unhealthy;
        let reaction = match reacts {
            OnUnhealthy::Pause => "; the rollout is paused, and the other members are unchanged",
            OnUnhealthy::Abort => "; the rollout is aborted, and the other members are unchanged",
            OnUnhealthy::Continue => "; the rollout continues",
        };
        let text = format!("a new member was not healthy within {time:?} ({reason}){reaction}");
        let hook = running.group.declared.health.as_ref();
        self.report(running, hook, &text, reacts == OnUnhealthy::Continue);
    }
}

fn without_dot(reason: &str) -> String {
    reason.trim_end_matches('.').to_owned()
}

fn count(members: &[Health]) -> HealthyCount {
    let healthy = members.iter().filter(|health| **health == Health::Healthy);
    let counted = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    HealthyCount {
        healthy: counted(healthy.count()),
        checked: counted(members.len()),
    }
}

fn health(result: &Result<(), String>) -> Health {
    match result {
        Ok(()) => Health::Healthy,
        Err(_) => Health::Unhealthy,
    }
}
