//! How the state changes: one message in, the effects that it asks for out. No clock, no terminal,
//! no engine.

use super::command;
use super::doc::{self, wrap};
use super::key::{Input, Key, MouseAct};
use super::layout::{self, Hit};
use super::list::Pane;
use super::msg::{Answer, Effect, Msg};
use super::popup_keys;
use super::rows;
use super::state::*;
use crate::app::format::duration;
use crate::engine::words::*;

/// Seconds that the charts of the Calls screen go back.
const SAMPLES: usize = 240;

/// How long the last thing that happened stays in the footer, in milliseconds.
const TOAST: UnixMs = 12_000;

/// What a console asks for when it starts.
pub fn start(state: &State) -> Vec<Effect> {
    let mut effects = vec![Effect::LoadHistory, Effect::LoadState, Effect::LoadLogs];
    if state.configured {
        effects.insert(0, Effect::HoldLock);
        effects.push(Effect::LoadPlugins);
    }
    effects
}

/// Takes one message in.
pub fn update(state: &mut State, msg: Msg) -> Vec<Effect> {
    let mut effects = Vec::new();
    match msg {
        Msg::Input(input) => {
            settle(state);
            on_input(state, input, &mut effects);
            ask_for_schema(state, &mut effects);
            settle(state);
        }
        Msg::Tick(now) => tick(state, now),
        Msg::Events(events) => {
            for e in events {
                on_event(state, &e, &mut effects);
            }
            ask_for_schema(state, &mut effects);
        }
        Msg::Snapshot(view) => {
            let missed = view.seq.saturating_sub(state.view.seq);
            state.view = *view;
            if missed > 0 && state.now > 0 {
                state.say(format!(
                    "{missed} events came too fast to be shown one by one; this is how things stand"
                ));
            }
        }
        Msg::Answer(answer) => on_answer(state, answer, &mut effects),
        Msg::EngineGone => {
            state.complain("the engine has ended");
            state.quit = true;
        }
        Msg::Terminate => {
            if state.deploying() {
                effects.push(Effect::Cancel(CancelRung::StopStarting));
            }
            state.quit = true;
        }
    }
    ask_for_trust(state);
    put_unknown_first(state);
    effects
}

/// Plugins that came with the workspace are launched after a yes alone; asked when they were looked
/// for.
fn ask_for_trust(state: &mut State) {
    if state.view.untrusted.is_empty() {
        state.asks_trust = false;
    } else if state.asks_trust && state.frame.popup.is_none() && state.frame.prompt.is_none() {
        state.asks_trust = false;
        state.frame.popup = Some(popup_keys::trust(&state.view.untrusted));
    }
}

/// What earlier deploys left unknown is the first thing that is seen, once.
fn put_unknown_first(state: &mut State) {
    if state.view.unknown.is_empty() {
        if matches!(state.frame.popup, Some(Popup::Unknown { .. })) {
            state.frame.popup = None;
        }
        return;
    }
    if !std::mem::replace(&mut state.told_unknown, true)
        && state.frame.popup.is_none()
        && state.frame.prompt.is_none()
    {
        state.frame.popup = Some(Popup::Unknown {
            selected: 0,
            refused: false,
        });
    }
}

/// Brings rows, cursor and scrolling in line with the state. Called before keys are taken and
/// before a frame is drawn.
pub fn settle(state: &mut State) {
    let (rows, pinned) = rows::rows(state);
    (state.frame.rows, state.frame.pinned) = (rows, pinned);
    let height = layout::list_height(state).max(1);
    let pinned = layout::pinned(state, height);
    let rows = std::mem::take(&mut state.frame.rows);
    let follow =
        state.context() == Context::Logs && state.log.follow && state.frame.prompt.is_none();
    let live = state.context() == Context::Deploy && state.deploying();
    let list = state.list_mut();
    if follow && !list.zoom {
        list.place(&rows, usize::MAX);
    } else if live && !list.moved && !list.zoom && list.focus == Pane::List {
        // Until the operator looks for something else, what runs is looked at.
        list.place(&rows, 0);
    }
    list.settle(&rows, height, pinned);
    state.frame.rows = rows;
    if state.list().scroll > 0 {
        let (cells, lines) = layout::detail_size(state);
        let all = if lines == 0 {
            0
        } else {
            wrap(&state.detail(), cells).len()
        };
        let list = state.list_mut();
        list.scroll = list.scroll.min(all.saturating_sub(lines.min(all).max(1)));
    }
}

fn on_input(state: &mut State, input: Input, effects: &mut Vec<Effect>) {
    match input {
        Input::Resize(w, h) => state.frame.size = (w, h),
        Input::Key(key) => on_key(state, key, effects),
        Input::Paste(text) => paste(state, &text),
        Input::Mouse { act, x, y } => on_mouse(state, act, x, y, effects),
    }
}

fn on_key(state: &mut State, key: Key, effects: &mut Vec<Effect>) {
    if let Some(popup) = state.frame.popup.take() {
        popup_keys::popup(state, popup, key, effects);
    } else if let Some(p) = state.frame.prompt.take() {
        popup_keys::prompt(state, p, key);
    } else if layout::too_small(state) {
        if matches!(key, k if k == Key::char('q') || k == Key::ctrl('c')) {
            state.quit = !state.deploying();
        }
    } else if let Some(c) = state.keys.command(key, state.context()) {
        command::run(c, state, effects);
    }
}

fn paste(state: &mut State, text: &str) {
    if let Some(Popup::Palette { entry, .. } | Popup::Import { entry, .. }) = &mut state.frame.popup
    {
        entry.insert(text);
    } else if let Some(mut p) = state.frame.prompt.take() {
        p.entry.insert(text);
        popup_keys::typed(state, p);
    }
    // Anywhere else a paste would be taken for commands: it is ignored. A confirmation must be
    // typed, not pasted.
}

fn on_mouse(state: &mut State, act: MouseAct, x: u16, y: u16, effects: &mut Vec<Effect>) {
    if state.frame.popup.is_some() || state.frame.prompt.is_some() || layout::too_small(state) {
        return;
    }
    let hit = layout::hit(state, x, y);
    match (act, hit) {
        (MouseAct::Down, Hit::Tab(x)) => {
            if let Some(screen) = layout::tab_at(state, x) {
                command::show(state, effects, screen);
            }
        }
        (MouseAct::Down, Hit::Row(i)) if i < state.frame.rows.len() => {
            state.list_mut().focus = Pane::List;
            state.log.follow &= state.context() != Context::Logs;
            command::goto(state, i);
        }
        (MouseAct::Down, Hit::Detail) if !state.list().zoom => {
            state.list_mut().focus = Pane::Detail
        }
        (MouseAct::Down, Hit::Border) => state.frame.dragging = true,
        (MouseAct::Drag, _) if state.frame.dragging => {
            let percent = if layout::side_by_side(state) {
                u32::from(x) * 100 / u32::from(state.frame.size.0.max(1))
            } else {
                let top = layout::areas(state).columns.y;
                let height = state.frame.size.1.saturating_sub(top + 2).max(1);
                u32::from(y.saturating_sub(top)) * 100 / u32::from(height)
            };
            state.frame.split = u16::try_from(percent).unwrap_or(50).clamp(25, 80);
        }
        (MouseAct::Up, _) => state.frame.dragging = false,
        (MouseAct::WheelDown | MouseAct::WheelUp, hit) => {
            let by = if act == MouseAct::WheelDown { 3 } else { -3 };
            if hit == Hit::Detail && state.context() != Context::Tracing {
                let scroll = state.list().scroll.saturating_add_signed(by);
                state.list_mut().scroll = scroll;
            } else {
                command::moved(state, effects, by);
            }
        }
        _ => {}
    }
}

fn push_sample(queue: &mut std::collections::VecDeque<u64>, value: u64) {
    if queue.len() == SAMPLES {
        queue.pop_front();
    }
    queue.push_back(value);
}

fn tick(state: &mut State, now: UnixMs) {
    state.now = now;
    let running = state
        .view
        .calls
        .values()
        .filter(|c| c.started_at.is_some())
        .count() as u64;
    let waiting = state.view.calls.len() as u64 - running;
    push_sample(&mut state.samples.running, running);
    push_sample(&mut state.samples.waiting, waiting);
    let finished = std::mem::take(&mut state.samples.finished_now);
    push_sample(&mut state.samples.finished, finished);
    if state
        .frame
        .toast
        .as_ref()
        .is_some_and(|t| now - t.at > TOAST)
    {
        state.frame.toast = None;
    }
}

fn on_event(state: &mut State, event: &Event, effects: &mut Vec<Effect>) {
    let known = event.seq <= state.view.seq && event.seq != 0;
    let locked = state.locked_by().is_some();
    state.view.apply(event);
    if known {
        return;
    }
    state.now = state.now.max(event.at);
    match &event.kind {
        EventKind::Plugin(PluginEvent::Log { line }) => state.log.push(line.clone()),
        EventKind::Plugin(PluginEvent::Crash { plugin, text, .. }) => {
            state.complain(format!("{plugin} crashed: {text}  (! shows it)"))
        }
        EventKind::Plugin(PluginEvent::State { plugin, state: now }) => match now {
            PluginState::GaveUp { why } | PluginState::Incompatible { why } => {
                state.complain(format!("{plugin} {}: {why}  (!)", now.word()))
            }
            PluginState::Launching { .. } => {
                // Another launch may bring another schema.
                state.loaded.schemas.remove(plugin);
            }
            _ => {}
        },
        EventKind::Lock { ours, .. } => {
            state.asks_lock = false;
            if locked && *ours {
                state.say("whoever held the workspace has left: it is yours now, press again");
            }
        }
        EventKind::UntrustedPlugins { plugins } => state.asks_trust = !plugins.is_empty(),
        EventKind::CallFinished(_) => state.samples.finished_now += 1,
        EventKind::Staged(s) => {
            state.say(format!("staged in {}", duration(s.took_ms)));
            state.along.clear();
            withdraw(state);
        }
        EventKind::StageFailed { errors, text, .. } => {
            let text = text.lines().next().unwrap_or_default();
            let text = if *errors > 1 {
                format!("staging failed: {text}, and {} more", errors - 1)
            } else {
                format!("staging failed: {text}")
            };
            state.complain(text);
            withdraw(state);
        }
        EventKind::Selected { .. } => withdraw(state),
        EventKind::DeployStarted(_) => {
            state.filters.deploy = DeployFilter::All;
            state.lists[Context::Deploy as usize] = super::list::ListState::default();
        }
        EventKind::DeployFinished(s) => {
            let text = format!(
                "deploy #{} {}: {}",
                s.deploy,
                s.outcome.word(),
                s.operations.text()
            );
            if s.outcome == DeployOutcome::Succeeded {
                state.say(text)
            } else {
                state.complain(text)
            }
            // What failed stands first: it is looked at, unless the operator looks at something
            // else.
            let list = &mut state.lists[Context::Deploy as usize];
            if !list.moved && !list.zoom && list.focus == Pane::List {
                *list = super::list::ListState {
                    sort: list.sort,
                    descending: list.descending,
                    ..Default::default()
                };
            }
            effects.extend([Effect::LoadHistory, Effect::LoadState, Effect::LoadFailures]);
            state.quit |= state.leaving;
        }
        EventKind::Cancel { text, .. } | EventKind::Notice { text } => state.say(text.clone()),
        _ => {}
    }
}

/// Takes back a question about a stage that is not the one that was read any more.
fn withdraw(state: &mut State) {
    if let Some(Popup::Confirm(c)) = &state.frame.popup
        && c.stage.is_some()
    {
        state.frame.popup = None;
        state.complain(
            "the stage or its selection changed meanwhile: look again before you apply it",
        );
    }
}

/// The schema is fetched when its pane is looked at.
fn ask_for_schema(state: &mut State, effects: &mut Vec<Effect>) {
    if state.screen != Screen::Plugins || state.filters.plugin_tab != PluginTab::Schema {
        return;
    }
    let Some(p) = state.plugin() else { return };
    if matches!(p.state, PluginState::Ready { .. }) && !state.loaded.schemas.contains_key(&p.id) {
        let id = p.id.clone();
        // An empty schema stands for one that is on its way.
        state.loaded.schemas.insert(id.clone(), Vec::new());
        effects.push(Effect::LoadSchema(id));
    }
}

fn on_answer(state: &mut State, answer: Answer, effects: &mut Vec<Effect>) {
    match answer {
        Answer::Done(text) => {
            if !text.is_empty() {
                state.say(text);
            }
        }
        Answer::Failed {
            what,
            text,
            diagnostics,
        } => {
            state.complain(format!("{what}: {text}"));
            state.asks_lock &= what != "lock";
            // A stage's own are on its screen.
            if ["deploy", "import", "forget", "untaint"].contains(&what.as_str())
                && !diagnostics.is_empty()
                && state.frame.popup.is_none()
            {
                let doc = doc::diagnostics("", diagnostics.iter());
                state.frame.popup = Some(Popup::Message {
                    title: format!("{what}: not done"),
                    doc,
                    scroll: 0,
                });
            }
            for d in diagnostics {
                if !state.view.diagnostics.contains(&d) {
                    state.view.diagnostics.push_back(d);
                }
            }
        }
        Answer::History(all) => {
            let newest = all.first().filter(|d| {
                state
                    .loaded
                    .last
                    .as_ref()
                    .is_none_or(|l| l.summary.as_ref() != Some(*d))
            });
            if state.view.deploy.is_none() {
                effects.extend(newest.map(|d| Effect::LoadLast(d.deploy)));
            }
            state.loaded.history = Some(all);
        }
        Answer::Last(r) => {
            let end = r.events.len();
            state.loaded.last = Some(Replay::at(*r, end).view);
        }
        Answer::Record(r) => {
            let end = r.events.len();
            state.loaded.replay = Some(Replay::at(*r, end));
            state.lists[Context::Replay as usize] = super::list::ListState::default();
        }
        Answer::Failures(all) => state.loaded.failures = Some(all),
        Answer::Logs(rows) => state
            .log
            .prepend(rows.into_iter().map(|r| r.line).collect()),
        Answer::State(mut all) => {
            // Once, and not for each frame: the tree by module, kind, type and address.
            all.sort_by(|a, b| {
                (&a.module, a.data, &a.resource_type, &a.address, &a.deposed).cmp(&(
                    &b.module,
                    b.data,
                    &b.resource_type,
                    &b.address,
                    &b.deposed,
                ))
            });
            state.loaded.state_rows = Some(all);
        }
        Answer::Selected { stage, selection } => selected(state, stage, selection),
        Answer::Schema(plugin, rows) => {
            state.loaded.schemas.insert(plugin, rows);
        }
    }
}

/// What came along with a change of the selection is kept for the rows, and said.
fn selected(state: &mut State, stage: StageId, selection: crate::engine::words::Selection) {
    if state.view.stage.as_ref().is_none_or(|s| s.stage != stage) {
        return;
    }
    let taken: std::collections::BTreeSet<&String> = selection.taken.iter().collect();
    // A note stands only as long as the change is still on the side that the note speaks of.
    state
        .along
        .retain(|address, a| taken.contains(address) == a.pulled_in);
    for (address, by) in &selection.along {
        let pulled_in = taken.contains(address);
        state.along.insert(
            address.clone(),
            Along {
                pulled_in,
                by: by.clone(),
            },
        );
    }
    if let Some((address, by)) = selection.along.first() {
        let word = if taken.contains(address) {
            "taken"
        } else {
            "left"
        };
        let more = if selection.along.len() > 1 {
            format!(" and {} more", selection.along.len() - 1)
        } else {
            String::new()
        };
        state.say(format!("{address}{more} {word} along with {by}"));
    }
}
