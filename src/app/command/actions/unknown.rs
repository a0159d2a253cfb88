//! Commands that settle unknown outcomes, which are operations of earlier deploys without a
//! recorded outcome.

use super::availability::can_stage;
use crate::app::command::Available;
use crate::app::doc::{Role, line};
use crate::app::msg::Effect;
use crate::app::state::*;
use model::{Action, ChangeView, SideEffect, Unknown};

/// Requires a create under the cursor whose outcome in an earlier deploy is unknown.
pub fn requires_unknown_create(state: &State) -> Available {
    can_stage(state)?;
    let unknown = |c: &&ChangeView| {
        c.action == Action::Create && state.unknown_of(&c.address).is_some_and(|u| u.creation)
    };
    if state.change().filter(unknown).is_some() {
        Ok(())
    } else {
        Err("this change has no unknown creation".into())
    }
}

pub fn confirm_forget(state: &mut State, _: &mut Vec<Effect>) {
    let unknown = state
        .change()
        .and_then(|c| state.unknown_of(&c.address))
        .cloned();
    if let Some(u) = unknown {
        let popup = forget(&u);
        state.open(popup);
    }
}

/// Creates the confirmation that the provisioners of an object are complete.
pub fn untaint(u: &Unknown) -> Confirm {
    let (title, yes) = match u.destroy_time {
        true => (
            format!("Did the {} of {} complete?", u.step, u.address),
            "If you answer Yes, the next destroy of the object does not run it again.",
        ),
        false => (
            format!("Did the provisioners of {} complete?", u.address),
            "Yes removes the taint: the object is not replaced, and its provisioners do not run again.",
        ),
    };
    Confirm {
        title,
        body: vec![
            line(
                Role::Plain,
                format!(
                    "The {} started in deploy #{}, but no outcome is recorded.",
                    u.step, u.deploy
                ),
            ),
            line(Role::Warn, yes),
        ],
        effects: vec![Effect::Taint {
            address: u.address.clone(),
            tainted: false,
        }],
        ..Confirm::default()
    }
}

fn inspection_hint(deed: &SideEffect) -> &'static str {
    match deed.is_of_link() {
        true => {
            "The side effect is a phase of a link: check the linked resources in the target system first."
        }
        false => {
            "No state contains the object: find it in the target system, and complete or undo the change there first."
        }
    }
}

/// Creates the confirmation to discard an unknown outcome.
pub fn forget(u: &Unknown) -> Confirm {
    let (title, body) = if let Some(deed) = u.step.requested_call() {
        let body = vec![
            line(
                Role::Plain,
                format!(
                    "The {deed} was requested in deploy #{}, but no outcome is recorded.",
                    u.deploy
                ),
            ),
            line(Role::Warn, inspection_hint(deed)),
        ];
        (
            format!("Is this side effect of {} resolved?", u.address),
            body,
        )
    } else if u.creation {
        let body = vec![
            line(
                Role::Plain,
                "An earlier deploy started to create the object, but no outcome is recorded.",
            ),
            line(
                Role::Warn,
                "Check the target system first: if the object exists, the next deploy creates a second one.",
            ),
            line(
                Role::Dim,
                "If it exists, import it instead: press i in the list of unknown outcomes, or write an import block.",
            ),
        ];
        (format!("Was {} never created?", u.address), body)
    } else {
        let body = vec![
            line(
                Role::Plain,
                format!(
                    "The {} started in deploy #{}, but no outcome is recorded.",
                    u.step, u.deploy
                ),
            ),
            line(
                Role::Warn,
                "The object is removed from the state but not destroyed: flightdeck no longer manages it.",
            ),
            line(
                Role::Dim,
                "To keep it, stage instead: staging reads the object back.",
            ),
        ];
        (format!("Forget {}?", u.name()), body)
    };
    // Nothing was recorded for a create, so its address is the name.
    let name = if u.creation {
        u.address.clone()
    } else {
        u.name()
    };
    Confirm {
        title,
        body,
        // The other titles ask for a fact.
        answers: match u.creation || u.step.requested_call().is_some() {
            true => Answers::default(),
            false => Answers::action("Forget"),
        },
        effects: vec![Effect::Forget(vec![name])],
        ..Confirm::default()
    }
}
