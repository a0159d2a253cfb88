//! Comparison of two deploys: their configurations and operations.

use crate::{Action, DeploySummary, Operation, OperationState};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Differences between two deploys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeployComparison {
    pub before: DeploySummary,
    pub after: DeploySummary,
    /// Files that differ; `None` if the configuration of one of them is not stored any more.
    pub files: Option<Vec<FileDifference>>,
    /// Operations that differ, in the order of the later deploy.
    pub operations: Vec<OperationDifference>,
}

/// File of the configuration that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileDifference {
    pub name: String,
    pub kind: DifferenceKind,
    /// Text in the configuration of each deploy; empty if it has no such file.
    #[serde(skip)]
    pub texts: (String, String),
}

/// Presence in both of two deploys, or in one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    Changed,
    /// Only the later deploy has it.
    New,
    /// Only the earlier deploy has it.
    Removed,
}

/// Operations on an address in two deploys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OperationDifference {
    pub address: String,
    pub before: Option<ComparedOperation>,
    pub after: Option<ComparedOperation>,
}

/// Properties of an operation that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ComparedOperation {
    pub action: Action,
    pub state: OperationState,
    pub took_ms: Option<u64>,
}

/// Difference of durations in milliseconds from which it is worth a row.
const NOTICED_MS: u64 = 1_000;

impl ComparedOperation {
    fn of(operation: &Operation) -> Self {
        Self {
            action: operation.action,
            state: operation.state,
            took_ms: operation.took_ms,
        }
    }

    fn differs_from(&self, other: &Self) -> bool {
        let (a, b) = (self.took_ms.unwrap_or(0), other.took_ms.unwrap_or(0));
        let is_slower = a.abs_diff(b) >= NOTICED_MS && a.max(b) >= 2 * a.min(b);
        (self.action, self.state) != (other.action, other.state) || is_slower
    }
}

/// A deploy with its operations, and with the names and texts of its configuration's files.
type Side<'a> = (
    DeploySummary,
    &'a [Operation],
    Option<&'a Vec<(String, String)>>,
);

impl DeployComparison {
    /// Compares two deploys with their operations, and with their configurations if they are
    /// stored.
    pub fn of((before, then, files_then): Side<'_>, (after, now, files_now): Side<'_>) -> Self {
        let files = files_then.zip(files_now);
        Self {
            before,
            after,
            files: files.map(|(then, now)| differing_files(then, now)),
            operations: differing_operations(then, now),
        }
    }
}

/// Compares the files of two configurations, by name.
pub fn differing_files(then: &[(String, String)], now: &[(String, String)]) -> Vec<FileDifference> {
    let texts = |files: &[(String, String)]| -> BTreeMap<String, String> {
        files.iter().cloned().collect()
    };
    let (mut then, mut now) = (texts(then), texts(now));
    let names: BTreeSet<String> = then.keys().chain(now.keys()).cloned().collect();
    let compared = names.into_iter().map(|name| {
        let texts = (then.remove(&name), now.remove(&name));
        let kind = match &texts {
            (None, _) => DifferenceKind::New,
            (_, None) => DifferenceKind::Removed,
            _ => DifferenceKind::Changed,
        };
        let texts = (texts.0.unwrap_or_default(), texts.1.unwrap_or_default());
        FileDifference { name, kind, texts }
    });
    let differs = |f: &FileDifference| f.kind != DifferenceKind::Changed || f.texts.0 != f.texts.1;
    compared.filter(differs).collect()
}

fn differing_operations(then: &[Operation], now: &[Operation]) -> Vec<OperationDifference> {
    let mut before: BTreeMap<&str, ComparedOperation> = BTreeMap::new();
    before.extend(then.iter().map(|o| (&*o.address, ComparedOperation::of(o))));
    let mut all: Vec<OperationDifference> = now
        .iter()
        .map(|o| OperationDifference {
            address: o.address.clone(),
            before: before.remove(&*o.address),
            after: Some(ComparedOperation::of(o)),
        })
        .collect();
    let removed = then
        .iter()
        .filter_map(|o| Some((o, before.remove(&*o.address)?)));
    all.extend(removed.map(|(o, before)| OperationDifference {
        address: o.address.clone(),
        before: Some(before),
        after: None,
    }));
    all.retain(|d| match (&d.before, &d.after) {
        (Some(before), Some(after)) => after.differs_from(before),
        _ => true,
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = all
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        owned.collect()
    }

    #[test]
    fn differing_files_are_named_with_the_deploy_that_has_them() {
        let then = files(&[("a.tf", "1"), ("b.tf", "1"), ("c.tf", "1")]);
        let now = files(&[("a.tf", "1"), ("b.tf", "2"), ("d.tf", "1")]);
        let found = differing_files(&then, &now);
        let found: Vec<_> = found.iter().map(|f| (&*f.name, f.kind)).collect();
        assert_eq!(
            found,
            [
                ("b.tf", DifferenceKind::Changed),
                ("c.tf", DifferenceKind::Removed),
                ("d.tf", DifferenceKind::New),
            ]
        );
    }

    #[test]
    fn operations_differ_by_action_outcome_or_a_noticeable_duration() {
        use OperationState::{Done, Failed};
        let operation = |action, state, ms| ComparedOperation {
            action,
            state,
            took_ms: Some(ms),
        };
        let before = operation(Action::Update, Done, 1_000);
        for (after, expected) in [
            (operation(Action::Update, Done, 1_500), false),
            (operation(Action::Update, Done, 2_100), true),
            (operation(Action::Update, Done, 400), false),
            (operation(Action::Replace, Done, 1_000), true),
            (operation(Action::Update, Failed, 1_000), true),
        ] {
            assert_eq!(after.differs_from(&before), expected, "{after:?}");
        }
        // Twice as long is no news if it is short.
        let short = operation(Action::Update, Done, 10);
        assert!(!operation(Action::Update, Done, 900).differs_from(&short));
    }
}
