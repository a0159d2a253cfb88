//! Commands of all contexts: screens, panes, sorting, copying, help, appearance.

use crate::app::command::Available;
use crate::app::doc::{Doc, Role, line, plain_text, span};
use crate::app::format::{clock, count};
use crate::app::list::{Pane, RowKey};
use crate::app::msg::Effect;
use crate::app::popups::{Demo, Help, Incidents, Message, Palette, ThemeList, UnknownOutcomes};
use crate::app::state::*;
use crate::app::{layout, rows};
use model::PluginId;

/// Availability of commands that always work.
pub fn always(_: &State) -> Available {
    Ok(())
}

/// Requires a row under the cursor.
pub fn has_row(state: &State) -> Available {
    if state.selected().is_some() {
        Ok(())
    } else {
        Err("no row under the cursor".into())
    }
}

/// Requires one of flightdeck's lists; tui-logger draws the engine's own log.
pub fn has_list(state: &State) -> Available {
    if state.context() == Context::Tracing {
        Err("not available in the engine's own log".into())
    } else {
        Ok(())
    }
}

/// Requires that list and detail are both visible.
pub fn has_pane(state: &State) -> Available {
    if state.list().zoom {
        Err("the detail fills the screen: esc closes it".into())
    } else if layout::areas(state).detail.height == 0 {
        Err("the screen is too small for two panes: enter opens the detail".into())
    } else {
        Ok(())
    }
}

/// Requires more than one sort order.
pub fn can_sort(state: &State) -> Available {
    if rows::sorts(state.context()).len() > 1 {
        Ok(())
    } else {
        Err("this list has only one sort order".into())
    }
}

/// Requires a search text.
pub fn has_find(state: &State) -> Available {
    if state.list().find.is_empty() {
        Err("no search yet, press /".into())
    } else {
        Ok(())
    }
}

/// Requires an unknown outcome.
pub fn has_unknown(state: &State) -> Available {
    if state.view.unknown.is_empty() {
        Err("no unknown outcomes".into())
    } else {
        Ok(())
    }
}

pub fn show_unknown(state: &mut State, _: &mut Vec<Effect>) {
    // Selects the row under the cursor, if its outcome is unknown.
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
    state.open(UnknownOutcomes {
        selected,
        refused: false,
    });
}

/// Requires faults, which only the demo has.
pub fn has_faults(state: &State) -> Available {
    if state.options.faults.is_empty() {
        Err("available in `flightdeck demo` only".into())
    } else {
        Ok(())
    }
}

/// Sorts by an order of the list, its first value first.
fn sort_by(state: &mut State, sort: usize) {
    let name = match rows::is_tree_with(state, sort) {
        true => "address",
        false => rows::sorts(state.context())[sort].name,
    };
    let list = state.list_mut();
    (list.sort, list.descending) = (sort, false);
    state.show_message(format!("sorted by {name}"));
}

/// Sorts by a column; reverses the order if the list is sorted by it already.
pub fn sort_by_column(state: &mut State, title: &str, effects: &mut Vec<Effect>) {
    let sorts = rows::sorts(state.context());
    match sorts.iter().position(|s| s.column == title) {
        _ if title.is_empty() => {}
        Some(sort) if sort == state.list().sort => reverse_sort(state, effects),
        Some(sort) => sort_by(state, sort),
        None => state.show_error(format!("{title}: this list has no such sort order")),
    }
}

pub fn next_sort(state: &mut State, _: &mut Vec<Effect>) {
    let count = rows::sorts(state.context()).len();
    let was_tree = state.frame.tree.is_some();
    let mut sort = (state.list().sort + 1) % count;
    // Several orders are the same tree, which is sorted by address.
    for _ in 0..count {
        if !was_tree || !rows::is_tree_with(state, sort) {
            break;
        }
        sort = (sort + 1) % count;
    }
    sort_by(state, sort);
}

pub fn reverse_sort(state: &mut State, _: &mut Vec<Effect>) {
    let list = state.list_mut();
    list.descending = !list.descending;
    let text = if list.descending {
        "sort order reversed"
    } else {
        "sort order restored"
    };
    state.show_message(text);
}

pub fn copy(state: &mut State, effects: &mut Vec<Effect>) {
    let text = if layout::detail_has_keys(state) {
        plain_text(&state.detail())
    } else {
        let Some(row) = state.selected() else { return };
        match (state.context(), &row.key) {
            // Keys of log lines are numbers; the text is of more use.
            (Context::Logs, _) => state
                .log
                .get(row.index)
                .map(|e| e.line.text.clone())
                .unwrap_or_default(),
            (Context::Start, _) => rows::text(state, Context::Start, row),
            (_, RowKey::Text(t)) => t.clone(),
            (_, RowKey::Number(n)) => n.to_string(),
        }
    };
    copy_text(state, effects, text);
}

/// Longest text to copy, in bytes. Terminals ignore longer sequences, and none reports it: 100,000
/// bytes with the encoding is the limit of the strictest ones.
const MAX_COPY: usize = 74_994;

/// Copies a text to the clipboard of the terminal, and says how much and which way.
pub fn copy_text(state: &mut State, effects: &mut Vec<Effect>, text: String) {
    let n = text.len();
    if n > MAX_COPY {
        state.show_error(format!(
            "not copied: {n} bytes are more than the {MAX_COPY} that terminals accept"
        ));
        return;
    }
    // tmux ignores the request with its default value, `external`.
    let passing = if state.options.tmux {
        "; tmux passes it on only with `set -s set-clipboard on`"
    } else {
        ""
    };
    state.show_message(format!(
        "copied {} to the terminal's clipboard (OSC 52){passing}",
        count(n, "byte")
    ));
    effects.push(Effect::Copy(text));
}

pub fn palette(state: &mut State, _: &mut Vec<Effect>) {
    state.open(Palette::default());
}

pub fn help(state: &mut State, _: &mut Vec<Effect>) {
    state.open(Help::default());
}

pub fn show_messages(state: &mut State, _: &mut Vec<Effect>) {
    let mut doc = Doc::new();
    for m in state.frame.messages.iter().rev() {
        let (role, sign) = match m.weight {
            Weight::Good => (Role::Plain, " "),
            Weight::Bad => (Role::Bad, "✗"),
        };
        let time = clock(m.at, state.utc_offset);
        // Errors may have several lines.
        for (i, text) in m.text.lines().enumerate() {
            let head = if i == 0 { time.as_str() } else { "" };
            let sign = if i == 0 { sign } else { " " };
            doc.push(vec![
                span(Role::Dim, format!("{head:<9}")),
                span(role, format!("{sign} {text}")),
            ]);
        }
    }
    if doc.is_empty() {
        doc.push(line(Role::Dim, "no messages yet"));
    }
    state.open(Message::new("Messages", doc));
}

pub fn open_faults(state: &mut State, _: &mut Vec<Effect>) {
    state.open(Demo::default());
}

pub fn next_theme(state: &mut State, _: &mut Vec<Effect>) {
    state.frame.themes.choose_next();
    let text = format!("theme: {}", state.frame.themes.current().name);
    state.show_message(text);
}

pub fn choose_theme(state: &mut State, _: &mut Vec<Effect>) {
    let list = ThemeList::new(&state.frame.themes);
    state.open(list);
}

pub fn toggle_mouse(state: &mut State, effects: &mut Vec<Effect>) {
    state.frame.mouse = !state.frame.mouse;
    effects.push(Effect::Mouse(state.frame.mouse));
    state.show_message(if state.frame.mouse {
        "mouse on"
    } else {
        "mouse off: the terminal selects text"
    });
}

pub fn toggle_notifications(state: &mut State, _: &mut Vec<Effect>) {
    state.frame.notifies = !state.frame.notifies;
    state.show_message(if state.frame.notifies {
        "notifications on: when a deploy ends or a plugin gives up while the terminal has no focus"
    } else {
        "notifications off"
    });
}

/// Sets the list's share. A short list leaves its unused lines to the detail, so a step may be
/// invisible; a message reports it.
fn split(state: &mut State, percent: u16) {
    state.frame.split = percent;
    state.show_message(format!("list {percent} %, detail {} %", 100 - percent));
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

/// Shows a screen and requests the data it needs.
pub fn show(state: &mut State, effects: &mut Vec<Effect>, screen: Screen) {
    state.switch_to(screen);
    effects.extend((screen.of().load)());
}

/// Leads to a screen. `back` returns to the current place.
pub fn go_to(state: &mut State, effects: &mut Vec<Effect>, screen: Screen) {
    state.leave_place();
    state.screen = screen;
    // The detail of another row would cover the list.
    let list = state.list_mut();
    (list.zoom, list.focus, list.scroll) = (false, Pane::List, 0);
    effects.extend((screen.of().load)());
}

pub fn show_incidents(state: &mut State, _: &mut Vec<Effect>) {
    state.open(Incidents::new(&state.incidents()));
}

/// Leads to a plugin on the Plugins screen, with one of its panes.
pub fn go_to_plugin(
    state: &mut State,
    effects: &mut Vec<Effect>,
    plugin: &PluginId,
    tab: PluginTab,
) {
    state.leave_place();
    state.screen = Screen::Plugins;
    state.filters.plugin_tab = tab;
    let list = &mut state.lists[Context::Plugins as usize];
    // A filter could hide the plugin.
    list.filter.clear();
    (list.zoom, list.focus, list.scroll) = (false, Pane::List, 0);
    list.key = Some(RowKey::Text(plugin.to_string()));
    effects.extend((Screen::Plugins.of().load)());
}
