//! What the engine is asked for: plain data, shared by the console and the command line.

use super::{DeployId, LogLevel, StageId, StageMode, UnixMs};
use lang::config::Planned;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// One variable flag of the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VariableFlag {
    /// `--var NAME=TEXT`.
    Value { name: String, text: String },
    /// `--var-file FILE`.
    File(PathBuf),
}

/// A variable of the root module that needs a value and has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsetVariable {
    pub name: String,
    pub description: String,
    /// Whether its value must not be shown: it is sensitive or ephemeral.
    pub is_secret: bool,
}

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
    /// Variable flags in the order given: a later one overrides an earlier one.
    pub variables: Vec<VariableFlag>,
    /// Values of the plan that is applied or looked at; `None` while planning.
    #[serde(skip)]
    pub planned: Option<Arc<Planned>>,
    /// A name for the stage, shown in lists.
    pub name: Option<String>,
    /// A deploy: what it did not bring to an end is staged as it was asked for then, in the place
    /// of mode and addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest_of: Option<DeployId>,
}

impl StageRequest {
    /// For these variables, of everything.
    pub fn with_variables(variables: Vec<VariableFlag>) -> Self {
        Self {
            variables,
            ..Self::default()
        }
    }
}

/// Which graph is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DrawnGraph {
    /// What a plan works out.
    Plan,
    /// What a destruction of everything takes.
    Destruction,
    /// What a deploy works out that has nothing to change.
    NoChanges,
    /// What the deploy of a stage does, which is in the text of a file.
    Deploy(String),
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
    /// Variable flags in the order given: ephemeral variables need their values again, others have
    /// those of the stage.
    #[serde(default)]
    pub variables: Vec<VariableFlag>,
}

/// An object that is there and is to be taken into the state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportObject {
    /// The resource instance that it is to be.
    pub address: String,
    /// As the provider knows it.
    pub id: String,
    /// Variable flags in the order given.
    pub variables: Vec<VariableFlag>,
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
