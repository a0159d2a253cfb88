//! What is known of a plugin process, as plain records: they travel in events, are kept in the
//! store, and are all that the console and the command line ever see of a plugin.

use super::{Leaving, PluginId, Renewal, UnixMs};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What is said of a transformer wherever somebody could look for a use of it.
pub const NO_TRANSFORMERS: &str = "a configuration cannot use transformers";

/// What a plugin is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PluginKind {
    #[default]
    Provider,
    /// Of Bluelink: it turns blueprints into others. Launched, supervised and shown, and called for
    /// nothing but its name.
    Transformer,
}

impl PluginKind {
    /// As it is shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Transformer => "transformer",
        }
    }
}

/// Self-description of a plugin, as it registers with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginAbout {
    pub display_name: String,
    pub description: String,
    pub author: String,
    pub repository: String,
}

impl PluginAbout {
    /// Its parts with their titles, without empty ones.
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

/// What a plugin is and where it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginFound {
    #[serde(default)]
    pub kind: PluginKind,
    /// The whole provider address, `registry.terraform.io/hashicorp/aws`; of a transformer its id,
    /// written in the same way.
    pub address: String,
    /// Version of the package, where the layout tells it.
    pub version: Option<String>,
    /// With its version: `tfplugin5`, `tfplugin6`, `bluelink1.0`; known only once the process has
    /// said it, but for the name alone where the place tells that.
    pub dialect: Option<String>,
    /// The executable that is launched; `None` for the builtin provider and for reattached ones.
    pub executable: Option<String>,
    /// Where it was found, in words: `filesystem mirror /opt/tf-plugins`, `dev_overrides`,
    /// `plugin path /opt/plugins`,
    /// `TF_REATTACH_PROVIDERS`, `bundled`, `builtin`.
    pub source: String,
    /// Why this one was taken: `newest of 3 versions that ~> 5.0 allows`.
    pub why: String,
    /// What a transformer says that blueprints call it by, once it has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<String>,
    /// Known once the process has registered, where its dialect has such a thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<PluginAbout>,
}

/// The life of a plugin. See `ARCHITECTURE.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum PluginState {
    Discovered,
    /// The executable cannot be had: not found, not allowed by constraints.
    Rejected {
        why: String,
    },
    Launching {
        attempt: u32,
        limit: u32,
    },
    /// The process runs, its handshake line is awaited.
    Handshaking {
        attempt: u32,
        limit: u32,
    },
    /// The process runs, and is to say at a socket of ours that it is there.
    Registering {
        attempt: u32,
        limit: u32,
    },
    Ready {
        since: UnixMs,
    },
    Draining,
    Stopped,
    /// Nobody used it, and so it was ended; the next call starts it again.
    Idle {
        why: String,
    },
    /// Waits to be launched again.
    Backoff {
        until: UnixMs,
        attempt: u32,
        limit: u32,
        why: String,
    },
    /// Died while it was ready.
    Crashed {
        code: Option<i32>,
        signal: Option<i32>,
        why: String,
    },
    GaveUp {
        why: String,
    },
    /// Another launch cannot change it.
    Incompatible {
        why: String,
    },
    Disabled,
}

impl PluginState {
    /// One or two words for a table cell.
    pub fn word(&self) -> &'static str {
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

    /// The reason that goes with a state in which the plugin cannot be called.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Rejected { why } | Self::GaveUp { why } | Self::Incompatible { why } => Some(why),
            Self::Backoff { why, .. } | Self::Crashed { why, .. } | Self::Idle { why } => Some(why),
            _ => None,
        }
    }

    /// Whether there is a process that works, or is on its way to.
    pub fn has_process(&self) -> bool {
        matches!(
            self,
            Self::Handshaking { .. } | Self::Registering { .. } | Self::Ready { .. }
        )
    }

    /// Whether the plugin has failed for good unless an operator does something.
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

/// How far a launch attempt got; each with milliseconds since the attempt began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    pub name: PhaseName,
    pub at_ms: u64,
}

/// The name of a phase: `exec`, `first_output`, and what the plugin's dialect has after them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PhaseName(Cow<'static, str>);

impl PhaseName {
    pub const EXEC: Self = Self::new("exec");
    pub const FIRST_OUTPUT: Self = Self::new("first_output");
    /// Its schema is here.
    pub const SCHEMA: Self = Self::new("schema");

    /// One of a dialect, in snake case.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// The words on the attempt's timeline.
    #[must_use]
    pub fn word(&self) -> String {
        if *self == Self::FIRST_OUTPUT {
            "output".to_owned()
        } else {
            self.0.replace('_', " ")
        }
    }
}

/// How a launch attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Verdict {
    /// A stable word for programs: `ready`, `running` (not ended yet), `not_found`,
    /// `not_executable`, `wrong_architecture`, `not_approved`, `replaced`, `timed_out`, `exited`,
    /// `connect`, `schema`, `stopped`; and those of the plugin's dialect: `other_program`,
    /// `not_a_provider`, `not_a_transformer`, `unrecognised_line`, `core_version`,
    /// `protocol_version`, `net_rpc`, `certificate`, `tls`;
    /// `registered_as_another`, `plugin_type`, `foreign`, `late`, `no_address`, `no_port`,
    /// `namespace`, `transform_name`, `attached`.
    pub kind: String,
    /// For people: what failed, why, what to do.
    pub text: String,
    /// Whether another launch could change it.
    pub retryable: bool,
}

/// One try at starting a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchAttempt {
    /// Counted from 1 since the last time an operator or a crash reset the count.
    pub number: u32,
    pub limit: u32,
    pub began: UnixMs,
    pub phases: Vec<Phase>,
    pub pid: Option<u32>,
    /// Field 22 of `/proc/PID/stat`, in clock ticks since boot: with the pid it names the process.
    pub start_time: Option<u64>,
    /// The start deadline that applied, in milliseconds.
    pub deadline_ms: u64,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// The plugin's last lines on stderr and stdout, bounded.
    pub last_lines: Vec<String>,
    /// `None` while the attempt goes on.
    pub verdict: Option<Verdict>,
    /// Milliseconds from the beginning to the verdict.
    pub took_ms: Option<u64>,
    /// What goes on, while the process is on its way: `waiting for its handshake line`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    /// Whether another process of the plugin served meanwhile, in whose place it was to come.
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
    /// Lower-case name, as `--level` takes it.
    pub fn word(self) -> &'static str {
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
    /// What came by a call: the plugin's own record of what it printed.
    Stdio,
    /// flightdeck itself.
    Engine,
}

/// One line that a plugin (or the engine) said. Text is as received: who draws it makes it safe for
/// a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    pub plugin: PluginId,
    pub at: UnixMs,
    pub level: LogLevel,
    pub stream: LogStream,
    /// hclog's `@module`, where there is one.
    pub module: Option<String>,
    pub text: String,
    /// Whether the line belongs to a panic's trace.
    pub panic: bool,
}

/// What the machine says of a plugin process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    pub pid: u32,
    /// Percent of one core.
    pub cpu_percent: f32,
    pub rss_bytes: u64,
}

/// All that a plugin's supervisor reports.
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
    Attempt {
        plugin: PluginId,
        attempt: LaunchAttempt,
    },
    Log {
        line: LogLine,
    },
    /// Lines that were not passed on, for there were too many of them; a line of ours in their
    /// place says so.
    LinesLeftOut {
        plugin: PluginId,
        lines: u64,
    },
    Usage {
        plugin: PluginId,
        usage: Usage,
    },
    /// How it stands with the replacement of the process that serves; `None` where none is due.
    Renewal {
        plugin: PluginId,
        renewal: Option<Renewal>,
    },
    /// Another process serves from now on; the old one has the calls that it had.
    Replaced {
        plugin: PluginId,
        /// Of the new one.
        pid: Option<u32>,
        leaving: Leaving,
    },
    /// What a process that was replaced still has to do.
    Leaves {
        plugin: PluginId,
        leaving: Leaving,
    },
    /// A process that was replaced is gone.
    Left {
        plugin: PluginId,
        generation: u64,
        /// How it ended, for people.
        how: String,
    },
    /// One crash, one incident: calls that it took down point to it.
    Crash {
        plugin: PluginId,
        incident: String,
        code: Option<i32>,
        signal: Option<i32>,
        text: String,
        trace: Vec<String>,
    },
}
