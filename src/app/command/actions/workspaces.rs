//! Commands for workspaces, installation and the doctor.

use super::availability::{can_stage, writable};
use crate::app::command::Available;
use crate::app::doc::{Doc, Line, Role, line, push_text};
use crate::app::format::count;
use crate::app::msg::Effect;
use crate::app::popups::{Doctor, Installing, Workspaces};
use crate::app::state::*;
use model::StateMigration;

/// Allows a switch of workspaces if nothing runs in this one. The lock of another process does not
/// prevent it.
pub fn can_switch(state: &State) -> Available {
    if let Some(name) = &state.ending.opening_workspace {
        return Err(format!("workspace {name} is being opened").into());
    }
    if state.is_deploying() {
        return Err(
            "a deploy is running: switch the workspace when it has ended (c cancels it in steps)"
                .into(),
        );
    }
    if state.view.staging.is_some() {
        return Err(
            "staging is running: switch the workspace when it has ended (c cancels it)".into(),
        );
    }
    if state.installing() {
        return Err("an installation is running".into());
    }
    Ok(())
}

pub fn show_workspaces(state: &mut State, effects: &mut Vec<Effect>) {
    state.loaded.workspaces = None;
    state.open(Workspaces::default());
    effects.push(Effect::LoadWorkspaces);
}

/// Allows an installation if something is missing, or shows the running one.
pub fn can_install(state: &State) -> Available {
    // A running installation is shown, not started again.
    if state.installing() {
        return Ok(());
    }
    if state.view.absent.is_empty() {
        return Err("nothing to install".into());
    }
    writable(state)?;
    can_stage(state)
}

/// Asks for a confirmation to install, or shows the running installation.
pub fn ask_install(state: &mut State, _: &mut Vec<Effect>) {
    if state.installing() {
        state.open(Installing::default());
        return;
    }
    let popup = install(state);
    state.open(popup);
}

/// Creates the confirmation to install missing modules and providers, or to initialize the backend.
fn install(state: &State) -> Confirm {
    let absent = &state.view.absent;
    let mut body = Doc::new();
    if let Some(why) = &absent.backend {
        body.push(line(Role::Warn, "The backend is not initialized:"));
        push_text(&mut body, Role::Plain, "  ", why);
        push_text(
            &mut body,
            Role::Dim,
            "",
            "If the previous backend has a state, flightdeck asks you before it copies the state.",
        );
    }
    for (names, word) in [(&absent.modules, "module"), (&absent.providers, "provider")] {
        if names.is_empty() {
            continue;
        }
        let verb = if names.len() == 1 { "is" } else { "are" };
        let head = format!("{} {verb} not installed:", count(names.len(), word));
        body.push(line(Role::Warn, head));
        for name in names {
            push_text(&mut body, Role::Plain, "  ", name);
        }
    }
    if !absent.modules.is_empty() {
        body.push(line(
            Role::Dim,
            "flightdeck finds the missing providers after it has installed the modules, and installs them too.",
        ));
    }
    body.push(Line::new());
    let (title, yes, effect) = match (&absent.backend, absent.len()) {
        // 1 is the backend itself: no module and no provider is known to be missing.
        (Some(_), 1) => (
            "Initialize the backend?",
            "Initialize",
            "This initializes the backend in .terraform, as `flightdeck init` does, and installs missing modules and providers. Then flightdeck reloads the workspace and launches its plugins.",
        ),
        _ => (
            "Install missing modules and providers?",
            "Install",
            "This installs them into .terraform, as `flightdeck init` does: from the registries, mirrors and repositories of the configuration and of your CLI configuration, verified against the lock file. New versions are added to .terraform.lock.hcl. Then flightdeck reloads the workspace and launches its plugins.",
        ),
    };
    push_text(&mut body, Role::Plain, "", effect);
    Confirm {
        title: title.to_owned(),
        body,
        effects: vec![Effect::Install(StateMigration::Ask)],
        after: After::Installing,
        answers: Answers::action(yes),
        ..Confirm::default()
    }
}

pub fn show_doctor(state: &mut State, effects: &mut Vec<Effect>) {
    state.loaded.findings = None;
    state.open(Doctor::default());
    effects.push(Effect::RunDoctor);
}
