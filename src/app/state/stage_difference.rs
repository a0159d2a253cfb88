//! Differences of a stage from the one before it.

use model::{ChangeView, StageId, StageSummary};
use std::collections::{BTreeSet, HashMap};

/// Differences of the current stage from the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageDifference {
    /// The stage before.
    pub before: StageId,
    /// Addresses of changes that are new or have changed.
    pub addresses: BTreeSet<String>,
    /// Number of changes that only the stage before has.
    pub gone: usize,
}

impl StageDifference {
    /// Compares the changes of two stages.
    pub fn of(before: &StageSummary, now: &StageSummary) -> Self {
        let (then, after) = (with_effect(before), with_effect(now));
        let differs =
            |(address, change): &(&&str, &&ChangeView)| then.get(*address) != Some(change);
        let differing = after.iter().filter(differs);
        Self {
            before: before.stage,
            addresses: differing
                .map(|(address, _)| (*address).to_owned())
                .collect(),
            gone: then.keys().filter(|a| !after.contains_key(*a)).count(),
        }
    }

    /// Describes the differences: `• 2 differ from #11, 1 gone`.
    pub fn text(&self) -> String {
        let before = self.before;
        match (self.addresses.len(), self.gone) {
            (0, 0) => format!("same changes as #{before}"),
            (0, gone) => format!("{gone} gone since #{before}"),
            (n, 0) => format!("• {n} differ from #{before}"),
            (n, gone) => format!("• {n} differ from #{before}, {gone} gone"),
        }
    }
}

fn with_effect(stage: &StageSummary) -> HashMap<&str, &ChangeView> {
    let all = stage.changes.iter().filter(|c| c.has_effect());
    all.map(|c| (&*c.address, c)).collect()
}
