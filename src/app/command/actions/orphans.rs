//! Command that ends orphaned plugin processes (those whose flightdeck has ended): lists them and
//! asks for a confirmation.

use super::writable;
use crate::app::command::Available;
use crate::app::doc::{Line, Role, orphan, push_text};
use crate::app::format::count;
use crate::app::msg::Effect;
use crate::app::state::*;

/// Requires orphans and a writable workspace.
pub fn has_orphans(state: &State) -> Available {
    if state.view.orphans.is_empty() {
        return Err("no orphaned plugin processes".into());
    }
    writable(state)
}

pub fn ask_end_orphans(state: &mut State, _: &mut Vec<Effect>) {
    let orphans = state.view.orphans.clone();
    let mut body = Vec::new();
    let known = "The flightdeck that launched these processes has exited. Process id, start time and boot match the recorded launch, and no flightdeck is their parent.";
    push_text(&mut body, Role::Plain, "", known);
    body.push(Line::new());
    for one in &orphans {
        push_text(&mut body, Role::Warn, "  ", &orphan(state, one));
    }
    body.push(Line::new());
    let yes = "Yes asks each process and all processes that it started to exit, and kills those that still run after 5 s. Calls in progress get an unknown outcome.";
    push_text(&mut body, Role::Plain, "", yes);
    state.open(Confirm {
        title: format!("End {}?", count(orphans.len(), "orphan")),
        body,
        effects: vec![Effect::EndOrphans(orphans)],
        answers: Answers::action("End"),
        ..Confirm::default()
    });
}
