//! Report on the conformance of a provider. Plain data.

use super::rules::rule;
use serde::{Deserialize, Serialize};

/// Maximum length of a check's evidence, in characters.
const MAX_EVIDENCE: usize = 400;

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pass,
    Fail,
    /// Not made; the evidence has the reason.
    Skipped,
}

impl Status {
    /// Returns the word for display.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Skipped => "skipped",
        }
    }
}

/// A check with its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Stable id: `create`, `update:name`.
    pub id: String,
    pub status: Status,
    /// One line: observed values with their path, or the reason of a skipped check.
    pub evidence: String,
    /// Rule that the check stands for.
    pub rule: String,
    /// Document that has the rule.
    pub source: String,
}

impl Check {
    /// Creates a check with a result. The evidence is put on one line and bounded.
    #[must_use]
    pub fn new(id: impl Into<String>, status: Status, evidence: impl AsRef<str>) -> Self {
        let id = id.into();
        let rule = rule(&id);
        Self {
            status,
            evidence: one_line(evidence.as_ref()),
            rule: rule.map_or_else(String::new, |rule| rule.text.to_owned()),
            source: rule.map_or_else(String::new, |rule| rule.source.to_owned()),
            id,
        }
    }
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    // Counted in characters, because a byte index may be inside of one.
    match text.char_indices().nth(MAX_EVIDENCE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Checks of one resource type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeReport {
    pub type_name: String,
    pub checks: Vec<Check>,
}

/// Object that the run has created and not destroyed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    pub type_name: String,
    /// Id of the object, or the name in its configuration; `None` if it has neither.
    pub id: Option<String>,
    /// Reason that it was not destroyed.
    pub why: String,
}

impl Leftover {
    /// Returns the type and the id for display.
    #[must_use]
    pub fn named(&self) -> String {
        let id = self.id.as_deref().unwrap_or("(id unknown)");
        format!("{} {id}", self.type_name)
    }
}

/// Report on one provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub plugin: String,
    pub version: Option<String>,
    pub dialect: Option<String>,
    /// Start of the run, in milliseconds since 1970.
    pub began: i64,
    pub took_ms: u64,
    /// True if the run was allowed to create objects.
    pub creates: bool,
    /// Reason that the run ended early, if it did.
    pub stopped: Option<String>,
    /// Checks of the process.
    pub checks: Vec<Check>,
    pub types: Vec<TypeReport>,
    pub leftovers: Vec<Leftover>,
}

impl Report {
    /// Returns all checks with the type that they concern.
    pub fn all(&self) -> impl Iterator<Item = (Option<&str>, &Check)> {
        let process = self.checks.iter().map(|check| (None, check));
        let types = self.types.iter().flat_map(|of| {
            let name = Some(&*of.type_name);
            of.checks.iter().map(move |check| (name, check))
        });
        process.chain(types)
    }

    /// Returns the number of checks with a result.
    #[must_use]
    pub fn count(&self, status: Status) -> usize {
        self.all().filter(|(_, c)| c.status == status).count()
    }

    /// Returns true if no check failed, no object is left and the run was not stopped.
    #[must_use]
    pub fn is_passed(&self) -> bool {
        self.count(Status::Fail) == 0 && self.leftovers.is_empty() && self.stopped.is_none()
    }

    /// Returns the result in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        let [pass, fail, skipped] =
            [Status::Pass, Status::Fail, Status::Skipped].map(|status| self.count(status));
        format!(
            "{}: {pass} passed, {fail} failed, {skipped} skipped",
            self.plugin
        )
    }
}
