//! Tests of all screens in many sizes: no panics, and important parts remain.

use super::{Console, fixture};
use crate::app::msg::Answer;
use crate::app::state::Appearance;
use crate::app::theme::ColorDepth;
use ratatui::style::Color;

fn full(width: u16, height: u16) -> Console {
    let mut c = Console::deploying(width, height);
    c.answer(Answer::History(fixture::history()));
    c.answer(Answer::State(fixture::state_rows()));
    c.answer(Answer::Failures(fixture::failures()));
    c
}

#[test]
fn screens_do_not_panic_at_any_size() {
    for (w, h) in [
        (0, 0),
        (1, 1),
        (20, 5),
        (39, 12),
        (40, 11),
        (40, 12),
        (41, 13),
        (60, 15),
        (79, 19),
        (80, 24),
        (100, 20),
        (120, 40),
        (200, 60),
        (300, 12),
        (40, 100),
    ] {
        let mut c = full(w, h);
        for screen in ["0", "1", "2", "3", "4", "5", "6", "7"] {
            for keys in [
                "",
                "?",
                "esc :",
                "esc enter",
                "esc tab j k",
                "G g ctrl-d ctrl-u",
                "c",
                "esc esc q",
                "esc esc",
            ] {
                c.press(&format!("{screen} {keys}"));
                c.frame();
            }
        }
        c.press("7 e");
        c.frame();
        c.press("e 5 f enter");
        c.frame();
    }
}

#[test]
fn small_screen_shows_the_required_size_or_reduced_content() {
    let mut c = full(20, 5);
    c.shows("flightdeck needs");
    let mut c = full(40, 12);
    c.press("4");
    c.shows("…instance.main");
    c.shows("creating");
    c.press("enter");
    c.shows("timeline");
}

#[test]
fn each_screen_shows_list_and_detail_at_80_by_24() {
    let mut c = full(80, 24);
    c.press("1");
    c.shows("acme/legacy");
    c.shows("[launches]");
    c.press("3");
    c.shows("aws_instance.web");
    c.shows("bucket");
    c.press("4");
    c.shows("aws_db_instance.main");
    c.shows("creating for");
    c.press("5");
    c.shows("9f86d081884c7d65");
}

#[test]
fn narrow_header_keeps_failures_running_deploy_and_lock_owner() {
    for width in 40..=120 {
        let mut c = full(width, 24);
        let frame = c.frame();
        let (line, badge) = (frame.lines().next().unwrap(), frame.lines().nth(1).unwrap());
        for part in ["shop-pr", "1", "◐", "#31 1m02s", "14:03:13"] {
            // The badge beside the tabs counts the failed plugins.
            let shown = part == "1" && badge.contains('!') || line.contains(part);
            assert!(shown, "{width}: {line}");
        }
        // No part of the header is cut.
        assert!(
            !line.contains("1m02s…") && !line.contains("… 14"),
            "{width}: {line}"
        );
    }
    let mut c = full(120, 24);
    c.shows("ready ◌ 1 unused ✗ 1 gave up (unused)  slots 1/1 +1 waiting  ◐ deploy #31 1m02s");
    let mut c = Console::staged(80, 24);
    c.shows("stage #12: 6 of 6 selected");
    let (who, host, boot_id, reason) = ("bob".into(), "ci".into(), "b".into(), "deploy".into());
    let holder = model::LockHolder {
        who,
        host,
        pid: 99,
        start_time: 1,
        boot_id,
        pid_namespace: String::new(),
        leased: false,
        since: 0,
        reason,
    };
    c.event(model::EventKind::Lock {
        holder: Some(holder),
        ours: false,
    });
    c.shows("locked by bob (pid 99, deploy)");
}

#[test]
fn list_filters_are_shown_with_a_long_title() {
    let mut c = full(80, 24);
    c.press("5 enter");
    c.answer(Answer::Record(Box::new(fixture::record())));
    c.shows("replay of deploy #31 · 14:03:23 · ✗ failed");
    c.shows("━━✗━━");
    c.press("v");
    c.shows("replay of deploy #31 · 14:03:23");
    c.shows("filter: state:f");
    c.shows("   1 of 5");
    c.press("/");
    c.type_text("aws");
    c.press("enter");
    c.shows("filter: state:f");
    c.shows("find: aws");
}

#[test]
fn no_color_mode_has_no_colors_and_shows_the_cursor() {
    let mut c = full(120, 40);
    c.state.frame.appearance = Appearance {
        depth: ColorDepth::None,
        ..Appearance::default()
    };
    c.press("3");
    let buffer = c.buffer();
    assert!(
        buffer
            .content()
            .iter()
            .all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
    );
    assert!(
        buffer
            .content()
            .iter()
            .any(|cell| cell.modifier.contains(ratatui::style::Modifier::REVERSED))
    );
}

#[test]
fn ascii_mode_draws_only_ascii() {
    for theme in crate::app::theme::builtin() {
        let mut c = full(120, 40);
        c.state.frame.themes.choose(Some(&theme.name));
        c.state.frame.appearance.ascii = true;
        for screen in ["0", "1", "2", "3", "4", "5", "6", "7", "? "] {
            c.press(screen);
            assert!(c.frame().is_ascii(), "{}", c.frame());
        }
    }
}

#[test]
fn equal_states_draw_equal_frames() {
    let mut a = full(120, 40);
    let mut b = full(120, 40);
    for screen in ["0", "1", "2", "3", "4", "5", "6", "7"] {
        a.press(screen);
        b.press(screen);
        assert_eq!(a.buffer(), b.buffer());
    }
}
