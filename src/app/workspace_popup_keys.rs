//! Keys of the popups for workspaces, installation and the doctor.

use super::command;
use super::doc::{Choice, choices, findings};
use super::entry::Entry;
use super::key::{ENTER, Key, KeyCode, moved};
use super::msg::Effect;
use super::state::*;
use engine::doctor::Fix;
use model::{CancelRung, StateMigration};

/// Handles keys in the list of workspaces. Letters go to the filter, so only other keys move the
/// cursor.
pub(super) fn workspaces(
    state: &mut State,
    mut entry: Entry,
    selected: usize,
    key: Key,
    effects: &mut Vec<Effect>,
) {
    let found = choices(state, &entry.text());
    if key == ENTER {
        match found.get(selected) {
            // The open workspace: Enter only closes the popup.
            Some(Choice::Here(_)) => {}
            Some(Choice::Other(name)) => open(state, name.clone(), false, effects),
            Some(Choice::New(name)) => state.frame.popup = Some(confirm_creation(name)),
            None => state.frame.popup = Some(Popup::Workspaces { entry, selected }),
        }
        return;
    }
    // `j` and `k` belong to the name that is typed.
    let letter = matches!(
        key,
        Key {
            code: KeyCode::Char(_),
            ctrl: false,
            ..
        }
    );
    let selected = match key.step().filter(|_| !letter) {
        Some(by) => moved(selected, by, found.len()),
        None if entry.key(key) => 0,
        None => selected,
    };
    state.frame.popup = Some(Popup::Workspaces { entry, selected });
}

/// Opens another workspace, unless something has started since the popup was opened.
fn open(state: &mut State, workspace: String, create: bool, effects: &mut Vec<Effect>) {
    // A deploy may have started while the popup was open.
    if let Err(why) = command::can_switch(state) {
        state.show_error(why);
        return;
    }
    reopen(state, workspace, create, effects);
}

/// Requests an engine for the workspace, which replaces this one.
pub(super) fn reopen(
    state: &mut State,
    workspace: String,
    create: bool,
    effects: &mut Vec<Effect>,
) {
    state.show_message(format!(
        "opening workspace {workspace}; stopping the plugins of the current one"
    ));
    state.opening_workspace = Some(workspace.clone());
    effects.push(Effect::Open { workspace, create });
}

/// Creates the confirmation for a new workspace.
fn confirm_creation(name: &str) -> Popup {
    use super::doc::{Role, line};
    let body = vec![
        line(Role::Plain, "The new workspace has an empty state."),
        line(
            Role::Dim,
            "It becomes the selected workspace of this directory for all programs, as with `flightdeck workspace select`.",
        ),
    ];
    Popup::Confirm(Box::new(Confirm {
        title: format!("Create workspace {name} and switch to it?"),
        body,
        yes: false,
        typed: None,
        effects: Vec::new(),
        after: After::CreateWorkspace(name.to_owned()),
        stage: None,
        scroll: 0,
    }))
}

/// Creates and opens a workspace after its confirmation.
pub(super) fn create_confirmed(state: &mut State, name: String, effects: &mut Vec<Effect>) {
    open(state, name, true, effects);
}

/// Handles keys of the popup during and after an installation.
pub(super) fn installing(state: &mut State, scroll: usize, key: Key, effects: &mut Vec<Effect>) {
    let runs = state.installing();
    match key {
        Key {
            code: KeyCode::Char('c'),
            ctrl: false,
            alt: false,
        } if runs => {
            effects.push(Effect::Cancel(CancelRung::StopStarting));
            state.show_message("stopping the installation; completed parts are kept");
        }
        Key {
            code: KeyCode::Char('q'),
            ctrl: false,
            alt: false,
        }
        | ENTER => return,
        _ => {
            if let Some(bring) = migration_choice(state, key) {
                // The old result must not look like that of the repetition.
                state.view.install = None;
                effects.push(Effect::Install(bring));
            }
        }
    }
    let lines = super::doc::installing(state).len();
    state.frame.popup = Some(Popup::Installing {
        scroll: key.step().map_or(scroll, |by| moved(scroll, by, lines)),
    });
}

/// Returns the operator's decision about states in the previous backend, if one is needed.
fn migration_choice(state: &State, key: Key) -> Option<StateMigration> {
    state.needs_migration_decision().then_some(())?;
    match key {
        k if k == Key::char('b') => Some(StateMigration::Copy),
        k if k == Key::char('l') => Some(StateMigration::Leave),
        _ => None,
    }
}

/// Handles keys in the list of findings: fixes, copies and reloads.
pub(super) fn doctor(state: &mut State, selected: usize, key: Key, effects: &mut Vec<Effect>) {
    if key == Key::char('q') || key == ENTER {
        return;
    }
    let found = findings(state);
    let selected = key
        .step()
        .map_or(selected, |by| moved(selected, by, found.len()))
        .min(found.len().saturating_sub(1));
    let at = found.get(selected).map(|finding| (*finding).clone());
    state.frame.popup = Some(Popup::Doctor { selected });
    match (key, at) {
        (k, _) if k == Key::char('r') => {
            // Shows at once that a new check runs.
            state.loaded.findings = None;
            effects.push(Effect::RunDoctor);
        }
        (k, Some(finding)) if k == Key::char('F') => match finding.fix {
            Some(mend) => apply_fix(state, mend, effects),
            None => state.show_error("this finding has no automatic fix"),
        },
        (k, Some(finding)) if k == Key::char('y') => {
            let text = finding.remedy.unwrap_or(finding.text);
            state.show_message(format!("copied {} characters", text.chars().count()));
            effects.push(Effect::Copy(text));
        }
        (k, Some(_)) if k == Key::char('i') => match command::can_install(state) {
            Ok(()) => command::ask_install(state, effects),
            Err(why) => state.show_error(why),
        },
        _ => {}
    }
}

/// Applies the fix of a finding. Ending a process needs a confirmation.
fn apply_fix(state: &mut State, mend: Fix, effects: &mut Vec<Effect>) {
    use super::doc::{Role, line};
    let Fix::Stop { process } = &mend else {
        effects.push(Effect::ApplyFix(mend));
        return;
    };
    let body = vec![line(
        Role::Plain,
        "flightdeck asks the process and all processes that it started to exit, and kills those that still run after 5 s.",
    )];
    state.frame.popup = Some(Popup::Confirm(Box::new(Confirm {
        title: format!("End process {}?", process.pid),
        body,
        yes: false,
        typed: None,
        effects: vec![Effect::ApplyFix(mend)],
        after: After::Doctor,
        stage: None,
        scroll: 0,
    })));
}
