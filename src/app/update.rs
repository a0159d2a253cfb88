//! State transitions of the console: applies a message and returns the requested effects. Uses no
//! clock, terminal or engine.

use super::choices::Choices;
use super::doc::{Role, line, varying};
use super::groups::is_failed_member;
use super::input::on_input;
use super::key::Input;
use super::list::Pane;
use super::message_handlers::{on_answer, on_event};
use super::msg::{Effect, Msg};
use super::progress::Progress;
use super::requests::{
    ask_for_observations, ask_for_operations, ask_for_schema, follow_foreign_rollouts,
};
use super::screens::{Body, axis_cells, shared_reason};
use super::state::*;
use super::unprompted::{ask_for_trust, offer_install, open_start_once, open_unknown_once};
use super::{column, layout, rows, text};
use model::UnixMs;
use model::view::View;
use model::*;

/// Returns the effects of the start.
pub fn start(state: &State) -> Vec<Effect> {
    let mut effects = vec![
        Effect::WatchWorkspace,
        Effect::LoadHistory,
        Effect::LoadState,
        Effect::LoadLogs,
    ];
    if state.place.configured {
        // Without a configuration there is nothing to launch.
        effects.push(Effect::LoadPlugins);
    }
    effects
}

/// Applies one message.
pub fn update(state: &mut State, msg: Msg) -> Vec<Effect> {
    let mut effects = Vec::new();
    // A program that continues after a stop gets one, too.
    let is_resize = matches!(msg, Msg::Input(Input::Resize(..)));
    let is_tick = matches!(msg, Msg::Tick(_));
    match msg {
        Msg::Input(input) => {
            // Messages since the last frame may have changed the rows, but the key must act on
            // current ones.
            if state.frame.outdated {
                refresh_lists(state);
            }
            on_input(state, input, &mut effects);
            ask_for_schema(state, &mut effects);
            ask_for_operations(state, &mut effects);
            ask_for_observations(state, &mut effects);
        }
        Msg::Tick(now) => {
            tick(state, now, &mut effects);
            ask_for_operations(state, &mut effects);
            ask_for_observations(state, &mut effects);
        }
        Msg::Events(events) => {
            for e in events {
                on_event(state, &e, &mut effects);
            }
            // A plugin that becomes ready may be the one whose schema is open.
            ask_for_schema(state, &mut effects);
        }
        Msg::Snapshot(view) => {
            let missed = view.seq.saturating_sub(state.view.seq);
            let stage = |view: &View| view.stage.as_ref().map(|s| s.stage);
            if stage(view.as_ref()) != stage(&state.view) {
                state.selections.start(view.left.iter().cloned());
            }
            state.view = *view;
            if missed > 0 && state.now > 0 {
                state.show_message(format!(
                    "{missed} events were skipped to catch up; the screen shows the current state"
                ));
            }
        }
        Msg::Answer(answer) => on_answer(state, answer, &mut effects),
        // Expected: this engine ends because another one is being opened.
        Msg::EngineGone if state.ending.opening_workspace.is_some() => {}
        Msg::EngineGone => {
            state.show_error("the engine has ended");
            state.ending.quit = true;
        }
        Msg::Terminate => {
            // The console ends at once; the deploy is ended in steps after it.
            if state.is_deploying() {
                effects.push(Effect::Cancel(CancelRung::StopStarting));
            }
            state.ending.quit = true;
        }
    }
    hide_revealed(state, is_resize);
    if is_tick || state.ending.is_due() {
        save_choices(state, &mut effects);
    }
    // Popups open after the message, so that a pending key is never applied to them.
    open_start_once(state);
    ask_for_trust(state);
    open_unknown_once(state);
    offer_install(state);
    // The next frame builds the rows, or the next key if it comes first.
    state.frame.outdated = true;
    effects
}

/// Builds the rows, and updates cursor and scrolling. Called before a frame is drawn, and before a
/// key is handled if a message came since the last frame.
pub fn refresh_lists(state: &mut State) {
    rows::refresh_tree(state);
    let stage = state.view.stage.as_ref();
    let number = stage.map(|s| s.stage);
    // Once for each stage, because it looks at all attributes.
    if state.frame.varying.0 != number {
        let varying = stage.map(|s| varying(&s.changes)).unwrap_or_default();
        state.frame.varying = (number, varying);
    }
    let is_deploy = matches!(state.context(), Context::Deploy | Context::Replay);
    state.frame.progress = match is_deploy {
        true => Progress::of(state),
        false => Progress::default(),
    };
    state.frame.shared_reason = is_deploy.then(|| shared_reason(state)).flatten();
    let listed = rows::rows(state);
    (state.frame.rows, state.frame.pinned) = (listed.rows, listed.pinned);
    (state.frame.tree, state.frame.shown) = (listed.tree, listed.shown);
    state.frame.counts = listed.counts;
    state.frame.outdated = false;
    update_cursor(state);
    measure_columns(state);
    // The axis takes a share of the measured column.
    if is_deploy {
        state.frame.axis_cells = axis_cells(state);
    }
}

/// Number of rows that are all measured for each frame. Columns of a longer list only grow, so that
/// they do not move while it scrolls.
const MEASURED: usize = 200;

/// Measures the cells of the current list.
fn measure_columns(state: &mut State) {
    let Body::Table { columns, cells } = &state.context().of().body else {
        return;
    };
    let (rows, list) = (&state.frame.rows, state.list());
    let many = rows.len() > MEASURED;
    let mut contents = Vec::new();
    let mut measured = Vec::new();
    if many && list.measured == rows.len() {
        contents.clone_from(&list.contents);
    } else {
        measured.extend(rows.iter().step_by(rows.len().div_ceil(MEASURED).max(1)));
    }
    if many {
        measured.extend(&rows[..state.frame.pinned]);
        let visible = rows.iter().skip(state.frame.pinned + list.offset);
        measured.extend(visible.take(layout::list_height(state)));
    }
    for row in measured.into_iter().filter(|r| !r.heading) {
        let cells = cells(state, row);
        match &cells[..] {
            // A cell that extends over all columns does not decide about the first one.
            [_] if columns.len() > 1 => column::measure(&mut contents, &[line(Role::Plain, "─")]),
            cells => column::measure(&mut contents, cells),
        }
    }
    // The heading of the sorted column has a mark.
    if let Some((title, _)) = rows::sorted_column(state) {
        let at = columns.iter().position(|c| c.title == title);
        if let Some(content) = at.and_then(|at| contents.get_mut(at)).filter(|c| **c > 0) {
            *content = (*content).max(u16::try_from(text::width(title)).unwrap_or(0) + 2);
        }
    }
    let rows = rows.len();
    let list = state.list_mut();
    (list.contents, list.measured) = (contents, rows);
}

/// Moves the cursor to its row, and scrolls list and detail.
pub(super) fn update_cursor(state: &mut State) {
    let height = layout::list_height(state).max(1);
    let pinned = layout::pinned(state, height);
    // Taken out while the list borrows the state mutably.
    let rows = std::mem::take(&mut state.frame.rows);
    let follow =
        state.context() == Context::Logs && state.log.follow && state.frame.prompt.is_none();
    let first = match state.context() {
        Context::Deploy => state.is_deploying().then_some(0),
        Context::Calls => (!state.view.calls.is_empty()).then_some(0),
        // The next keys of a paused rollout act on the member that failed.
        Context::Groups if state.is_deploying() => None,
        Context::Groups => rows.iter().position(|row| is_failed_member(state, row)),
        _ => None,
    };
    let list = state.list_mut();
    if follow && !list.zoom {
        list.move_to(&rows, usize::MAX);
    } else if let Some(first) = first
        && !list.moved
        && !list.zoom
        && list.focus == Pane::List
    {
        // Shows what runs or has failed until the operator moves the cursor.
        list.move_to(&rows, first);
    }
    list.restore_cursor(&rows, height, pinned);
    state.frame.rows = rows;
    state.keep_detail();
    // Wrapping the detail is costly, so only a scrolled one is measured.
    if state.list().scroll > 0 {
        let (cells, lines) = layout::detail_size(state);
        let all = if lines == 0 {
            0
        } else {
            state.wrapped_detail(cells).len()
        };
        let list = state.list_mut();
        list.scroll = list.scroll.min(all.saturating_sub(lines.min(all).max(1)));
    }
}

/// Hides a sensitive value when its time is over, and at once if the screen may be another one.
fn hide_revealed(state: &mut State, is_resize: bool) {
    if let Some(Popup::Reveal(popup)) = &state.frame.popup
        && (popup.is_over(state.now) || is_resize && popup.is_shown())
    {
        state.frame.popup = None;
    }
}

/// Requests a write of changed choices. Called once a second at most, because a held key changes
/// the split many times.
fn save_choices(state: &mut State, effects: &mut Vec<Effect>) {
    if !state.options.keeps_choices {
        return;
    }
    let now = Choices::of(state);
    if state.saved_choices.as_ref() != Some(&now) {
        let before = state.saved_choices.replace(now.clone()).unwrap_or_default();
        effects.push(Effect::SaveChoices { before, now });
    }
}

fn tick(state: &mut State, now: UnixMs, effects: &mut Vec<Effect>) {
    let passed = now - state.now;
    state.now = now;
    if let Some(r) = state.loaded.replay.as_mut().filter(|r| r.is_playing) {
        r.play(passed);
    }
    state.samples.end_second(&state.view);
    state.expire_message();
    follow_foreign_rollouts(state, effects);
    if !state.place.configured && state.questions.seek_configuration() {
        effects.push(Effect::FindConfiguration);
    }
}

/// Records changes that were selected or deselected together with others, and reports the first
/// one.
pub(super) fn selected(state: &mut State, stage: StageId, selection: model::Selection) {
    if state.view.stage.as_ref().is_none_or(|s| s.stage != stage) {
        return;
    }
    state.selections.record(&selection.left);
    let taken: std::collections::BTreeSet<&String> = selection.taken.iter().collect();
    // A note is valid only while the change is still on the same side of the selection.
    state
        .implied
        .retain(|address, a| taken.contains(address) == a.selected);
    for (address, by) in &selection.along {
        let pulled_in = taken.contains(address);
        state.implied.insert(
            address.clone(),
            ImpliedSelection {
                selected: pulled_in,
                cause: by.clone(),
            },
        );
    }
    if let Some((address, by)) = selection.along.first() {
        let word = if taken.contains(address) {
            "selected"
        } else {
            "deselected"
        };
        let more = if selection.along.len() > 1 {
            format!(" and {} more", selection.along.len() - 1)
        } else {
            String::new()
        };
        state.show_message(format!("{address}{more} {word} along with {by}"));
    }
}
