//! Tests of keys without an effect in popups: each shows a message, and no other key does.

use super::{Console, fixture};
use crate::app::msg::Answer;
use crate::app::popups::HiddenRows;
use model::*;

const HINT: &str = "`f9` has no effect here; esc closes the popup";

#[test]
fn key_without_an_effect_says_so_in_each_popup() {
    let open: [(&str, fn(&mut Console)); 12] = [
        ("help", |c| c.press("?")),
        ("palette", |c| c.press(":")),
        ("apply", |c| c.press("3 a")),
        ("typed confirmation", |c| {
            c.state.options.typed_from = 1;
            c.press("3 a");
        }),
        ("reason", |c| c.press("3 w")),
        ("workspaces", |c| c.press("ctrl-w")),
        ("doctor", |c| c.press("H")),
        ("incidents", |c| c.press("!")),
        ("saved selections", |c| c.press("3 m")),
        ("reveal", |c| c.press("3 g j j x")),
        ("hidden rows", |c| {
            let addresses = || vec!["aws_eip.a".to_owned()];
            c.state
                .open(HiddenRows::new(12, true, addresses(), addresses()));
        }),
        ("unknown outcomes", |c| {
            c.event(EventKind::UnknownOutcomes {
                outcomes: vec![fixture::unknown("create", "aws_eip.new", None)],
            });
            c.press("U");
        }),
    ];
    for (name, open) in open {
        for (width, height) in [(120, 40), (80, 24)] {
            let mut c = Console::staged(width, height);
            open(&mut c);
            assert!(c.state.frame.popup.is_some(), "{name}");
            c.hides("has no effect");
            c.press("f9");
            c.shows(HINT);
            assert!(c.state.frame.popup.is_some(), "{name}");
            // The cursor does not leave its list.
            c.tick(6_000);
            c.press("up up");
            c.hides("has no effect");
        }
    }
}

#[test]
fn effects_outside_the_popup_and_messages_replace_the_hint() {
    let mut c = Console::staged(120, 40);
    // Acknowledging changes no part of the popup itself.
    c.press("! a");
    c.shows("1 failure, all acknowledged");
    c.hides("has no effect");
    c.press("esc ctrl-w");
    c.answer(Answer::Workspaces(vec!["default".into()]));
    c.press("x backspace");
    c.hides("has no effect");
    // The same message twice within a second is still the message.
    c.press("esc H");
    c.answer(Answer::Findings(vec![]));
    c.press("r");
    c.hides("has no effect");
}

#[test]
fn footer_below_a_popup_names_the_effect_of_its_own_escape() {
    let mut c = Console::deploying(120, 40);
    for (keys, effect) in [("4 c", " esc keep running"), ("esc ?", " esc close")] {
        c.press(keys);
        let frame = c.frame();
        assert_eq!(frame.lines().last().unwrap().trim_end(), effect);
    }
}
