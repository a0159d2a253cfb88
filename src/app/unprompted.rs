//! Popups and pages that open without a key press: trust, installation, unknown outcomes, missing
//! variables, and the start page.

use super::msg::Effect;
use super::popups::{self, UnknownOutcomes};
use super::state::*;
use super::unsettled::unsettled;

/// Returns true if a popup can open without a key press.
fn is_free(state: &State) -> bool {
    state.frame.popup.is_none() && state.frame.prompt.is_none()
}

/// Opens the trust popup if a search has found untrusted workspace plugins.
pub(super) fn ask_for_trust(state: &mut State) {
    let (any, free) = (!state.view.untrusted.is_empty(), is_free(state));
    if state.questions.ask_trust(any, free) {
        let popup = popups::trust(&state.view.untrusted);
        state.open(popup);
    }
}

/// Shows the start page if something is to be settled when the console opens, unless the operator
/// has acted before.
pub(super) fn open_start_once(state: &mut State) {
    // Computed only until the decision, because this follows each message.
    if state.questions.awaits_start()
        && state
            .questions
            .open_start(unsettled(state).iter().any(|u| u.opens))
    {
        state.screen = Screen::Start;
    }
}

/// Opens the popup of unknown outcomes once per session; closes it when none is left.
pub(super) fn open_unknown_once(state: &mut State) {
    let any = !state.view.unknown.is_empty();
    if !any && matches!(state.frame.popup, Some(Popup::UnknownOutcomes(_))) {
        state.frame.popup = None;
    }
    // Counts as shown even if another popup is open: the badge in the header remains. The start
    // page has a row for each outcome.
    let listed = state.screen == Screen::Start;
    if state.questions.show_unknown(any) && is_free(state) && !listed {
        state.open(UnknownOutcomes::default());
    }
}

/// Offers to install missing modules and providers, once per list of them.
pub(super) fn offer_install(state: &mut State) {
    let free = is_free(state) && super::command::can_install(state).is_ok();
    if state.questions.offer_install(&state.view.absent, free) {
        super::command::ask_install(state, &mut Vec::new());
    }
}

/// Opens the plan options if the last staging failed for the lack of a value.
pub(super) fn ask_for_variables(state: &mut State, effects: &mut Vec<Effect>) {
    let mut diagnostics = state.view.diagnostics.iter();
    let is_unset = diagnostics.any(|d| d.summary == "No value for required variable");
    if is_unset && state.frame.popup.is_none() && state.frame.prompt.is_none() {
        popups::open_plan_options(state, effects);
    }
}
