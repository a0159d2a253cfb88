//! Commands of the Stage and Deploy screens: take, leave, why, apply, cancel, retry.

use crate::app::command::Available;
use crate::app::doc::{self, Doc, Line, Role, action_sign, line, span};
use crate::app::entry::Entry;
use crate::app::format::count;
use crate::app::list::Pane;
use crate::app::msg::Effect;
use crate::app::state::*;
use crate::engine::stage::commands::asked_for;
use crate::engine::words::{
    Action, ChangeView, DeployRequest, DriftKind, OutputView, Select, StageMode, StageRequest,
    StageSummary, Unknown,
};

/// Nobody else holds the workspace.
pub fn writable(state: &State) -> Available {
    match state.locked_by() {
        Some(h) => Err(format!(
            "read-only: {} on {} holds the workspace (pid {}, {})",
            h.who, h.host, h.pid, h.reason
        )
        .into()),
        None => Ok(()),
    }
}

/// There is a stage.
pub fn has_stage(state: &State) -> Available {
    if state.view.stage.is_some() {
        Ok(())
    } else {
        Err("nothing is staged: press s".into())
    }
}

/// There is a change under the cursor, and it may be taken or left.
pub fn on_change(state: &State) -> Available {
    writable(state)?;
    match state.change() {
        None => Err("there is no change under the cursor".into()),
        Some(c) if c.action == Action::NoOp => Err("nothing would happen to this one".into()),
        Some(_) => Ok(()),
    }
}

/// Nothing else runs that a stage would meet.
pub fn can_stage(state: &State) -> Available {
    writable(state)?;
    if state.deploying() {
        return Err("a deploy is running".into());
    }
    if state.view.staging.is_some() {
        return Err("a stage is being worked out".into());
    }
    Ok(())
}

/// There is something to apply and nothing in its way.
pub fn can_apply(state: &State) -> Available {
    can_stage(state)?;
    has_stage(state)?;
    if state.view.stage_error.is_some() {
        return Err("the last staging failed: stage again first".into());
    }
    let refreshed = |s: &StageSummary| s.mode == StageMode::RefreshOnly && !s.drift.is_empty();
    let aside =
        state.view.stage.as_ref().is_some_and(|s| {
            outputs(s).next().is_some() || moves(s).next().is_some() || refreshed(s)
        });
    if state.taken().next().is_none() && !aside {
        return Err("no change is taken".into());
    }
    Ok(())
}

/// A stage or deploy runs, or some call does.
pub fn something_runs(state: &State) -> Available {
    if state.deploying() || state.view.staging.is_some() || !state.view.calls.is_empty() {
        Ok(())
    } else {
        Err("nothing is running".into())
    }
}

/// The last staging said something.
pub fn has_diagnostics(state: &State) -> Available {
    if state.view.diagnostics.is_empty() {
        Err("the last staging had no errors or warnings".into())
    } else {
        Ok(())
    }
}

/// Something of the deploy is left to do.
pub fn can_retry(state: &State) -> Available {
    can_stage(state)?;
    if left_over(state) == 0 {
        Err("nothing failed and nothing is left".into())
    } else {
        Ok(())
    }
}

fn stage_id(state: &State) -> Option<i64> {
    state.view.stage.as_ref().map(|s| s.stage)
}

fn taken(state: &State, c: &ChangeView) -> bool {
    !state.view.left.contains(&c.address)
}

pub fn toggle_change(state: &mut State, effects: &mut Vec<Effect>) {
    let (Some(stage), Some(c)) = (stage_id(state), state.change()) else {
        return;
    };
    let address = c.address.clone();
    let select = if taken(state, c) {
        Select::Leave(address)
    } else {
        Select::Take(address)
    };
    effects.push(Effect::Select(stage, vec![select]));
}

pub fn leave_change(state: &mut State, effects: &mut Vec<Effect>) {
    let (Some(stage), Some(c)) = (stage_id(state), state.change()) else {
        return;
    };
    if taken(state, c) {
        effects.push(Effect::Select(
            stage,
            vec![Select::Leave(c.address.clone())],
        ));
    } else {
        state.say("it is left already");
    }
}

/// Changes on the screen: what is hidden is never acted on.
fn on_screen(state: &State) -> Vec<&ChangeView> {
    let Some(s) = &state.view.stage else {
        return Vec::new();
    };
    state
        .frame
        .rows
        .iter()
        .filter_map(|r| s.changes.get(r.index))
        .filter(|c| c.action != Action::NoOp)
        .collect()
}

fn whole(state: &State) -> bool {
    state.filters.action.is_none() && state.list().filter.is_empty()
}

fn select_many(
    state: &State,
    effects: &mut Vec<Effect>,
    all: Select,
    one: impl Fn(&ChangeView) -> Option<Select>,
) {
    if writable(state).is_err() {
        return;
    }
    let Some(stage) = stage_id(state) else { return };
    let selects = if whole(state) {
        vec![all]
    } else {
        on_screen(state).into_iter().filter_map(one).collect()
    };
    if !selects.is_empty() {
        effects.push(Effect::Select(stage, selects));
    }
}

pub fn take_all(state: &mut State, effects: &mut Vec<Effect>) {
    select_many(state, effects, Select::All, |c| {
        (!taken(state, c)).then(|| Select::Take(c.address.clone()))
    });
}

pub fn take_none(state: &mut State, effects: &mut Vec<Effect>) {
    select_many(state, effects, Select::None, |c| {
        taken(state, c).then(|| Select::Leave(c.address.clone()))
    });
}

pub fn invert(state: &mut State, effects: &mut Vec<Effect>) {
    select_many(state, effects, Select::Invert, |c| {
        let address = c.address.clone();
        Some(if taken(state, c) {
            Select::Leave(address)
        } else {
            Select::Take(address)
        })
    });
}

pub fn show_why(state: &mut State, _: &mut Vec<Effect>) {
    let (Some(c), Some(s)) = (state.change(), &state.view.stage) else {
        return;
    };
    let mut doc = doc::why(c, &s.changes);
    if let Some(a) = state.along.get(&c.address) {
        doc.push(Line::new());
        doc.push(line(
            Role::Warn,
            format!(
                "{} along with {}",
                if a.pulled_in { "taken" } else { "left" },
                a.by
            ),
        ));
    }
    state.frame.popup = Some(Popup::Message {
        title: "why".to_owned(),
        doc,
        scroll: 0,
    });
}

pub fn show_diagnostics(state: &mut State, _: &mut Vec<Effect>) {
    let doc = doc::diagnostics("", state.view.diagnostics.iter());
    state.frame.popup = Some(Popup::Message {
        title: "errors and warnings".to_owned(),
        doc,
        scroll: 0,
    });
}

fn request(state: &mut State, effects: &mut Vec<Effect>, request: StageRequest) {
    state.filters.action = None;
    state.along.clear();
    effects.push(Effect::Stage(request));
    state.screen = Screen::Stage;
}

pub fn stage_again(state: &mut State, effects: &mut Vec<Effect>) {
    request(state, effects, StageRequest::default());
}

pub fn stage_destroy(state: &mut State, effects: &mut Vec<Effect>) {
    request(
        state,
        effects,
        StageRequest {
            mode: StageMode::Destroy,
            ..StageRequest::default()
        },
    );
}

pub fn stage_refresh(state: &mut State, effects: &mut Vec<Effect>) {
    request(
        state,
        effects,
        StageRequest {
            mode: StageMode::RefreshOnly,
            ..StageRequest::default()
        },
    );
}

fn only(state: &mut State, filter: ActionFilter) {
    state.filters.action = if state.filters.action == Some(filter) {
        None
    } else {
        Some(filter)
    };
}

pub fn only_creates(state: &mut State, _: &mut Vec<Effect>) {
    only(state, ActionFilter::Create);
}

pub fn only_updates(state: &mut State, _: &mut Vec<Effect>) {
    only(state, ActionFilter::Update);
}

pub fn only_replaces(state: &mut State, _: &mut Vec<Effect>) {
    only(state, ActionFilter::Replace);
}

pub fn only_destroys(state: &mut State, _: &mut Vec<Effect>) {
    only(state, ActionFilter::Destroy);
}

pub fn toggle_unchanged(state: &mut State, _: &mut Vec<Effect>) {
    state.filters.unchanged = !state.filters.unchanged;
}

/// Outputs that would have another value.
fn outputs(s: &StageSummary) -> impl Iterator<Item = &OutputView> {
    s.outputs.iter().filter(|o| o.action != Action::NoOp)
}

/// Objects that would only have another address.
fn moves(s: &StageSummary) -> impl Iterator<Item = &ChangeView> {
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

/// The question before a deploy: how many of what, every destroy and replace by name, what is left
/// out.
pub fn ask_apply(state: &mut State, _: &mut Vec<Effect>) {
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
    state.frame.popup = Some(Popup::Confirm(Box::new(Confirm {
        title,
        body,
        yes: false,
        typed: (lost >= state.typed_from).then(|| (format!("destroy {lost}"), Entry::default())),
        effects: vec![Effect::Deploy(DeployRequest {
            stage,
            only,
            parallelism,
        })],
        after: After::Goto(Screen::Deploy),
        stage: Some(stage),
        scroll: 0,
    })));
}

/// Whether the object under the cursor was made by an earlier deploy is not known.
pub fn on_unknown(state: &State) -> Available {
    can_stage(state)?;
    let unknown = |c: &&ChangeView| {
        c.action == Action::Create && state.unknown_of(&c.address).is_some_and(|u| u.creation)
    };
    if state.change().filter(unknown).is_some() {
        Ok(())
    } else {
        Err("nothing that was to be created here is unknown".into())
    }
}

pub fn ask_forget(state: &mut State, _: &mut Vec<Effect>) {
    let unknown = state
        .change()
        .and_then(|c| state.unknown_of(&c.address))
        .cloned();
    if let Some(u) = unknown {
        state.frame.popup = Some(forget(&u));
    }
}

/// The question before an object is taken for whole whose provisioners may not all have run.
pub fn untaint(u: &Unknown) -> Popup {
    Popup::Confirm(Box::new(Confirm {
        title: format!("is {} as it should be?", u.address),
        body: vec![
            line(
                Role::Plain,
                format!(
                    "The {} of it was begun in deploy #{}, and its end is not on record.",
                    u.step, u.deploy
                ),
            ),
            line(
                Role::Warn,
                "Yes takes the mark away that it is to be replaced: its provisioners do not run again.",
            ),
        ],
        yes: false,
        typed: None,
        effects: vec![Effect::Untaint(u.address.clone())],
        after: After::Nothing,
        stage: None,
        scroll: 0,
    }))
}

/// The question before what is unknown is let go of.
pub fn forget(u: &Unknown) -> Popup {
    let (title, body) = if u.creation {
        let body = vec![
            line(
                Role::Plain,
                "An earlier deploy began to create it, and no answer is on record.",
            ),
            line(
                Role::Warn,
                "Look for it in the target system first: if it is there, the next deploy makes a second one.",
            ),
            line(
                Role::Dim,
                "Where it is there, take it in instead: i in the list of what is unknown, or an import block.",
            ),
        ];
        (format!("was {} never made?", u.address), body)
    } else {
        let body = vec![
            line(
                Role::Plain,
                format!(
                    "The {} of it was begun in deploy #{}, and no answer is on record.",
                    u.step, u.deploy
                ),
            ),
            line(
                Role::Warn,
                "The object goes out of the state, and stays where it is: nothing here looks after it any more.",
            ),
            line(Role::Dim, "To keep it, stage instead: it is read back."),
        ];
        (format!("let go of {}?", u.name()), body)
    };
    let name = if u.creation {
        u.address.clone()
    } else {
        u.name()
    };
    Popup::Confirm(Box::new(Confirm {
        title,
        body,
        yes: false,
        typed: None,
        effects: vec![Effect::Forget(vec![name])],
        after: After::Nothing,
        stage: None,
        scroll: 0,
    }))
}

pub fn open_ladder(state: &mut State, _: &mut Vec<Effect>) {
    state.frame.popup = Some(Popup::Ladder { selected: 0 });
}

/// How many operations the shown deploy did not bring to an end.
fn left_over(state: &State) -> usize {
    let ended = state
        .shown_deploy()
        .map(|(d, _)| d)
        .filter(|d| d.summary.is_some());
    ended.map_or(0, |d| d.operations.iter().filter(|o| o.is_left()).count())
}

pub fn retry_rest(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(deploy) = state.shown_deploy().map(|(d, _)| d.deploy) else {
        return;
    };
    state.say(format!(
        "staging {} of deploy #{deploy}",
        count(left_over(state), "resource")
    ));
    request(
        state,
        effects,
        StageRequest {
            rest_of: Some(deploy),
            ..StageRequest::default()
        },
    );
}

pub fn next_deploy_filter(state: &mut State, _: &mut Vec<Effect>) {
    // The list is looked at again: what was open may not be in it any more.
    let list = state.list_mut();
    (list.zoom, list.focus) = (false, Pane::List);
    state.filters.deploy = state.filters.deploy.next();
}

/// There is a resource under the cursor, and nothing in the way of a stage.
pub fn on_resource(state: &State) -> Available {
    can_stage(state)?;
    super::has_row(state)
}

fn resource(state: &State) -> Option<String> {
    let row = state.selected()?;
    Some(
        state
            .loaded
            .state_rows
            .as_ref()?
            .get(row.index)?
            .address
            .clone(),
    )
}

pub fn refresh_resource(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(address) = resource(state) else {
        return;
    };
    request(
        state,
        effects,
        StageRequest {
            mode: StageMode::RefreshOnly,
            target: vec![address],
            ..StageRequest::default()
        },
    );
}

pub fn replace_resource(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(address) = resource(state) else {
        return;
    };
    request(
        state,
        effects,
        StageRequest {
            target: vec![address.clone()],
            replace: vec![address],
            ..StageRequest::default()
        },
    );
}
