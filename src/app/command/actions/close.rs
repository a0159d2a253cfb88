//! Commands that close panes and filters step by step, and leave the console.

use super::search::clear_search;
use crate::app::command::Available;
use crate::app::list::Pane;
use crate::app::msg::Effect;
use crate::app::state::*;
use model::CancelRung;

/// Closes one thing that is open. Returns false if there was none.
pub fn close_one(state: &mut State) -> bool {
    let context = state.context();
    // The schema browser is a zoomed plugin, so it is left by closing the zoom.
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
    if list.range.take().is_some() {
        return true;
    }
    if list.zoom || list.focus == Pane::Detail {
        (list.zoom, list.focus, list.scroll) = (false, Pane::List, 0);
    } else if !list.filter.is_empty() || !list.find.is_empty() {
        clear_search(state);
    } else if context == Context::Tracing {
        state.log.tracing = false;
    } else if context == Context::Replay {
        state.loaded.replay = None;
    } else if context == Context::Failures {
        state.filters.failures = false;
    } else {
        return false;
    }
    true
}

pub fn close_or_go_back(state: &mut State, _: &mut Vec<Effect>) {
    // Nothing is open, and no command led here: Esc then removes the message.
    if !close_one(state) && !state.go_back() && state.frame.toast.take().is_none() {
        let key = state.options.keys.first("quit");
        state.show_hint(format!("nothing to close or to go back to; {key} quits"));
    }
}

pub fn quit(state: &mut State, effects: &mut Vec<Effect>) {
    if !close_one(state) && !state.go_back() {
        quit_console(state, effects);
    }
}

pub fn interrupt(state: &mut State, effects: &mut Vec<Effect>) {
    // Ctrl-C never ends running work without a choice of the operator.
    if state.is_deploying() || state.view.staging.is_some() {
        super::open_cancel_rungs(state, effects);
    } else {
        quit_console(state, effects);
    }
}

/// Leaves the console, after a confirmation while a deploy or staging runs.
fn quit_console(state: &mut State, _: &mut Vec<Effect>) {
    use crate::app::doc::{Line, Role, line, span};
    let running: Vec<_> = state
        .view
        .deploy
        .iter()
        .filter(|d| d.summary.is_none())
        .flat_map(|d| &d.operations)
        .filter(|o| o.state == model::OperationState::Running)
        .map(|o| format!("{} ({})", o.address, o.step))
        .collect();
    if state.is_deploying() {
        let deploy = state.view.deploy.as_ref().map_or(0, |d| d.deploy);
        let mut body = vec![
            line(
                Role::Plain,
                "No new operation starts. flightdeck waits for the running ones:",
            ),
            Line::new(),
        ];
        body.extend(running.iter().map(|r| line(Role::Busy, format!("  ◐ {r}"))));
        body.push(Line::new());
        body.push(vec![
            span(Role::Key, "c"),
            span(
                Role::Dim,
                " opens the cancel ladder, which stops the deploy in steps.",
            ),
        ]);
        state.open(Confirm {
            title: format!(
                "Deploy #{deploy} is running: start no new operation, and quit when it has ended?"
            ),
            body,
            effects: vec![Effect::Cancel(CancelRung::StopStarting)],
            // Waits for the end of the deploy, so that every outcome is recorded.
            after: After::QuitWhenDone,
            answers: Answers {
                yes: "Quit",
                no: "Stay",
            },
            ..Confirm::default()
        });
    } else if let Some(s) = &state.view.staging {
        state.open(Confirm {
            title: format!("Stage #{} is being planned: cancel it and quit?", s.stage),
            body: vec![line(
                Role::Plain,
                "Staging changes nothing. You can stage again at any time.",
            )],
            effects: vec![Effect::Cancel(CancelRung::StopStarting)],
            // A cancelled staging leaves nothing to record, so nothing is waited for.
            after: After::Quit,
            answers: Answers {
                yes: "Quit",
                no: "Stay",
            },
            ..Confirm::default()
        });
    } else {
        state.ending.quit = true;
    }
}

/// Requires a shell that can resume the process.
pub fn has_shell(state: &State) -> Available {
    if state.options.shell {
        Ok(())
    } else {
        Err("cannot suspend: flightdeck has no parent shell to resume it".into())
    }
}

pub fn suspend(state: &mut State, effects: &mut Vec<Effect>) {
    let running = state.view.deploy.as_ref().filter(|d| d.summary.is_none());
    let what = running.map_or_else(String::new, |d| {
        format!(
            "flightdeck: deploy #{} starts no operation while it is suspended; ",
            d.deploy
        )
    });
    effects.push(Effect::Suspend(if what.is_empty() {
        what
    } else {
        what + "`bg` continues it, `fg` resumes the console"
    }));
}
