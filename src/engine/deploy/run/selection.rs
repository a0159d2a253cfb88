//! Selection of a deploy: the changes of its stage that it makes, and the outputs that follow them.

use crate::stage::change::{Change, OutputChange, Stage};
use crate::stage::steps::has_effect;
use lang::addr::ConfigResource;
use model::{StageMode, names};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Stage, and its selected changes.
pub(super) struct Selection {
    pub(super) stage: Arc<Stage>,
    /// Indexes of the selected changes.
    pub(super) selected: BTreeSet<usize>,
    /// Indexes of the changes, by id.
    by_id: HashMap<String, usize>,
}

impl Selection {
    pub(super) fn new(stage: Arc<Stage>, selected: BTreeSet<usize>) -> Self {
        let all = stage.changes.iter().enumerate();
        Self {
            by_id: all.map(|(i, change)| (change.id(), i)).collect(),
            stage,
            selected,
        }
    }

    /// Returns the index of a change, selected or not.
    pub(super) fn index(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Returns a change by its id, selected or not.
    pub(super) fn change(&self, id: &str) -> Option<&Change> {
        self.stage.changes.get(self.index(id)?)
    }

    /// Returns a selected change by its id.
    pub(super) fn selected_change(&self, id: &str) -> Option<&Change> {
        let index = self.index(id).filter(|i| self.selected.contains(i))?;
        self.stage.changes.get(index)
    }

    /// Returns the selected changes in the order of the stage.
    pub(super) fn selected_changes(&self) -> impl Iterator<Item = &Change> {
        self.selected.iter().map(|&i| &self.stage.changes[i])
    }

    /// Returns deselected changes that have an effect.
    fn deselected_changes(&self) -> impl Iterator<Item = &Change> {
        let all = self.stage.changes.iter().enumerate();
        let left = all.filter(|(i, change)| has_effect(change) && !self.selected.contains(i));
        left.map(|(_, change)| change)
    }

    /// Returns the resources of deselected changes.
    pub(super) fn deselected_resources(&self) -> HashSet<ConfigResource> {
        self.deselected_changes()
            .map(|c| c.address.config())
            .collect()
    }

    /// Returns the resources of all changes of the stage.
    pub(super) fn staged_resources(&self) -> HashSet<ConfigResource> {
        let all = self.stage.changes.iter();
        all.map(|change| change.address.config()).collect()
    }

    /// Returns true if the stage has targets or excludes.
    pub(super) fn is_narrowed(&self) -> bool {
        let request = &self.stage.request;
        !(request.target.is_empty() && request.exclude.is_empty())
    }

    /// Returns the output changes to store: those that do not depend on deselected changes. A
    /// narrowed destroy changes no outputs.
    pub(super) fn outputs_to_store(&self) -> Vec<&OutputChange> {
        let left: Vec<String> = self.deselected_changes().map(Change::id).collect();
        if !left.is_empty() && self.stage.request.mode == StageMode::Destroy {
            return Vec::new();
        }
        let depends = |need: &String| left.iter().any(|address| names(need, address));
        let all = self.stage.outputs.iter();
        all.filter(|output| !output.needs.iter().any(depends))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::test_stages::{bare, stage};
    use model::Action;

    fn selection(mode: StageMode, selected: &[usize]) -> Selection {
        let changes = [Action::Create, Action::NoOp, Action::Update];
        let changes = ["x_y.a", "x_y.b", "x_y.c"].iter().zip(changes);
        let changes = changes.map(|(address, action)| bare(address, action, &[], &[]));
        let mut staged = stage(changes.collect());
        staged.request.mode = mode;
        let output = |need: &str| OutputChange {
            name: need.into(),
            action: Action::Create,
            before: None,
            after: None,
            null: false,
            sensitive: false,
            needs: [need.to_owned()].into(),
        };
        staged.outputs = ["x_y.a", "x_y.b", "x_y.c"].map(output).into();
        Selection::new(Arc::new(staged), selected.iter().copied().collect())
    }

    #[test]
    fn outputs_of_deselected_changes_are_not_stored() {
        for (mode, selected, outputs) in [
            (
                StageMode::Normal,
                &[0, 2][..],
                &["x_y.a", "x_y.b", "x_y.c"][..],
            ),
            // A change without an effect cannot be deselected.
            (StageMode::Normal, &[0], &["x_y.a", "x_y.b"]),
            (StageMode::Normal, &[], &["x_y.b"]),
            (StageMode::Destroy, &[0, 2], &["x_y.a", "x_y.b", "x_y.c"]),
            (StageMode::Destroy, &[0], &[]),
        ] {
            let selection = selection(mode, selected);
            let stored = selection.outputs_to_store().into_iter();
            let stored: Vec<String> = stored.map(|output| output.name.to_string()).collect();
            assert_eq!(stored, outputs, "{mode:?} {selected:?}");
        }
    }

    #[test]
    fn changes_are_found_by_id() {
        let selection = selection(StageMode::Normal, &[2]);
        assert_eq!(selection.index("x_y.c"), Some(2));
        assert!(selection.change("x_y.a").is_some() && selection.change("x_y.d").is_none());
        assert!(selection.selected_change("x_y.a").is_none());
        assert!(selection.selected_change("x_y.c").is_some());
        let left = selection.deselected_resources();
        assert_eq!(left.len(), 1, "only those with an effect: {left:?}");
        assert_eq!(selection.staged_resources().len(), 3);
    }
}
