//! Calls to plugins: in line, sent, answered, and how long they take.

use super::{Action, CallId, MethodName, PluginId, UnixMs, now_ms};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A call has waited for a slot for 10 ms. Said again when what it waits for changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallQueued {
    pub call: CallId,
    pub plugin: PluginId,
    pub method: MethodName,
    pub resource: Option<Arc<str>>,
    /// What it waits for, in words: `slot of hashicorp/aws, held by aws_db_instance.main
    /// (ApplyResourceChange)`.
    pub waits_for: String,
    /// The call that holds what it waits for, where one can be named.
    pub blocker: Option<CallId>,
    /// How long it may wait, where that has an end of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// A call got its slot and was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStarted {
    pub call: CallId,
    pub plugin: PluginId,
    /// From 1; 0 for a call that takes no slot (`StopProvider`).
    pub slot: u32,
    pub slots: u32,
    pub method: MethodName,
    pub resource: Option<Arc<str>>,
    pub deadline_ms: Option<u64>,
    /// How long such a call usually takes, from history.
    pub usual: Option<Latency>,
    pub queued_ms: u64,
}

/// A call was answered, or will not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFinished {
    pub call: CallId,
    pub plugin: PluginId,
    pub method: MethodName,
    pub resource: Option<Arc<str>>,
    /// The type of that resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<Arc<str>>,
    /// What an apply does: `create`, `update`, `destroy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// From when it was sent; the time in line before is not in it.
    pub took_ms: u64,
    pub outcome: CallOutcome,
    /// The error in words.
    pub error: Option<String>,
    /// The attempt that follows, where it failed for a moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Retry>,
    /// Whether it is the whole of a request that its dialect makes several calls for, which are
    /// reported one by one. It counts for usual durations alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub covers: bool,
    /// How such calls go by now; of one that was cancelled nothing is measured. What is kept of a
    /// deploy goes without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

/// Another attempt at a call that failed for a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// Its number, from 2.
    pub attempt: u32,
    /// How many are made at most.
    pub of: u32,
    /// When it is made, at the earliest; what is in line goes first.
    pub at: UnixMs,
    /// Why the last one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
}

/// Longest reason of a retry, in characters.
const REASON: usize = 200;

/// Wait between two looks at an object that is applied and not stable yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Number of the last look, from 1.
    pub look: u32,
    /// When the next look follows.
    pub at: UnixMs,
}

/// Pause of an operation between two of its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pause {
    Retry(Retry),
    Look(Look),
}

impl Look {
    /// The pause after this many looks.
    pub fn after(look: u32, pause: std::time::Duration) -> Self {
        let at = now_ms() + millis(pause);
        Self { look, at }
    }

    /// `applied, waiting until stable: 3rd look, next in 5 s`.
    pub fn text(self, now: UnixMs) -> String {
        let (look, left) = match self.at - now {
            left @ 1.. => (self.look, format!(", next in {} s", (left + 999) / 1_000)),
            _ => (self.look.saturating_add(1), String::new()),
        };
        let end = match (look % 10, look % 100) {
            (_, 11..=13) => "th",
            (1, _) => "st",
            (2, _) => "nd",
            (3, _) => "rd",
            _ => "th",
        };
        format!("applied, waiting until stable: {look}{end} look{left}")
    }
}

fn millis(pause: std::time::Duration) -> UnixMs {
    UnixMs::try_from(pause.as_millis()).unwrap_or(UnixMs::MAX / 2)
}

impl Retry {
    /// What follows so many attempts after a pause.
    pub fn after(made: u32, of: u32, pause: std::time::Duration) -> Self {
        Self {
            attempt: made + 1,
            of,
            at: now_ms() + millis(pause),
            reason: None,
        }
    }

    /// With the reason of the last failure, of which one short line is kept.
    #[must_use]
    pub fn because(self, reason: &str) -> Self {
        let line = reason.lines().next().unwrap_or_default();
        let line: String = line.chars().take(REASON).collect();
        Self {
            reason: (!line.is_empty()).then(|| line.into()),
            ..self
        }
    }

    /// `attempt 2 of 5, again in 3 s`; without the end once it is made.
    pub fn text(&self, now: UnixMs) -> String {
        let Self {
            attempt, of, at, ..
        } = self;
        match at - now {
            left @ 1.. => format!(
                "attempt {attempt} of {of}, again in {} s",
                (left + 999) / 1_000
            ),
            _ => format!("attempt {attempt} of {of}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_for_stability_names_the_look_and_when_the_next_one_follows() {
        let text = |look, left| Look { look, at: left }.text(0);
        let table = [
            (1, 5_000, "1st look, next in 5 s"),
            (2, 4_001, "2nd look, next in 5 s"),
            (3, 1, "3rd look, next in 1 s"),
            (11, 1_000, "11th look, next in 1 s"),
            (112, 1_000, "112th look, next in 1 s"),
            (121, 1_000, "121st look, next in 1 s"),
            (2, 0, "3rd look"),
        ];
        for (look, left, expected) in table {
            let expected = format!("applied, waiting until stable: {expected}");
            assert_eq!(text(look, left), expected);
        }
    }

    #[test]
    fn retry_keeps_one_short_line_of_its_reason() {
        let retry = Retry::after(1, 5, std::time::Duration::ZERO);
        assert_eq!(retry.clone().because("").reason, None);
        let retry = retry.because(&format!("{}\nmore", "x".repeat(300)));
        assert_eq!(retry.reason.as_deref(), Some(&*"x".repeat(REASON)));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    Ok,
    /// Answered with error diagnostics, or a gRPC error.
    Error,
    Deadline,
    Cancelled,
    /// The plugin died under it.
    Crashed,
}

impl CallOutcome {
    /// One word, for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Deadline => "deadline",
            Self::Cancelled => "cancelled",
            Self::Crashed => "crashed",
        }
    }
}

/// Durations of calls in milliseconds: the percentiles and the longest of those that went well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    pub count: u64,
    pub errors: u64,
    pub p50_ms: u64,
    pub p95_ms: u64,
    pub max_ms: u64,
}

impl Latency {
    /// Whether any call went well: how long one takes is not known otherwise.
    pub fn is_known(&self) -> bool {
        self.count > self.errors
    }
}

/// How the last thousand calls of a plugin went: those of one method, and those of all its methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    pub method: Latency,
    pub plugin: Latency,
}
