//! What a provisioner would run or copy, as it is named before anything runs.

use serde::{Deserialize, Serialize};

/// What a provisioner would run on this machine or another, or copy to another. What is sensitive
/// in it is masked, and what only the deploy can tell says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandView {
    pub command: String,
    /// What it is handed to, where that is not `/bin/sh -c`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    /// Where it runs, where that is not the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// Whether it runs before an object is destroyed, and not after one was created.
    #[serde(default)]
    pub on_destroy: bool,
    /// On which machine, where that is not this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Whether it is no command: what is copied there, and to where.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copies: bool,
}

impl CommandView {
    /// What is done, and where.
    pub fn lead(&self) -> String {
        match &self.host {
            None => "runs on this machine".to_owned(),
            Some(host) if self.copies => format!("copies to {host}"),
            Some(host) => format!("runs on {host}"),
        }
    }

    /// When, what it is handed to, and where, around the command.
    pub fn text(&self) -> String {
        let when = if self.on_destroy {
            "before it is destroyed: "
        } else {
            ""
        };
        let interpreter = self
            .interpreter
            .as_ref()
            .map_or_else(String::new, |i| format!("{i} "));
        let place = self
            .working_dir
            .as_ref()
            .map_or_else(String::new, |d| format!("  (in {d})"));
        format!("{when}{interpreter}{}{place}", self.command.trim_end())
    }

    /// The same in one line; how many it has is said.
    pub fn line(&self) -> String {
        let text = self.text();
        let mut lines = text.lines().filter(|l| !l.trim().is_empty());
        let first = lines.next().unwrap_or_default();
        match lines.count() {
            0 => first.to_owned(),
            more => format!("{first} … and {more} more lines"),
        }
    }
}
