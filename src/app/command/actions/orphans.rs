//! Ends orphaned plugin processes: lists their identity and asks for a confirmation.

use super::writable;
use crate::app::command::Available;
use crate::app::doc::{Line, Role, orphan, push_text};
use crate::app::format::count;
use crate::app::msg::Effect;
use crate::app::state::*;

/// Requires orphans and a writable workspace.
pub fn has_orphans(state: &State) -> Available {
    if state.view.orphans.is_empty() {
        return Err("no plugin process is left without its flightdeck".into());
    }
    writable(state)
}

pub fn ask_end_orphans(state: &mut State, _: &mut Vec<Effect>) {
    let orphans = state.view.orphans.clone();
    let mut body = Vec::new();
    let known = "They run, and the flightdeck that launched them is gone: number, time of start and boot are those on record, and no flightdeck is their parent.";
    push_text(&mut body, Role::Plain, "", known);
    body.push(Line::new());
    for one in &orphans {
        push_text(&mut body, Role::Warn, "  ", &orphan(state, one));
    }
    body.push(Line::new());
    let yes = "Yes asks each to end, with all that it has started, and kills what does not within 5 s. What it was doing has an unknown outcome.";
    push_text(&mut body, Role::Plain, "", yes);
    state.frame.popup = Some(Popup::Confirm(Box::new(Confirm {
        title: format!("end {}?", count(orphans.len(), "orphan")),
        body,
        yes: false,
        typed: None,
        effects: vec![Effect::EndOrphans(orphans)],
        after: After::Nothing,
        stage: None,
        scroll: 0,
    })));
}
