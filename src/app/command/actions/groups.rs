//! Commands of the Groups screen: requests about the rollout of the group under the cursor.

use crate::app::command::Available;
use crate::app::doc::{self, Role, line};
use crate::app::entry::Entry;
use crate::app::groups::{Progress, group_of, is_over, member_of};
use crate::app::msg::Effect;
use crate::app::popups::Scale;
use crate::app::state::*;
use model::RolloutVerb;

pub fn reload_groups(_: &mut State, effects: &mut Vec<Effect>) {
    effects.push(Effect::LoadGroups);
}

/// Name of the group under the cursor, and state of its newest rollout.
fn rollout(state: &State) -> Option<(String, String)> {
    let group = group_of(state, state.selected()?)?;
    let rollout = Progress::of(state, group).rollout?;
    Some((group.group.clone(), rollout.state))
}

/// Requires a rollout that can still change.
pub fn has_open_rollout(state: &State) -> Available {
    // The process that has the lock serves requests of others about its rollouts.
    if state.locked_by().is_none() {
        super::writable(state)?;
    }
    match rollout(state) {
        None => Err("this group has no rollout yet".into()),
        Some((_, now)) if is_over(&now) => Err(format!("the rollout is over: {now}").into()),
        Some(_) => Ok(()),
    }
}

/// Returns true if the rollout of the group under the cursor is paused.
pub fn is_paused(state: &State) -> bool {
    rollout(state).is_some_and(|(_, now)| now.starts_with("paused"))
}

/// Requires a member under the cursor that needs something more in the rollout.
pub fn on_open_member(state: &State) -> Available {
    has_open_rollout(state)?;
    match state.selected().and_then(|row| member_of(state, row)) {
        None => Err("no member under the cursor".into()),
        Some(member) if member.batch.is_none() => Err("this member is not rolled".into()),
        Some(_) => Ok(()),
    }
}

/// Requires a group under the cursor that no deploy changes.
pub fn can_change_group(state: &State) -> Available {
    super::can_stage(state)?;
    match group_name(state) {
        None => Err("no group under the cursor".into()),
        Some(_) => Ok(()),
    }
}

fn group_name(state: &State) -> Option<String> {
    Some(group_of(state, state.selected()?)?.group.clone())
}

/// Shows the log of the plugin that has the instances of the group.
pub fn group_logs(state: &mut State, effects: &mut Vec<Effect>) {
    let group = state.selected().and_then(|row| group_of(state, row));
    let rows = state.loaded.state_rows.iter().flatten();
    let member = |r: &&model::StateRow| {
        group.is_some_and(|g| g.members.iter().any(|m| *m.address == *r.address))
    };
    let mut provider = rows
        .filter(member)
        .map(|r| doc::short_provider(&r.provider));
    // The id of a plugin ends with the name of its provider.
    let plugin = provider.next().and_then(|name| {
        let mut ids = state.view.plugins.keys();
        ids.find(|id| id.0.rsplit('/').next() == Some(&*name))
            .cloned()
    });
    match plugin {
        Some(plugin) => super::places::logs_of(state, effects, Some(plugin)),
        None => state.show_error("group-logs: the plugin of this group is not known yet"),
    }
}

pub fn ask_scale(state: &mut State, _: &mut Vec<Effect>) {
    if let Some(group) = group_name(state) {
        let entry = Entry::default();
        state.open(Scale { group, entry });
    }
}

pub fn ask_free(state: &mut State, _: &mut Vec<Effect>) {
    let Some(group) = group_name(state) else {
        return;
    };
    let why = "The block of a group of the configuration is removed from its file; a committed \
               group is forgotten. Resources and their declarations stay.";
    let effect = Effect::FreeGroup(group.clone());
    confirm(
        state,
        format!("Free group {group}?"),
        "Free",
        why,
        Some(effect),
    );
}

pub fn ask_roll_back(state: &mut State, _: &mut Vec<Effect>) {
    let Some(group) = group_name(state) else {
        return;
    };
    let why = "Commits the newest earlier specification that differs. Members change once you \
               stage and apply.";
    let title = format!("Roll back the specification of group {group}?");
    let effect = Effect::RollBackGroup(group);
    confirm(state, title, "Roll back", why, Some(effect));
}

fn request(state: &State, verb: RolloutVerb, member: Option<String>) -> Option<Effect> {
    let (group, _) = rollout(state)?;
    Some(Effect::RequestRollout(group, verb, member))
}

/// Pauses the rollout, or resumes a paused one in the running deploy. Without a deploy, a new stage
/// is shown, and nothing is applied yet.
pub fn pause_rollout(state: &mut State, effects: &mut Vec<Effect>) {
    let verb = match is_paused(state) {
        true => RolloutVerb::Resume,
        false => RolloutVerb::Pause,
    };
    effects.extend(request(state, verb, None));
}

pub fn ask_abort_rollout(state: &mut State, _: &mut Vec<Effect>) {
    let effect = request(state, RolloutVerb::Abort, None);
    let why = "Operations that run are completed. The other members stay as they are.";
    ask(state, "Abort", "the rollout", why, effect);
}

pub fn ask_skip_member(state: &mut State, _: &mut Vec<Effect>) {
    let why = "The rollout leaves this member as it is.";
    ask_of_member(state, RolloutVerb::Skip, "Skip", why);
}

pub fn ask_retry_member(state: &mut State, _: &mut Vec<Effect>) {
    let why = "The change of this member is repeated, which may replace its object.";
    ask_of_member(state, RolloutVerb::Retry, "Retry", why);
}

fn ask_of_member(state: &mut State, verb: RolloutVerb, word: &'static str, why: &str) {
    let member = state.selected().and_then(|row| member_of(state, row));
    let Some(key) = member.map(|member| member.key.to_owned()) else {
        return;
    };
    let effect = request(state, verb, Some(key.clone()));
    ask(state, word, &format!("member {key}"), why, effect);
}

fn ask(state: &mut State, word: &'static str, what: &str, why: &str, effect: Option<Effect>) {
    let Some((group, _)) = rollout(state) else {
        return;
    };
    let title = format!("{word} {what} of group {group}?");
    confirm(state, title, word, why, effect);
}

fn confirm(
    state: &mut State,
    title: String,
    word: &'static str,
    why: &str,
    effect: Option<Effect>,
) {
    state.open(Confirm {
        title,
        body: vec![line(Role::Plain, why)],
        effects: effect.into_iter().collect(),
        answers: Answers::action(word),
        ..Confirm::default()
    });
}
