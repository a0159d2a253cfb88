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
        let with_effect = |s: &'_ StageSummary| -> HashMap<String, ChangeView> {
            let all = s.changes.iter().filter(|c| c.has_effect());
            all.map(|c| (c.address.to_string(), c.clone())).collect()
        };
        let (then, after) = (with_effect(before), with_effect(now));
        let differs =
            |(address, change): &(&String, &ChangeView)| then.get(*address) != Some(*change);
        Self {
            before: before.stage,
            addresses: after
                .iter()
                .filter(differs)
                .map(|(address, _)| address.clone())
                .collect(),
            gone: then
                .keys()
                .filter(|address| !after.contains_key(*address))
                .count(),
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
