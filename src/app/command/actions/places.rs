//! Commands of the screens Plugins, Calls, History, State and Logs.

use crate::app::command::Available;
use crate::app::doc::{Line, Role, line};
use crate::app::format::{clock_ms, count};
use crate::app::list::{Pane, Row, RowKey};
use crate::app::msg::{Effect, TracingMove};
use crate::app::replay::{Replay, SPEEDS};
use crate::app::screens::folded_lines;
use crate::app::state::*;
use model::view::CallView;
use model::{LogLevel, PluginCommand, PluginId, PluginState};

/// Requires a plugin under the cursor and a writable workspace.
pub fn on_plugin(state: &State) -> Available {
    super::writable(state)?;
    if state.plugin().is_some() {
        Ok(())
    } else {
        Err("no plugin under the cursor".into())
    }
}

/// Requires a plugin under the cursor that has its own program.
pub fn on_program(state: &State) -> Available {
    on_plugin(state)?;
    match state.plugin() {
        Some(p) if p.is_builtin() => {
            Err("this plugin is part of flightdeck and has no process".into())
        }
        _ => Ok(()),
    }
}

/// Returns true if the plugin under the cursor has a process, or is being launched.
pub fn is_running(state: &State) -> bool {
    state.plugin().is_some_and(|p| {
        matches!(
            p.state,
            PluginState::Launching { .. }
                | PluginState::Handshaking { .. }
                | PluginState::Registering { .. }
                | PluginState::Ready { .. }
                | PluginState::Draining
        )
    })
}

/// Requires a plugin under the cursor that can be launched.
pub fn can_restart(state: &State) -> Available {
    on_program(state)?;
    match state.plugin().map(|p| &p.state) {
        Some(PluginState::Rejected { .. }) => Err("this plugin cannot be launched".into()),
        _ => Ok(()),
    }
}

/// Requires a plugin under the cursor with a process, or one about to start.
pub fn can_stop(state: &State) -> Available {
    on_program(state)?;
    match state.plugin().map(|p| &p.state) {
        // A stop prevents the next launch, which is already scheduled.
        Some(PluginState::Backoff { .. }) => Ok(()),
        _ if is_running(state) => Ok(()),
        _ => Err("this plugin has no process".into()),
    }
}

/// Sends a command to the plugin. Asks for a confirmation if it would end running calls.
fn command_plugin(
    state: &mut State,
    effects: &mut Vec<Effect>,
    command: PluginCommand,
    word: &'static str,
) {
    let Some(p) = state.plugin() else { return };
    let id = p.id.clone();
    // Start and enable end no calls.
    let is_harmless = matches!(command, PluginCommand::Start | PluginCommand::Enable);
    if is_harmless || interrupted(state, &id).next().is_none() {
        effects.push(Effect::Plugin(id, command));
        return;
    }
    state.open(confirm_interruption(state, &id, command, word));
}

/// Calls that the end of a plugin's process interrupts.
fn interrupted<'s>(state: &'s State, id: &'s PluginId) -> impl Iterator<Item = &'s CallView> {
    let calls = state.view.calls.values();
    calls.filter(move |c| c.plugin == *id && c.started_at.is_some())
}

/// Asks for a command that ends the process of a plugin, and names the calls that it interrupts.
pub fn confirm_interruption(
    state: &State,
    id: &PluginId,
    command: PluginCommand,
    word: &'static str,
) -> Confirm {
    let hit: Vec<_> = interrupted(state, id).collect();
    let mut body = vec![line(
        Role::Warn,
        format!(
            "This interrupts {}. The outcome of an interrupted apply is unknown:",
            count(hit.len(), "call")
        ),
    )];
    body.push(Line::new());
    body.extend(hit.iter().map(|c| {
        line(
            Role::Plain,
            format!("  {} {}", c.method, c.resource.as_deref().unwrap_or("")),
        )
    }));
    Confirm {
        title: format!("{word} {id}?"),
        body,
        effects: vec![Effect::Plugin(id.clone(), command)],
        answers: Answers::action(word),
        ..Confirm::default()
    }
}

/// Restarts the plugin, or starts it if it has no process, also after it gave up.
pub fn plugin_restart(state: &mut State, effects: &mut Vec<Effect>) {
    if is_running(state) {
        command_plugin(state, effects, PluginCommand::Restart, "Restart");
    } else {
        command_plugin(state, effects, PluginCommand::Start, "Start");
    }
}

pub fn plugin_stop(state: &mut State, effects: &mut Vec<Effect>) {
    command_plugin(state, effects, PluginCommand::Stop, "Stop");
}

pub fn plugin_toggle(state: &mut State, effects: &mut Vec<Effect>) {
    let disabled = state
        .plugin()
        .is_some_and(|p| p.state == PluginState::Disabled);
    let (command, word) = if disabled {
        (PluginCommand::Enable, "Enable")
    } else {
        (PluginCommand::Disable, "Disable")
    };
    command_plugin(state, effects, command, word);
}

pub fn plugins_load(_: &mut State, effects: &mut Vec<Effect>) {
    effects.push(Effect::LoadPlugins);
}

pub fn plugins_installed(_: &mut State, effects: &mut Vec<Effect>) {
    effects.push(Effect::FindInstalled);
}

pub(super) fn logs_of(state: &mut State, effects: &mut Vec<Effect>, plugin: Option<PluginId>) {
    super::go_to(state, effects, Screen::Logs);
    state.log.source = plugin.map(|p| p.to_string());
    (state.log.follow, state.log.tracing) = (true, false);
    // An earlier search would hide lines of the plugin.
    super::search::clear_search(state);
}

pub fn plugin_logs(state: &mut State, effects: &mut Vec<Effect>) {
    let plugin = state.plugin().map(|p| p.id.clone());
    logs_of(state, effects, plugin);
}

pub fn operation_logs(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(plugin) = state.operation().and_then(|o| o.plugin.clone()) else {
        state.show_error("this operation called no plugin, so there are no plugin logs of it");
        return;
    };
    logs_of(state, effects, Some(plugin));
}

fn switch_tab(state: &mut State, by: usize) {
    let at = PluginTab::ALL
        .iter()
        .position(|t| *t == state.filters.plugin_tab)
        .unwrap_or(0);
    state.filters.plugin_tab = PluginTab::ALL[(at + by) % PluginTab::ALL.len()];
    state.lists[Context::Plugins as usize].scroll = 0;
}

pub fn tab_next(state: &mut State, _: &mut Vec<Effect>) {
    switch_tab(state, 1);
}

pub fn tab_previous(state: &mut State, _: &mut Vec<Effect>) {
    switch_tab(state, PluginTab::ALL.len() - 1);
}

/// Requires a row of a schema with rows below it.
pub fn has_children(state: &State) -> Available {
    super::has_row(state)?;
    let schema = state.plugin().and_then(|p| state.loaded.schemas.get(&p.id));
    let row = state.selected().map(|row| row.index);
    match row.and_then(|at| schema?.get(at)) {
        Some(r) if r.folder => Ok(()),
        _ => Err("this row has nothing below it".into()),
    }
}

/// Returns the type of the row under the cursor of a schema: `TYPE`, or `data.TYPE`.
fn type_of_row(state: &State) -> Option<String> {
    let path = state.selected()?.key.text()?;
    let (group, rest) = path.split_once('/')?;
    let name = rest.split('/').next()?;
    match group {
        "resources" => Some(name.to_owned()),
        "data sources" => Some(format!("data.{name}")),
        _ => None,
    }
}

/// Requires a row of a resource type or a data source.
pub fn on_type(state: &State) -> Available {
    match type_of_row(state) {
        Some(_) => Ok(()),
        None => Err("this row is not part of a resource type or data source".into()),
    }
}

pub fn write_starter(state: &mut State, effects: &mut Vec<Effect>) {
    let plugin = state.plugin().map(|plugin| plugin.id.clone());
    if let (Some(plugin), Some(name)) = (plugin, type_of_row(state)) {
        effects.push(Effect::WriteStarter(plugin, name));
    }
}

pub fn toggle_fold(state: &mut State, _: &mut Vec<Effect>) {
    let Some(path) = state
        .selected()
        .and_then(|r| r.key.text())
        .map(str::to_owned)
    else {
        return;
    };
    // Toggles the deviation from the default, see `screens::plugins`.
    if !state.filters.toggled.remove(&path) {
        state.filters.toggled.insert(path);
    }
}

fn blocker(state: &State) -> Option<u64> {
    let call = state.selected()?.key.number()?;
    state.view.calls.get(&call)?.blocker
}

/// Requires that the call under the cursor waits for another call.
pub fn has_blocker(state: &State) -> Available {
    if blocker(state).is_some() {
        Ok(())
    } else {
        Err("this call does not wait for another call".into())
    }
}

pub fn goto_blocker(state: &mut State, _: &mut Vec<Effect>) {
    let Some(b) = blocker(state) else { return };
    state.leave_place();
    state.list_mut().key = Some(RowKey::Number(b));
}

pub fn open_replay(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(d) = state
        .selected()
        .and_then(|r| state.loaded.history.as_ref()?.get(r.index))
    else {
        return;
    };
    effects.push(Effect::LoadRecord(d.deploy));
}

/// Marks the deploy under the cursor, or compares it with the marked one: with the one before it,
/// if it is marked itself.
pub fn compare_deploys(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(row) = state.selected() else { return };
    let all = state.loaded.history.as_deref().unwrap_or_default();
    let Some(deploy) = all.get(row.index).map(|d| d.deploy) else {
        return;
    };
    let older = all.iter().map(|d| d.deploy).filter(|d| *d < deploy).max();
    match (state.loaded.compared.take(), older) {
        (Some(marked), Some(older)) if marked == deploy => {
            effects.push(Effect::CompareDeploys(older, deploy));
        }
        (Some(marked), None) if marked == deploy => {
            state.show_error("compare: there is no deploy before it");
        }
        (Some(marked), _) => {
            let (before, after) = (marked.min(deploy), marked.max(deploy));
            effects.push(Effect::CompareDeploys(before, after));
        }
        (None, _) => {
            state.loaded.compared = Some(deploy);
            let key = state.options.keys.first("compare");
            state.show_message(format!(
                "deploy #{deploy} is marked: {key} on another one compares both, {key} again compares with the one before it"
            ));
        }
    }
}

/// Moves the replay to the state after the first `cursor` events.
pub fn replay_to(state: &mut State, cursor: usize) {
    if let Some(r) = &mut state.loaded.replay {
        r.is_playing = false;
        r.seek(cursor);
    }
}

pub fn replay_forward(state: &mut State, _: &mut Vec<Effect>) {
    let cursor = state.loaded.replay.as_ref().map_or(0, |r| r.next());
    replay_to(state, cursor);
}

pub fn replay_back(state: &mut State, _: &mut Vec<Effect>) {
    let cursor = state.loaded.replay.as_ref().map_or(0, |r| r.previous());
    replay_to(state, cursor);
}

pub fn replay_begin(state: &mut State, _: &mut Vec<Effect>) {
    replay_to(state, 0);
}

pub fn replay_end(state: &mut State, _: &mut Vec<Effect>) {
    replay_to(state, usize::MAX);
}

/// Requires a failure in the replay.
pub fn has_failure(state: &State) -> Available {
    let next = state.loaded.replay.as_ref().and_then(Replay::next_failure);
    next.map(|_| ())
        .ok_or_else(|| "no operation of this deploy failed".into())
}

pub fn replay_failure(state: &mut State, _: &mut Vec<Effect>) {
    let next = state.loaded.replay.as_ref().and_then(Replay::next_failure);
    if let Some(cursor) = next {
        replay_to(state, cursor);
        // The failed operations come first after the running ones.
        state.list_mut().moved = false;
    }
}

/// Starts or pauses playing; at the end, from the begin.
pub fn replay_play(state: &mut State, _: &mut Vec<Effect>) {
    if let Some(r) = &mut state.loaded.replay {
        r.is_playing = !r.is_playing;
        if r.is_playing && r.cursor == r.record.events.len() {
            r.seek(0);
        }
    }
}

pub fn replay_faster(state: &mut State, _: &mut Vec<Effect>) {
    change_speed(state, |speed| (speed + 1).min(SPEEDS.len() - 1));
}

pub fn replay_slower(state: &mut State, _: &mut Vec<Effect>) {
    change_speed(state, |speed| speed.saturating_sub(1));
}

fn change_speed(state: &mut State, change: impl Fn(usize) -> usize) {
    if let Some(r) = &mut state.loaded.replay {
        r.speed = change(r.speed);
        let text = format!(
            "replay plays at {} times the speed of the deploy",
            SPEEDS[r.speed]
        );
        state.show_message(text);
    }
}

pub fn toggle_failures(state: &mut State, effects: &mut Vec<Effect>) {
    state.filters.failures = !state.filters.failures;
    effects.push(if state.filters.failures {
        Effect::LoadFailures
    } else {
        Effect::LoadHistory
    });
}

/// Requires a deploy to export.
pub fn has_row_or_replay(state: &State) -> Available {
    if state.loaded.replay.is_some() {
        Ok(())
    } else {
        super::has_row(state)
    }
}

pub fn export(state: &mut State, effects: &mut Vec<Effect>) {
    let deploy = match &state.loaded.replay {
        Some(r) => Some(r.record.summary.deploy),
        None => state
            .selected()
            .and_then(|r| state.loaded.history.as_ref()?.get(r.index))
            .map(|d| d.deploy),
    };
    effects.extend(deploy.map(Effect::Export));
}

pub fn reload_history(_: &mut State, effects: &mut Vec<Effect>) {
    effects.extend([Effect::LoadHistory, Effect::LoadFailures]);
}

pub fn reload_state(_: &mut State, effects: &mut Vec<Effect>) {
    effects.push(Effect::LoadState);
}

pub fn look(state: &mut State, effects: &mut Vec<Effect>) {
    state.show_message("reading the objects…".to_owned());
    effects.push(Effect::Look);
}

pub fn toggle_follow(state: &mut State, _: &mut Vec<Effect>) {
    state.log.follow = !state.log.follow;
}

/// Lines of the Logs screen that are errors or warnings, as indexes of rows.
fn problems(state: &State) -> impl DoubleEndedIterator<Item = usize> {
    let rows = state.frame.rows.iter().enumerate();
    let is_problem = |row: &Row| {
        let entry = state.log.get(row.index).filter(|_| !row.heading);
        entry.is_some_and(|e| e.line.level >= LogLevel::Warn)
    };
    rows.filter(move |(_, row)| is_problem(row)).map(|(i, _)| i)
}

/// Requires an error or a warning among the shown lines.
pub fn has_problem(state: &State) -> Available {
    match problems(state).next() {
        Some(_) => Ok(()),
        None => Err("no shown line is an error or a warning".into()),
    }
}

/// Goes to the next error or warning; after the last one, to the first.
pub fn problem_next(state: &mut State, _: &mut Vec<Effect>) {
    let at = state.list().index;
    let next = problems(state).find(|i| *i > at);
    go_to_problem(state, next.or_else(|| problems(state).next()));
}

/// Goes to the previous error or warning; before the first one, to the last.
pub fn problem_previous(state: &mut State, _: &mut Vec<Effect>) {
    let at = state.list().index;
    let previous = problems(state).rev().find(|i| *i < at);
    go_to_problem(state, previous.or_else(|| problems(state).next_back()));
}

fn go_to_problem(state: &mut State, row: Option<usize>) {
    let Some(row) = row else { return };
    // Following would move the cursor away.
    state.log.follow = false;
    super::goto(state, row);
}

pub fn next_level(state: &mut State, _: &mut Vec<Effect>) {
    state.log.level = match state.log.level {
        LogLevel::Trace => LogLevel::Debug,
        LogLevel::Debug => LogLevel::Info,
        LogLevel::Info => LogLevel::Warn,
        LogLevel::Warn => LogLevel::Error,
        LogLevel::Error => LogLevel::Trace,
    };
}

pub fn next_source(state: &mut State, _: &mut Vec<Effect>) {
    let sources = state.log.sources();
    // By order and not by index, because the sources change while lines arrive.
    let next = match &state.log.source {
        None => sources.iter().next().copied(),
        Some(s) => sources
            .range::<str, _>((
                std::ops::Bound::Excluded(s.as_str()),
                std::ops::Bound::Unbounded,
            ))
            .next()
            .copied(),
    };
    state.log.source = next.map(str::to_owned);
}

pub fn toggle_wrap(state: &mut State, _: &mut Vec<Effect>) {
    state.log.wrap = !state.log.wrap;
}

pub fn toggle_times(state: &mut State, _: &mut Vec<Effect>) {
    state.log.times = !state.log.times;
}

pub fn toggle_mark(state: &mut State, _: &mut Vec<Effect>) {
    let Some(n) = state.selected().and_then(|r| r.key.number()) else {
        return;
    };
    if !state.log.marks.remove(&n) {
        state.log.marks.insert(n);
    }
}

pub fn save_log(state: &mut State, effects: &mut Vec<Effect>) {
    let marks = &state.log.marks;
    let mut text = String::new();
    let is_saved =
        |row: &Row| marks.is_empty() || row.key.number().is_some_and(|n| marks.contains(&n));
    for (at, row) in state.frame.rows.iter().enumerate() {
        // The file has the stacks that the screen does not repeat.
        let folded = folded_lines(state, at);
        let lines = [row.index]
            .into_iter()
            .chain(folded)
            .filter(|_| is_saved(row));
        for e in lines.filter_map(|i| state.log.get(i)) {
            let time = clock_ms(e.line.at, state.utc_offset);
            text.push_str(&format!(
                "{time} {} {} {}\n",
                e.line.level.label(),
                e.line.plugin,
                // The file is read in a terminal, too.
                crate::app::text::clean(&e.line.text)
            ));
        }
    }
    effects.push(Effect::Save {
        stem: "flightdeck-log".to_owned(),
        extension: "txt",
        text,
    });
}

pub fn toggle_tracing(state: &mut State, _: &mut Vec<Effect>) {
    state.log.tracing = !state.log.tracing;
    state.list_mut().focus = Pane::List;
}

macro_rules! tracing_moves {
    ($($name:ident $to:ident),*) => {
        $(pub fn $name(_: &mut State, effects: &mut Vec<Effect>) { effects.push(Effect::Tracing(TracingMove::$to)); })*
    };
}
tracing_moves!(tracing_targets Targets, tracing_focus Focus, tracing_more More, tracing_less Less, tracing_follow Follow);
