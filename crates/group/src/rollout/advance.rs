//! Progress of a running rollout: begins the next actions, waits, and goes from batch to batch.

use std::ops::Range;
use std::time::Duration;

use super::step::Part;
use super::{Next, PauseReason, Phase, Rollout, RolloutState, Step, StepState};
use crate::{MemberKey, UnixMs};

impl Rollout {
    /// Begins all that can begin. Does nothing unless the rollout is running.
    pub(super) fn advance(&mut self, now: UnixMs) -> Vec<Next> {
        let mut next = Vec::new();
        // Each round but the last ends a batch: one whose members are all skipped needs no begin.
        while self.state == RolloutState::Running {
            if self.batch == self.batches {
                self.set_state(RolloutState::Converged, None, now);
                next.push(Next::Finished);
            } else if self.batch_is_over() {
                self.batch += 1;
                self.begun = false;
            } else if !self.begun {
                next.push(Next::BeginBatch {
                    batch: self.batch,
                    pause: self.pause_before(),
                });
                break;
            } else {
                next.extend(self.begin_actions(now));
                if !self.batch_is_over() {
                    self.await_end(now, &mut next);
                    break;
                }
            }
        }
        next
    }

    fn batch_is_over(&self) -> bool {
        self.steps_of_batch()
            .all(|at| self.steps[at].state.is_over())
    }

    /// Begins the next action of each step of the batch.
    fn begin_actions(&mut self, now: UnixMs) -> Vec<Next> {
        let mut next = Vec::new();
        for at in self.steps_of_batch() {
            self.settle(at);
            if self.steps[at].state != StepState::Pending {
                continue;
            }
            let part = self
                .parts(&self.steps[at])
                .get(self.steps[at].next)
                .copied();
            if let Some(Part::Act(action)) = part {
                let step = &mut self.steps[at];
                step.begin(action, now);
                next.push(Next::Act {
                    member: step.member.clone(),
                    action,
                });
            }
        }
        next
    }

    /// Waits for actions, for an operator, or for health.
    fn await_end(&mut self, now: UnixMs, next: &mut Vec<Next>) {
        let is = |test: fn(StepState) -> bool| {
            self.steps_of_batch().any(|at| test(self.steps[at].state))
        };
        if is(|state| matches!(state, StepState::Running(_) | StepState::Unknown(_))) {
            return;
        }
        if is(|state| matches!(state, StepState::Failed(_))) {
            let reason = "a member of the batch failed".to_owned();
            self.set_state(RolloutState::Paused(PauseReason::Failed), Some(reason), now);
            next.push(Next::Stop);
            return;
        }
        self.set_state(RolloutState::WaitingHealth, None, now);
        next.push(Next::AwaitHealth {
            members: self.new_members(),
        });
    }

    /// Continues after the operator changed a step.
    pub(super) fn resume_progress(&mut self, at: usize, now: UnixMs) -> Vec<Next> {
        // The begin of a batch is requested once, and a wait for health goes on.
        if self.steps[at].batch != self.batch || !(self.begun || self.batch_is_over()) {
            return Vec::new();
        }
        if self.state == RolloutState::WaitingHealth {
            self.set_state(RolloutState::Running, None, now);
        }
        self.advance(now)
    }

    /// Ends a step without parts left.
    pub(super) fn settle(&mut self, at: usize) {
        let over = self.steps[at].next >= self.parts(&self.steps[at]).len();
        let step = &mut self.steps[at];
        if over && step.state == StepState::Pending {
            step.state = match step.this_machine {
                true => StepState::Left,
                false => StepState::Done,
            };
        }
    }

    fn steps_of_batch(&self) -> Range<usize> {
        let in_batch = |step: &Step| step.batch == self.batch;
        let first = self.steps.iter().position(in_batch).unwrap_or(0);
        let count = self.steps.iter().filter(|step| in_batch(step)).count();
        first..first + count
    }

    /// Steps of the batch that wait for health.
    pub(super) fn awaiting(&self) -> Vec<usize> {
        let waits = |at: &usize| {
            let step = &self.steps[*at];
            step.state == StepState::Pending
                && self.parts(step).get(step.next) == Some(&Part::Health)
        };
        self.steps_of_batch().filter(waits).collect()
    }

    /// Members that this rollout created so far and whose health counts.
    fn new_members(&self) -> Vec<MemberKey> {
        let is_new = |step: &&Step| {
            let changed = self.parts(step).iter().position(Part::changes);
            matches!(step.state, StepState::Pending | StepState::Done)
                && changed.is_some_and(|change| step.next > change)
        };
        let new = self.steps.iter().filter(is_new);
        new.map(|step| step.member.clone()).collect()
    }

    /// Pause before the next batch: only between two batches of the rolling update.
    fn pause_before(&self) -> Duration {
        let rolls = |batch: usize| {
            let step = self.steps.iter().find(|step| step.batch == batch);
            step.is_some_and(|step| step.phase == Phase::Roll)
        };
        match self.batch.checked_sub(1) {
            Some(before) if rolls(before) && rolls(self.batch) => self.policy.pause_between,
            _ => Duration::ZERO,
        }
    }
}
