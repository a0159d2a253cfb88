//! What is found: words, a remedy, and what can be done about it at once.

use crate::engine::process::ProcessIdentity;
use serde::Serialize;
use std::path::PathBuf;

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    Machine,
    Workspace,
    Record,
    State,
    Plugins,
    Processes,
}

impl Area {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Workspace => "workspace",
            Self::Record => "record",
            Self::State => "state",
            Self::Plugins => "plugins",
            Self::Processes => "processes",
        }
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Fine,
    Warning,
    /// Something will not work.
    Error,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub area: Area,
    pub level: Level,
    /// What is so.
    pub text: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// What `--fix` does about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Mend>,
}

/// What is safe to be done without a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Mend {
    /// Takes a file from everybody but its owner.
    MakePrivate { path: PathBuf },
    /// Removes a word about a lock that nobody has.
    Remove { path: PathBuf },
    /// Ends a plugin process that nobody owns, and all that it has started.
    Stop { process: ProcessIdentity },
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn fine(&mut self, area: Area, text: impl Into<String>) {
        self.add(area, Level::Fine, text.into());
    }

    pub(super) fn warning(&mut self, area: Area, text: impl Into<String>) {
        self.add(area, Level::Warning, text.into());
    }

    pub(super) fn error(&mut self, area: Area, text: impl Into<String>) {
        self.add(area, Level::Error, text.into());
    }

    /// What to do about the last one.
    pub(super) fn remedy(&mut self, text: impl Into<String>) {
        if let Some(last) = self.0.last_mut() {
            last.remedy = Some(text.into());
        }
    }

    /// What can be done about the last one at once.
    pub(super) fn fix(&mut self, mend: Mend) {
        if let Some(last) = self.0.last_mut() {
            last.fix = Some(mend);
        }
    }

    /// A file with secrets that others can read.
    pub(super) fn open_to_others(&mut self, area: Area, text: impl Into<String>, path: PathBuf) {
        self.warning(area, text);
        self.remedy(format!("`chmod 600 {}`", path.display()));
        self.fix(Mend::MakePrivate { path });
    }

    pub(super) fn append(&mut self, mut more: Self) {
        self.0.append(&mut more.0);
    }

    pub(super) fn into_vec(self) -> Vec<Finding> {
        self.0
    }

    fn add(&mut self, area: Area, level: Level, text: String) {
        self.0.push(Finding {
            area,
            level,
            text,
            remedy: None,
            fix: None,
        });
    }
}
