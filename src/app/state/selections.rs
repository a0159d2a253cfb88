//! Earlier selections of the stage, for undo and redo.

use crate::app::format::count;
use std::collections::{BTreeSet, VecDeque};

/// Maximum number of earlier selections.
const MAX_STEPS: usize = 100;

/// Deselected changes, one set for each change of the selection.
#[derive(Debug, Clone, Default)]
pub struct Selections {
    steps: VecDeque<BTreeSet<String>>,
    /// Index of the current selection.
    at: usize,
    /// Selections that were requested by undo and redo, in order.
    awaited: VecDeque<BTreeSet<String>>,
}

impl Selections {
    /// Starts with the selection of a new stage.
    pub fn start(&mut self, left: impl IntoIterator<Item = String>) {
        *self = Self {
            steps: VecDeque::from([left.into_iter().collect()]),
            ..Self::default()
        };
    }

    /// Records a selection that the engine has stored.
    pub fn record(&mut self, left: &[String]) {
        let left: BTreeSet<String> = left.iter().cloned().collect();
        if self.awaited.front() == Some(&left) {
            self.awaited.pop_front();
            return;
        }
        if self.steps.get(self.at) == Some(&left) {
            return;
        }
        self.steps.truncate(self.at + 1);
        self.steps.push_back(left);
        if self.steps.len() > MAX_STEPS {
            self.steps.pop_front();
        }
        self.at = self.steps.len() - 1;
    }

    /// Continues from the stored selection after a request has failed.
    pub fn failed(&mut self, left: &BTreeSet<String>) {
        self.awaited.clear();
        if let Some(at) = self.steps.iter().rposition(|step| step == left) {
            self.at = at;
        }
    }

    /// Returns true if there is an earlier selection.
    pub fn can_undo(&self) -> bool {
        self.at > 0
    }

    /// Returns true if a selection was undone.
    pub fn can_redo(&self) -> bool {
        self.at + 1 < self.steps.len()
    }

    /// Goes back. Returns the deselected changes to request, and a description of the step.
    pub fn undo(&mut self) -> Option<(Vec<String>, String)> {
        self.at = self.at.checked_sub(1)?;
        Some(self.request(self.at + 1))
    }

    /// Goes forward again.
    pub fn redo(&mut self) -> Option<(Vec<String>, String)> {
        if !self.can_redo() {
            return None;
        }
        self.at += 1;
        Some(self.request(self.at - 1))
    }

    fn request(&mut self, before: usize) -> (Vec<String>, String) {
        let what = describe(&self.steps[before], &self.steps[self.at]);
        let left = self.steps[self.at].clone();
        self.awaited.push_back(left.clone());
        (left.into_iter().collect(), what)
    }
}

/// Describes the return from a selection to another one, given by their deselected changes.
fn describe(before: &BTreeSet<String>, after: &BTreeSet<String>) -> String {
    let part = |all: Vec<&String>, word: &str| {
        let (first, more) = (all.first()?, all.len() - 1);
        Some(match more {
            0 => format!("{first} {word}"),
            _ => format!("{} {word} ({first}, …)", count(more + 1, "change")),
        })
    };
    let parts = [
        part(before.difference(after).collect(), "selected again"),
        part(after.difference(before).collect(), "deselected again"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(all: &[&str]) -> Vec<String> {
        all.iter().map(|a| (*a).to_owned()).collect()
    }

    fn with(steps: &[&[&str]]) -> Selections {
        let mut s = Selections::default();
        s.start(set(steps[0]));
        steps[1..].iter().for_each(|step| s.record(&set(step)));
        s
    }

    #[test]
    fn undo_and_redo_return_to_each_selection_and_describe_the_step() {
        let mut s = with(&[&[], &["a"], &["a", "b", "c"]]);
        assert!(s.can_undo() && !s.can_redo());
        assert_eq!(
            s.undo(),
            Some((set(&["a"]), "2 changes selected again (b, …)".into()))
        );
        s.record(&set(&["a"]));
        assert_eq!(s.undo(), Some((set(&[]), "a selected again".into())));
        s.record(&set(&[]));
        assert_eq!(s.undo(), None);
        assert_eq!(s.redo(), Some((set(&["a"]), "a deselected again".into())));
        s.record(&set(&["a"]));
        assert!(s.can_redo());
        // Another change of the selection drops what was undone.
        s.record(&set(&["x"]));
        assert!(!s.can_redo());
        assert_eq!(
            s.undo(),
            Some((set(&["a"]), "x selected again, a deselected again".into()))
        );
    }

    #[test]
    fn several_undos_before_the_first_answer_go_back_several_steps() {
        let mut s = with(&[&[], &["a"], &["a", "b"]]);
        assert_eq!(s.undo().unwrap().0, set(&["a"]));
        assert_eq!(s.undo().unwrap().0, set(&[]));
        s.record(&set(&["a"]));
        s.record(&set(&[]));
        assert!(!s.can_undo());
        assert_eq!(s.redo().unwrap().0, set(&["a"]));
    }

    #[test]
    fn new_stage_and_failure_reset_the_position() {
        let mut s = with(&[&[], &["a"]]);
        s.undo();
        s.failed(&BTreeSet::from(["a".to_owned()]));
        assert_eq!(s.undo().unwrap().0, set(&[]));
        s.start(set(&["z"]));
        assert!(!s.can_undo() && !s.can_redo());
    }

    #[test]
    fn number_of_steps_is_bounded() {
        let mut s = with(&[&[]]);
        for i in 0..MAX_STEPS * 2 {
            s.record(&[i.to_string()]);
        }
        assert_eq!(s.steps.len(), MAX_STEPS);
        let mut undone = 0;
        while s.undo().is_some() {
            undone += 1;
        }
        assert_eq!(undone, MAX_STEPS - 1);
    }
}
