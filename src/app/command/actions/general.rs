//! Commands that work everywhere: moving, finding, opening, leaving.

use crate::app::command::Available;
use crate::app::doc::plain_text;
use crate::app::entry::Entry;
use crate::app::layout;
use crate::app::list::{Pane, RowKey};
use crate::app::msg::{Effect, TracingMove};
use crate::app::rows;
use crate::app::state::*;
use crate::app::text::contains;
use crate::engine::words::CancelRung;

/// A command that can always be used.
pub fn always(_: &State) -> Available {
    Ok(())
}

/// There is something under the cursor.
pub fn has_row(state: &State) -> Available {
    if state.selected().is_some() {
        Ok(())
    } else {
        Err("there is nothing under the cursor".into())
    }
}

/// What is looked at is a list of ours; the engine's own log is kept by another library.
pub fn has_list(state: &State) -> Available {
    if state.context() == Context::Tracing {
        Err("the engine's own log has no such thing".into())
    } else {
        Ok(())
    }
}

/// List and detail are both on the screen.
pub fn has_pane(state: &State) -> Available {
    if state.list().zoom {
        Err("the detail has the whole screen: esc goes back".into())
    } else if layout::areas(state).detail.height == 0 {
        Err("there is no room for a second pane: enter opens the detail".into())
    } else {
        Ok(())
    }
}

/// There is more than one order.
pub fn can_sort(state: &State) -> Available {
    if rows::sorts(state.context()).len() > 1 {
        Ok(())
    } else {
        Err("there is one order only here".into())
    }
}

/// Something was looked for.
pub fn has_find(state: &State) -> Available {
    if state.list().find.is_empty() {
        Err("nothing was looked for yet: press / first".into())
    } else {
        Ok(())
    }
}

/// Something went wrong.
pub fn has_incident(state: &State) -> Available {
    if state.incidents().is_empty() {
        Err("there was no incident".into())
    } else {
        Ok(())
    }
}

/// Something has no end on record.
pub fn has_unknown(state: &State) -> Available {
    if state.view.unknown.is_empty() {
        Err("nothing is unknown".into())
    } else {
        Ok(())
    }
}

pub fn show_unknown(state: &mut State, _: &mut Vec<Effect>) {
    // The one under the cursor, where it is one of them.
    let here = state
        .selected()
        .and_then(|r| r.key.text())
        .unwrap_or_default();
    let selected = state
        .view
        .unknown
        .iter()
        .position(|u| u.name() == here)
        .unwrap_or(0);
    state.frame.popup = Some(Popup::Unknown {
        selected,
        refused: false,
    });
}

/// Something can be broken on purpose.
pub fn has_faults(state: &State) -> Available {
    if state.faults.is_empty() {
        Err("only the demo breaks things on purpose".into())
    } else {
        Ok(())
    }
}

/// Half a page, for the part that has the keys.
fn half_page(state: &State) -> isize {
    let height = if layout::detail_has_keys(state) {
        layout::detail_size(state).1
    } else {
        layout::list_height(state)
    };
    isize::try_from((height / 2).max(1)).unwrap_or(1)
}

/// Moves the cursor, or scrolls the detail where it has the keys.
pub fn moved(state: &mut State, effects: &mut Vec<Effect>, delta: isize) {
    if state.context() == Context::Tracing {
        let half = half_page(state).max(2);
        effects.push(Effect::Tracing(match delta {
            d if d >= half => TracingMove::PageDown,
            d if d <= -half => TracingMove::PageUp,
            d if d > 0 => TracingMove::Down,
            _ => TracingMove::Up,
        }));
    } else if layout::detail_has_keys(state) {
        let scroll = state.list().scroll.saturating_add_signed(delta);
        state.list_mut().scroll = scroll;
    } else {
        if state.context() == Context::Logs {
            state.log.follow = false;
        }
        let rows = std::mem::take(&mut state.frame.rows);
        state.list_mut().step(&rows, delta);
        state.frame.rows = rows;
    }
}

pub fn down(state: &mut State, effects: &mut Vec<Effect>) {
    moved(state, effects, 1);
}

pub fn up(state: &mut State, effects: &mut Vec<Effect>) {
    moved(state, effects, -1);
}

pub fn page_down(state: &mut State, effects: &mut Vec<Effect>) {
    let n = half_page(state);
    moved(state, effects, n);
}

pub fn page_up(state: &mut State, effects: &mut Vec<Effect>) {
    let n = half_page(state);
    moved(state, effects, -n);
}

pub fn first(state: &mut State, _: &mut Vec<Effect>) {
    if layout::detail_has_keys(state) {
        state.list_mut().scroll = 0;
        return;
    }
    state.log.follow &= state.context() != Context::Logs;
    goto(state, 0);
}

pub fn last(state: &mut State, effects: &mut Vec<Effect>) {
    if state.context() == Context::Tracing {
        effects.push(Effect::Tracing(TracingMove::Follow));
    } else if layout::detail_has_keys(state) {
        // Brought back to the last page when the state settles.
        state.list_mut().scroll = usize::MAX / 2;
    } else {
        if state.context() == Context::Logs {
            state.log.follow = true;
        }
        goto(state, usize::MAX);
    }
}

/// Puts the cursor on the row at an index.
pub fn goto(state: &mut State, index: usize) {
    let rows = std::mem::take(&mut state.frame.rows);
    let index = if index >= rows.len() {
        rows.iter().rposition(|r| !r.heading).unwrap_or(0)
    } else {
        index
    };
    let list = state.list_mut();
    list.moved = true;
    list.place(&rows, index);
    state.frame.rows = rows;
}

pub fn open_detail(state: &mut State, _: &mut Vec<Effect>) {
    let list = state.list_mut();
    if list.zoom {
        return;
    }
    (list.zoom, list.focus, list.scroll) = (true, Pane::Detail, 0);
}

pub fn next_pane(state: &mut State, _: &mut Vec<Effect>) {
    let list = state.list_mut();
    list.focus = if list.focus == Pane::List {
        Pane::Detail
    } else {
        Pane::List
    };
}

/// One step back; says whether there was one.
pub fn step_back(state: &mut State) -> bool {
    let context = state.context();
    if context == Context::Schema {
        if state.list().filter.is_empty() && state.list().find.is_empty() {
            state.lists[Context::Plugins as usize].zoom = false;
            state.lists[Context::Plugins as usize].focus = Pane::List;
        } else {
            clear_search(state);
        }
        return true;
    }
    let list = state.list_mut();
    if list.zoom || list.focus == Pane::Detail {
        (list.zoom, list.focus, list.scroll) = (false, Pane::List, 0);
    } else if !list.filter.is_empty() || !list.find.is_empty() {
        clear_search(state);
    } else if context == Context::Stage && state.filters.action.is_some() {
        state.filters.action = None;
    } else if context == Context::Tracing {
        state.log.tracing = false;
    } else if context == Context::Replay {
        state.loaded.replay = None;
    } else if context == Context::Failures {
        state.filters.failures = false;
    } else if matches!(context, Context::Deploy) && state.filters.deploy != DeployFilter::All {
        state.filters.deploy = DeployFilter::All;
    } else {
        return false;
    }
    true
}

fn clear_search(state: &mut State) {
    let list = state.list_mut();
    list.filter.clear();
    list.find.clear();
}

pub fn back(state: &mut State, _: &mut Vec<Effect>) {
    if !step_back(state) {
        state.frame.toast = None;
    }
}

pub fn quit(state: &mut State, effects: &mut Vec<Effect>) {
    if !step_back(state) {
        leave(state, effects);
    }
}

pub fn interrupt(state: &mut State, effects: &mut Vec<Effect>) {
    if state.deploying() || state.view.staging.is_some() {
        super::open_ladder(state, effects);
    } else {
        leave(state, effects);
    }
}

/// Leaves, or asks first while something runs.
fn leave(state: &mut State, _: &mut Vec<Effect>) {
    use crate::app::doc::{Line, Role, line, span};
    let running: Vec<_> = state
        .view
        .deploy
        .iter()
        .filter(|d| d.summary.is_none())
        .flat_map(|d| &d.operations)
        .filter(|o| o.state == crate::engine::words::OperationState::Running)
        .map(|o| format!("{} ({})", o.address, o.step))
        .collect();
    if state.deploying() {
        let deploy = state.view.deploy.as_ref().map_or(0, |d| d.deploy);
        let mut body = vec![
            line(
                Role::Plain,
                "Nothing new is started then; what runs is waited for:",
            ),
            Line::new(),
        ];
        body.extend(running.iter().map(|r| line(Role::Busy, format!("  ◐ {r}"))));
        body.push(Line::new());
        body.push(vec![
            span(Role::Dim, "The cancel ladder ("),
            span(Role::Key, "c"),
            span(Role::Dim, ") stops it in steps."),
        ]);
        state.frame.popup = Some(Popup::Confirm(Box::new(Confirm {
            title: format!(
                "deploy #{deploy} is running: stop starting, and leave when it has ended?"
            ),
            body,
            yes: false,
            typed: None,
            effects: vec![Effect::Cancel(CancelRung::StopStarting)],
            after: After::Leave,
            stage: None,
            scroll: 0,
        })));
    } else if let Some(s) = &state.view.staging {
        state.frame.popup = Some(Popup::Confirm(Box::new(Confirm {
            title: format!(
                "stage #{} is being worked out: leave all the same?",
                s.stage
            ),
            body: vec![line(
                Role::Plain,
                "Staging changes nothing: it can be done again.",
            )],
            yes: false,
            typed: None,
            effects: vec![Effect::Cancel(CancelRung::StopStarting)],
            after: After::Quit,
            stage: None,
            scroll: 0,
        })));
    } else {
        state.quit = true;
    }
}

fn prompt(state: &mut State, kind: PromptKind) {
    let list = state.list();
    let text = if kind == PromptKind::Find {
        &list.find
    } else {
        &list.filter
    }
    .clone();
    state.frame.prompt = Some(Prompt {
        kind,
        entry: Entry::new(&text),
        before: list.key.clone(),
        text_before: text,
    });
}

pub fn find(state: &mut State, _: &mut Vec<Effect>) {
    prompt(state, PromptKind::Find);
}

pub fn filter(state: &mut State, _: &mut Vec<Effect>) {
    prompt(state, PromptKind::Filter);
}

/// Goes to the next hit from an index on (itself included), round the end; in the detail where that
/// has the keys.
pub fn seek(state: &mut State, forward: bool, from_next: bool) {
    let needle = state.list().find.to_lowercase();
    if needle.is_empty() {
        return;
    }
    if layout::detail_has_keys(state) {
        seek_in_detail(state, &needle, forward, from_next);
        return;
    }
    let context = state.context();
    let (n, at) = (state.frame.rows.len(), state.list().index);
    let hit = (usize::from(from_next)..n + usize::from(from_next))
        .map(|step| {
            if forward {
                (at + step) % n
            } else {
                (at + n - step % n) % n
            }
        })
        .find(|i| {
            !state.frame.rows[*i].heading
                && contains(&rows::text(state, context, &state.frame.rows[*i]), &needle)
        });
    match hit {
        Some(i) => {
            if context == Context::Logs {
                state.log.follow = false;
            }
            goto(state, i);
        }
        None => state.complain(format!(
            "nothing here has {:?} in it",
            state.list().find.clone()
        )),
    }
}

fn seek_in_detail(state: &mut State, needle: &str, forward: bool, from_next: bool) {
    let lines = crate::app::doc::wrap(&state.detail(), layout::detail_size(state).0);
    let (n, at) = (lines.len(), state.list().scroll);
    let hit = (usize::from(from_next)..n + usize::from(from_next))
        .map(|step| {
            if forward {
                (at + step) % n
            } else {
                (at + n - step % n) % n
            }
        })
        .find(|i| contains(&crate::app::doc::plain(&lines[*i]), needle));
    match hit {
        Some(i) => state.list_mut().scroll = i,
        None => state.complain("nothing here has that in it"),
    }
}

pub fn find_next(state: &mut State, _: &mut Vec<Effect>) {
    seek(state, true, true);
}

pub fn find_previous(state: &mut State, _: &mut Vec<Effect>) {
    seek(state, false, true);
}

pub fn next_sort(state: &mut State, _: &mut Vec<Effect>) {
    let names = rows::sorts(state.context());
    let list = state.list_mut();
    list.sort = (list.sort + 1) % names.len();
    let text = format!("sorted by {}", names[list.sort]);
    state.say(text);
}

pub fn reverse_sort(state: &mut State, _: &mut Vec<Effect>) {
    let list = state.list_mut();
    list.descending = !list.descending;
    let text = if list.descending {
        "order turned round"
    } else {
        "order as it was"
    };
    state.say(text);
}

pub fn copy(state: &mut State, effects: &mut Vec<Effect>) {
    let text = if layout::detail_has_keys(state) {
        plain_text(&state.detail())
    } else {
        let Some(row) = state.selected() else { return };
        match (state.context(), &row.key) {
            (Context::Logs, _) => state
                .log
                .get(row.index)
                .map(|e| e.line.text.clone())
                .unwrap_or_default(),
            (_, RowKey::Text(t)) => t.clone(),
            (_, RowKey::Number(n)) => n.to_string(),
        }
    };
    state.say(format!("copied {} characters", text.chars().count()));
    effects.push(Effect::Copy(text));
}

pub fn palette(state: &mut State, _: &mut Vec<Effect>) {
    state.frame.popup = Some(Popup::Palette {
        entry: Entry::default(),
        selected: 0,
    });
}

pub fn help(state: &mut State, _: &mut Vec<Effect>) {
    state.frame.popup = Some(Popup::Help { scroll: 0 });
}

pub fn open_faults(state: &mut State, _: &mut Vec<Effect>) {
    state.frame.popup = Some(Popup::Demo { selected: 0 });
}

pub fn next_theme(state: &mut State, _: &mut Vec<Effect>) {
    let (theme, word) = match state.frame.looks.theme {
        ThemeName::Dark => (ThemeName::Light, "light"),
        ThemeName::Light => (ThemeName::Contrast, "high contrast"),
        ThemeName::Contrast => (ThemeName::Dark, "dark"),
    };
    state.frame.looks.theme = theme;
    state.say(format!("theme: {word}"));
}

pub fn toggle_mouse(state: &mut State, effects: &mut Vec<Effect>) {
    state.frame.mouse = !state.frame.mouse;
    effects.push(Effect::Mouse(state.frame.mouse));
    state.say(if state.frame.mouse {
        "mouse on"
    } else {
        "mouse off: the terminal selects text"
    });
}

/// What a short list leaves goes to its detail all the same, so that not every step is seen: it is
/// said.
fn split(state: &mut State, percent: u16) {
    state.frame.split = percent;
    state.say(format!("list {percent} %, detail {} %", 100 - percent));
}

pub fn wider(state: &mut State, _: &mut Vec<Effect>) {
    split(state, (state.frame.split + 5).min(80));
}

pub fn narrower(state: &mut State, _: &mut Vec<Effect>) {
    split(state, state.frame.split.saturating_sub(5).max(25));
}

pub fn redraw(_: &mut State, effects: &mut Vec<Effect>) {
    effects.push(Effect::Redraw);
}

/// There is a shell that brings it back.
pub fn has_shell(state: &State) -> Available {
    if state.shell {
        Ok(())
    } else {
        Err("there is no shell to go to: this terminal was opened for flightdeck alone".into())
    }
}

pub fn suspend(state: &mut State, effects: &mut Vec<Effect>) {
    let running = state.view.deploy.as_ref().filter(|d| d.summary.is_none());
    let what = running.map_or_else(String::new, |d| {
        format!(
            "flightdeck: deploy #{} begins nothing while it is stopped; ",
            d.deploy
        )
    });
    effects.push(Effect::Suspend(if what.is_empty() {
        what
    } else {
        what + "`bg` lets it go on, `fg` brings the console back"
    }));
}

/// Shows a screen, and asks for what it needs.
pub fn show(state: &mut State, effects: &mut Vec<Effect>, screen: Screen) {
    state.screen = screen;
    match screen {
        Screen::History => effects.push(Effect::LoadHistory),
        Screen::State => effects.push(Effect::LoadState),
        _ => {}
    }
}

macro_rules! screens {
    ($($name:ident $screen:ident),*) => {
        $(pub fn $name(state: &mut State, effects: &mut Vec<Effect>) { show(state, effects, Screen::$screen); })*
    };
}
screens!(screen_plugins Plugins, screen_calls Calls, screen_stage Stage, screen_deploy Deploy, screen_history History, screen_state State, screen_logs Logs);

pub fn goto_incident(state: &mut State, effects: &mut Vec<Effect>) {
    let Some((_, plugin)) = state.incidents().pop() else {
        return;
    };
    let (plugin, crashed) = (
        plugin.clone(),
        state
            .view
            .plugins
            .get(plugin)
            .is_some_and(|p| !p.crashes.is_empty()),
    );
    show(state, effects, Screen::Plugins);
    state.filters.plugin_tab = if crashed {
        PluginTab::About
    } else {
        PluginTab::Attempts
    };
    let list = &mut state.lists[Context::Plugins as usize];
    list.filter.clear();
    (list.zoom, list.focus, list.scroll) = (false, Pane::List, 0);
    list.key = Some(RowKey::Text(plugin.0));
}
