//! Errors for objects that an operator named and that do not exist, with a remedy.

use model::visible::one_line;
use model::{DeployId, PluginId, SensitivePlace, StageId};
use std::path::PathBuf;

/// Object that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFound {
    /// The directory of a workspace.
    #[error("{} is not a directory", one_line(&.0.to_string_lossy()))]
    Directory(PathBuf),
    /// It existed when it was selected.
    #[error(
        "the workspace {0:?} no longer exists; run `flightdeck workspace list` to list the workspaces"
    )]
    Workspace(String),
    #[error("there is no plugin {}; run `flightdeck plugins` to list the plugins", one_line(&.0.0))]
    Plugin(PluginId),
    #[error("there is no deploy {0}; run `flightdeck history` to list the deploys")]
    Deploy(DeployId),
    #[error("there is no stage #{0}; run `flightdeck stage` to create one")]
    Stage(StageId),
    #[error("there is no stage yet; run `flightdeck stage` to create one")]
    AnyStage,
    #[error(
        "there is no saved selection {0:?}; run `flightdeck selections` to list the saved selections"
    )]
    Selection(String),
    #[error("there is no group {0:?}; run `flightdeck group` to list the groups")]
    Group(String),
    /// Sensitive value to reveal.
    #[error("{} is unknown, or no longer available; stage again", one_line(&.0.to_string()))]
    Value(SensitivePlace),
    /// Object to taint or untaint.
    #[error(
        "{} is not in the state, so it cannot be tainted or untainted; run `flightdeck state list` to list the objects", one_line(.0)
    )]
    ToMark(String),
    /// Object to move; `near` is a similar address in the state.
    #[error("{address} is not in the state, so it cannot be moved; {}", hint(near.as_deref()))]
    ToMove {
        address: String,
        near: Option<String>,
    },
    /// Object to forget; `near` is a similar address that could be forgotten.
    #[error(
        "{address} is not in the state and has no unknown outcome, so it cannot be forgotten; {}", hint(near.as_deref())
    )]
    ToForget {
        address: String,
        near: Option<String>,
    },
}

fn hint(near: Option<&str>) -> String {
    near.map_or_else(
        || "run `flightdeck state list` to list the objects".to_owned(),
        |near| format!("did you mean `{near}`?"),
    )
}
