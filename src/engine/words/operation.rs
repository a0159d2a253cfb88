//! One resource's part in a deploy, and how it stands.

use super::{
    Action, Beside, DeedEnd, DeployId, Failure, Look, OperationStep, PluginId, Reached, Retry,
    UnixMs,
};
use serde::{Deserialize, Serialize};

/// How an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    Waiting,
    Running,
    Done,
    Failed,
    /// Not started: something it needs failed, or the deploy was cancelled.
    NotAttempted,
    /// Its intent is on record and its outcome is not.
    Unknown,
    /// A replacement of which one half was done and the other was not: the old object is destroyed
    /// and there is no new one, or the new one is there beside the old one. The operation's step
    /// says which.
    HalfReplaced,
}

impl OperationState {
    /// The word for a table cell.
    pub fn word(self) -> &'static str {
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

/// One resource's part in a deploy; each event carries it whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    pub deploy: DeployId,
    /// Order in the deploy, from 0.
    pub index: u32,
    pub address: String,
    pub plugin: Option<PluginId>,
    pub action: Action,
    pub state: OperationState,
    /// How far it has come.
    pub step: Reached,
    /// Whether the first half of a replacement is done.
    #[serde(default)]
    pub half_done: bool,
    /// The most attempts that one of its calls has needed so far.
    pub attempt: u32,
    /// While a call of it that failed for a moment is made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// While its object is applied and not stable yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stabilising: Option<Look>,
    pub began: Option<UnixMs>,
    pub took_ms: Option<u64>,
    /// Addresses that it waits for, while it waits.
    pub waits_for: Vec<String>,
    /// The usual duration of its method, from history.
    pub usual_ms: Option<u64>,
    pub failure: Option<Box<Failure>>,
    pub warnings: Vec<String>,
    /// What its plugin asked another for meanwhile, of which no state has anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
}

impl Operation {
    /// Whether its deploy ended before it did.
    pub fn is_left(&self) -> bool {
        use OperationState::{Failed, HalfReplaced, NotAttempted, Unknown};
        matches!(self.state, Failed | NotAttempted | Unknown | HalfReplaced)
    }

    /// The address of its resource instance: without the key of a left-over object.
    pub fn instance(&self) -> &str {
        self.address
            .split(" (deposed")
            .next()
            .unwrap_or(&self.address)
    }

    /// Whether it is a replacement that has begun and not ended.
    pub fn is_replacing(&self) -> bool {
        self.state == OperationState::Running
            && matches!(self.action, Action::Replace | Action::ReplaceCreateFirst)
    }

    /// What is missing of a replacement of which one half is done.
    pub fn missing_half(&self) -> Option<Reached> {
        match self.action {
            Action::Replace if self.half_done => Some(Reached::NotRecreated),
            Action::ReplaceCreateFirst if self.half_done => Some(Reached::OldRemains),
            _ => None,
        }
    }

    /// Says how the unknown outcome of one of its steps was settled.
    pub fn settle(&mut self, step: &OperationStep, how: &str) {
        let OperationStep::Beside { place, .. } = step else {
            self.step = Reached::Settled(how.to_owned());
            return;
        };
        for beside in self.beside.iter_mut().filter(|b| b.place == *place) {
            beside.end = DeedEnd::Unknown(format!("settled: {how}"));
        }
    }

    /// How its outcome, which was unknown, was settled.
    pub fn settled(&self) -> Option<&str> {
        match &self.step {
            Reached::Settled(how) if self.state == OperationState::Unknown => Some(how),
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
    /// Replacements of which one half was done and the other was not.
    #[serde(default)]
    pub half_replaced: u32,
}

impl OperationCounts {
    /// How many operations ended in these states; what has not ended counts as not attempted.
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

    /// `7 done, 1 failed`: those that are not zero, in words.
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
            "nothing to do".to_owned()
        } else {
            said.join(", ")
        }
    }

    /// How many ended otherwise than they should, or not at all although they had begun.
    pub fn bad(&self) -> u32 {
        self.failed + self.unknown + self.half_replaced
    }
}
