//! Fold of events into the current view. The same code serves the live console, readers that join
//! late, and replays. Plain data, owned by the code that folds.

mod background;
mod call;
mod chain;
mod deploy;
mod plugin;
mod stage;

use crate::*;
pub use call::{CallView, FinishedCall, Latencies};
pub use chain::EndOfOperation;
pub use deploy::DeployView;
pub use plugin::{Crash, PluginView};
use serde::{Deserialize, Serialize};
pub use stage::Staging;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Maximum number of attempts, crashes, diagnostics and finished calls; the store has older ones.
const MAX_ENTRIES: usize = 200;

/// Current view for an operator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Number of the last event folded in.
    pub seq: u64,
    pub plugins: BTreeMap<PluginId, PluginView>,
    /// In the order of their numbers.
    pub calls: BTreeMap<CallId, CallView>,
    /// The last finished calls, newest last.
    pub finished: VecDeque<FinishedCall>,
    /// Latencies of each plugin's recent calls, as measured at the end of the newest one.
    pub latencies: BTreeMap<PluginId, Latencies>,
    /// Resources that plugins have locked, by the numbers of the locks.
    #[serde(default)]
    pub locks: BTreeMap<u64, ResourceLock>,
    pub staging: Option<Staging>,
    pub stage: Option<Arc<StageSummary>>,
    /// Difference between the workspace and the current stage, which was opened from the store or
    /// is older than a change by another process.
    #[serde(default)]
    pub stage_outdated: Option<String>,
    /// Files of the configuration that differ from the current stage.
    #[serde(default)]
    pub changed_files: Vec<String>,
    /// Deselected changes of the current stage.
    pub left: std::collections::BTreeSet<String>,
    pub stage_error: Option<String>,
    pub deploy: Option<DeployView>,
    pub diagnostics: VecDeque<Diagnostic>,
    /// Unknown outcomes, oldest first.
    pub unknown: Vec<Unknown>,
    /// Workspace plugins that were not launched because they are not trusted.
    #[serde(default)]
    pub untrusted: Vec<WorkspacePlugin>,
    /// Plugin processes of this workspace whose flightdeck has ended.
    #[serde(default)]
    pub orphans: Vec<OrphanView>,
    /// Modules and providers that are needed but not installed.
    #[serde(default)]
    pub absent: Absent,
    /// The running or last installation.
    #[serde(default)]
    pub install: Option<Installing>,
    pub lock: Option<LockHolder>,
    pub lock_is_ours: bool,
    /// Newest run of the reconcile loop of each group, as far as this engine made it.
    #[serde(default)]
    pub reconcile: BTreeMap<String, ReconcileRun>,
    /// Process that leads the reconcile loop, if known.
    #[serde(default)]
    pub leader: Option<String>,
    #[serde(default)]
    pub leader_is_ours: bool,
    pub notices: VecDeque<(UnixMs, String)>,
    pub incidents: VecDeque<Crash>,
}

fn push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == MAX_ENTRIES {
        queue.pop_front();
    }
    queue.push_back(item);
}

impl View {
    /// Folds in one event. Ignores events at or below `seq`, which are already included.
    pub fn apply(&mut self, event: &Event) {
        // An event without a number is always applied.
        if event.seq <= self.seq && event.seq != 0 {
            return;
        }
        self.seq = event.seq.max(self.seq);
        match &event.kind {
            EventKind::Plugin(plugin) => self.apply_plugin(event.at, plugin),
            EventKind::CallQueued(_) | EventKind::CallStarted(_) | EventKind::CallFinished(_) => {
                self.apply_call(event)
            }
            EventKind::ResourceLock(l) if l.held => drop(self.locks.insert(l.lock, l.clone())),
            EventKind::ResourceLock(l) => drop(self.locks.remove(&l.lock)),
            EventKind::Diagnostic(d) => {
                // Those of a running deploy belong to it, and not to its stage.
                let running = self.deploy.as_mut().filter(|d| d.summary.is_none());
                let all = running.map_or(&mut self.diagnostics, |d| &mut d.diagnostics);
                if !all.contains(d) {
                    push(all, d.clone());
                }
            }
            EventKind::StageStarted(_)
            | EventKind::StageProgress { .. }
            | EventKind::Staged(_)
            | EventKind::StageOpened { .. }
            | EventKind::StageFailed { .. }
            | EventKind::Selected { .. } => self.apply_stage(event),
            EventKind::DeployStarted(_)
            | EventKind::Operation(_)
            | EventKind::DeployFinished(_)
            | EventKind::Cancel { .. } => self.apply_deploy(event),
            EventKind::Lock { holder, ours } => {
                self.lock.clone_from(holder);
                self.lock_is_ours = *ours;
            }
            EventKind::Reconcile(_)
            | EventKind::ReconcileLeader { .. }
            | EventKind::WorkspaceChanged { .. }
            | EventKind::FilesChanged { .. } => self.apply_background(&event.kind),
            EventKind::StateChanged(change) => {
                push(
                    &mut self.notices,
                    (
                        event.at,
                        format!("{} {}", change.address, change.what.label()),
                    ),
                );
            }
            EventKind::UnknownOutcomes { outcomes } => {
                // Warnings about settled outcomes disappear with them.
                let open = |intent: i64| outcomes.iter().any(|u| u.intent == intent);
                self.diagnostics.retain(|d| d.intent.is_none_or(open));
                self.unknown.clone_from(outcomes);
            }
            EventKind::UntrustedPlugins { plugins } => self.untrusted.clone_from(plugins),
            EventKind::Orphans { orphans } => self.orphans.clone_from(orphans),
            EventKind::Absent(absent) => self.absent.clone_from(absent),
            EventKind::Install(install) => self
                .install
                .get_or_insert_default()
                .apply(event.at, install),
            // Only for clients that follow each step; operations and calls cover the rest.
            EventKind::Object(_) => {}
            EventKind::Rollout(rollout) => self.apply_rollout(rollout),
            EventKind::Notice { text } => push(&mut self.notices, (event.at, text.clone())),
        }
    }
}

#[cfg(test)]
mod tests;
