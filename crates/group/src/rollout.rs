//! State machine of a rollout: events lead to the next state and to the actions to run. It never
//! resumes by itself after a restart, and it never acts twice on a member unless asked to retry.
//!
//! The caller stores the rollout after each event and before it runs the returned actions.

mod advance;
mod events;
mod illegal;
#[cfg(test)]
mod property_tests;
mod step;
#[cfg(test)]
mod tests;

pub use events::Event;
pub use illegal::IllegalEvent;
pub use step::{ActionRecord, MemberAction, Phase, Step, StepState};

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::order::{RolloutPlan, waves};
use crate::policy::{OnUnhealthy, UpdatePolicy};
use crate::{ConfigHash, MemberKey, UnixMs};
use step::{Part, Surge};

/// Reason of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseReason {
    /// Requested by an operator.
    ByOperator,
    /// A batch did not become healthy.
    Unhealthy,
    /// A change of a member failed.
    Failed,
    /// flightdeck was restarted.
    Interrupted,
}

/// State of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RolloutState {
    /// Not started.
    Planned,
    /// Changes members.
    Running,
    /// Waits until the members of the batch are healthy.
    WaitingHealth,
    /// Starts nothing until an operator decides.
    Paused(PauseReason),
    /// Ended early; the remaining members are as they were.
    Aborted,
    /// All members are done.
    Converged,
    /// Ended early by a rollback: the configuration before it is committed again.
    RolledBack,
}

impl RolloutState {
    /// Returns true for a state that no event changes.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            RolloutState::Aborted | RolloutState::Converged | RolloutState::RolledBack
        )
    }
}

impl std::fmt::Display for RolloutState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            RolloutState::Planned => "planned",
            RolloutState::Running => "running",
            RolloutState::WaitingHealth => "waiting for health",
            RolloutState::Paused(PauseReason::ByOperator) => "paused (by operator)",
            RolloutState::Paused(PauseReason::Unhealthy) => "paused (unhealthy)",
            RolloutState::Paused(PauseReason::Failed) => "paused (failed)",
            RolloutState::Paused(PauseReason::Interrupted) => "paused (interrupted)",
            RolloutState::Aborted => "aborted",
            RolloutState::Converged => "converged",
            RolloutState::RolledBack => "rolled back",
        })
    }
}

/// Change of the state, for the timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// Time.
    pub at: UnixMs,
    /// State from then on.
    pub state: RolloutState,
    /// Reason, unless the state says it.
    pub reason: Option<String>,
}

/// Action for the caller after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for `pause`, take the lock, and report [`Event::BatchBegan`].
    BeginBatch {
        /// Index of the batch.
        batch: usize,
        /// Pause before it.
        pause: Duration,
    },
    /// Act on a member, and report [`Event::Done`] or [`Event::Failed`].
    Act {
        /// The member.
        member: MemberKey,
        /// Action.
        action: MemberAction,
    },
    /// Poll these new members, and report [`Event::BatchHealthy`] or [`Event::Unhealthy`].
    AwaitHealth {
        /// New members of this batch and of those before it.
        members: Vec<MemberKey>,
    },
    /// Find out if an interrupted action took place, and report [`Event::Examined`].
    Examine {
        /// The member.
        member: MemberKey,
        /// Action without a known outcome.
        action: MemberAction,
    },
    /// Start nothing more, and end waits. Actions in progress end on their own.
    Stop,
    /// The rollout is done.
    Finished,
}

/// A rollout with all its steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollout {
    to: ConfigHash,
    policy: UpdatePolicy,
    state: RolloutState,
    steps: Vec<Step>,
    /// Index of the batch in progress, or of the next one.
    batch: usize,
    batches: usize,
    /// True once the batch has begun.
    begun: bool,
    /// True if old members are destroyed after the rollout.
    #[serde(default)]
    keep_old: bool,
    transitions: Vec<Transition>,
}

impl Rollout {
    /// Plans a rollout. Removals and additions become batches of at most `max_parallel` members.
    pub fn new(plan: &RolloutPlan, policy: &UpdatePolicy, to: ConfigHash, now: UnixMs) -> Rollout {
        let shrink = waves(&plan.shrink, policy.max_parallel).into_iter();
        let grow = waves(&plan.grow, policy.max_parallel).into_iter();
        let mut batches: Vec<(Phase, Vec<MemberKey>)> = shrink
            .map(|keys| (Phase::Shrink, keys))
            .chain(plan.batches.iter().map(|keys| (Phase::Roll, keys.clone())))
            .chain(grow.map(|keys| (Phase::Grow, keys)))
            .collect();
        if plan.shrink_last {
            // Stable, so that the other phases keep their order.
            batches.sort_by_key(|(phase, _)| *phase == Phase::Shrink);
        }
        let step = |batch, phase, key: &MemberKey| {
            let this_machine = phase == Phase::Roll && plan.this_machine.as_ref() == Some(key);
            Step::new(key.clone(), phase, batch, this_machine)
        };
        let steps = batches.iter().enumerate();
        Rollout {
            to,
            policy: policy.clone(),
            state: RolloutState::Planned,
            steps: steps
                .flat_map(|(at, (phase, keys))| keys.iter().map(move |key| step(at, *phase, key)))
                .collect(),
            batch: 0,
            batches: batches.len(),
            begun: false,
            keep_old: plan.keep_old,
            transitions: vec![Transition {
                at: now,
                state: RolloutState::Planned,
                reason: None,
            }],
        }
    }

    /// Hash of the configuration that the rollout brings.
    pub fn to(&self) -> &ConfigHash {
        &self.to
    }

    /// Policy at the start; later changes of the configuration do not affect it.
    pub fn policy(&self) -> &UpdatePolicy {
        &self.policy
    }

    /// State.
    pub fn state(&self) -> RolloutState {
        self.state
    }

    /// Steps of all members, in order of the batches.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Copy without steps, for a record that stores each step apart.
    pub fn without_steps(&self) -> Rollout {
        Rollout {
            to: self.to.clone(),
            policy: self.policy.clone(),
            steps: Vec::new(),
            transitions: self.transitions.clone(),
            ..*self
        }
    }

    /// Sets the hashes that the members had before, by key.
    pub fn set_old_hashes(&mut self, old: &BTreeMap<String, String>) {
        for step in &mut self.steps {
            let known = old.get(&step.member.to_string());
            step.old = known.map(|hash| ConfigHash::from_text(hash));
        }
    }

    /// Sets the hash that a member gets. Values that were unknown at the plan may change it.
    pub fn set_new_hash(&mut self, member: &MemberKey, hash: ConfigHash) {
        let step = self.steps.iter_mut().find(|step| step.member == *member);
        if let Some(step) = step.filter(|step| step.phase != Phase::Shrink) {
            step.new = Some(hash);
        }
    }

    /// Step of a member.
    pub fn step(&self, member: &MemberKey) -> Option<&Step> {
        self.steps.iter().find(|step| step.member == *member)
    }

    /// Index of the batch in progress or of the next one, and the number of batches.
    pub fn batch(&self) -> (usize, usize) {
        (self.batch, self.batches)
    }

    /// All states with their times, for the timeline.
    pub fn transitions(&self) -> &[Transition] {
        &self.transitions
    }

    /// Reason of the last change of the state.
    pub fn reason(&self) -> Option<&str> {
        self.transitions.last()?.reason.as_deref()
    }

    /// Members that were changed and have not been healthy since. A later rollout waits for them
    /// too.
    pub fn unproven(&self) -> impl Iterator<Item = &MemberKey> {
        let waits = |step: &&Step| match step.state {
            StepState::Unhealthy => true,
            StepState::Pending => self.parts(step).get(step.next) == Some(&Part::Health),
            _ => false,
        };
        self.steps.iter().filter(waits).map(|step| &step.member)
    }

    /// Members that were changed, and whose change an operator wants repeated.
    pub fn replaced_again(&self) -> impl Iterator<Item = &MemberKey> {
        let again = |step: &&Step| {
            let next = self.parts(step).get(step.next).copied();
            let waits = step.retries > 0 && step.state == StepState::Pending;
            waits && step.has_changed() && next.is_some_and(|part| part.changes())
        };
        self.steps.iter().filter(again).map(|step| &step.member)
    }

    /// Returns true if all members of a batch need nothing more.
    pub fn batch_is_done(&self, batch: usize) -> bool {
        let mut of_batch = self.steps.iter().filter(|step| step.batch == batch);
        of_batch.all(|step| step.state.is_over())
    }

    /// Number of steps that need nothing more, and of all steps.
    pub fn progress(&self) -> (usize, usize) {
        let done = self.steps.iter().filter(|step| step.state.is_over());
        (done.count(), self.steps.len())
    }

    fn parts(&self, step: &Step) -> Vec<Part> {
        step.parts(
            self.policy.drain.is_some(),
            self.policy.health.is_some(),
            self.surge(),
        )
    }

    fn surge(&self) -> Surge {
        match self.policy.surge {
            false => Surge::No,
            true if self.keep_old => Surge::KeepOld,
            true => Surge::Yes,
        }
    }

    fn set_state(&mut self, state: RolloutState, reason: Option<String>, now: UnixMs) {
        if self.state != state {
            self.state = state;
            self.transitions.push(Transition {
                at: now,
                state,
                reason,
            });
        }
    }

    fn reacts_by(&self) -> OnUnhealthy {
        self.policy.on_unhealthy
    }
}
