//! Errors about events that a rollout's state does not allow.

use super::{Rollout, RolloutState};

/// An event that the state of the rollout or of a member does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot {request}: {why}{}", possible_text(.possible))]
pub struct IllegalEvent {
    /// Requested event: `resume the rollout`.
    pub request: String,
    /// Reason.
    pub why: String,
    /// Possible requests.
    pub possible: Vec<&'static str>,
}

fn possible_text(possible: &[&str]) -> String {
    match possible.is_empty() {
        true => ". Stage again to start another rollout".to_owned(),
        false => format!(". Possible: {}", possible.join(", ")),
    }
}

impl Rollout {
    /// Requests of an operator that the state allows.
    pub fn possible(&self) -> Vec<&'static str> {
        match self.state {
            RolloutState::Planned => vec!["start", "skip member", "abort"],
            RolloutState::Running | RolloutState::WaitingHealth => {
                vec!["pause", "skip member", "retry member", "abort"]
            }
            RolloutState::Paused(_) => {
                vec!["resume", "skip member", "retry member", "abort"]
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn illegal(&self, request: &str, why: impl Into<String>) -> IllegalEvent {
        IllegalEvent {
            request: request.to_owned(),
            why: why.into(),
            possible: self.possible(),
        }
    }

    /// Error about the state of the rollout itself.
    pub(super) fn wrong_state(&self, request: &str) -> IllegalEvent {
        self.illegal(request, format!("the rollout is {}", self.state))
    }
}
