//! What is asked of the engine and what it answers: plain data, shared by the console and the
//! command line.

use super::event::*;
use super::plugin::record::{LaunchAttempt, LogLevel, LogLine, PluginFound, PluginId, UnixMs};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What to stage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageRequest {
    pub mode: StageMode,
    /// Addresses (`aws_x.y`, `module.m`) to which the stage is limited, with what they need.
    pub target: Vec<String>,
    /// Addresses that are left out, with what needs them.
    pub exclude: Vec<String>,
    /// Resource instances to replace whatever the plan says.
    pub replace: Vec<String>,
    /// Whether objects are read before they are planned.
    pub no_refresh: bool,
    /// `--var name=text`, in order.
    pub vars: Vec<(String, String)>,
    pub var_files: Vec<PathBuf>,
    /// A name for the stage, shown in lists.
    pub name: Option<String>,
    /// A deploy: what it did not bring to an end is staged as it was asked for then, in the place
    /// of mode and addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest_of: Option<DeployId>,
}

/// Why a stage cannot have a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadStageName {
    #[error("a stage's name cannot be empty")]
    Empty,
    #[error(
        "a number cannot be a stage's name: {text} would mean stage #{digits} as well; put a letter into it"
    )]
    Number { text: String, digits: String },
    #[error("a stage's name cannot have control characters")]
    Control,
}

/// A name that a stage may have. Numbers are none: `2` always means the second stage.
///
/// # Errors
/// What is wrong with it.
pub fn stage_name(text: &str) -> Result<&str, BadStageName> {
    let digits = text.trim_start_matches('#').trim();
    match () {
        () if text.trim().is_empty() => Err(BadStageName::Empty),
        () if digits.chars().all(|c| c.is_ascii_digit()) => Err(BadStageName::Number {
            text: text.to_owned(),
            digits: digits.to_owned(),
        }),
        () if text.chars().any(char::is_control) => Err(BadStageName::Control),
        () => Ok(text),
    }
}

/// What to deploy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeployRequest {
    pub stage: StageId,
    /// Addresses of the changes to apply; `None` for the stage's selection as it stands.
    pub only: Option<Vec<String>>,
    /// How many operations at a time.
    pub parallelism: usize,
}

/// An object that is there and is to be taken into the state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportObject {
    /// The resource instance that it is to be.
    pub address: String,
    /// As the provider knows it.
    pub id: String,
    /// `--var name=text`, in order.
    pub vars: Vec<(String, String)>,
    pub var_files: Vec<PathBuf>,
}

/// How a selection is to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Select {
    /// Take a change, and what it needs.
    Take(String),
    /// Leave a change, and what needs it.
    Leave(String),
    All,
    None,
    Invert,
}

/// The selection after a change of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    pub taken: Vec<String>,
    pub left: Vec<String>,
    /// What was pulled in or dropped along with it: the change, and the change that made it so.
    pub along: Vec<(String, String)>,
}

/// What can be done to one plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PluginCommand {
    Start,
    Stop,
    Restart,
    Enable,
    Disable,
}

/// A plugin as the store remembers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginRow {
    pub id: PluginId,
    pub found: Option<PluginFound>,
    pub attempts: Vec<LaunchAttempt>,
}

/// One resource instance object in the state, fit to be shown: sensitive values are masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateRow {
    pub address: String,
    pub deposed: Option<String>,
    pub module: String,
    pub data: bool,
    pub resource_type: String,
    pub name: String,
    pub provider: String,
    pub tainted: bool,
    /// What the newest stage found of it in the world, where the state is still the one that it
    /// started from.
    #[serde(default)]
    pub drift: Option<DriftKind>,
    pub dependencies: Vec<String>,
    /// Addresses of the resources that depend on it.
    pub dependents: Vec<String>,
    /// Attributes flattened to leaves, as text.
    pub attributes: Vec<(String, String)>,
}

impl StateRow {
    /// The address; a left-over object has its key behind it.
    pub fn id(&self) -> String {
        match &self.deposed {
            Some(key) => format!("{} (deposed {key})", self.address),
            None => self.address.clone(),
        }
    }
}

/// Failures that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureGroup {
    pub fingerprint: String,
    pub class: FailureClass,
    pub summary: String,
    pub detail: String,
    pub count: u32,
    pub first: UnixMs,
    pub last: UnixMs,
    pub plugin: Option<PluginId>,
    pub addresses: Vec<String>,
    /// Newest first.
    pub deploys: Vec<DeployId>,
    /// What became of the same resource in the next deploy that touched it, in words.
    pub followed_by: Option<String>,
    /// Last log lines of the plugin at the newest of them.
    pub last_lines: Vec<String>,
    /// When each of them was logged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_lines_at: Vec<UnixMs>,
}

/// Which log lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogQuery {
    /// Part of a plugin's id; all where `None`.
    pub plugin: Option<String>,
    pub level: Option<LogLevel>,
    pub since: Option<UnixMs>,
    pub until: Option<UnixMs>,
    /// Newest ones kept; 0 for the default of 1,000.
    pub limit: u32,
}

/// A remembered log line, with its number for following.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRow {
    pub id: i64,
    #[serde(flatten)]
    pub line: LogLine,
}

/// One deploy with all that is remembered of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeployRecord {
    pub summary: DeploySummary,
    pub operations: Vec<Operation>,
    /// The events of that time, for replay.
    pub events: Vec<Event>,
}

/// How long a method of one plugin takes for one type of resource, from history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStat {
    pub plugin: PluginId,
    pub method: String,
    /// Empty for a method that is about no resource.
    pub resource_type: String,
    /// What an apply does; empty for other methods.
    pub action: String,
    pub latency: Latency,
}
