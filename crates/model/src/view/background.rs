//! Fold of work that the operator did not ask for: the reconcile loop, and other processes.

use super::View;
use crate::EventKind;

impl View {
    pub(super) fn apply_background(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Reconcile(run) => {
                self.reconcile.insert(run.group.clone(), run.clone());
            }
            EventKind::ReconcileLeader { owner, ours } => {
                self.leader.clone_from(owner);
                self.leader_is_ours = *ours;
            }
            EventKind::WorkspaceChanged { outdated, .. }
                if outdated.is_some() && self.stage.is_some() =>
            {
                self.stage_outdated.clone_from(outdated);
            }
            EventKind::FilesChanged { stage, files } => {
                let is_shown = self.stage.as_ref().map(|s| s.stage) == *stage;
                self.changed_files = match is_shown && stage.is_some() {
                    true => files.clone(),
                    false => Vec::new(),
                };
            }
            _ => {}
        }
    }
}
