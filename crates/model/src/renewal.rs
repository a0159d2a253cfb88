//! Replacement of one plugin process by another while both run.

use super::UnixMs;
use serde::{Deserialize, Serialize};

/// State of the replacement of the serving process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "renewal", rename_all = "snake_case")]
pub enum Renewal {
    /// Due, but waiting for something to end.
    Held { why: String, until: String },
    /// The new process is starting beside the serving one.
    Launching { why: String },
    /// The new process failed to start; the old one keeps serving.
    Failed {
        why: String,
        failed: String,
        /// Number of consecutive failures.
        tries: u32,
        /// Time of the next try.
        next: UnixMs,
    },
}

impl Renewal {
    /// Returns one sentence for display.
    pub fn text(&self) -> String {
        match self {
            Self::Held { why, until } => format!("will be replaced once {until}: {why}"),
            Self::Launching { why } => format!("being replaced, still serving: {why}"),
            Self::Failed {
                why, failed, tries, ..
            } => {
                let times = match tries {
                    1 => String::new(),
                    n => format!(" ({n} tries)"),
                };
                format!(
                    "to be replaced ({why}), but the replacement failed to start{times}: {failed}"
                )
            }
        }
    }
}

/// Replaced process that still has calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainingProcess {
    /// Number of the process over all launches of the plugin.
    pub generation: u64,
    pub pid: Option<u32>,
    /// Time since which it gets no new calls.
    pub since: UnixMs,
    /// Reason of its replacement.
    pub why: String,
    /// Number of remaining calls.
    pub calls: u64,
    /// True if the calls take longer than the drain deadline. The process is not killed; it ends
    /// with its calls.
    pub overdue: bool,
}
