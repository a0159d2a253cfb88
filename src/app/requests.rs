//! Requests for data of the shown screen, and of the row under its cursor.

use super::list::RowKey;
use super::msg::Effect;
use super::state::{Context, PluginTab, Screen, State};
use model::{DeployOutcome, PluginState};

/// Requests a schema when its pane is opened.
pub(super) fn ask_for_schema(state: &mut State, effects: &mut Vec<Effect>) {
    if state.screen != Screen::Plugins || state.filters.plugin_tab != PluginTab::Schema {
        return;
    }
    let Some(p) = state.plugin() else { return };
    // Without a ready process the engine would launch one only to show its schema.
    let is_there = matches!(p.state, PluginState::Ready { .. }) && !p.is_transformer();
    if is_there && !state.loaded.schemas.contains_key(&p.id) {
        let id = p.id.clone();
        // An empty entry marks a request in progress, so that the schema is requested once.
        state.loaded.schemas.insert(id.clone(), Vec::new());
        effects.push(Effect::LoadSchema(id));
    }
}

/// Requests the rollouts while another process has the lock: its deploy sends no events here.
pub(super) fn follow_foreign_rollouts(state: &mut State, effects: &mut Vec<Effect>) {
    if state.screen != Screen::Groups || state.locked_by().is_none() {
        return;
    }
    for group in state.loaded.groups.iter().flatten() {
        let name = group.group.clone();
        if !state.loaded.loading_rollouts.contains_key(&name) {
            state.loaded.loading_rollouts.insert(name.clone(), false);
            effects.push(Effect::LoadRollout(name));
        }
    }
}

/// Requests the operations of the deploy under the cursor of the History screen, or of the newest
/// deploy with the failure under the cursor.
pub(super) fn ask_for_operations(state: &mut State, effects: &mut Vec<Effect>) {
    let key = state.list().key.as_ref();
    let number = key.and_then(RowKey::number);
    let mut all = state.loaded.history.iter().flatten();
    let found = match state.context() {
        Context::History => all.find(|d| number.is_none_or(|n| d.deploy.unsigned_abs() == n)),
        Context::Failures => {
            let of = key.and_then(RowKey::text);
            let mut groups = state.loaded.failures.iter().flatten();
            let group = groups.find(|g| of.is_none_or(|of| *g.fingerprint == *of));
            let deploy = group.and_then(|g| g.deploys.first());
            all.find(|d| Some(&d.deploy) == deploy)
        }
        _ => None,
    };
    let ended = found.filter(|d| d.outcome != DeployOutcome::Running);
    let Some(deploy) = ended.map(|d| d.deploy) else {
        return;
    };
    if state.operations_of(deploy).is_none() {
        state.loaded.operations = Some((deploy, Vec::new()));
        effects.push(Effect::LoadOperations(deploy));
    }
}

/// Requests the changes of the facts about the object under the cursor of the State screen.
pub(super) fn ask_for_observations(state: &mut State, effects: &mut Vec<Effect>) {
    if state.context() != Context::State || state.node().is_some() {
        return;
    }
    let Some(row) = state.state_row().filter(|r| r.observation.is_some()) else {
        return;
    };
    let address = row.address.clone();
    let loaded = state.loaded.observations.as_ref();
    if loaded.is_none_or(|loaded| loaded.0 != address) {
        state.loaded.observations = Some((address.clone(), Vec::new()));
        effects.push(Effect::LoadObservations(address));
    }
}
