//! Calls to plugins: queued, started, finished, and their durations.

use super::{Action, CallId, MethodName, PluginId, UnixMs, now_ms};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A call has waited for a slot for 10 ms. Emitted again when its blocker changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallQueued {
    pub call: CallId,
    pub plugin: PluginId,
    pub method: MethodName,
    pub resource: Option<Arc<str>>,
    /// Blocker as text: `slot of hashicorp/aws, held by aws_db_instance.main
    /// (ApplyResourceChange)`.
    pub waits_for: String,
    /// Call that holds the slot or lock, if known.
    pub blocker: Option<CallId>,
    /// Time limit of the wait, if it has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// A call got its slot and was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStarted {
    pub call: CallId,
    pub plugin: PluginId,
    /// Slot from 1; 0 for a call without a slot (`StopProvider`).
    pub slot: u32,
    pub slots: u32,
    pub method: MethodName,
    pub resource: Option<Arc<str>>,
    pub deadline_ms: Option<u64>,
    /// Usual duration of such a call, from history.
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
    /// Type of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<Arc<str>>,
    /// Action of an apply: `create`, `update` or `destroy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Duration since the call was sent, without queue time.
    pub took_ms: u64,
    pub outcome: CallOutcome,
    /// Error as text.
    pub error: Option<String>,
    /// Next attempt, after a transient failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Retry>,
    /// True if the dialect makes several calls for this request, which are reported one by one.
    /// Such a call counts for usual durations only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub covers: bool,
    /// Current latencies of such calls; `None` after a cancellation, and in stored deploys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

/// Next attempt at a call after a transient failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// Number of the attempt, from 2.
    pub attempt: u32,
    /// Limit of attempts.
    pub of: u32,
    /// Earliest time of the attempt; queued calls go first.
    pub at: UnixMs,
    /// Reason of the last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
}

/// Limit of a retry's reason, in characters.
const REASON: usize = 200;

/// Pause between two reads of an applied object that is not ready yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookupRequest {
    /// Number of the last read, from 1.
    pub look: u32,
    /// Time of the next read.
    pub at: UnixMs,
}

/// Pause of an operation between two of its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pause {
    Retry(Retry),
    Look(LookupRequest),
}

impl LookupRequest {
    /// Returns the pause after this many reads.
    pub fn after(look: u32, pause: std::time::Duration) -> Self {
        let at = now_ms() + millis(pause);
        Self { look, at }
    }

    /// `waiting until ready: 3rd look, next in 5 s`.
    pub fn text(self, now: UnixMs) -> String {
        let (look, left) = match self.at - now {
            // Rounded up, so that a pending check never shows 0 s.
            left @ 1.. => (self.look, format!(", next in {} s", (left + 999) / 1_000)),
            // The time has come, so the next read is already running.
            _ => (self.look.saturating_add(1), String::new()),
        };
        // English ordinals: 11th to 13th are exceptions.
        let end = match (look % 10, look % 100) {
            (_, 11..=13) => "th",
            (1, _) => "st",
            (2, _) => "nd",
            (3, _) => "rd",
            _ => "th",
        };
        format!("waiting until ready: {look}{end} look{left}")
    }
}

fn millis(pause: std::time::Duration) -> UnixMs {
    UnixMs::try_from(pause.as_millis()).unwrap_or(UnixMs::MAX / 2)
}

impl Retry {
    /// Returns the attempt that follows `made` attempts after a pause.
    pub fn after(made: u32, of: u32, pause: std::time::Duration) -> Self {
        Self {
            attempt: made + 1,
            of,
            at: now_ms() + millis(pause),
            reason: None,
        }
    }

    /// Adds the reason of the last failure, shortened to one line.
    #[must_use]
    pub fn because(self, reason: &str) -> Self {
        let line = reason.lines().next().unwrap_or_default();
        let line: String = line.chars().take(REASON).collect();
        Self {
            reason: (!line.is_empty()).then(|| line.into()),
            ..self
        }
    }

    /// Returns `attempt 2 of 5, again in 3 s`, without the time once the attempt is due.
    pub fn text(&self, now: UnixMs) -> String {
        let Self {
            attempt, of, at, ..
        } = self;
        match at - now {
            left @ 1.. => format!(
                "attempt {attempt} of {of}, again in {} s",
                (left + 999) / 1_000
            ),
            // Due: the attempt starts as soon as it gets a slot.
            _ => format!("attempt {attempt} of {of}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stability_wait_names_the_check_and_the_time_to_the_next() {
        let text = |look, left| LookupRequest { look, at: left }.text(0);
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
            let expected = format!("waiting until ready: {expected}");
            assert_eq!(text(look, left), expected);
        }
    }

    #[test]
    fn retry_reason_is_one_short_line() {
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
    /// The plugin crashed during the call.
    Crashed,
}

impl CallOutcome {
    /// Returns one stable word for programs.
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

/// Percentiles and maximum of the durations of successful calls, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    pub count: u64,
    pub errors: u64,
    pub p50_ms: u64,
    pub p95_ms: u64,
    pub max_ms: u64,
}

impl Latency {
    /// Returns true if any call succeeded; otherwise no duration is known.
    pub fn is_known(&self) -> bool {
        self.count > self.errors
    }
}

/// Latencies of a plugin's last thousand calls: those of one method, and all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    pub method: Latency,
    pub plugin: Latency,
}
