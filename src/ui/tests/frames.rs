//! Compares the frame of each screen with the committed one, so that a change of a screen is looked
//! at. Also writes frames to the directory in `FLIGHTDECK_FRAMES`, for `cargo xtask render`, and
//! tests pinned rows and large lists.

use super::{Console, fixture};
use crate::app::msg::Answer;
use model::*;

#[test]
fn each_screen_looks_as_committed() {
    for (w, h) in [(120, 40), (80, 24), (200, 60), (40, 12)] {
        let mut c = Console::deploying(w, h);
        for s in 0..90 {
            let finished = (s * 7 % 13) % 9;
            for n in 1..=finished {
                let plugin = fixture::id("hashicorp/aws");
                c.state.samples.finish_call(&plugin, n * 40);
            }
            c.tick(1);
        }
        c.answer(Answer::History(fixture::history()));
        c.answer(Answer::State(fixture::state_rows()));
        c.answer(Answer::Failures(fixture::failures()));
        c.answer(Answer::Groups(fixture::groups()));
        for (name, keys) in [
            ("0-start", "0"),
            ("1-plugins", "1"),
            ("2-calls", "2"),
            ("3-stage", "3 j"),
            ("3-why", "j j w"),
            ("3-diff", "esc k k enter"),
            ("4-deploy", "esc 4 j"),
            ("4-ladder", "c"),
            ("5-history", "esc 5"),
            ("5-failures", "v"),
            ("6-state", "v 6"),
            ("7-logs", "7"),
            ("8-groups", "8"),
            ("8-member", "j j"),
            ("help", "3 ?"),
            ("palette", "esc :"),
        ] {
            c.press(keys);
            compare(&mut c, &format!("{name}-{w}x{h}"));
        }
        c.press("esc");
        let mut c = Console::staged(w, h);
        c.press("3 a");
        compare(&mut c, &format!("3-apply-{w}x{h}"));
    }
}

/// Compares the text of the frame with the committed one; `INSTA_UPDATE=always` accepts it.
fn compare(c: &mut Console, name: &str) {
    c.dump(name);
    // The version of the program is in no frame, and the clock of the state is fixed.
    insta::assert_snapshot!(name, c.frame());
}

#[test]
fn running_rows_stay_visible_when_the_list_scrolls() {
    let mut c = Console::staged(80, 24);
    let operations: Vec<_> = (0..500)
        .map(|i| {
            fixture::operation(
                i,
                &format!("aws_thing.n{i:03}"),
                Action::Create,
                OperationState::Waiting,
            )
        })
        .collect();
    c.event(fixture::started(operations));
    let mut op = fixture::operation(
        321,
        "aws_thing.n321",
        Action::Create,
        OperationState::Running,
    );
    (op.began, op.step) = (Some(fixture::NOW), "creating".into());
    c.event(EventKind::Operation(op));
    c.press("4 G");
    c.shows("aws_thing.n499");
    assert!(c.line("aws_thing.n321").contains("creating"));
}

#[test]
fn half_replaced_object_is_listed_first_and_the_ladder_warns_of_it() {
    let mut c = Console::staged(120, 40);
    fixture::deploying().into_iter().for_each(|e| c.event(e));
    let mut op = fixture::operations()[3].clone();
    (op.state, op.step, op.half_done, op.began) = (
        OperationState::Running,
        "creating".into(),
        true,
        Some(fixture::NOW),
    );
    c.event(EventKind::Operation(op.clone()));
    c.press("4 c");
    c.shows("1 replacement in progress: completed first");
    c.shows("1 replacement may stay incomplete: destroyed, not re-created");
    c.press("esc");
    (op.state, op.step) = (
        OperationState::HalfReplaced,
        "destroyed, not re-created".into(),
    );
    c.event(EventKind::Operation(op));
    c.shows("1 half replaced");
    assert!(c.line("aws_instance.web").contains("half replaced"));
    c.press("g j");
    c.shows("destroyed, not re-created");
}

#[test]
fn twenty_thousand_log_rows_are_displayed() {
    let mut c = Console::staged(200, 60);
    for i in 0..20_000 {
        c.state.log.push(model::LogLine {
            plugin: fixture::id("hashicorp/aws"),
            at: fixture::NOW,
            level: model::LogLevel::Info,
            stream: model::LogStream::Stderr,
            module: None,
            text: format!("line {i}"),
            panic: false,
        });
    }
    c.press("7");
    c.shows("line 19999");
    c.press("g");
    c.shows("line 0");
    c.shows("3 older lines are only in the store");
    let rows = c.state.frame.rows.len();
    assert_eq!(rows, 20_000);
}
