//! Records about plugin processes: sent in events, stored, and used by console and command line.

use super::{DrainingProcess, PluginId, Renewal, UnixMs};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Note on transformers wherever operators could expect to use them.
pub const NO_TRANSFORMERS: &str = "a configuration cannot use transformers";

/// Name of the dialect whose plugins are on the plugin path. That layout is known before a launch.
pub const PLUGIN_PATH_DIALECT: &str = "bluelink";

/// Kind of a plugin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PluginKind {
    #[default]
    Provider,
    /// Bluelink transformer of blueprints. Launched, supervised and shown, but only asked for its
    /// name.
    Transformer,
}

impl PluginKind {
    /// Returns the word for display.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Transformer => "transformer",
        }
    }
}

/// Self-description that a plugin registers with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginAbout {
    pub display_name: String,
    pub description: String,
    pub author: String,
    pub repository: String,
}

impl PluginAbout {
    /// Returns the non-empty parts with their titles.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("name", &*self.display_name),
            ("author", &self.author),
            ("repository", &self.repository),
            ("description", &self.description),
        ];
        all.into_iter().filter(|(_, text)| !text.is_empty())
    }
}

/// Identity of a plugin, and where it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginFound {
    #[serde(default)]
    pub kind: PluginKind,
    /// Full provider address, `registry.terraform.io/hashicorp/aws`; for a transformer its id in
    /// the same form.
    pub address: String,
    /// Version of the package, if the directory layout contains it.
    pub version: Option<String>,
    /// Dialect with version: `tfplugin5`, `tfplugin6`, `bluelink1.0`. Known once the process has
    /// reported it; before that at most the name, if the place implies it.
    pub dialect: Option<String>,
    /// Executable to launch; `None` for the builtin provider and reattached ones.
    pub executable: Option<String>,
    /// Place where it was found, as text: `filesystem mirror /opt/tf-plugins`, `dev_overrides`,
    /// `plugin path /opt/plugins`, `TF_REATTACH_PROVIDERS`, `bundled`, `builtin`.
    pub source: String,
    /// Reason for the choice: `newest of 3 versions that ~> 5.0 allows`.
    pub why: String,
    /// Transform name in blueprints, once a transformer has reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<String>,
    /// Known after registration, if the dialect has a self-description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<PluginAbout>,
}

/// States of a plugin. See `docs/design/plugins.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum PluginState {
    Discovered,
    /// No usable executable: not found, or excluded by constraints.
    Rejected {
        why: String,
    },
    Launching {
        attempt: u32,
        limit: u32,
    },
    /// The process runs; its handshake line is awaited.
    Handshaking {
        attempt: u32,
        limit: u32,
    },
    /// The process runs; its registration at our socket is awaited.
    Registering {
        attempt: u32,
        limit: u32,
    },
    Ready {
        since: UnixMs,
    },
    Draining,
    Stopped,
    /// Ended because it was not used; the next call starts it again.
    Idle {
        why: String,
    },
    /// Waits for the next launch.
    Backoff {
        until: UnixMs,
        attempt: u32,
        limit: u32,
        why: String,
    },
    /// Ended unexpectedly while it was ready.
    Crashed {
        code: Option<i32>,
        signal: Option<i32>,
        why: String,
    },
    GaveUp {
        why: String,
    },
    /// Incompatible; further launches cannot help.
    Incompatible {
        why: String,
    },
    Disabled,
}

impl PluginState {
    /// Returns one or two words for a table cell.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Discovered => "discovered",
            Self::Rejected { .. } => "rejected",
            Self::Launching { .. } => "launching",
            Self::Handshaking { .. } => "handshaking",
            Self::Registering { .. } => "registering",
            Self::Ready { .. } => "ready",
            Self::Draining => "draining",
            Self::Stopped => "stopped",
            Self::Idle { .. } => "idle",
            Self::Backoff { .. } => "backoff",
            Self::Crashed { .. } => "crashed",
            Self::GaveUp { .. } => "gave up",
            Self::Incompatible { .. } => "incompatible",
            Self::Disabled => "disabled",
        }
    }

    /// Returns the reason of a state in which the plugin cannot be called.
    pub fn unavailable_reason(&self) -> Option<&str> {
        match self {
            Self::Rejected { why } | Self::GaveUp { why } | Self::Incompatible { why } => Some(why),
            Self::Backoff { why, .. } | Self::Crashed { why, .. } | Self::Idle { why } => Some(why),
            _ => None,
        }
    }

    /// Returns true if a process works or is starting.
    pub fn has_process(&self) -> bool {
        matches!(
            self,
            // A launching attempt has no process yet.
            Self::Handshaking { .. } | Self::Registering { .. } | Self::Ready { .. }
        )
    }

    /// Returns true if the plugin stays failed until an operator acts.
    pub fn is_failed(&self) -> bool {
        matches!(
            self,
            Self::Rejected { .. }
                | Self::GaveUp { .. }
                | Self::Incompatible { .. }
                | Self::Crashed { .. }
        )
    }
}

/// Phase that a launch attempt reached, in milliseconds since its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    pub name: PhaseName,
    pub at_ms: u64,
}

/// Name of a phase: `exec`, `first_output`, and those of the dialect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PhaseName(Cow<'static, str>);

impl PhaseName {
    pub const EXEC: Self = Self::new("exec");
    pub const FIRST_OUTPUT: Self = Self::new("first_output");
    /// The schema was fetched.
    pub const SCHEMA: Self = Self::new("schema");

    /// Name of a dialect's phase, in snake case.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// Returns the words for the attempt's timeline.
    #[must_use]
    pub fn label(&self) -> String {
        if *self == Self::FIRST_OUTPUT {
            "output".to_owned()
        } else {
            self.0.replace('_', " ")
        }
    }
}

/// Kind of a launch's result, as a stable word for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum VerdictKind {
    Ready,
    /// The launch has not ended yet.
    Running,
    Stopped,
    /// Failed: `not_found`, `not_executable`, `wrong_architecture`, `not_approved`, `replaced`,
    /// `timed_out`, `exited`, `connect`, `schema`; and those of the dialects: `other_program`,
    /// `not_a_provider`, `not_a_transformer`, `unrecognised_line`, `core_version`,
    /// `protocol_version`, `net_rpc`, `certificate`, `tls`; `registered_as_another`, `plugin_type`,
    /// `foreign`, `late`, `no_address`, `no_port`, `namespace`, `transform_name`, `attached`.
    Failed(String),
}

impl VerdictKind {
    /// Word in records and in JSON.
    pub fn word(&self) -> &str {
        match self {
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Failed(word) => word,
        }
    }

    /// Returns true if the launch has failed.
    pub fn is_failed(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl From<&str> for VerdictKind {
    fn from(word: &str) -> Self {
        match word {
            "ready" => Self::Ready,
            "running" => Self::Running,
            "stopped" => Self::Stopped,
            word => Self::Failed(word.to_owned()),
        }
    }
}

impl From<String> for VerdictKind {
    fn from(word: String) -> Self {
        Self::from(word.as_str())
    }
}

impl From<VerdictKind> for String {
    fn from(kind: VerdictKind) -> Self {
        kind.word().to_owned()
    }
}

/// Result of a launch attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Verdict {
    pub kind: VerdictKind,
    /// Text for operators: failure, reason and remedy.
    pub text: String,
    /// True if another launch could succeed.
    pub retryable: bool,
}

/// Attempt to launch a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchAttempt {
    /// Number since the last reset by an operator or a crash, from 1.
    pub number: u32,
    pub limit: u32,
    pub began: UnixMs,
    pub phases: Vec<Phase>,
    pub pid: Option<u32>,
    /// Field 22 of `/proc/PID/stat`, in clock ticks since boot; identifies the process together
    /// with the pid.
    pub start_time: Option<u64>,
    /// Start deadline, in milliseconds.
    pub deadline_ms: u64,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// Last output lines of the plugin, bounded.
    pub last_lines: Vec<String>,
    /// `None` while the attempt is running.
    pub verdict: Option<Verdict>,
    /// Milliseconds from start to verdict.
    pub took_ms: Option<u64>,
    /// Current activity while the process starts: `waiting for its handshake line`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    /// True if the process was started to replace another one that kept serving.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

impl LogLevel {
    /// Returns the lower-case name, as used by `--level`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogStream {
    Stdout,
    Stderr,
    /// Output received by a call: the plugin's own record of it.
    Stdio,
    /// flightdeck itself.
    Engine,
}

/// Log line of a plugin or the engine. The text is unchanged; whoever draws it must escape it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    pub plugin: PluginId,
    pub at: UnixMs,
    pub level: LogLevel,
    pub stream: LogStream,
    /// hclog's `@module`, if present.
    pub module: Option<String>,
    pub text: String,
    /// True if the line belongs to the trace of a panic.
    pub panic: bool,
}

/// Resource usage of a plugin process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    pub pid: u32,
    /// Percent of one core.
    pub cpu_percent: f32,
    pub rss_bytes: u64,
}

/// Events of a plugin's supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum PluginEvent {
    Found {
        plugin: PluginId,
        found: PluginFound,
    },
    State {
        plugin: PluginId,
        state: PluginState,
    },
    /// The plugin is not required any more; it was stopped, and is not listed.
    Removed {
        plugin: PluginId,
    },
    Attempt {
        plugin: PluginId,
        attempt: LaunchAttempt,
    },
    Log {
        line: LogLine,
    },
    /// Log lines that were dropped because there were too many; a log line in their place tells
    /// their number.
    LinesLeftOut {
        plugin: PluginId,
        lines: u64,
    },
    Usage {
        plugin: PluginId,
        usage: Usage,
    },
    /// State of the serving process's replacement; `None` if none is due.
    Renewal {
        plugin: PluginId,
        renewal: Option<Renewal>,
    },
    /// A new process serves from now on; the old one completes its calls.
    Replaced {
        plugin: PluginId,
        /// Pid of the new process.
        pid: Option<u32>,
        leaving: DrainingProcess,
    },
    /// Remaining work of a replaced process.
    Leaves {
        plugin: PluginId,
        leaving: DrainingProcess,
    },
    /// A replaced process has ended.
    Left {
        plugin: PluginId,
        generation: u64,
        /// Exit reason, for display.
        how: String,
    },
    /// Crash; interrupted calls refer to its incident.
    Crash {
        plugin: PluginId,
        incident: String,
        code: Option<i32>,
        signal: Option<i32>,
        text: String,
        trace: Vec<String>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_of_a_launch_result_is_its_word_in_json() {
        for (kind, word) in [
            (VerdictKind::Ready, "ready"),
            (VerdictKind::Running, "running"),
            (VerdictKind::Stopped, "stopped"),
            (VerdictKind::Failed("timed_out".into()), "timed_out"),
        ] {
            let json = serde_json::to_value(&kind).unwrap();
            assert_eq!(json, word);
            assert_eq!(serde_json::from_value::<VerdictKind>(json).unwrap(), kind);
        }
    }
}
