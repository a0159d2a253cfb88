//! Events of a rollout and their effect on it.

use super::step::Part;
use super::{
    IllegalEvent, MemberAction, Next, PauseReason, Phase, Rollout, RolloutState, Step, StepState,
};
use crate::policy::OnUnhealthy;
use crate::{MemberKey, UnixMs};
use std::collections::BTreeMap;

/// Event of a rollout: a request of an operator, or a result of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The operator starts the rollout.
    Start,
    /// The batch begins: its pause is over and the lock is held.
    BatchBegan {
        /// Index of the batch.
        batch: usize,
    },
    /// The action on a member succeeded.
    Done {
        /// The member.
        member: MemberKey,
    },
    /// The action on a member failed.
    Failed {
        /// The member.
        member: MemberKey,
        /// Failure reason.
        reason: String,
    },
    /// The action on a member has not begun, because the rollout was stopped before.
    NotBegun {
        /// The member.
        member: MemberKey,
    },
    /// Something outside the group failed, so that the rest of the rollout cannot start.
    Blocked {
        /// Failure reason.
        reason: String,
    },
    /// All new members are healthy.
    BatchHealthy,
    /// The new members were not healthy in time.
    Unhealthy {
        /// Failure reason.
        reason: String,
        /// Failure of each unhealthy member; the others passed their last check.
        members: BTreeMap<MemberKey, String>,
    },
    /// The operator pauses the rollout.
    Pause,
    /// The operator resumes it.
    Resume,
    /// The operator aborts it.
    Abort,
    /// The operator excludes a member.
    SkipMember {
        /// The member.
        member: MemberKey,
    },
    /// The operator repeats the change of a member.
    RetryMember {
        /// The member.
        member: MemberKey,
    },
    /// Like [`Event::RetryMember`] for a paused rollout that no process runs: the change is
    /// repeated after the rollout is resumed.
    RetryLater {
        /// The member.
        member: MemberKey,
    },
    /// flightdeck was restarted: actions in progress have an unknown outcome.
    Interrupted,
    /// Another process has taken the lock over. Actions in progress end on their own.
    LockLost {
        /// Reason, with the new owner.
        reason: String,
    },
    /// The outcome of an interrupted action is known.
    Examined {
        /// The member.
        member: MemberKey,
        /// True if the action took place.
        done: bool,
    },
    /// Another configuration is committed; this rollout stops first.
    NewCommit,
    /// The configuration before this one is committed again; this rollout stops first.
    RollBack,
}

impl Rollout {
    /// Applies an event and returns the actions to run, in order.
    ///
    /// # Errors
    /// The state of the rollout or of the member does not allow the event; nothing changes.
    pub fn handle(&mut self, event: Event, now: UnixMs) -> Result<Vec<Next>, IllegalEvent> {
        match event {
            Event::Start => self.start(now),
            Event::BatchBegan { batch } => self.batch_began(batch, now),
            Event::Done { member } => self.done(&member, now),
            Event::Failed { member, reason } => self.failed(&member, &reason, now),
            Event::NotBegun { member } => self.not_begun(&member),
            Event::Blocked { reason } => Ok(self.blocked(&reason, now)),
            Event::BatchHealthy => self.batch_healthy(now),
            Event::Unhealthy { reason, members } => self.unhealthy(&reason, &members, now),
            Event::Pause => self.pause(now),
            Event::Resume => self.resume(now),
            Event::Abort if self.state.is_final() => Err(self.wrong_state("abort the rollout")),
            Event::Abort => Ok(self.end(RolloutState::Aborted, "aborted by the operator", now)),
            Event::SkipMember { member } => self.skip(&member, now),
            Event::RetryMember { member } => self.retry(&member, now),
            Event::RetryLater { member } => self.retry_later(&member),
            Event::Interrupted => Ok(self.interrupt(now)),
            Event::LockLost { reason } => Ok(self.lock_lost(&reason, now)),
            Event::Examined { member, done } => self.examined(&member, done, now),
            // The commit itself is legal at any time.
            Event::NewCommit | Event::RollBack if self.state.is_final() => Ok(Vec::new()),
            Event::NewCommit => {
                let reason = "another configuration was committed";
                Ok(self.end(RolloutState::Aborted, reason, now))
            }
            Event::RollBack => {
                let reason = "the configuration before it was committed again";
                Ok(self.end(RolloutState::RolledBack, reason, now))
            }
        }
    }

    fn start(&mut self, now: UnixMs) -> Result<Vec<Next>, IllegalEvent> {
        if self.state != RolloutState::Planned {
            return Err(self.wrong_state("start the rollout"));
        }
        self.set_state(RolloutState::Running, None, now);
        Ok(self.advance(now))
    }

    fn batch_began(&mut self, batch: usize, now: UnixMs) -> Result<Vec<Next>, IllegalEvent> {
        let request = format!("begin batch {}", batch + 1);
        if self.state != RolloutState::Running {
            return Err(self.wrong_state(&request));
        }
        if self.begun || batch != self.batch {
            let state = if self.begun { "in progress" } else { "next" };
            let why = format!("batch {} is {state}", self.batch + 1);
            return Err(self.illegal(&request, why));
        }
        self.begun = true;
        Ok(self.advance(now))
    }

    fn done(&mut self, member: &MemberKey, now: UnixMs) -> Result<Vec<Next>, IllegalEvent> {
        let (at, _) = self.running(member, "record the success of an action")?;
        self.steps[at].complete(now);
        self.settle(at);
        Ok(self.advance(now))
    }

    fn failed(
        &mut self,
        member: &MemberKey,
        reason: &str,
        now: UnixMs,
    ) -> Result<Vec<Next>, IllegalEvent> {
        let (at, action) = self.running(member, "record the failure of an action")?;
        let step = &mut self.steps[at];
        if action == MemberAction::Drain && step.phase == Phase::Shrink {
            // The member goes away in any case, so the operator is only warned.
            step.complete(now);
            if let Some(record) = step.records.last_mut() {
                record.failure = Some(reason.to_owned());
            }
            step.note = Some(format!("drain failed: {reason}"));
            return Ok(self.advance(now));
        }
        step.close(Some(reason.to_owned()), now);
        step.state = StepState::Failed(action);
        if self.state.is_final() {
            return Ok(Vec::new());
        }
        if action == MemberAction::Drain {
            let reason = format!("drain of {member} failed: {reason}");
            return Ok(self.end(RolloutState::Aborted, &reason, now));
        }
        if matches!(self.state, RolloutState::Paused(_)) {
            return Ok(Vec::new());
        }
        let reason = format!("change of {member} failed: {reason}");
        let paused = RolloutState::Paused(PauseReason::Failed);
        Ok(self.end(paused, &reason, now))
    }

    fn not_begun(&mut self, member: &MemberKey) -> Result<Vec<Next>, IllegalEvent> {
        let request = "take back an action";
        let (at, _) = self.running(member, request)?;
        // A rollout that goes on still needs the action.
        if matches!(
            self.state,
            RolloutState::Running | RolloutState::WaitingHealth
        ) {
            return Err(self.wrong_state(request));
        }
        let step = &mut self.steps[at];
        step.records.pop();
        step.state = StepState::Pending;
        Ok(Vec::new())
    }

    fn blocked(&mut self, reason: &str, now: UnixMs) -> Vec<Next> {
        match self.state {
            RolloutState::Running | RolloutState::WaitingHealth => {
                self.end(RolloutState::Paused(PauseReason::Failed), reason, now)
            }
            _ => Vec::new(),
        }
    }

    fn lock_lost(&mut self, reason: &str, now: UnixMs) -> Vec<Next> {
        match self.state {
            RolloutState::Running | RolloutState::WaitingHealth => {
                self.end(RolloutState::Paused(PauseReason::Interrupted), reason, now)
            }
            _ => Vec::new(),
        }
    }

    fn batch_healthy(&mut self, now: UnixMs) -> Result<Vec<Next>, IllegalEvent> {
        if self.state != RolloutState::WaitingHealth {
            return Err(self.wrong_state("record a healthy batch"));
        }
        for at in self.awaiting() {
            self.steps[at].next += 1;
            self.settle(at);
        }
        self.set_health_failures(&BTreeMap::new());
        self.set_state(RolloutState::Running, None, now);
        Ok(self.advance(now))
    }

    fn unhealthy(
        &mut self,
        reason: &str,
        members: &BTreeMap<MemberKey, String>,
        now: UnixMs,
    ) -> Result<Vec<Next>, IllegalEvent> {
        if self.state != RolloutState::WaitingHealth {
            return Err(self.wrong_state("record an unhealthy batch"));
        }
        let waiting = self.awaiting();
        self.set_health_failures(members);
        let reason = format!("batch {} is unhealthy: {reason}", self.batch + 1);
        match self.reacts_by() {
            OnUnhealthy::Pause => {
                let paused = RolloutState::Paused(PauseReason::Unhealthy);
                Ok(self.end(paused, &reason, now))
            }
            OnUnhealthy::Abort => Ok(self.end(RolloutState::Aborted, &reason, now)),
            OnUnhealthy::Continue => {
                for at in waiting {
                    // Without failures, no member has been healthy for long enough.
                    let failed = members.is_empty() || members.contains_key(&self.steps[at].member);
                    if failed {
                        self.steps[at].state = StepState::Unhealthy;
                    } else {
                        self.steps[at].next += 1;
                        self.settle(at);
                    }
                }
                self.set_state(RolloutState::Running, Some(reason), now);
                Ok(self.advance(now))
            }
        }
    }

    /// Records the results of the last health check. It includes the members of earlier batches.
    fn set_health_failures(&mut self, failures: &BTreeMap<MemberKey, String>) {
        let is_checked = |step: &&mut Step| {
            matches!(step.state, StepState::Pending | StepState::Done)
                && step.phase != Phase::Shrink
        };
        for step in self.steps.iter_mut().filter(is_checked) {
            step.note = failures.get(&step.member).cloned();
        }
    }

    fn pause(&mut self, now: UnixMs) -> Result<Vec<Next>, IllegalEvent> {
        match self.state {
            RolloutState::Running | RolloutState::WaitingHealth => {
                let paused = RolloutState::Paused(PauseReason::ByOperator);
                Ok(self.end(paused, "paused by the operator", now))
            }
            _ => Err(self.wrong_state("pause the rollout")),
        }
    }

    fn resume(&mut self, now: UnixMs) -> Result<Vec<Next>, IllegalEvent> {
        if !matches!(self.state, RolloutState::Paused(_)) {
            return Err(self.wrong_state("resume the rollout"));
        }
        let failed = |state| matches!(state, StepState::Failed(_));
        if let Some(step) = self.steps.iter().find(|step| failed(step.state)) {
            let why = format!(
                "the change of {} failed; retry or skip it first",
                step.member
            );
            return Err(self.illegal("resume the rollout", why));
        }
        let mut next = self.unpause("resumed by the operator".to_owned(), now);
        next.extend(self.advance(now));
        Ok(next)
    }

    /// Lets a paused rollout run, and asks for the outcomes of interrupted actions.
    fn unpause(&mut self, reason: String, now: UnixMs) -> Vec<Next> {
        self.set_state(RolloutState::Running, Some(reason), now);
        let examine = |step: &Step| match step.state {
            StepState::Unknown(action) => Some(Next::Examine {
                member: step.member.clone(),
                action,
            }),
            _ => None,
        };
        self.steps.iter().filter_map(examine).collect()
    }

    fn skip(&mut self, member: &MemberKey, now: UnixMs) -> Result<Vec<Next>, IllegalEvent> {
        let request = format!("skip {member}");
        if self.state.is_final() {
            return Err(self.wrong_state(&request));
        }
        let at = self.find(member, &request)?;
        let why = match self.steps[at].state {
            StepState::Pending | StepState::Failed(_) => {
                // A changed member stays changed; only its health is not awaited.
                self.steps[at].state = StepState::Skipped;
                return Ok(self.resume_progress(at, now));
            }
            StepState::Running(_) => {
                "an action on it is in progress; pause, and wait until it ends"
            }
            StepState::Unknown(_) => "an action on it has an unknown outcome; resume to examine it",
            _ => "its step is over",
        };
        Err(self.illegal(&request, why))
    }

    fn retry(&mut self, member: &MemberKey, now: UnixMs) -> Result<Vec<Next>, IllegalEvent> {
        let at = self.set_pending_again(member)?;
        use PauseReason::{Failed, Unhealthy};
        let asked = matches!(self.state, RolloutState::Paused(Failed | Unhealthy));
        // A member of a later batch has its turn when the batch begins.
        if !asked || self.steps[at].batch != self.batch {
            return Ok(self.resume_progress(at, now));
        }
        let mut next = self.unpause(format!("{member} is retried"), now);
        next.extend(self.advance(now));
        Ok(next)
    }

    fn retry_later(&mut self, member: &MemberKey) -> Result<Vec<Next>, IllegalEvent> {
        match self.state {
            RolloutState::Paused(_) => {
                self.set_pending_again(member)?;
                Ok(Vec::new())
            }
            _ => Err(self.wrong_state(&format!("retry {member}"))),
        }
    }

    /// Lets the change of a member be repeated. Returns the index of its step.
    fn set_pending_again(&mut self, member: &MemberKey) -> Result<usize, IllegalEvent> {
        let request = format!("retry {member}");
        if self.state.is_final() || self.state == RolloutState::Planned {
            return Err(self.wrong_state(&request));
        }
        let at = self.find(member, &request)?;
        let step = &self.steps[at];
        if step.batch < self.batch {
            let why = "its batch is over; stage again to change it";
            return Err(self.illegal(&request, why));
        }
        let parts = self.parts(step);
        let step = &mut self.steps[at];
        match step.state {
            StepState::Failed(_) | StepState::Skipped => {}
            // Changed and unhealthy: its successor replaces it without another drain.
            StepState::Pending if parts.get(step.next) == Some(&Part::Health) => {
                step.next = parts.iter().position(Part::changes).unwrap_or(0);
            }
            _ => return Err(self.illegal(&request, "nothing of it failed")),
        }
        step.state = StepState::Pending;
        step.retries += 1;
        Ok(at)
    }

    fn interrupt(&mut self, now: UnixMs) -> Vec<Next> {
        for step in &mut self.steps {
            if let StepState::Running(action) = step.state {
                step.state = StepState::Unknown(action);
            }
        }
        match self.state {
            RolloutState::Running | RolloutState::WaitingHealth => {
                let paused = RolloutState::Paused(PauseReason::Interrupted);
                self.end(paused, "flightdeck was interrupted", now)
            }
            _ => Vec::new(),
        }
    }

    fn examined(
        &mut self,
        member: &MemberKey,
        done: bool,
        now: UnixMs,
    ) -> Result<Vec<Next>, IllegalEvent> {
        let request = "record the outcome of an interrupted action";
        let at = self.find(member, request)?;
        let step = &mut self.steps[at];
        if !matches!(step.state, StepState::Unknown(_)) {
            let why = format!("no action on {member} was interrupted");
            return Err(self.illegal(request, why));
        }
        match done {
            true => step.complete(now),
            false => {
                step.close(Some("interrupted before it took place".to_owned()), now);
                step.state = StepState::Pending;
            }
        }
        self.settle(at);
        Ok(self.advance(now))
    }

    /// Pauses or ends the rollout.
    fn end(&mut self, state: RolloutState, reason: &str, now: UnixMs) -> Vec<Next> {
        self.set_state(state, Some(reason.to_owned()), now);
        vec![Next::Stop]
    }

    fn find(&self, member: &MemberKey, request: &str) -> Result<usize, IllegalEvent> {
        let at = self.steps.iter().position(|step| step.member == *member);
        at.ok_or_else(|| self.illegal(request, format!("the rollout has no member {member}")))
    }

    /// Step of a member with an action in progress.
    fn running(
        &self,
        member: &MemberKey,
        request: &str,
    ) -> Result<(usize, MemberAction), IllegalEvent> {
        let at = self.find(member, request)?;
        match self.steps[at].state {
            StepState::Running(action) => Ok((at, action)),
            _ => Err(self.illegal(request, format!("no action on {member} is in progress"))),
        }
    }
}
