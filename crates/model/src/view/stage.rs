//! View of a stage that is being computed, and the fold of stage events.

use super::View;
use crate::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Stage in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staging {
    pub stage: StageId,
    pub mode: StageMode,
    pub since: UnixMs,
    pub done: u32,
    pub total: u32,
    pub now: String,
}

impl View {
    pub(super) fn apply_stage(&mut self, event: &Event) {
        match &event.kind {
            EventKind::StageStarted(s) => {
                // Diagnostics of the previous stage no longer apply.
                self.diagnostics.clear();
                self.stage_error = None;
                self.staging = Some(Staging {
                    stage: s.stage,
                    mode: s.mode,
                    since: event.at,
                    done: 0,
                    total: s.resources,
                    now: String::new(),
                });
            }
            EventKind::StageProgress {
                done, total, now, ..
            } => {
                if let Some(staging) = &mut self.staging {
                    (staging.done, staging.total) = (*done, *total);
                    staging.now.clone_from(now);
                }
            }
            EventKind::Staged(summary) => {
                self.staging = None;
                self.show_stage(summary, None);
            }
            EventKind::StageOpened { summary, outdated } => {
                self.show_stage(summary, outdated.clone());
            }
            EventKind::StageFailed { text, .. } => {
                self.staging = None;
                self.stage_error = Some(text.clone());
            }
            EventKind::Selected { left, .. } => self.left = left.iter().cloned().collect(),
            _ => {}
        }
    }

    /// Difference between the workspace and the current stage: that of the state, otherwise the
    /// changed files.
    pub fn outdated(&self) -> Option<String> {
        const NAMED: usize = 3;
        self.stage_outdated.clone().or_else(|| {
            let (files, more) = self
                .changed_files
                .split_at(self.changed_files.len().min(NAMED));
            let more = match more.len() {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            let text = format!("{}{more} changed since it was planned", files.join(", "));
            (!files.is_empty()).then_some(text)
        })
    }

    fn show_stage(&mut self, summary: &Arc<StageSummary>, outdated: Option<String>) {
        self.left = summary.left.iter().cloned().collect();
        self.stage = Some(summary.clone());
        self.stage_outdated = outdated;
        self.changed_files.clear();
    }
}
