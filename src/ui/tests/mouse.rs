//! Tests of the mouse: each click acts on what the frame shows below the pointer.

use super::{Console, fixture, lines};
use crate::app::key::{Input, MouseAct};
use crate::app::msg::{Effect, Msg};
use crate::app::state::{Fault, Popup, Screen};
use crate::app::text::width;
use model::Select;

/// Cell of the first occurrence of a text in the frame.
#[track_caller]
fn find(c: &mut Console, text: &str) -> (u16, u16) {
    let all = lines(&c.buffer());
    let found = all.iter().enumerate().find_map(|(y, line)| {
        let at = line.find(text)?;
        Some((width(&line[..at]), y))
    });
    let (x, y) = found.unwrap_or_else(|| panic!("no {text:?} in\n{}", all.join("\n")));
    (u16::try_from(x).unwrap(), u16::try_from(y).unwrap())
}

fn mouse(c: &mut Console, act: MouseAct, (x, y): (u16, u16)) {
    c.send(Msg::Input(Input::Mouse { act, x, y }));
}

/// Clicks on the first cell of a text.
#[track_caller]
fn click(c: &mut Console, text: &str) {
    let at = find(c, text);
    mouse(c, MouseAct::Down, at);
}

#[test]
fn click_on_a_checkbox_selects_and_elsewhere_moves_the_cursor() {
    let mut c = Console::staged(120, 40);
    c.press("3");
    let (_, y) = find(&mut c, "aws_eip.old");
    mouse(&mut c, MouseAct::Down, (20, y));
    assert_eq!(c.take_effects(), []);
    let selected = c.state.change().map(|c| c.address.clone());
    assert_eq!(selected.as_deref(), Some("aws_eip.old"));
    let (_, y) = find(&mut c, "aws_iam_role.app");
    let (x, _) = find(&mut c, "[x]");
    mouse(&mut c, MouseAct::Down, (x + 1, y));
    assert_eq!(
        c.take_effects(),
        [Effect::Select(
            12,
            vec![Select::Leave("aws_iam_role.app".into())]
        )]
    );
}

#[test]
fn click_on_a_heading_sorts_and_again_reverses() {
    let mut c = Console::staged(120, 40);
    c.press("3");
    click(&mut c, "RESOURCE");
    c.shows("RESOURCE ▲");
    click(&mut c, "RESOURCE");
    c.shows("RESOURCE ▼");
    click(&mut c, "ACTION");
    c.shows("ACTION ▲");
    click(&mut c, "NOTE");
    c.shows("NOTE: this list has no such sort order");
}

#[test]
fn double_click_opens_the_row_below_the_pointer() {
    let mut c = Console::staged(120, 40);
    c.press("3");
    let at = find(&mut c, "aws_eip.old");
    mouse(&mut c, MouseAct::Down, at);
    mouse(&mut c, MouseAct::Double, at);
    assert!(c.state.list().zoom);
    c.shows("aws_eip.old");
    c.press("esc");
    // A row that has moved below the pointer is selected first.
    let at = find(&mut c, "aws_iam_role.app");
    mouse(&mut c, MouseAct::Double, at);
    assert!(!c.state.list().zoom);
    let selected = c.state.change().map(|c| c.address.clone());
    assert_eq!(selected.as_deref(), Some("aws_iam_role.app"));
}

#[test]
fn parts_of_the_header_badge_and_footer_keys_act() {
    let mut c = Console::staged(160, 40);
    for (text, screen) in [
        ("stage #12:", Screen::Stage),
        ("plugins ready", Screen::Plugins),
    ] {
        c.press("6");
        click(&mut c, text);
        assert_eq!(c.state.screen, screen, "{text}");
    }
    c.press("3");
    click(&mut c, "apply 6…");
    assert!(matches!(c.state.frame.popup, Some(Popup::Confirm(_))));
    c.press("esc");
    click(&mut c, "? help");
    assert!(matches!(c.state.frame.popup, Some(Popup::Help(_))));
    c.press("esc");
    click(&mut c, "1 plugin gave up");
    assert!(matches!(c.state.frame.popup, Some(Popup::Incidents(_))));
}

#[test]
fn click_outside_closes_a_popup_that_asks_nothing() {
    let mut c = Console::staged(120, 40);
    c.press("3 ?");
    mouse(&mut c, MouseAct::Down, (60, 20));
    assert!(
        c.state.frame.popup.is_some(),
        "the help is below the pointer"
    );
    mouse(&mut c, MouseAct::Down, (0, 0));
    assert!(c.state.frame.popup.is_none());
    c.press("a");
    mouse(&mut c, MouseAct::Down, (0, 0));
    assert!(matches!(c.state.frame.popup, Some(Popup::Confirm(_))));
    // A click marks the answer, and does not give it.
    let mark = |c: &Console| match &c.state.frame.popup {
        Some(Popup::Confirm(confirm)) => confirm.yes,
        other => panic!("{other:?}"),
    };
    click(&mut c, "[y]");
    assert!(mark(&c));
    click(&mut c, "[n]");
    assert!(!mark(&c));
    assert_eq!(c.take_effects(), []);
}

#[test]
fn click_selects_a_row_of_a_popup() {
    let mut c = Console::staged(120, 40);
    c.state.options.faults = ['5', '6', '7']
        .map(|key| Fault {
            key,
            id: format!("fault-{key}"),
            doc: String::new(),
        })
        .to_vec();
    c.press("B");
    for fault in ["fault-7", "fault-5", "fault-6"] {
        click(&mut c, fault);
    }
    c.press("enter");
    assert_eq!(c.take_effects(), [Effect::Demo("fault-6".into())]);
    // A step of the cancel ladder has several lines.
    let mut c = Console::deploying(120, 40);
    c.press("4 c");
    c.take_effects();
    let (x, y) = find(&mut c, "ask plugins to stop");
    mouse(&mut c, MouseAct::Down, (x, y + 1));
    c.press("enter");
    assert_eq!(
        c.take_effects(),
        [Effect::Cancel(model::CancelRung::AskPlugins)]
    );
}

#[test]
fn copying_says_how_much_and_which_way() {
    let mut c = Console::staged(120, 40);
    c.press("3 y");
    c.shows("copied 18 bytes to the terminal's clipboard (OSC 52)");
    c.hides("tmux");
    c.state.options.tmux = true;
    c.press("y");
    c.shows("tmux passes it on only with `set -s set-clipboard on`");
    assert_eq!(
        c.take_effects(),
        vec![Effect::Copy("aws_s3_bucket.logs".into()); 2]
    );
    c.event(fixture::log(
        "hashicorp/aws",
        model::LogLevel::Info,
        &"x".repeat(80_000),
    ));
    c.press("7 y");
    c.shows("not copied: 80000 bytes are more than the 74994 that terminals accept");
    assert_eq!(c.take_effects(), []);
}
