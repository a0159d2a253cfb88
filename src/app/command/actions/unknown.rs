//! Commands that settle unknown outcomes.

use super::ready::can_stage;
use crate::app::command::Available;
use crate::app::doc::{Role, line};
use crate::app::msg::Effect;
use crate::app::state::*;
use crate::engine::words::{Action, ChangeView, Deed, Unknown};

/// Requires a create under the cursor whose outcome in an earlier deploy is unknown.
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

/// Creates the confirmation that the provisioners of an object are complete.
pub fn untaint(u: &Unknown) -> Popup {
    let (title, yes) = match u.destroy_time {
        true => (
            format!("has the {} of {} done its work?", u.step, u.address),
            "Yes keeps it from running again: the next destroy of the object goes on without it.",
        ),
        false => (
            format!("is {} as it should be?", u.address),
            "Yes takes the mark away that it is to be replaced: its provisioners do not run again.",
        ),
    };
    Popup::Confirm(Box::new(Confirm {
        title,
        body: vec![
            line(
                Role::Plain,
                format!(
                    "The {} of it was begun in deploy #{}, and its end is not on record.",
                    u.step, u.deploy
                ),
            ),
            line(Role::Warn, yes),
        ],
        yes: false,
        typed: None,
        effects: vec![Effect::Untaint(u.address.clone())],
        after: After::Nothing,
        stage: None,
        scroll: 0,
    }))
}

fn where_to_look(deed: &Deed) -> &'static str {
    match deed.is_of_link() {
        true => "It is a phase of a link: look at what it is about in the target system first.",
        false => "It is in no state: look for it in the target system first, and see to it there.",
    }
}

/// Creates the confirmation to discard an unknown outcome.
pub fn forget(u: &Unknown) -> Popup {
    let (title, body) = if let Some(deed) = u.step.beside() {
        let body = vec![
            line(
                Role::Plain,
                format!(
                    "The {deed} was asked for in deploy #{}, and no answer is on record.",
                    u.deploy
                ),
            ),
            line(Role::Warn, where_to_look(deed)),
        ];
        (format!("is it seen to, beside {}?", u.address), body)
    } else if u.creation {
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
    // Nothing was recorded for a create, so its address is the name.
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
