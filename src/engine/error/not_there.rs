//! What an operator named and is not there, with where to look for what is.

use crate::engine::visible::one_line;
use crate::engine::words::{DeployId, PluginId, StageId};
use std::path::PathBuf;

/// What was not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotThere {
    /// The directory of a workspace.
    #[error("{} is not a directory", one_line(&.0.to_string_lossy()))]
    Directory(PathBuf),
    /// It was there when it was chosen.
    #[error("there is no workspace {0:?} any more")]
    Workspace(String),
    #[error("there is no plugin {}", one_line(&.0.0))]
    Plugin(PluginId),
    #[error("there is no deploy {0} on record; `flightdeck history` lists them")]
    Deploy(DeployId),
    #[error("there is no stage #{0}; `flightdeck stage` works one out")]
    Stage(StageId),
    #[error("nothing has been staged yet; `flightdeck stage` works out the changes")]
    AnyStage,
    /// The object whose mark is to be set or taken away.
    #[error(
        "{} is not in the state, so its mark stays as it is; `flightdeck state list` shows what there is", one_line(.0)
    )]
    ToMark(String),
    /// What is to get another address; `near` is a name like it that is in the state.
    #[error("{address} is not in the state, so nothing was moved; {}", hint(near.as_deref()))]
    ToMove {
        address: String,
        near: Option<String>,
    },
    /// What is to leave the state; `near` is a name like it that could.
    #[error(
        "{address} is not in the state, and no outcome of it is unknown, so nothing was forgotten; {}", hint(near.as_deref())
    )]
    ToForget {
        address: String,
        near: Option<String>,
    },
}

fn hint(near: Option<&str>) -> String {
    near.map_or_else(
        || "`flightdeck state list` shows what there is".to_owned(),
        |near| format!("did you mean `{near}`?"),
    )
}
