//! Tests of the sensitive value that is revealed for a short time.

use super::Console;
use super::fixture;
use crate::app::key::Input;
use crate::app::msg::{Answer, Effect, Msg, Subject};
use model::*;

const SECRET: &str = "correct-horse";

fn place() -> SensitivePlace {
    SensitivePlace::Change {
        stage: 12,
        address: "aws_db_instance.main".into(),
        index: 0,
        path: "password".into(),
    }
}

fn value() -> Answer {
    let texts = vec![
        ("before".to_owned(), "\"old-horse\"".to_owned()),
        ("after".to_owned(), format!("\"{SECRET}\"")),
    ];
    Answer::Revealed(place(), Revealed { texts })
}

/// Creates a console that has asked for the password of the database.
fn asked(size: (u16, u16)) -> Console {
    let mut c = Console::staged(size.0, size.1);
    c.press("3 g j j x");
    c
}

fn shown() -> Console {
    let mut c = asked((120, 40));
    c.press("y");
    c.answer(value());
    c.shows(SECRET);
    c
}

#[test]
fn sensitive_value_is_shown_after_a_confirmation_that_names_it() {
    for size in [(120, 40), (80, 24), (40, 12)] {
        let mut c = asked(size);
        c.shows("sensitive value for");
        c.shows("aws_db_instance.main");
        assert_eq!(c.take_effects(), []);
        // "No" is preselected.
        c.press("enter");
        c.hides("sensitive value for");
        assert_eq!(c.take_effects(), []);
        c.press("x y");
        assert_eq!(c.take_effects(), [Effect::Reveal(place())]);
        c.shows("reading");
        c.answer(value());
        c.shows("old-horse");
        c.shows(SECRET);
        // No record of what the console holds has the value.
        assert!(!format!("{:?} {:?}", c.state, value()).contains(SECRET));
    }
}

#[test]
fn revealed_value_is_hidden_after_ten_seconds() {
    let mut c = shown();
    c.shows("hidden in 10 s");
    c.tick(9_000);
    c.shows("hidden in 1 s");
    c.shows(SECRET);
    c.tick(1_000);
    c.hides(SECRET);
}

#[test]
fn revealed_value_is_hidden_by_every_key_and_by_a_resize_and_never_copied() {
    for key in ["y", "esc", "j", "ctrl-z", "ctrl-c", "?", "4", "enter"] {
        let mut c = shown();
        c.take_effects();
        c.press(key);
        c.hides(SECRET);
        assert_eq!(c.take_effects(), [], "{key}");
        // Nothing else has kept it.
        c.press("3 enter y ?");
        c.hides(SECRET);
        let copied = format!("{:?} {:?}", c.take_effects(), c.state);
        assert!(!copied.contains(SECRET), "{key}");
    }
    let mut c = shown();
    c.send(Msg::Input(Input::Resize(100, 30)));
    c.hides(SECRET);
    // Another popup.
    let mut c = shown();
    c.event(EventKind::Install(InstallEvent::Ended(InstallEnd::Stopped)));
    c.press("?");
    c.hides(SECRET);
}

#[test]
fn late_or_missing_values_are_not_shown() {
    // The operator has closed the popup, or has asked for another value since.
    let mut c = asked((120, 40));
    c.press("y esc");
    c.answer(value());
    c.hides(SECRET);
    let mut c = asked((120, 40));
    c.answer(value());
    c.hides(SECRET);
    // The value is gone.
    let mut c = asked((120, 40));
    c.press("y");
    c.answer(Answer::Failed {
        what: Subject::Reveal,
        text: "aws_db_instance.main: password is unknown, or no longer available; stage again"
            .into(),
        diagnostics: Vec::new(),
    });
    c.hides("reading");
    c.shows("reveal: aws_db_instance.main: password is unknown, or no longer available");
}

#[test]
fn rows_without_a_known_sensitive_value_say_so() {
    let mut c = Console::staged(120, 40);
    c.press("3 g x");
    c.shows("reveal: no sensitive value here");
    let mut summary = fixture::summary();
    let secret = &mut summary.changes[2].attributes[0];
    (secret.before, secret.unknown) = (None, true);
    c.event(EventKind::Staged(summary.into()));
    c.press("j j x");
    c.shows("reveal: the sensitive values are known after apply");
    assert_eq!(c.take_effects(), []);
}

#[test]
fn values_of_the_state_and_of_outputs_are_revealed_by_their_place() {
    let mut c = Console::new(120, 40);
    c.press("6");
    c.answer(Answer::State(fixture::state_rows()));
    let output = OutputRow {
        name: "token".into(),
        value: "(sensitive value)".into(),
        sensitive: true,
    };
    c.answer(Answer::Outputs(vec![output]));
    c.take_effects();
    c.press("g x y");
    let place = SensitivePlace::State {
        id: "aws_iam_role.app".into(),
        path: "password".into(),
    };
    assert_eq!(c.take_effects(), [Effect::Reveal(place)]);
    c.press("esc G x y");
    let place = SensitivePlace::StateOutput {
        name: "token".into(),
    };
    assert_eq!(c.take_effects(), [Effect::Reveal(place)]);
    let mut c = Console::staged(120, 40);
    let mut summary = fixture::summary();
    summary.outputs = vec![OutputView {
        name: "token".into(),
        action: Action::Create,
        before: None,
        after: Some("(sensitive value)".into()),
        sensitive: true,
        needs: Vec::new(),
    }];
    c.event(EventKind::Staged(summary.into()));
    c.press("3 G x y");
    let place = SensitivePlace::StageOutput {
        stage: 12,
        name: "token".into(),
    };
    assert_eq!(c.take_effects(), [Effect::Reveal(place)]);
}
