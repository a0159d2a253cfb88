//! Deploys that the operator has seen, and those since the last console of the workspace.

use super::State;
use model::{DeployId, DeploySummary};
use std::collections::BTreeMap;

/// Maximum number of workspaces.
const MAX_WORKSPACES: usize = 200;

/// Deploys that the operator has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenDeploys {
    /// Newest one of each workspace, by directory and name.
    pub newest: BTreeMap<String, DeployId>,
    /// Newest one of this workspace that an earlier console has shown.
    before: Option<DeployId>,
    /// The history was loaded, so that `before` is known.
    is_known: bool,
}

impl State {
    /// Records the deploys of the history as seen, for the next console.
    pub fn see_deploys(&mut self) {
        let history = self.loaded.history.iter().flatten();
        let newest = history.map(|d| d.deploy).max();
        let place = self.place.key();
        let seen = &mut self.seen;
        if !seen.is_known {
            seen.before = seen.newest.get(&place).copied();
            seen.is_known = true;
        }
        let Some(newest) = newest else { return };
        if seen.newest.len() >= MAX_WORKSPACES && !seen.newest.contains_key(&place) {
            seen.newest.pop_first();
        }
        seen.newest.insert(place, newest);
    }

    /// Deploys between the last console of the workspace and this one, newest first.
    pub fn deploys_meanwhile(&self) -> impl Iterator<Item = &DeploySummary> {
        let (before, since) = (self.seen.before, self.incident_log.since);
        let history = self.loaded.history.iter().flatten();
        history.filter(move |d| before.is_some_and(|b| d.deploy > b) && d.began < since)
    }
}
