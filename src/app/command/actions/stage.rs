//! Commands of the Stage and Deploy screens, and those of the State screen that stage one resource.

use super::select::marked_rows;
use super::{can_stage, has_change, has_row};
use crate::app::command::Available;
use crate::app::doc;
use crate::app::doc::{Line, Role, line};
use crate::app::filter::{term_of, with_term};
use crate::app::format::count;
use crate::app::list::{Pane, Row};
use crate::app::msg::Effect;
use crate::app::popups::{After, Answers, Confirm, Ladder, Message};
use crate::app::state::*;
use model::{DeployId, Diagnostic, FileDifference, StageMode, StageRequest, StateRow};
use std::collections::BTreeSet;

/// Operations that the command `operations` shows one after the other, as values of `state:`.
const OPERATION_STATES: &[&str] = &["failed,unknown", "waiting,not-attempted", "done"];

/// Requires a change or an operation under the cursor.
pub fn has_reason(state: &State) -> Available {
    match (state.context(), state.operation()) {
        (Context::Stage, _) => has_change(state),
        (_, Some(_)) => Ok(()),
        (_, None) => Err("no operation under the cursor".into()),
    }
}

pub fn show_why(state: &mut State, _: &mut Vec<Effect>) {
    if let Some(op) = state.operation() {
        let doc = doc::reason_of_operation(state, op);
        state.open(Message::new("Reason", doc));
        return;
    }
    let (Some(c), Some(s)) = (state.change(), &state.view.stage) else {
        return;
    };
    let mut doc = doc::explain(c, &s.changes);
    if let Some(a) = state.implied.get(&c.address) {
        doc.push(Line::new());
        doc.push(line(
            Role::Warn,
            format!(
                "{} along with {}",
                if a.selected { "selected" } else { "deselected" },
                a.cause
            ),
        ));
    }
    state.open(Message::new("Reason", doc));
}

/// Changes whether each save of a configuration file stages again; a file that has changed before
/// does so at once.
pub fn toggle_stage_on_save(state: &mut State, effects: &mut Vec<Effect>) {
    state.stages_on_save = !state.stages_on_save;
    match state.stages_on_save {
        true if state.view.outdated().is_some() && super::can_stage(state).is_ok() => {
            stage_again(state, effects);
        }
        true => state.show_message("each save of a configuration file stages again"),
        false => state.show_message("a save stages nothing any more"),
    }
}

/// Requires a deploy with operations that has ended, because only then its critical path is known.
pub fn has_ended(state: &State) -> Available {
    match state.shown_deploy() {
        None => Err("there is no deploy".into()),
        Some((d, _)) if d.summary.is_none() => Err("the deploy has not ended".into()),
        Some((d, _)) if d.operations.is_empty() => Err("the deploy has no operations".into()),
        Some(_) => Ok(()),
    }
}

pub fn show_duration(state: &mut State, _: &mut Vec<Effect>) {
    let doc = doc::duration_of_deploy(state);
    state.open(Message::new("What took long", doc));
}

/// Returns the diagnostics of the shown deploy on the Deploy screen, otherwise those of the last
/// staging.
pub(super) fn shown_diagnostics(state: &State) -> impl Iterator<Item = &Diagnostic> {
    let all = match state.context() {
        // An earlier deploy is loaded without diagnostics.
        Context::Deploy => state.view.deploy.as_ref().map(|d| &d.diagnostics),
        _ => Some(&state.view.diagnostics),
    };
    all.into_iter().flatten()
}

pub fn show_diagnostics(state: &mut State, _: &mut Vec<Effect>) {
    let doc = doc::diagnostics("", shown_diagnostics(state));
    state.open(Message::new("Errors and warnings", doc));
}

fn request(state: &mut State, effects: &mut Vec<Effect>, request: StageRequest) {
    state.end_message();
    // Such a filter of the old stage would hide other changes of the new one.
    let list = &mut state.lists[Context::Stage as usize];
    list.filter = with_term(&list.filter, "action", None);
    state.implied.clear();
    effects.push(Effect::Stage(request));
    state.switch_to(Screen::Stage);
}

pub fn open_plan_options(state: &mut State, effects: &mut Vec<Effect>) {
    crate::app::popups::open_plan_options(state, effects);
}

/// Request with the variables of the console, for one resource.
fn of_resource(state: &State) -> StageRequest {
    StageRequest::with_variables(state.options.plan.variables.clone())
}

/// Request of another mode than changes, for which no replacement can be asked.
fn of_mode(state: &State, mode: StageMode) -> StageRequest {
    StageRequest {
        mode,
        replace: Vec::new(),
        ..state.options.plan.clone()
    }
}

pub fn stage_again(state: &mut State, effects: &mut Vec<Effect>) {
    let plan = state.options.plan.clone();
    request(state, effects, plan);
}

pub fn stage_destroy(state: &mut State, effects: &mut Vec<Effect>) {
    let plan = of_mode(state, StageMode::Destroy);
    request(state, effects, plan);
}

pub fn stage_refresh(state: &mut State, effects: &mut Vec<Effect>) {
    let plan = StageRequest {
        no_refresh: false,
        ..of_mode(state, StageMode::RefreshOnly)
    };
    request(state, effects, plan);
}

/// Shows the rows with some values of a field only; with the same values again, all rows.
fn toggle_term(state: &mut State, field: &str, values: &str) {
    let list = state.list_mut();
    let set = term_of(&list.filter, field) != Some(values);
    list.filter = with_term(&list.filter, field, set.then_some(values));
}

pub fn filter_creates(state: &mut State, _: &mut Vec<Effect>) {
    toggle_term(state, "action", "create");
}

pub fn only_updates(state: &mut State, _: &mut Vec<Effect>) {
    toggle_term(state, "action", "update");
}

pub fn only_replaces(state: &mut State, _: &mut Vec<Effect>) {
    toggle_term(state, "action", "replace");
}

pub fn only_destroys(state: &mut State, _: &mut Vec<Effect>) {
    // A replacement destroys an object, too.
    toggle_term(state, "action", "destroy,replace");
}

pub fn toggle_attributes(state: &mut State, _: &mut Vec<Effect>) {
    state.filters.all_attributes = !state.filters.all_attributes;
}

pub fn toggle_unchanged(state: &mut State, _: &mut Vec<Effect>) {
    state.filters.unchanged = !state.filters.unchanged;
}

pub fn open_cancel_rungs(state: &mut State, _: &mut Vec<Effect>) {
    state.open(Ladder::default());
}

/// Number of operations that the shown deploy did not complete.
pub(super) fn unfinished_operations(state: &State) -> usize {
    // Operations of a running deploy are not left over yet.
    let ended = state
        .shown_deploy()
        .map(|(d, _)| d)
        .filter(|d| d.summary.is_some());
    ended.map_or(0, |d| {
        d.operations.iter().filter(|o| o.is_incomplete()).count()
    })
}

pub fn retry_rest(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(deploy) = state.shown_deploy().map(|(d, _)| d.deploy) else {
        return;
    };
    let unfinished = count(unfinished_operations(state), "resource");
    request(
        state,
        effects,
        StageRequest {
            rest_of: Some(deploy),
            ..StageRequest::default()
        },
    );
    state.show_message(format!("staging {unfinished} of deploy #{deploy}"));
}

/// Requires a deploy under the cursor and nothing running.
pub fn can_go_back(state: &State) -> Available {
    can_stage(state)?;
    has_row(state)
}

/// Compares the configuration of the deploy under the cursor with the files on disk. The answer
/// asks for a confirmation.
pub fn ask_go_back(state: &mut State, effects: &mut Vec<Effect>) {
    let row = state.selected();
    let all = state.loaded.history.as_ref();
    if let Some(d) = row.and_then(|row| all?.get(row.index)) {
        effects.push(Effect::CompareConfiguration(d.deploy));
    }
}

/// Asks to stage the configuration of a deploy, of which these files differ from those on disk.
pub fn confirm_going_back(state: &mut State, deploy: DeployId, files: Option<&[FileDifference]>) {
    let differ = match files {
        None => "The files on disk have errors, so they are not compared.".to_owned(),
        Some([]) => "No configuration file differs from those on disk.".to_owned(),
        Some([_]) => "1 configuration file differs from those on disk:".to_owned(),
        Some(files) => format!(
            "{} configuration files differ from those on disk:",
            files.len()
        ),
    };
    let text = "Your files stay as they are, and nothing is applied yet. The values of variables and \
                the text files that functions read are those of the deploy, too.";
    let mut body = vec![
        line(Role::Plain, text),
        Line::new(),
        line(Role::Strong, differ),
    ];
    body.extend(doc::file_differences(files.unwrap_or_default()));
    state.open(Confirm {
        title: format!("Stage the configuration of deploy #{deploy}?"),
        body,
        answers: Answers::action("Stage"),
        loses_nothing: true,
        after: After::StageConfiguration(deploy),
        ..Confirm::default()
    });
}

pub fn stage_configuration(state: &mut State, effects: &mut Vec<Effect>, deploy: DeployId) {
    // Without the variables of the console, which would override the values of the deploy.
    let plan = StageRequest {
        configuration_of: Some(deploy),
        ..StageRequest::default()
    };
    request(state, effects, plan);
    state.show_message(format!("staging the configuration of deploy #{deploy}"));
}

pub fn next_deploy_filter(state: &mut State, _: &mut Vec<Effect>) {
    // The new list may lack the open row.
    let list = state.list_mut();
    (list.zoom, list.focus) = (false, Pane::List);
    let now = term_of(&list.filter, "state");
    let next = match OPERATION_STATES.iter().position(|v| Some(*v) == now) {
        None => OPERATION_STATES.first(),
        Some(i) => OPERATION_STATES.get(i + 1),
    };
    list.filter = with_term(&list.filter, "state", next.copied());
}

pub(super) fn resource(state: &State) -> Option<String> {
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

/// Addresses of the visible objects in the range, below the module or in the row under the cursor,
/// each once.
fn marked_objects(state: &State, is_meant: fn(&StateRow) -> bool) -> Vec<String> {
    let all = state.loaded.state_rows.as_deref().unwrap_or_default();
    let tree = state.frame.tree.as_ref();
    let indexes = |row: &Row| match tree.zip(row.node()) {
        Some((tree, node)) => {
            let node = tree.node(node.at);
            node.map(|node| state.below(node).0).unwrap_or_default()
        }
        None => vec![row.index],
    };
    let indexes = marked_rows(state).into_iter().flat_map(indexes);
    let meant = indexes.filter_map(|i| all.get(i)).filter(|o| is_meant(o));
    // A deposed object has the address of the current one.
    let addresses: BTreeSet<&String> = meant.map(|o| &o.address).collect();
    addresses.into_iter().cloned().collect()
}

/// Requires objects in the range or under the cursor.
pub fn on_objects_to_refresh(state: &State) -> Available {
    super::can_stage(state)?;
    super::has_row(state)?;
    match marked_objects(state, |_| true).is_empty() {
        true => Err("no resource under the cursor".into()),
        false => Ok(()),
    }
}

/// Requires objects in the range or under the cursor that differ from the state.
pub fn has_drift(state: &State) -> Available {
    on_objects_to_refresh(state)?;
    match marked_objects(state, |o| o.drift.is_some()).is_empty() {
        true => Err("the last stage found no drift of this object".into()),
        false => Ok(()),
    }
}

pub fn refresh_resource(state: &mut State, effects: &mut Vec<Effect>) {
    let plan = StageRequest {
        mode: StageMode::RefreshOnly,
        target: marked_objects(state, |_| true),
        ..of_resource(state)
    };
    state.list_mut().range = None;
    request(state, effects, plan);
}

pub fn replace_resource(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(address) = resource(state) else {
        return;
    };
    let plan = StageRequest {
        target: vec![address.clone()],
        replace: vec![address],
        ..of_resource(state)
    };
    request(state, effects, plan);
}

/// Stages the changes that bring drifted objects back to their configuration.
pub fn repair_resource(state: &mut State, effects: &mut Vec<Effect>) {
    let plan = StageRequest {
        target: marked_objects(state, |o| o.drift.is_some()),
        ..of_resource(state)
    };
    state.list_mut().range = None;
    request(state, effects, plan);
}
