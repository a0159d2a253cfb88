//! Place and options of a console, which stay the same while it runs on one engine.

use super::Fault;
use crate::app::keymap::KeyMap;
use model::StageRequest;
use std::collections::BTreeMap;

/// Workspace that the console shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Last path component of the directory.
    pub directory_name: String,
    pub directory: String,
    /// Name of the workspace, as `workspace list` shows it.
    pub workspace: String,
    /// The directory contains configuration files.
    pub configured: bool,
}

impl Place {
    /// Creates the default workspace of a directory with configuration files.
    pub fn new(directory_name: &str, directory: &str) -> Self {
        Self {
            directory_name: directory_name.to_owned(),
            directory: directory.to_owned(),
            workspace: model::DEFAULT_WORKSPACE.to_owned(),
            configured: true,
        }
    }

    /// Directory and name of the workspace, the key of choices that belong to it.
    pub fn key(&self) -> String {
        format!("{} {}", self.directory, self.workspace)
    }
}

/// Options from flags, settings and environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub keys: KeyMap,
    /// The process can be suspended to a shell.
    pub shell: bool,
    /// The terminal is in tmux.
    pub tmux: bool,
    /// Faults of the demo.
    pub faults: Vec<Fault>,
    /// Maximum number of concurrent operations of a deploy.
    pub parallelism: usize,
    /// Number of destroyed objects from which a confirmation must be typed.
    pub typed_from: usize,
    /// Plan options of each stage: variables, targets and others.
    pub plan: StageRequest,
    /// Plan options to start with, by directory and workspace.
    pub remembered: BTreeMap<String, StageRequest>,
    /// The operator's choices are stored for the next console.
    pub keeps_choices: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            keys: KeyMap::default(),
            shell: true,
            tmux: false,
            faults: Vec::new(),
            parallelism: 10,
            typed_from: 5,
            plan: StageRequest::default(),
            remembered: BTreeMap::new(),
            keeps_choices: false,
        }
    }
}
