//! Commands and copies of a provisioner, shown before they run.

use serde::{Deserialize, Serialize};

/// Command or copy of a provisioner. Sensitive parts are masked, and parts known only after apply
/// have a placeholder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandView {
    pub command: String,
    /// Interpreter, unless it is `/bin/sh -c`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    /// Environment variables, as `NAME=value` in the spelling of a shell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    /// Working directory, unless it is that of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// True for a destroy provisioner.
    #[serde(default)]
    pub on_destroy: bool,
    /// Remote machine, unless it runs on this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// True for a copy: `command` names source and destination.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copies: bool,
}

impl CommandView {
    /// Returns the kind of action and the machine.
    pub fn kind_and_machine(&self) -> String {
        match &self.host {
            None => "runs on this machine".to_owned(),
            Some(host) if self.copies => format!("copies to {host}"),
            Some(host) => format!("runs on {host}"),
        }
    }

    /// Returns the command with time, environment, interpreter and directory.
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
        let environment: String = self.environment.iter().map(|v| format!("{v} ")).collect();
        let place = self
            .working_dir
            .as_ref()
            .map_or_else(String::new, |d| format!("  (in {d})"));
        let command = self.command.trim_end();
        format!("{when}{environment}{interpreter}{command}{place}")
    }

    /// Returns the same in one line, with the number of further lines.
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
