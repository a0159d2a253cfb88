//! Applies messages of the engine to the state: events, answers and usage samples.

use super::groups::paused_group;
use super::list::Pane;
use super::msg::{Answer, Effect, Subject};
use super::popups::{Installing, Message, confirm_move};
use super::replay::Replay;
use super::state::*;
use super::text::clean;
use super::unprompted::ask_for_variables;
use super::update::selected;
use super::{command, doc, popups};
use model::*;
use model::{PluginEvent, PluginState};
use std::sync::Arc;

pub(super) fn on_event(state: &mut State, event: &Event, effects: &mut Vec<Effect>) {
    // A snapshot may already contain an event that is delivered afterwards.
    let known = event.seq <= state.view.seq && event.seq != 0;
    let rollout_before = rollout_of(state, event);
    let was_locked = state.locked_by().is_some();
    let stage_before = stage_before(state, event);
    state.view.apply(event);
    if known {
        return;
    }
    // The clock ticks once per second, so events may be newer.
    state.now = state.now.max(event.at);
    state.samples.apply(&state.view, &event.kind);
    match &event.kind {
        EventKind::Plugin(PluginEvent::Log { line }) => state.log.push(line.clone()),
        EventKind::Plugin(PluginEvent::Crash { plugin, text, .. }) => {
            let hint = incidents_hint(state);
            state.show_error(format!("{plugin} crashed: {text}{hint}"))
        }
        EventKind::Plugin(PluginEvent::Replaced { plugin, .. }) => {
            // The new program may have another schema.
            state.loaded.schemas.remove(plugin);
        }
        EventKind::Plugin(PluginEvent::State { plugin, state: now }) => {
            on_plugin_state(state, plugin, now, effects);
        }
        EventKind::Plugin(PluginEvent::Removed { plugin }) => {
            state.show_message(format!(
                "{plugin} was stopped: nothing requires it any more"
            ));
        }
        EventKind::Reconcile(run) => on_reconciled(state, run, effects),
        EventKind::Lock { .. } if was_locked && state.locked_by().is_none() => {
            reload_groups(state, effects);
        }
        EventKind::WorkspaceChanged { deploy, .. } => {
            on_workspace_changed(state, *deploy, effects);
        }
        EventKind::FilesChanged { files, .. } => on_files_changed(state, files, effects),
        EventKind::Install(InstallEvent::Ended(end)) => on_installed(state, end, effects),
        EventKind::UntrustedPlugins { plugins } => {
            state.questions.found_plugins(!plugins.is_empty());
        }
        // Staging reads the configuration again.
        EventKind::StageStarted(_) => forget_load_error(state),
        EventKind::Staged(s) => on_staged(state, stage_before.as_deref(), s),
        EventKind::StageOpened { summary, .. } => on_stage_opened(state, summary),
        EventKind::StageFailed { errors, text, .. } => {
            let text = text.lines().next().unwrap_or_default();
            let text = if *errors > 1 {
                format!("staging failed: {text}, and {} more", errors - 1)
            } else {
                format!("staging failed: {text}")
            };
            state.show_error(text);
            close_outdated_confirmation(state);
            ask_for_variables(state, effects);
        }
        // The confirmation lists the changes of the earlier selection.
        EventKind::Selected { .. } => close_outdated_confirmation(state),
        EventKind::DeployStarted(started) => {
            state.end_message();
            state.loaded.keep_deployed_outputs(&state.view, started);
            // The cursor of an earlier deploy means nothing in this one.
            state.lists[Context::Deploy as usize] = super::list::ListState::default();
        }
        EventKind::Rollout(now) => on_rollout(state, rollout_before, now, effects),
        EventKind::DeployFinished(s) => on_deploy_finished(state, s, effects),
        EventKind::Cancel { text, .. } | EventKind::Notice { text } => {
            state.show_message(text.clone())
        }
        _ => {}
    }
}

/// Names the key that lists the incidents.
fn incidents_hint(state: &State) -> String {
    format!("  ({} shows it)", state.options.keys.first("incidents"))
}

/// Shows the failure of a plugin, with the cause in fewer words than the complete reason has.
fn on_plugin_state(
    state: &mut State,
    plugin: &PluginId,
    now: &PluginState,
    effects: &mut Vec<Effect>,
) {
    match now {
        PluginState::GaveUp { why } | PluginState::Incompatible { why } => {
            // The output names the cause in fewer words than the complete reason.
            let view = state.view.plugins.get(plugin);
            let newest = view.and_then(|p| p.attempts.back());
            let why = newest.and_then(doc::cause).unwrap_or(why);
            let text = format!("{plugin} {}: {why}", now.label());
            notify(state, &text, effects);
            match (state.context(), state.list().zoom) {
                // The rows of these screens say the same, and stay.
                (Context::Plugins | Context::Start, false) => state.list_error(text),
                _ => state.show_error(format!("{text}{}", incidents_hint(state))),
            }
        }
        PluginState::Launching { .. } => {
            // The next launch may return another schema.
            state.loaded.schemas.remove(plugin);
        }
        _ => {}
    }
}

/// Stage that a new one replaces, unless a deploy has used it.
fn stage_before(state: &State, event: &Event) -> Option<Arc<StageSummary>> {
    let is_news = matches!(event.kind, EventKind::Staged(_)) && state.deploy_of_stage().is_none();
    state.view.stage.clone().filter(|_| is_news)
}

fn on_staged(state: &mut State, before: Option<&StageSummary>, s: &StageSummary) {
    let is_like = |before: &&StageSummary| {
        before.mode == s.mode
            && before.configuration_of == s.configuration_of
            && before.stage != s.stage
    };
    let before = before.filter(is_like);
    state.stage_difference = before.map(|before| StageDifference::of(before, s));
    state.show_message(doc::staged_message(s));
    // Notes on changes of the selection belong to the former stage.
    state.implied.clear();
    state.selections.start(s.left.iter().cloned());
    state.lists[Context::Stage as usize].range = None;
    close_outdated_confirmation(state);
}

/// Stages again, if the operator wants that at each save, or says what has changed.
fn on_files_changed(state: &mut State, files: &[String], effects: &mut Vec<Effect>) {
    if files.is_empty() {
        return;
    }
    close_outdated_confirmation(state);
    if state.stages_on_save && command::can_stage(state).is_ok() {
        command::stage_again(state, effects);
        return;
    }
    if state.view.outdated().is_some() && state.deploy_of_stage().is_none() {
        let key = state.options.keys.first("stage");
        let files = files.join(", ");
        state.show_message(format!("{files} changed: {key} stages again"));
    }
}

fn on_stage_opened(state: &mut State, s: &StageSummary) {
    state.selections.start(s.left.iter().cloned());
    // Something to settle comes first, and may still open its page.
    if state.questions.awaits_start() {
        state.screen = Screen::Stage;
    }
}

/// Reopens the workspace after an installation, because its backend may have changed.
fn on_installed(state: &mut State, end: &InstallEnd, effects: &mut Vec<Effect>) {
    match end {
        InstallEnd::Done { .. } => {
            let workspace = state.place.workspace.clone();
            popups::reopen(state, workspace, false, effects);
            state.show_message("installation complete; reloading the workspace");
        }
        InstallEnd::Asks { .. } => {
            state.open(Installing::default());
            state.show_error("init: the previous backend has a state; choose to copy or leave it");
        }
        InstallEnd::Stopped => state.show_error("installation stopped"),
        InstallEnd::Failed { text, .. } => {
            let first = text.lines().next().unwrap_or_default();
            state.show_error(format!("init: {first}"));
        }
    }
}

/// Notifies the operator, who looks at something else.
fn notify(state: &State, text: &str, effects: &mut Vec<Effect>) {
    if state.frame.notifies && !state.frame.is_focused {
        let text = format!("{}: {text}", state.place.directory_name);
        effects.push(Effect::Notify(clean(&text).into_owned()));
    }
}

fn on_deploy_finished(state: &mut State, s: &DeploySummary, effects: &mut Vec<Effect>) {
    let paused = state
        .view
        .deploy
        .as_ref()
        .and_then(|d| paused_group(state, d));
    let how = match paused {
        Some(group) => format!("ended, rollout of {group} paused"),
        None => s.outcome.label().to_owned(),
    };
    let text = format!("deploy #{} {how}: {}", s.deploy, s.operations.text());
    let weight = match s.outcome {
        DeployOutcome::Succeeded => Weight::Good,
        _ => Weight::Bad,
    };
    notify(state, &text, effects);
    match state.context() {
        // The title of the screen says the same, and stays.
        Context::Deploy => state.list_message(weight, text),
        _ => state.show_and_list(weight, text),
    }
    // Moves to the failed operations, which are sorted first, unless the operator has moved or
    // opened something.
    let list = &mut state.lists[Context::Deploy as usize];
    if !list.moved && !list.zoom && list.focus == Pane::List {
        *list = super::list::ListState {
            sort: list.sort,
            descending: list.descending,
            ..Default::default()
        };
    }
    // The deploy changed the contents of these screens.
    effects.extend([Effect::LoadHistory, Effect::LoadState, Effect::LoadFailures]);
    reload_groups(state, effects);
    // The operator left while this deploy ran.
    state.ending.deploy_ended();
}

fn on_reconciled(state: &mut State, run: &ReconcileRun, effects: &mut Vec<Effect>) {
    if run.outcome != ReconcileOutcome::InSync {
        state.show_message(format!("{}: {}", run.subject(), run.summary()));
    }
    // The rows have observations that the look has just recorded.
    if model::is_look(&run.group) && state.loaded.state_rows.is_some() {
        effects.push(Effect::LoadState);
    }
}

/// Loads what another process has changed.
fn on_workspace_changed(state: &mut State, deploy: Option<DeployId>, effects: &mut Vec<Effect>) {
    let known = state.loaded.history.iter().flatten().map(|d| d.deploy);
    let text = match deploy.filter(|deploy| known.max().is_none_or(|known| known < *deploy)) {
        Some(deploy) => format!("another process made deploy #{deploy}"),
        None => "another process changed the workspace".to_owned(),
    };
    match &state.view.stage_outdated {
        Some(_) => {
            close_outdated_confirmation(state);
            state.show_error(format!("{text}: stage again before you apply"));
        }
        None => state.show_message(text),
    }
    effects.extend([Effect::LoadHistory, Effect::LoadState, Effect::LoadFailures]);
    reload_groups(state, effects);
}

/// Loads the groups again, unless nothing has shown them yet.
fn reload_groups(state: &State, effects: &mut Vec<Effect>) {
    if state.loaded.groups.is_some() {
        effects.push(Effect::LoadGroups);
    }
}

/// Rollout of the group of an event, as reported before it.
fn rollout_of(state: &State, event: &Event) -> Option<RolloutProgress> {
    let EventKind::Rollout(now) = &event.kind else {
        return None;
    };
    let reported = &state.view.deploy.as_ref()?.rollouts;
    reported.iter().find(|r| r.group == now.group).cloned()
}

/// Loads the steps of a rollout after an event that changes them. A group is loaded once at a time.
fn on_rollout(
    state: &mut State,
    before: Option<RolloutProgress>,
    now: &RolloutProgress,
    effects: &mut Vec<Effect>,
) {
    // Most events report health polls, which change no step.
    let steps = |r: RolloutProgress| (r.deploy, r.state, r.batch, r.done);
    let is_poll = now.health.is_some() && before.map(steps) == Some(steps(now.clone()));
    if state.loaded.groups.is_none() || is_poll {
        return;
    }
    match state.loaded.loading_rollouts.get_mut(&now.group) {
        Some(changed) => *changed = true,
        None => {
            let group = now.group.clone();
            state.loaded.loading_rollouts.insert(group.clone(), false);
            effects.push(Effect::LoadRollout(group));
        }
    }
}

fn on_loaded_rollout(
    state: &mut State,
    group: &str,
    rollout: Option<Box<RolloutView>>,
    effects: &mut Vec<Effect>,
) {
    if let Some(changed) = state.loaded.loading_rollouts.remove(group)
        && changed
    {
        let again = group.to_owned();
        state.loaded.loading_rollouts.insert(again.clone(), false);
        effects.push(Effect::LoadRollout(again));
    }
    set_rollout(state, group.to_owned(), rollout.map(|rollout| *rollout));
}

fn set_rollout(state: &mut State, group: String, rollout: Option<RolloutView>) {
    let mut groups = state.loaded.groups.iter_mut().flatten();
    if let Some(shown) = groups.find(|shown| shown.group == group) {
        shown.rollout = rollout;
    }
}

/// Closes a confirmation whose stage or selection has changed since it was shown.
fn close_outdated_confirmation(state: &mut State) {
    if let Some(Popup::Confirm(c)) = &state.frame.popup
        && c.stage.is_some()
    {
        state.frame.popup = None;
        state.show_error("the stage or its selection has changed: review it before you apply it");
    }
}

pub(super) fn on_answer(state: &mut State, answer: Answer, effects: &mut Vec<Effect>) {
    match answer {
        Answer::Done(text) => {
            if !text.is_empty() {
                state.show_message(text);
            }
        }
        Answer::Failed {
            what,
            text,
            diagnostics,
        } => {
            on_failure(state, &what, &text, &diagnostics);
            // The Stage screen shows the errors of reading and planning; a deploy has its own.
            if what == Subject::Deploy {
                for d in &diagnostics {
                    state.list_error(format!("{}\n{}", d.summary, d.detail));
                }
                return;
            }
            for d in diagnostics {
                if !state.view.diagnostics.contains(&d) {
                    state.view.diagnostics.push_back(d);
                }
            }
        }
        Answer::Loaded => forget_load_error(state),
        Answer::Configuration(found) => on_configuration(state, found, effects),
        Answer::History(all) => {
            let newest = all.first().filter(|d| {
                state
                    .loaded
                    .last
                    .as_ref()
                    .is_none_or(|l| l.summary.as_ref() != Some(*d))
            });
            // A deploy of this console is newer than the history.
            if state.view.deploy.is_none() {
                effects.extend(newest.map(|d| Effect::LoadLast(d.deploy)));
            }
            // The list names the reasons of failed deploys.
            if state.loaded.failures.is_none() && all.iter().any(|d| d.operations.bad() > 0) {
                effects.push(Effect::LoadFailures);
            }
            state.loaded.history = Some(all);
            state.see_deploys();
        }
        Answer::Last(r) => {
            let end = r.events.len();
            state.loaded.last = Some(Replay::at(*r, end).view().clone());
        }
        Answer::Comparison(c) => {
            let title = format!("Deploys #{} and #{}", c.before.deploy, c.after.deploy);
            let doc = doc::comparison(state, &c);
            state.open(Message::new(title, doc));
        }
        Answer::ConfigurationDifference(deploy, files) => {
            command::confirm_going_back(state, deploy, files.as_deref());
        }
        Answer::Record(r) => {
            let end = r.events.len();
            state.loaded.replay = Some(Replay::at(*r, end));
            state.lists[Context::Replay as usize] = super::list::ListState::default();
        }
        Answer::Operations(deploy, all) => {
            // The cursor may be on another deploy by now.
            if let Some(loaded) = state.loaded.operations.as_mut().filter(|o| o.0 == deploy) {
                loaded.1 = all;
            }
        }
        Answer::Failures(all) => state.loaded.failures = Some(all),
        Answer::Groups(all) => {
            state.loaded.groups = Some(all);
            state.loaded.groups_error = None;
            state.loaded.loading_rollouts.clear();
        }
        Answer::RolloutRequested {
            rollout,
            text,
            staged,
        } => {
            set_rollout(state, rollout.group.clone(), Some(*rollout));
            state.show_message(text);
            // The operator reviews it there.
            if staged && state.screen == Screen::Groups {
                state.leave_place();
                state.screen = Screen::Stage;
            }
        }
        Answer::StateEdited(text) => {
            state.show_message(text);
            effects.push(Effect::LoadState);
        }
        Answer::Moves { from, to, moves } => state.open(confirm_move(from, to, &moves)),
        Answer::GroupChanged(text) => {
            state.show_message(text);
            effects.push(Effect::LoadGroups);
        }
        Answer::Declaration(Some(place)) => super::command::edit_file(state, effects, place),
        Answer::Declaration(None) => {
            state.show_error("the configuration does not contain this block");
        }
        Answer::Variables(all) => {
            state.loaded.variables = Some(*all);
            state.forget_sensitive_values();
        }
        Answer::Rollout(group, rollout) => on_loaded_rollout(state, &group, rollout, effects),
        Answer::Logs(rows) => state
            .log
            .prepend(rows.into_iter().map(|r| r.line).collect()),
        Answer::State(mut all) => {
            // Sorted once on arrival instead of once per frame: by module, kind, type and address.
            all.sort_by(|a, b| {
                natural_cmp(&a.module, &b.module)
                    .then_with(|| (a.data, &a.resource_type).cmp(&(b.data, &b.resource_type)))
                    .then_with(|| natural_cmp(&a.address, &b.address))
                    .then_with(|| a.deposed.cmp(&b.deposed))
            });
            state.loaded.state_rows = Some(all);
            // The facts may have changed.
            let shown = state.loaded.observations.as_ref().map(|(of, _)| of.clone());
            effects.extend(shown.map(Effect::LoadObservations));
            // Outputs belong to the same state.
            effects.push(Effect::LoadOutputs);
        }
        Answer::Observations(address, changes) => {
            let mut loaded = state.loaded.observations.iter_mut();
            // The cursor may be on another object by now.
            if let Some(loaded) = loaded.find(|loaded| loaded.0 == address) {
                loaded.1 = changes;
            }
        }
        Answer::Outputs(mut rows) => {
            rows.sort_by(|a, b| natural_cmp(&a.name, &b.name));
            state.loaded.outputs = Some(rows);
        }
        Answer::Revealed(place, value) => {
            if let Some(Popup::Reveal(popup)) = &mut state.frame.popup {
                popup.show(&place, value, state.now);
            }
        }
        Answer::Outdated { stage, text } => outdated(state, stage, text),
        Answer::Selected { stage, selection } => selected(state, stage, selection),
        Answer::LoadedSelection { stage, selection } => {
            selected(state, stage, selection.clone());
            if let Some(saved) = state.loaded.loading_selection.take() {
                popups::report_loaded(state, &saved, &selection);
            }
        }
        Answer::Selections(all) => state.loaded.selections = Some(all),
        Answer::Workspaces(names) => {
            let at = names.iter().position(|name| *name == state.place.workspace);
            if let Some(Popup::Workspaces(popup)) = &mut state.frame.popup {
                popup.select(at.unwrap_or(0));
            }
            state.loaded.workspaces = Some(names);
        }
        Answer::Opened => state.ending.other_opened = true,
        Answer::Findings(found) => state.loaded.findings = Some(found),
        Answer::Mended(text) => {
            state.show_message(text);
            state.loaded.findings = None;
            effects.push(Effect::RunDoctor);
        }
        Answer::EndedOrphans(text) => state.show_message(text),
        Answer::Schema(plugin, rows) => {
            state.loaded.schemas.insert(plugin, rows);
        }
        Answer::Starter(text) => {
            let lines = text
                .lines()
                .map(|text| doc::line(doc::Role::Plain, clean(text)));
            state.open(Message::new("Starter block", lines.collect()));
            command::copy_text(state, effects, text);
        }
    }
}

/// Forgets the failure of the last load with its diagnostics, because the configuration was read
/// again.
fn forget_load_error(state: &mut State) {
    if let Some(error) = state.loaded.load_error.take() {
        let all = &mut state.view.diagnostics;
        all.retain(|d| !error.diagnostics.contains(d));
    }
}

/// Reads a configuration that was created while the console was open.
fn on_configuration(state: &mut State, found: Option<String>, effects: &mut Vec<Effect>) {
    state.questions.configuration_sought();
    if let Some(file) = found {
        state.place.configured = true;
        state.show_message(format!("found {file}: reading the configuration"));
        effects.push(Effect::LoadPlugins);
    }
}

fn on_failure(state: &mut State, what: &Subject, text: &str, diagnostics: &[Diagnostic]) {
    // Events report the failure of an installation.
    if *what != Subject::Init {
        state.show_error(format!("{what}: {text}"));
    }
    match what {
        // The message has the reason.
        Subject::Reveal => {
            if matches!(&state.frame.popup, Some(Popup::Reveal(popup)) if popup.is_waiting()) {
                state.frame.popup = None;
            }
        }
        Subject::Plugins => {
            forget_load_error(state);
            state.loaded.load_error = Some(LoadError {
                text: text.to_owned(),
                diagnostics: diagnostics.to_vec(),
            });
        }
        Subject::Groups => {
            state.loaded.groups_error = Some(text.to_owned());
            state.loaded.loading_rollouts.clear();
        }
        Subject::Select => {
            state.selections.failed(&state.view.left);
            state.loaded.loading_selection = None;
        }
        Subject::Workspace => {
            state.ending.opening_failed(&state.place.workspace, text);
            if let Some(Popup::Workspaces(_)) = &state.frame.popup {
                state.frame.popup = None;
            }
        }
        // The Stage screen shows diagnostics of a stage.
        Subject::Deploy | Subject::Import | Subject::Forget | Subject::Taint | Subject::Move
            if !diagnostics.is_empty() && state.frame.popup.is_none() =>
        {
            let doc = doc::diagnostics("", diagnostics.iter());
            state.open(Message::new(format!("Cannot {what}"), doc));
        }
        _ => {}
    }
}

/// Replaces the confirmation of an outdated stage with the reason.
fn outdated(state: &mut State, stage: StageId, text: String) {
    let asked = matches!(&state.frame.popup, Some(Popup::Confirm(c)) if c.stage == Some(stage));
    if !asked {
        return;
    }
    let mut body: doc::Doc = text
        .lines()
        .map(|l| doc::line(doc::Role::Warn, l))
        .collect();
    body.push(doc::Line::new());
    body.push(doc::line(
        doc::Role::Plain,
        "Nothing was applied. Press s on the Stage screen to stage again.",
    ));
    state.open(Message::new(format!("Stage #{stage} is out of date"), body));
}
