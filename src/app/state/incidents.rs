//! Incidents: crashes of plugins, and launches that failed for good. A failed launch stays
//! acknowledged in the next session of the workspace, as long as its reason is the same.

use super::{Place, State};
use crate::app::unsettled::unused_in;
use engine::deploy::record::fingerprint;
use model::view::{Crash, PluginView};
use model::{FailureClass, LaunchAttempt, PluginId, UnixMs};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of acknowledged failures that are kept, of all workspaces.
const MAX_KEPT: usize = 200;

/// Acknowledged incidents, and the start of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncidentLog {
    /// Start of the session.
    pub since: UnixMs,
    /// Crashes of this session, by id.
    acknowledged: BTreeSet<String>,
    /// Failed launches of all workspaces with the time of their acknowledgement, by fingerprint.
    pub kept: BTreeMap<String, UnixMs>,
}

impl IncidentLog {
    fn keep(&mut self, fingerprint: String, at: UnixMs) {
        self.kept.insert(fingerprint, at);
        while self.kept.len() > MAX_KEPT {
            let oldest = self.kept.iter().min_by_key(|(_, at)| **at);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            self.kept.remove(&oldest);
        }
    }
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
    /// Fingerprint of a failed launch in a workspace, which does not depend on times and numbers in
    /// its reason. A crash has none: the next one is another incident.
    fn fingerprint(&self, place: &Place) -> Option<String> {
        let scope = format!("{}\n{}\n{}", place.directory, place.workspace, self.plugin);
        let class = FailureClass::Unexpected;
        (!self.is_crash).then(|| fingerprint(class, &scope, &self.text, ""))
    }

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
        match incident.fingerprint(&self.place) {
            Some(fingerprint) => self.incident_log.kept.contains_key(&fingerprint),
            None => self.incident_log.acknowledged.contains(&incident.id),
        }
    }

    /// Incidents that the operator has not acknowledged.
    pub fn new_incidents(&self) -> Vec<Incident> {
        let mut all = self.incidents();
        all.retain(|i| !self.is_acknowledged(i));
        all
    }

    /// Returns true if something uses, or may use, the plugin of an incident.
    pub fn is_urgent(&self, incident: &Incident) -> bool {
        let plugin = self.view.plugins.get(&incident.plugin);
        incident.is_crash || plugin.is_none_or(|p| unused_in(self, p).is_none())
    }

    /// Acknowledges incidents, or takes it back.
    pub fn acknowledge(&mut self, incidents: &[Incident], yes: bool) {
        let log = &mut self.incident_log;
        for i in incidents {
            match (i.fingerprint(&self.place), yes) {
                (Some(fingerprint), true) => log.keep(fingerprint, self.now),
                (Some(fingerprint), false) => drop(log.kept.remove(&fingerprint)),
                (None, true) => drop(log.acknowledged.insert(i.id.clone())),
                (None, false) => drop(log.acknowledged.remove(&i.id)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_acknowledgements_are_dropped_at_the_limit() {
        let mut log = IncidentLog::default();
        for at in 0..300 {
            log.keep(format!("{:016x}", at * 7919 % 1000), at);
        }
        assert_eq!(log.kept.len(), MAX_KEPT);
        assert!(log.kept.values().all(|at| *at >= 100));
    }
}
