//! Incidents: crashes of plugins, and launches that failed for good. The acknowledgements last as
//! long as the session.

use super::State;
use model::view::{Crash, PluginView};
use model::{LaunchAttempt, PluginId, UnixMs};
use std::collections::BTreeSet;

/// Acknowledged incidents, and the start of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncidentLog {
    /// Start of the session.
    pub since: UnixMs,
    acknowledged: BTreeSet<String>,
}

/// Incident of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    pub id: String,
    /// Unknown for a plugin that was never launched.
    pub at: Option<UnixMs>,
    pub plugin: PluginId,
    /// The plugin crashed while it was in use; otherwise its launch failed.
    pub is_crash: bool,
    pub text: String,
}

impl Incident {
    fn of_crash(c: &Crash) -> Self {
        Self {
            id: c.incident.clone(),
            at: Some(c.at),
            plugin: c.plugin.clone(),
            is_crash: true,
            text: format!("crashed: {}", c.text),
        }
    }

    fn of_attempt(p: &PluginView, a: &LaunchAttempt) -> Self {
        let why = a.verdict.as_ref().map_or("", |v| v.text.as_str());
        Self {
            id: format!("{} {}", p.id, a.began),
            at: Some(a.began + a.took_ms.and_then(|ms| i64::try_from(ms).ok()).unwrap_or(0)),
            plugin: p.id.clone(),
            is_crash: false,
            text: format!("launch {} of {} failed: {why}", a.number, a.limit),
        }
    }

    /// Incident of a plugin whose failure is not that of its last launch.
    fn of_state(p: &PluginView) -> Self {
        let why = p.state.unavailable_reason().unwrap_or_default();
        let last = p.attempts.back();
        Self {
            id: format!("{} {}", p.id, p.state.label()),
            at: last.map(|a| a.began),
            plugin: p.id.clone(),
            is_crash: false,
            text: format!("{}: {why}", p.state.label()),
        }
    }
}

/// Returns true if no further launch follows a failed one.
fn is_final(a: &LaunchAttempt) -> bool {
    let failed = a.verdict.as_ref().filter(|v| v.kind.is_failed());
    // A replacement that fails leaves the serving process as it is.
    !a.beside && failed.is_some_and(|v| a.number >= a.limit || !v.retryable)
}

impl State {
    /// Incidents, newest first; those without a time last.
    pub fn incidents(&self) -> Vec<Incident> {
        let mut all: Vec<Incident> = self.view.incidents.iter().map(Incident::of_crash).collect();
        for p in self.view.plugins.values() {
            let failed = p.attempts.iter().filter(|a| is_final(a));
            all.extend(failed.map(|a| Incident::of_attempt(p, a)));
            let told = !p.crashes.is_empty() || p.attempts.back().is_some_and(is_final);
            if p.state.is_failed() && !told {
                all.push(Incident::of_state(p));
            }
        }
        // Crashes and failures come from two lists, and are merged by time.
        all.sort_by(|a, b| (b.at, &a.id).cmp(&(a.at, &b.id)));
        all
    }

    /// Returns true if the operator has acknowledged an incident.
    pub fn is_acknowledged(&self, incident: &Incident) -> bool {
        self.incident_log.acknowledged.contains(&incident.id)
    }

    /// Number of incidents that the operator has not acknowledged.
    pub fn new_incidents(&self) -> usize {
        let all = self.incidents();
        all.iter().filter(|i| !self.is_acknowledged(i)).count()
    }

    /// Acknowledges incidents, or takes it back.
    pub fn acknowledge(&mut self, incidents: &[Incident], yes: bool) {
        for i in incidents {
            if yes {
                self.incident_log.acknowledged.insert(i.id.clone());
            } else {
                self.incident_log.acknowledged.remove(&i.id);
            }
        }
    }
}
