//! Groups as the Groups screen shows them: the loaded groups, the plan of the stage and the events
//! of a running deploy in one model.

use super::doc::{self, Line, Role, line};
use super::list::Row;
use super::state::State;
use lang::addr::natural_cmp;
use model::view::DeployView;
use model::{
    Action, ChangeView, DeployId, GroupMember, GroupView, HealthyCount, MemberDrift, ReconcileRun,
    RolloutMember, RolloutProgress, RolloutView, UnixMs, hash_change,
};
use std::collections::HashSet;

/// Group of a row, also for the rows of its members.
pub fn group_of<'s>(state: &'s State, row: &Row) -> Option<&'s GroupView> {
    state.loaded.groups.as_ref()?.get(row.index)
}

/// Effect of the newest stage on a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Number of members that the configuration declares; `None` if the stage is limited to some.
    pub desired: Option<usize>,
    /// Members that the stage changes.
    pub outdated: usize,
}

/// Newest rollout in numbers; during a deploy, as last reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    pub deploy: DeployId,
    pub state: String,
    pub batch: u32,
    pub batches: u32,
    pub done: u32,
    pub total: u32,
    pub health: Option<String>,
    /// Changed members that passed the last health check.
    pub healthy: Option<HealthyCount>,
    pub reason: Option<String>,
    pub is_over: bool,
}

/// State of a group as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// `None` without a stage that matches the state.
    pub plan: Option<Plan>,
    pub rollout: Option<Rollout>,
}

impl Progress {
    /// Returns the state of a group.
    pub fn of(state: &State, group: &GroupView) -> Self {
        let stored = || group.rollout.as_ref().map(stored);
        let live = || live(state, group);
        Self {
            plan: plan(state, group),
            // After the deploy, requests change the record alone.
            rollout: match state.is_deploying() {
                true => live().or_else(stored),
                false => stored().or_else(live),
            },
        }
    }
}

/// Returns true for a state of a rollout that no event changes.
pub fn is_over(state: &str) -> bool {
    matches!(state, "converged" | "aborted" | "rolled back")
}

/// Rollout as the events of the last deploy reported it, unless a newer one was loaded.
fn live(state: &State, group: &GroupView) -> Option<Rollout> {
    let rollouts = &state.view.deploy.as_ref()?.rollouts;
    let live = rollouts.iter().find(|r| r.group == group.group)?;
    let loaded = group.rollout.as_ref();
    if loaded.is_some_and(|loaded| loaded.deploy > live.deploy) {
        return None;
    }
    Some(Rollout {
        deploy: live.deploy,
        state: live.state.clone(),
        batch: live.batch,
        batches: live.batches,
        done: live.done,
        total: live.total,
        health: live.health.clone(),
        healthy: live.healthy.or_else(|| {
            let same = |r: &&RolloutView| r.deploy == live.deploy && r.state == live.state;
            loaded.filter(same).and_then(healthy)
        }),
        reason: live.reason.clone(),
        is_over: is_over(&live.state),
    })
}

fn stored(rollout: &RolloutView) -> Rollout {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Rollout {
        deploy: rollout.deploy,
        state: rollout.state.clone(),
        batch: rollout.batch,
        batches: rollout.batches,
        done: number(rollout.done()),
        total: number(rollout.members.len()),
        health: None,
        healthy: healthy(rollout),
        reason: rollout.reason.clone(),
        is_over: is_over(&rollout.state),
    }
}

/// Result of the last health check of a rollout that is paused by it: the notes of the changed
/// members have their failures.
fn healthy(rollout: &RolloutView) -> Option<HealthyCount> {
    if rollout.state != "paused (unhealthy)" {
        return None;
    }
    let is_checked = |part: &&RolloutMember| {
        matches!(part.state.as_str(), "changed" | "done") && part.phase != "remove"
    };
    let checked = rollout.members.iter().filter(is_checked);
    let passed = checked.clone().filter(|part| part.note.is_none());
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let count = HealthyCount {
        healthy: number(passed.count()),
        checked: number(checked.count()),
    };
    // Otherwise a member of an earlier rollout failed, which is not among the members.
    (count.healthy < count.checked).then_some(count)
}

/// Changes of a group's members in the stage; `None` without a stage that no deploy has used and
/// that still matches the workspace.
fn changes<'s>(
    state: &'s State,
    group: &'s GroupView,
) -> Option<impl Iterator<Item = &'s ChangeView>> {
    let stage = state.view.stage.as_ref()?;
    if state.applied().is_some() || state.is_deploying() || state.view.outdated().is_some() {
        return None;
    }
    let is_member = |change: &&ChangeView| without_keys(&change.address) == group.instance;
    Some(stage.changes.iter().filter(is_member))
}

fn plan(state: &State, group: &GroupView) -> Option<Plan> {
    let (mut desired, mut outdated, mut staged) = (0, 0, HashSet::new());
    for change in changes(state, group)? {
        staged.insert(&*change.address);
        match change.action {
            Action::Destroy | Action::Forget => {}
            Action::NoOp | Action::Read | Action::Create => desired += 1,
            Action::Update | Action::Replace | Action::ReplaceCreateFirst => {
                desired += 1;
                outdated += 1;
            }
        }
    }
    let is_whole = group.members.iter().all(|m| staged.contains(&*m.address));
    Some(Plan {
        desired: is_whole.then_some(desired),
        outdated,
    })
}

/// Address without the keys of its instances: `module.a["x"].b.c[0]` is `module.a.b.c`.
fn without_keys(address: &str) -> String {
    outside_and_keys(address).0
}

/// Keys of an address in its order, joined as the engine joins those of a member.
fn key_of(address: &str) -> String {
    outside_and_keys(address).1.join("/")
}

/// Splits an address into its text without keys, and the keys without quotes.
fn outside_and_keys(address: &str) -> (String, Vec<String>) {
    let (mut outside, mut keys) = (String::new(), Vec::new());
    let (mut quoted, mut escaped, mut key) = (false, false, None::<String>);
    for c in address.chars() {
        match (&mut key, c) {
            (None, '[') => key = Some(String::new()),
            (None, c) => outside.push(c),
            (Some(text), c) if escaped => {
                text.push(c);
                escaped = false;
            }
            (Some(_), '\\') if quoted => escaped = true,
            (Some(_), '"') => quoted = !quoted,
            (Some(_), ']') if !quoted => keys.extend(key.take()),
            (Some(text), c) => text.push(c),
        }
    }
    (outside, keys)
}

/// Newest run of the reconcile loop, by this process or as loaded.
pub fn run_of<'s>(state: &'s State, group: &'s GroupView) -> Option<&'s ReconcileRun> {
    let own = state.view.reconcile.get(&group.group);
    let loaded = group.reconcile.run.as_ref();
    own.into_iter().chain(loaded).max_by_key(|run| run.began)
}

/// Keys of all members: those in the state, in the newest rollout, and those that the stage
/// creates.
pub fn members(state: &State, group: &GroupView) -> Vec<String> {
    let mut keys: Vec<String> = group.members.iter().map(|m| m.key.clone()).collect();
    let rollout = group.rollout.iter().filter(|r| !is_over(&r.state));
    keys.extend(rollout.flat_map(|r| &r.members).map(|m| m.key.clone()));
    let new = changes(state, group).into_iter().flatten();
    let new = new.filter(|change| change.action == Action::Create);
    keys.extend(new.map(|change| key_of(&change.address)));
    keys.sort_by(|a, b| natural_cmp(a, b));
    keys.dedup();
    keys
}

/// Sign, word and role of the state of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberState {
    pub sign: &'static str,
    pub word: String,
    pub role: Role,
}

impl MemberState {
    fn new(sign: &'static str, word: impl Into<String>, role: Role) -> Self {
        let word = word.into();
        Self { sign, word, role }
    }
}

/// A member as its row shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'s> {
    pub key: &'s str,
    pub address: String,
    pub dedicated: &'s [String],
    pub state: MemberState,
    pub health: Option<Line>,
    /// Short hash of its configuration: old and new one during an update.
    pub hash: Option<String>,
    pub batch: Option<u32>,
    /// End of its last action.
    pub changed: Option<UnixMs>,
    pub error: Option<String>,
}

/// Member of a row; `None` for the row of a group.
pub fn member_of<'s>(state: &'s State, row: &'s Row) -> Option<Member<'s>> {
    let group = group_of(state, row)?;
    let key = row.key.text()?.get(group.group.len() + 1..)?;
    let object = group.members.iter().find(|member| member.key == key);
    let part = group.rollout.as_ref().and_then(|rollout| {
        let part = rollout.members.iter().find(|member| member.key == key)?;
        Some((rollout, part))
    });
    let change = changes(state, group)
        .into_iter()
        .flatten()
        .find(|change| match object {
            Some(object) => change.address == object.address,
            None => key_of(&change.address) == key,
        });
    let address = object.map(|object| object.address.clone());
    let address = address.or_else(|| change.map(|change| change.address.clone()));
    let part_of = part.map(|(_, part)| part);
    let drift = run_of(state, group).and_then(|run| {
        let drift = run.drift.iter().find(|drift| drift.member == key)?;
        Some((run, drift))
    });
    let drift = drift.filter(|(run, _)| is_newest(state, group, run));
    Some(Member {
        key,
        address: address.unwrap_or_default(),
        dedicated: object.map_or(&[], |object: &GroupMember| &object.dedicated),
        state: match drift {
            Some((_, drift)) => drifted(drift),
            None => member_state(state, object.is_some(), part, change),
        },
        health: part_of.and_then(|part| health(state, group, part)),
        hash: match part_of.filter(|part| !part.is_over) {
            Some(part) => part.hashes(),
            None => object.and_then(|o| hash_change(None, o.hash.as_deref())),
        },
        batch: part_of.map(|part| part.batch),
        changed: part_of.and_then(|p| p.actions.iter().filter_map(|a| a.ended).max()),
        error: part_of.and_then(error),
    })
}

/// Group whose rollout a deploy has left paused. A request may have changed its record since.
pub fn paused_group<'s>(state: &'s State, deploy: &'s DeployView) -> Option<&'s str> {
    let groups = || state.loaded.groups.iter().flatten();
    let is_paused = |r: &&RolloutProgress| {
        let loaded = groups().find(|g| g.group == r.group);
        let loaded = loaded.and_then(|g| g.rollout.as_ref());
        let loaded = loaded.filter(|l| l.deploy == r.deploy && !state.is_deploying());
        let now = loaded.map_or(&r.state, |loaded| &loaded.state);
        r.state.starts_with("paused") && now.starts_with("paused")
    };
    let paused = deploy.rollouts.iter().find(is_paused);
    paused.map(|r| r.group.as_str())
}

/// Returns true for the row of a member that failed or is unhealthy.
pub fn is_failed_member(state: &State, row: &Row) -> bool {
    member_of(state, row).is_some_and(|member| member.state.role == Role::Bad)
}

/// Progress of the health polls of a member whose batch is waited for.
fn health(state: &State, group: &GroupView, part: &RolloutMember) -> Option<Line> {
    let live = live(state, group)?;
    let waits = part.state == "changed" && part.batch == live.batch;
    let text = live.health.filter(|_| waits)?;
    Some(line(Role::Busy, text))
}

/// Failure of the last action, or the remark.
fn error(part: &RolloutMember) -> Option<String> {
    let last = part.actions.last().and_then(|a| a.failure.clone());
    last.or_else(|| part.note.clone())
}

/// State of a member: its part in an unfinished rollout, then the plan of the stage, then its part
/// in the last rollout.
fn member_state(
    state: &State,
    exists: bool,
    part: Option<(&RolloutView, &RolloutMember)>,
    change: Option<&ChangeView>,
) -> MemberState {
    let staged_at = state.view.stage.as_ref().map(|stage| stage.at);
    let is_newest = |rollout: &RolloutView| staged_at.is_none_or(|at| at < rollout.updated);
    match (part, change) {
        (Some((rollout, part)), None) => part_state(rollout, part),
        (Some((rollout, part)), Some(_)) if is_newest(rollout) => part_state(rollout, part),
        (_, Some(change)) => planned(change),
        (None, None) if exists => MemberState::new("·", "exists", Role::Dim),
        (None, None) => MemberState::new("·", "missing", Role::Dim),
    }
}

/// Returns true if neither a stage nor a rollout is newer than a run of the reconcile loop.
fn is_newest(state: &State, group: &GroupView, run: &ReconcileRun) -> bool {
    let staged_at = state.view.stage.as_ref().map(|stage| stage.at);
    let rolled_at = group.rollout.as_ref().map(|rollout| rollout.updated);
    let newest = staged_at.into_iter().chain(rolled_at).max();
    !state.is_deploying() && newest.is_none_or(|at| at < run.began)
}

fn drifted(drift: &MemberDrift) -> MemberState {
    let sign = if drift.kind == "missing" { "✗" } else { "~" };
    MemberState::new(sign, drift.kind.replace('_', " "), Role::Warn)
}

fn planned(change: &ChangeView) -> MemberState {
    let role = doc::action_role(change.action);
    match change.action {
        Action::NoOp | Action::Read => MemberState::new("✓", "current", Role::Ok),
        Action::Create => MemberState::new("+", "to create", role),
        Action::Destroy | Action::Forget => MemberState::new("-", "to remove", role),
        Action::Update => MemberState::new("~", "to update", role),
        Action::Replace | Action::ReplaceCreateFirst => MemberState::new("-/+", "to replace", role),
    }
}

fn part_state(rollout: &RolloutView, part: &RolloutMember) -> MemberState {
    let word = part.state.as_str();
    let waits = rollout.state == "waiting for health" && part.batch == rollout.batch;
    match word {
        "done" => MemberState::new("✓", word, Role::Ok),
        "waiting" if is_over(&rollout.state) => MemberState::new("○", "not updated", Role::Dim),
        "waiting" => MemberState::new("·", word, Role::Dim),
        "changed" if doc::is_unhealthy(rollout, part) => {
            MemberState::new("✗", "unhealthy", Role::Bad)
        }
        "changed" if waits => MemberState::new("◐", word, Role::Busy),
        "changed" => MemberState::new("○", "changed, not healthy yet", Role::Warn),
        "skipped" => MemberState::new("○", word, Role::Dim),
        "unhealthy" => MemberState::new("✗", word, Role::Bad),
        _ if word.ends_with("in progress") => MemberState::new("◐", word, Role::Busy),
        _ if word.ends_with("failed") => MemberState::new("✗", word, Role::Bad),
        _ => MemberState::new("?", word, Role::Warn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_an_address_are_found_beside_its_text() {
        for (address, outside, key) in [
            ("a.b", "a.b", ""),
            ("a.b[3]", "a.b", "3"),
            ("a.b[\"x\"]", "a.b", "x"),
            ("module.m[\"x.y\"].a.b[0]", "module.m.a.b", "x.y/0"),
            ("a.b[\"]\\\"[\"]", "a.b", "]\"["),
        ] {
            assert_eq!(without_keys(address), outside);
            assert_eq!(key_of(address), key);
        }
    }
}
