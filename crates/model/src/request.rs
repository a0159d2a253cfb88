//! Requests to the engine: plain data from console and command line.

use super::{DeployId, LogLevel, PluginId, StageId, StageMode, UnixMs};
use lang::config::Planned;
use lang::stored::StoredConfiguration;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// Variable flag of the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VariableFlag {
    /// `--var NAME=TEXT`.
    Value { name: String, text: String },
    /// `--var-file FILE`.
    File(PathBuf),
}

/// Root variable that needs a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsetVariable {
    pub name: String,
    pub description: String,
    /// True if the value must not be shown: sensitive or ephemeral.
    pub is_secret: bool,
}

/// Part of a configuration that has a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Declared {
    /// Resource of an instance, by its address.
    Resource(String),
    /// Provider in `required_providers`, by the id of its plugin.
    Plugin(PluginId),
}

/// Line of a file of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLine {
    pub path: PathBuf,
    /// Counted from 1.
    pub line: u32,
}

/// Root variable of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootVariable {
    pub name: String,
    /// Type constraint as text; `any` if none is written.
    pub type_text: String,
    pub description: String,
    /// Default as text; `None` for a required variable.
    pub default: Option<String>,
    /// Value as text, if one is given by flags, files or the environment. Secrets are redacted.
    pub given: Option<String>,
    /// True if the value must not be shown: sensitive or ephemeral.
    pub is_secret: bool,
}

/// Root variables with the values that a request gives them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootVariables {
    pub all: Vec<RootVariable>,
    /// Error of the configuration or of a value.
    pub problem: Option<String>,
}

/// Request to compute a stage, with its plan options.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageRequest {
    pub mode: StageMode,
    /// Addresses (`aws_x.y`, `module.m`) to which the stage is limited, together with their
    /// dependencies.
    pub target: Vec<String>,
    /// Addresses to leave out, together with their dependents.
    pub exclude: Vec<String>,
    /// Resource instances to replace in any case.
    pub replace: Vec<String>,
    /// True to plan without reading objects.
    pub no_refresh: bool,
    /// Variable flags in the given order: later ones override earlier ones.
    pub variables: Vec<VariableFlag>,
    /// Values of the plan that is applied or shown; `None` while planning.
    #[serde(skip)]
    pub planned: Option<Arc<Planned>>,
    /// Deploy whose configuration, with its values of variables, is staged instead of the files on
    /// disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration_of: Option<DeployId>,
    /// The stored configuration of that deploy; `None` until it is read from the store.
    #[serde(skip)]
    pub stored: Option<Arc<StoredConfiguration>>,
    /// Name of the stage, shown in lists.
    pub name: Option<String>,
    /// Deploy whose unfinished changes are staged with its original request, instead of mode and
    /// addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest_of: Option<DeployId>,
}

impl StageRequest {
    /// Creates a request for everything with these variables.
    pub fn with_variables(variables: Vec<VariableFlag>) -> Self {
        Self {
            variables,
            ..Self::default()
        }
    }
}

/// Graph to draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DrawnGraph {
    /// Nodes of a plan.
    Plan,
    /// Destroy of all objects.
    Destruction,
    /// Nodes of a deploy without changes.
    NoChanges,
    /// Deploy of a stage, which is given as the text of its file.
    Deploy(String),
}

/// Reason that a stage name is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadStageName {
    #[error("a stage name cannot be empty")]
    Empty,
    #[error(
        "a stage name cannot be a number, because {text} also means stage #{digits}; add a letter"
    )]
    Number { text: String, digits: String },
    #[error("a stage name cannot contain control characters")]
    Control,
}

/// Checks a stage name. Numbers are invalid, because `2` always means the second stage.
///
/// # Errors
/// If the name is invalid.
pub fn stage_name(text: &str) -> Result<&str, BadStageName> {
    // `#2` also means the second stage.
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

/// Maximum number of saved selections of a workspace.
pub const MAX_SAVED_SELECTIONS: usize = 200;

/// Maximum length of the name of a saved selection, in characters.
const MAX_SELECTION_NAME: usize = 100;

/// Reason that a selection cannot be saved under a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSelectionName {
    #[error("the name of a selection cannot be empty")]
    Empty,
    #[error(
        "the name of a selection has at most {} characters",
        MAX_SELECTION_NAME
    )]
    Long,
    #[error("the name of a selection cannot contain control characters")]
    Control,
    #[error(
        "there are {} saved selections already; delete one with `flightdeck selections delete NAME`",
        MAX_SAVED_SELECTIONS
    )]
    TooMany,
}

/// Checks the name of a selection.
///
/// # Errors
/// If the name is invalid.
pub fn selection_name(text: &str) -> Result<&str, BadSelectionName> {
    let name = text.trim();
    match () {
        () if name.is_empty() => Err(BadSelectionName::Empty),
        () if name.chars().count() > MAX_SELECTION_NAME => Err(BadSelectionName::Long),
        () if name.chars().any(char::is_control) => Err(BadSelectionName::Control),
        () => Ok(name),
    }
}

/// Request to deploy a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeployRequest {
    pub stage: StageId,
    /// Addresses of the changes to apply; `None` for the stage's selection.
    pub only: Option<Vec<String>>,
    /// Limit of concurrent operations.
    pub parallelism: usize,
    /// Variable flags in the given order: ephemeral variables need their values again, others have
    /// those of the stage.
    #[serde(default)]
    pub variables: Vec<VariableFlag>,
}

/// Request to import an existing object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportObject {
    /// Target resource instance.
    pub address: String,
    /// Id at the provider.
    pub id: String,
    /// Variable flags in the given order.
    pub variables: Vec<VariableFlag>,
}

/// Change of a selection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Select {
    /// Select a change and its dependencies.
    Take(String),
    /// Deselect a change and its dependents.
    Leave(String),
    /// Select or deselect several changes as if one after the other, in one step.
    Many {
        take: bool,
        addresses: Vec<String>,
    },
    /// Select these changes with their dependencies, and nothing else. Addresses without a change
    /// in the stage are ignored.
    Only(Vec<String>),
    /// Select all but these changes, and the dependencies of the selected ones.
    Except(Vec<String>),
    All,
    None,
    Invert,
}

/// Command for one plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PluginCommand {
    Start,
    /// Ends the process.
    Stop,
    /// Asks the process to give up its present calls, each of which still answers.
    Interrupt,
    Restart,
    Enable,
    Disable,
}

/// Filter for log lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogQuery {
    /// Part of a plugin's id; `None` for all.
    pub plugin: Option<String>,
    pub level: Option<LogLevel>,
    pub since: Option<UnixMs>,
    pub until: Option<UnixMs>,
    /// Limit of lines, newest kept; 0 for the default of 1,000.
    pub limit: u32,
}
