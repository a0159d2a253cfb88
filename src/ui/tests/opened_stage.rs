//! Tests of a stage that the console opens from the store.

use super::{Console, fixture};
use crate::app::msg::{Answer, Effect};
use crate::app::state::Screen;
use model::*;

fn opened(c: &mut Console, outdated: Option<&str>) {
    c.event(EventKind::StageOpened {
        summary: fixture::summary().into(),
        outdated: outdated.map(str::to_owned),
    });
}

#[test]
fn console_opens_on_the_newest_stage_if_nothing_is_to_be_settled() {
    let mut c = Console::new(120, 40);
    c.tick(3 * 3_600_000);
    opened(&mut c, None);
    assert_eq!(c.state.screen, Screen::Stage);
    c.shows("stage #12 · 6 of 6 selected");
    c.shows("planned 3h00m ago");
    c.take_effects();
    c.press("a");
    c.shows("Apply stage #12?");
    c.press("esc");
    // A failed deploy that is known later still comes first.
    let mut c = Console::new(120, 40);
    opened(&mut c, None);
    c.answer(Answer::History(fixture::history()));
    assert_eq!(c.state.screen, Screen::Start);
    // After a key, the operator chooses the screen.
    let mut c = Console::new(120, 40);
    c.press("j");
    opened(&mut c, None);
    assert_eq!(c.state.screen, Screen::Plugins);
}

#[test]
fn outdated_stage_names_the_reason_and_is_neither_selected_nor_applied() {
    let what = "main.tf changed since the stage was planned";
    for width in [80, 120] {
        let mut c = Console::new(width, 24);
        c.answer(Answer::History(vec![]));
        opened(&mut c, Some(what));
        c.shows(&format!("stage #12 · out of date: {what}"));
        c.take_effects();
        for key in ["a", "space", "*"] {
            c.press(key);
            c.shows("stage #12 is out of date");
            let toast = c.state.frame.toast.as_ref().map(|t| &*t.text);
            assert!(toast.is_some_and(|t| t.ends_with(what)), "{toast:?}");
            assert_eq!(c.take_effects(), [], "{key}");
        }
        c.press("0");
        c.shows("#12 out of date");
        c.press("3 s");
        assert_eq!(c.take_effects(), [Effect::Stage(StageRequest::default())]);
        c.event(EventKind::Staged(fixture::summary().into()));
        c.hides("out of date");
    }
    let mut c = Console::new(120, 24);
    opened(&mut c, Some(what));
    c.shows("· s stages again");
    // A reason that does not fit is left out as a whole.
    let mut c = Console::new(80, 24);
    opened(&mut c, Some(&format!("{what} and {what}")));
    c.shows("stage #12 · out of date · s stages again");
}
