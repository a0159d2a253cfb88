//! Operations: one resource instance's part of a deploy, with its state.

use super::{
    Action, DeployId, Failure, LookupRequest, OperationProgress, OperationStep, PluginId,
    RequestedCall, Retry, SideEffectOutcome, UnixMs,
};
use serde::{Deserialize, Serialize};

/// State of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    Waiting,
    Running,
    Done,
    Failed,
    /// Not started: a dependency failed, or the deploy was cancelled.
    NotAttempted,
    /// The intent has no recorded outcome.
    Unknown,
    /// Only one half of a replacement is done: the old object is destroyed without a new one, or
    /// both exist. The operation's step tells which.
    HalfReplaced,
}

impl OperationState {
    /// Returns the word for a table cell.
    pub fn label(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::NotAttempted => "not attempted",
            Self::Unknown => "unknown outcome",
            Self::HalfReplaced => "half replaced",
        }
    }
}

/// One resource instance's part of a deploy; events contain it as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    pub deploy: DeployId,
    /// Order in the deploy, from 0.
    pub index: u32,
    pub address: String,
    pub plugin: Option<PluginId>,
    pub action: Action,
    pub state: OperationState,
    /// Progress.
    pub step: OperationProgress,
    /// True if the first half of a replacement is done.
    #[serde(default)]
    pub half_done: bool,
    /// Highest number of attempts that one of its calls has needed.
    pub attempt: u32,
    /// Pending retry after a transient failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Set while the applied object is not ready yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "stabilising")]
    pub waits_until_ready: Option<LookupRequest>,
    pub began: Option<UnixMs>,
    pub took_ms: Option<u64>,
    /// Addresses of needs while the operation waits.
    pub waits_for: Vec<String>,
    /// Number of further needs when `waits_for` was set, since it names only a few.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waits_for_more: u32,
    /// Resources in `waits_for` of which the operation needs all instances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for_all_of: Vec<String>,
    /// Usual duration of its action on its resource type, in milliseconds: the median of the
    /// history.
    pub usual_ms: Option<u64>,
    pub failure: Option<Box<Failure>>,
    pub warnings: Vec<String>,
    /// Calls that its plugin requested from others, which no state contains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<RequestedCall>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Operation {
    /// Returns true if the operation did not complete in its deploy.
    pub fn is_incomplete(&self) -> bool {
        use OperationState::{Failed, HalfReplaced, NotAttempted, Unknown};
        matches!(self.state, Failed | NotAttempted | Unknown | HalfReplaced)
    }

    /// Returns the address of the resource instance, without the key of a deposed object.
    pub fn instance(&self) -> &str {
        self.address
            // The key is appended in this form by `Change::id`.
            .split(" (deposed")
            .next()
            .unwrap_or(&self.address)
    }

    /// Returns the time at which the operation ended; `None` if it has not run to its end.
    pub fn ended(&self) -> Option<UnixMs> {
        let took = i64::try_from(self.took_ms?).ok()?;
        Some(self.began? + took)
    }

    /// Returns the wait for the applied object, such as `created, waiting until ready: 3rd look,
    /// next in 5 s`.
    pub fn readiness_wait(&self, now: UnixMs) -> Option<String> {
        let done = match self.action {
            Action::Update => Action::Update.past_tense(),
            _ => Action::Create.past_tense(),
        };
        let look = self.waits_until_ready?;
        Some(format!("{done}, {}", look.text(now)))
    }

    /// Returns true for a replacement in progress.
    pub fn is_replacing(&self) -> bool {
        self.state == OperationState::Running
            && matches!(self.action, Action::Replace | Action::ReplaceCreateFirst)
    }

    /// Returns the missing half of a half-done replacement.
    pub fn missing_half(&self) -> Option<OperationProgress> {
        match self.action {
            Action::Replace if self.half_done => Some(OperationProgress::NotRecreated),
            Action::ReplaceCreateFirst if self.half_done => Some(OperationProgress::OldRemains),
            _ => None,
        }
    }

    /// Records how the unknown outcome of a step was settled.
    pub fn set_settlement(&mut self, step: &OperationStep, how: &str) {
        // A requested call has its own outcome within the operation, whose progress it does not
        // change.
        let OperationStep::Beside { place, .. } = step else {
            self.step = OperationProgress::Settled(how.to_owned());
            return;
        };
        for beside in self.beside.iter_mut().filter(|b| b.place == *place) {
            beside.end = SideEffectOutcome::Unknown(format!("settled: {how}"));
        }
    }

    /// Returns how the unknown outcome was settled, if it was.
    pub fn settlement(&self) -> Option<&str> {
        match &self.step {
            OperationProgress::Settled(how) if self.state == OperationState::Unknown => Some(how),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationCounts {
    pub done: u32,
    pub failed: u32,
    pub not_attempted: u32,
    pub unknown: u32,
    /// Replacements with only one half done.
    #[serde(default)]
    pub half_replaced: u32,
}

impl OperationCounts {
    /// Counts operations by end state; unfinished ones count as not attempted.
    pub fn of<'o>(operations: impl IntoIterator<Item = &'o Operation>) -> Self {
        let mut counts = Self::default();
        for operation in operations {
            *match operation.state {
                OperationState::Done => &mut counts.done,
                OperationState::Failed => &mut counts.failed,
                OperationState::Unknown => &mut counts.unknown,
                OperationState::HalfReplaced => &mut counts.half_replaced,
                OperationState::Waiting
                | OperationState::Running
                | OperationState::NotAttempted => &mut counts.not_attempted,
            } += 1;
        }
        counts
    }

    /// Returns the non-zero counts as text: `7 done, 1 failed`.
    pub fn text(&self) -> String {
        let named = [
            (self.done, "done"),
            (self.half_replaced, "half replaced"),
            (self.failed, "failed"),
            (self.not_attempted, "not attempted"),
            (self.unknown, "with unknown outcome"),
        ];
        let said: Vec<String> = named
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{n} {what}"))
            .collect();
        if said.is_empty() {
            "no objects changed".to_owned()
        } else {
            said.join(", ")
        }
    }

    /// Returns the number of operations that failed, are half replaced, or have unknown outcomes.
    pub fn bad(&self) -> u32 {
        self.failed + self.unknown + self.half_replaced
    }
}
