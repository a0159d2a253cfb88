//! Findings of the doctor: each has a subject, a level, a text, a remedy, and a fix if that is
//! safe.

use model::process::ProcessIdentity;
use serde::Serialize;
use std::path::PathBuf;

/// Subject of a finding.
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
    /// Name of the area.
    pub fn label(self) -> &'static str {
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

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Fine,
    Warning,
    /// Something will not work.
    Error,
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub area: Area,
    pub level: Level,
    /// Description.
    pub text: String,
    /// Suggested action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Action of `--fix`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

/// Fix that is safe without confirmation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Fix {
    /// Restricts a file to its owner.
    MakePrivate { path: PathBuf },
    /// Removes lock info of a lock that no process has.
    Remove { path: PathBuf },
    /// Ends a plugin process without an owner, and its whole group.
    Stop { process: ProcessIdentity },
}

/// Findings so far.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn add_ok(&mut self, area: Area, text: impl Into<String>) {
        self.add(area, Level::Fine, text.into());
    }

    pub(super) fn warning(&mut self, area: Area, text: impl Into<String>) {
        self.add(area, Level::Warning, text.into());
    }

    pub(super) fn error(&mut self, area: Area, text: impl Into<String>) {
        self.add(area, Level::Error, text.into());
    }

    /// Sets the remedy of the last finding.
    pub(super) fn remedy(&mut self, text: impl Into<String>) {
        if let Some(last) = self.0.last_mut() {
            last.remedy = Some(text.into());
        }
    }

    /// Sets the fix of the last finding.
    pub(super) fn fix(&mut self, mend: Fix) {
        if let Some(last) = self.0.last_mut() {
            last.fix = Some(mend);
        }
    }

    /// Adds a finding about a file with secrets that others can read.
    pub(super) fn readable_by_others(
        &mut self,
        area: Area,
        text: impl Into<String>,
        path: PathBuf,
    ) {
        self.warning(area, text);
        self.remedy(format!("run `chmod 600 {}`", path.display()));
        self.fix(Fix::MakePrivate { path });
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
