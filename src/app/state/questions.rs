//! Questions that the console asks without a key press, each at most once per occasion.

use model::Absent;

/// Questions that were asked, or are due.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Questions {
    unknown_shown: bool,
    /// Missing modules and providers that were already offered for installation.
    offered_absent: Absent,
    /// Workspace plugins need a trust decision.
    needs_trust: bool,
    /// The start page was opened, or the operator has acted before.
    start_decided: bool,
    /// The directory is being searched for a configuration.
    seeks_configuration: bool,
}

impl Questions {
    /// Returns true once per session, when the first unknown outcome is known.
    pub fn show_unknown(&mut self, any: bool) -> bool {
        any && !std::mem::replace(&mut self.unknown_shown, true)
    }

    /// Records an input: from now on, the operator chooses the screen.
    pub fn operator_acts(&mut self) {
        self.start_decided = true;
    }

    /// Returns true until the start page was opened, or the operator has acted.
    pub fn awaits_start(&self) -> bool {
        !self.start_decided
    }

    /// Returns true if the start page should open now: once, and never after an input.
    pub fn open_start(&mut self, due: bool) -> bool {
        due && !std::mem::replace(&mut self.start_decided, true)
    }

    /// Returns true if the directory should be searched for a configuration: one search at a time.
    pub fn seek_configuration(&mut self) -> bool {
        !std::mem::replace(&mut self.seeks_configuration, true)
    }

    /// Records the end of a search for a configuration.
    pub fn configuration_sought(&mut self) {
        self.seeks_configuration = false;
    }

    /// Records the result of a search for plugins.
    pub fn found_plugins(&mut self, any_untrusted: bool) {
        self.needs_trust = any_untrusted;
    }

    /// Returns true if a trust decision is due. `free` means that its popup can open.
    pub fn ask_trust(&mut self, any_untrusted: bool, free: bool) -> bool {
        let due = self.needs_trust && any_untrusted && free;
        self.needs_trust &= any_untrusted && !due;
        due
    }

    /// Returns true if an installation should be offered. `free` means that its popup can open.
    pub fn offer_install(&mut self, absent: &Absent, free: bool) -> bool {
        let due = free && !absent.is_empty() && self.offered_absent != *absent;
        if due {
            // Remembered as the list itself, so that a changed list is offered again.
            self.offered_absent.clone_from(absent);
        }
        due
    }

    /// Keeps the offered installation, and the operator's choice of the screen, when another engine
    /// replaces the one of `before`.
    pub fn keep_offer(&mut self, before: Self) {
        self.offered_absent = before.offered_absent;
        self.start_decided = before.start_decided;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_outcomes_are_shown_once_and_not_before_there_is_one() {
        let mut questions = Questions::default();
        let shown = [false, true, true].map(|any| questions.show_unknown(any));
        assert_eq!(shown, [false, true, false]);
    }

    #[test]
    fn trust_is_asked_for_when_a_popup_can_open_and_again_after_another_search() {
        let mut questions = Questions::default();
        assert!(!questions.ask_trust(true, true), "no search yet");
        questions.found_plugins(true);
        assert!(!questions.ask_trust(true, false), "another popup is open");
        assert!(questions.ask_trust(true, true));
        assert!(!questions.ask_trust(true, true), "the operator declined");
        questions.found_plugins(true);
        assert!(!questions.ask_trust(false, true), "all are trusted now");
        assert!(!questions.ask_trust(true, true));
    }

    #[test]
    fn installation_is_offered_once_for_each_list_of_missing_parts() {
        let absent = |module: &str| Absent {
            modules: vec![module.to_owned()],
            ..Absent::default()
        };
        let mut questions = Questions::default();
        assert!(!questions.offer_install(&Absent::default(), true));
        assert!(!questions.offer_install(&absent("vpc"), false));
        assert!(questions.offer_install(&absent("vpc"), true));
        assert!(!questions.offer_install(&absent("vpc"), true));
        assert!(questions.offer_install(&absent("dns"), true));
        let mut next = Questions::default();
        next.keep_offer(questions);
        assert!(!next.offer_install(&absent("dns"), true));
    }
}
