//! How one process of a plugin takes the place of another while both live.

use super::UnixMs;
use serde::{Deserialize, Serialize};

/// How it stands with the replacement of the process that serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "renewal", rename_all = "snake_case")]
pub enum Renewal {
    /// It is due, and something has to end before.
    Held { why: String, until: String },
    /// Another process is on its way up beside the one that serves.
    Launching { why: String },
    /// The other one did not come up; the one that serves goes on.
    Failed {
        why: String,
        failed: String,
        /// How many have not come up, one after the other.
        tries: u32,
        /// When the next one is tried.
        next: UnixMs,
    },
}

impl Renewal {
    /// One sentence for people.
    pub fn text(&self) -> String {
        match self {
            Self::Held { why, until } => format!("to be replaced once {until}: {why}"),
            Self::Launching { why } => format!("being replaced, and serves meanwhile: {why}"),
            Self::Failed {
                why, failed, tries, ..
            } => {
                let times = match tries {
                    1 => String::new(),
                    n => format!(" ({n} tries)"),
                };
                format!(
                    "to be replaced ({why}), and goes on, as the new process did not come up{times}: {failed}"
                )
            }
        }
    }
}

/// A process in whose place another one has come, while it still has calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaving {
    /// Which process of the plugin, counted over all its launches.
    pub generation: u64,
    pub pid: Option<u32>,
    /// Since when no call goes there any more.
    pub since: UnixMs,
    /// Why it was replaced.
    pub why: String,
    /// Calls that it still has.
    pub calls: u64,
    /// Whether it has them for longer than the drain deadline says. It is let be: it ends with its
    /// calls.
    pub overdue: bool,
}
