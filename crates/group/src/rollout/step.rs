//! Steps of a rollout: the part of one member, with a record of each action.

use serde::{Deserialize, Serialize};

use crate::{ConfigHash, MemberKey, UnixMs};

/// Phase of a rollout, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Removes surplus members.
    Shrink,
    /// Replaces or updates outdated members.
    Roll,
    /// Creates missing members.
    Grow,
}

/// Action on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberAction {
    /// Let the member finish its work.
    Drain,
    /// Replace it, or update it in place.
    Replace,
    /// Create it; with surge, beside its predecessor.
    Create,
    /// Destroy it; with surge, the predecessor alone.
    Destroy,
}

/// State of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// Its next action has not begun.
    Pending,
    /// An action is in progress.
    Running(MemberAction),
    /// An action was interrupted, and its outcome is unknown.
    Unknown(MemberAction),
    /// An action failed.
    Failed(MemberAction),
    /// Changed, but it did not become healthy and the policy is to continue.
    Unhealthy,
    /// Skipped by an operator.
    Skipped,
    /// Drained and left as it is, because it is this machine.
    Left,
    /// Done.
    Done,
}

impl StepState {
    /// Returns true if the step needs nothing more.
    pub fn is_over(self) -> bool {
        matches!(
            self,
            StepState::Unhealthy | StepState::Skipped | StepState::Left | StepState::Done
        )
    }
}

/// One action on a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionRecord {
    /// Action.
    pub action: MemberAction,
    /// Begin.
    pub started: UnixMs,
    /// End, if known.
    pub ended: Option<UnixMs>,
    /// Failure reason.
    pub failure: Option<String>,
}

/// Part of one member in a rollout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The member.
    pub member: MemberKey,
    /// Phase.
    pub phase: Phase,
    /// Index of its batch.
    pub batch: usize,
    /// State.
    pub state: StepState,
    /// True if the member is the machine of this process.
    pub this_machine: bool,
    /// Actions so far.
    pub records: Vec<ActionRecord>,
    /// Remark for operators, such as a failed drain at a removal.
    pub note: Option<String>,
    /// Hash of the configuration before the rollout, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<ConfigHash>,
    /// Hash of the configuration that the rollout brings; `None` for a removal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<ConfigHash>,
    /// Number of retries.
    pub retries: u32,
    /// Index of the next part.
    pub(super) next: usize,
}

/// Creation of new members beside the old ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surge {
    No,
    /// The old member is destroyed once the new one is healthy.
    Yes,
    /// The old members are destroyed after the rollout.
    KeepOld,
}

/// Part of a step, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Act(MemberAction),
    /// Wait together with the other members of the batch.
    Health,
}

impl Part {
    /// Returns true for the change itself.
    pub(super) fn changes(&self) -> bool {
        use MemberAction::{Create, Replace};
        matches!(self, Part::Act(Replace | Create))
    }
}

impl Step {
    /// Returns true if the member was changed, and its last change succeeded.
    pub fn has_changed(&self) -> bool {
        let changed = |record: &&ActionRecord| {
            use MemberAction::{Create, Replace};
            matches!(record.action, Replace | Create) && record.ended.is_some()
        };
        let last = self.records.iter().rfind(changed);
        last.is_some_and(|record| record.failure.is_none())
    }

    pub(super) fn new(member: MemberKey, phase: Phase, batch: usize, this_machine: bool) -> Step {
        Step {
            member,
            phase,
            batch,
            state: StepState::Pending,
            this_machine,
            records: Vec::new(),
            note: None,
            old: None,
            new: None,
            retries: 0,
            next: 0,
        }
    }

    /// All parts of the step.
    pub(super) fn parts(&self, drain: bool, health: bool, surge: Surge) -> Vec<Part> {
        use MemberAction::{Create, Destroy, Drain, Replace};
        let drain = drain.then_some(Part::Act(Drain));
        let health = health.then_some(Part::Health);
        let act = |action| Some(Part::Act(action));
        let parts = match self.phase {
            Phase::Shrink => [drain, act(Destroy), None, None],
            // Its replacement would end this process in the middle of the rollout.
            Phase::Roll if self.this_machine => [drain, None, None, None],
            Phase::Roll if surge == Surge::Yes => [act(Create), health, drain, act(Destroy)],
            Phase::Roll if surge == Surge::KeepOld => [act(Create), health, None, None],
            Phase::Roll => [drain, act(Replace), health, None],
            Phase::Grow => [act(Create), health, None, None],
        };
        parts.into_iter().flatten().collect()
    }

    /// Closes the record of the action in progress and goes to the next part.
    pub(super) fn complete(&mut self, now: UnixMs) {
        self.close(None, now);
        self.next += 1;
        self.state = StepState::Pending;
    }

    /// Sets the end of the last record.
    pub(super) fn close(&mut self, failure: Option<String>, now: UnixMs) {
        if let Some(record) = self.records.last_mut() {
            record.ended = Some(now);
            record.failure = failure;
        }
    }

    /// Begins an action.
    pub(super) fn begin(&mut self, action: MemberAction, now: UnixMs) {
        self.state = StepState::Running(action);
        self.records.push(ActionRecord {
            action,
            started: now,
            ended: None,
            failure: None,
        });
    }
}
