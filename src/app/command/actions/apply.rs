//! The question before a deploy: how many of what, every loss by name, what is left out.

use super::select::on_screen;
use crate::app::doc;
use crate::app::doc::{Doc, Line, Role, action_sign, line, span};
use crate::app::entry::Entry;
use crate::app::format::count;
use crate::app::msg::Effect;
use crate::app::state::*;
use crate::engine::stage::commands::asked_for;
use crate::engine::words::DeployRequest;
use crate::engine::words::{Action, ChangeView, DriftKind, OutputView, StageMode, StageSummary};

/// Outputs that would have another value.
pub(super) fn outputs(s: &StageSummary) -> impl Iterator<Item = &OutputView> {
    s.outputs.iter().filter(|o| o.action != Action::NoOp)
}

/// Objects that would only have another address.
pub(super) fn moves(s: &StageSummary) -> impl Iterator<Item = &ChangeView> {
    s.changes
        .iter()
        .filter(|c| c.action == Action::NoOp && c.does_something())
}

/// What a refresh-only deploy makes of what was found, by name.
fn accepting(s: &StageSummary) -> Doc {
    let mut body = vec![line(
        Role::Warn,
        "the state takes over what was found; nothing in the world is changed",
    )];
    for what in [DriftKind::Gone, DriftKind::Changed, DriftKind::Moved] {
        let found: Vec<_> = s.drift.iter().filter(|d| d.what == what).collect();
        if !found.is_empty() {
            body.push(Line::new());
            let role = doc::drift_role(what);
            body.push(line(
                role,
                format!(
                    "{} {}, {}:",
                    count(found.len(), "object"),
                    what.word(),
                    what.accepted()
                ),
            ));
            body.extend(
                found
                    .iter()
                    .map(|d| line(Role::Plain, format!("  {}", d.address))),
            );
        }
    }
    body
}

fn named(body: &mut Doc, word: &str, role: Role, changes: &[&ChangeView]) {
    if changes.is_empty() {
        return;
    }
    body.push(Line::new());
    body.push(line(
        role,
        format!("{} {word}:", count(changes.len(), "object")),
    ));
    for c in changes {
        let mut l = vec![span(Role::Plain, "  ")];
        l.extend(action_sign(c.action));
        l.push(span(Role::Plain, format!(" {}", c.address)));
        body.push(l);
    }
}

/// What a deploy of the stage would do, but for what is lost by it.
fn said_of(state: &State, s: &StageSummary, taken: &[&ChangeView]) -> Doc {
    let mut counted = crate::engine::words::Counts::default();
    taken.iter().for_each(|c| counted.add(c.action));
    let mut body: Doc = vec![{
        let mut l = vec![span(
            Role::Plain,
            format!("{}: ", count(taken.len(), "change")),
        )];
        l.extend(doc::counts(&counted));
        l
    }];
    if s.mode == StageMode::RefreshOnly {
        body = accepting(s);
    } else if s.mode != StageMode::Normal {
        body.push(line(
            Role::Warn,
            format!("this stage was made as: {}", doc::mode(s.mode)),
        ));
    }
    aside(&mut body, state, s, taken);
    if moves(s).next().is_some() {
        body.push(line(
            Role::Plain,
            format!(
                "{} at another address in the state",
                count(moves(s).count(), "object")
            ),
        ));
    }
    if outputs(s).next().is_some() {
        let names: Vec<&str> = outputs(s).map(|o| o.name.as_str()).collect();
        body.push(line(
            Role::Plain,
            format!("{}: {}", count(names.len(), "output"), names.join(", ")),
        ));
    }
    if let Some((count, lines)) = asked_for(taken.iter().copied()) {
        body.push(Line::new());
        body.push(line(Role::Warn, format!("{count}:")));
        body.extend(
            lines
                .into_iter()
                .map(|l| line(Role::Plain, format!("  {l}"))),
        );
    }
    body
}

/// What is left out, and what is applied without being on the screen.
fn aside(body: &mut Doc, state: &State, s: &StageSummary, taken: &[&ChangeView]) {
    if !state.view.left.is_empty() {
        let left = s
            .changes
            .iter()
            .filter(|c| c.action != Action::NoOp && state.view.left.contains(&c.address))
            .count();
        body.push(line(
            Role::Dim,
            format!("{} left out", count(left, "change")),
        ));
    }
    let shown = on_screen(state);
    let hidden = taken
        .iter()
        .filter(|t| !shown.iter().any(|c| c.address == t.address))
        .count();
    if hidden > 0 {
        body.push(line(
            Role::Warn,
            format!("{hidden} of them hidden by the filter"),
        ));
    }
}

/// The question before a deploy: how many of what, every destroy and replace by name, what is left
/// out.
pub fn ask_apply(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(s) = &state.view.stage else { return };
    let twice = state.created_twice().next().map(|c| c.address.clone());
    if let Some(address) = twice {
        let selected = state
            .view
            .unknown
            .iter()
            .position(|u| u.creation && u.address == address)
            .unwrap_or(0);
        state.frame.popup = Some(Popup::Unknown {
            selected,
            refused: true,
        });
        return;
    }
    let taken: Vec<&ChangeView> = state.taken().collect();
    let of = |f: fn(Action) -> bool| {
        taken
            .iter()
            .copied()
            .filter(|c| f(c.action))
            .collect::<Vec<_>>()
    };
    let (destroys, replaces) = (
        of(|a| a == Action::Destroy),
        of(|a| matches!(a, Action::Replace | Action::ReplaceCreateFirst)),
    );
    let mut body = said_of(state, s, &taken);
    named(&mut body, "destroyed", Role::Destroy, &destroys);
    named(
        &mut body,
        "replaced (destroyed and created anew)",
        Role::Destroy,
        &replaces,
    );
    let lost = destroys.len() + replaces.len();
    let (stage, parallelism) = (s.stage, state.parallelism);
    let only =
        (!state.view.left.is_empty()).then(|| taken.iter().map(|c| c.address.clone()).collect());
    let title = format!("apply stage #{stage}?");
    // Withdraws the question below if the workspace has changed since staging.
    effects.push(Effect::CheckStage(stage));
    state.frame.popup = Some(Popup::Confirm(Box::new(Confirm {
        title,
        body,
        yes: false,
        typed: (lost >= state.typed_from).then(|| (format!("destroy {lost}"), Entry::default())),
        effects: vec![Effect::Deploy(DeployRequest {
            stage,
            only,
            parallelism,
            variables: Vec::new(),
        })],
        after: After::Goto(Screen::Deploy),
        stage: Some(stage),
        scroll: 0,
    })));
}
