//! Tests of the way back from the places that commands lead to.

use super::{Console, fixture};
use crate::app::choices::Choices;
use crate::app::msg::Answer;
use crate::app::state::Screen;
use model::*;

/// Address of the operation under the cursor.
fn operation(c: &mut Console) -> Option<String> {
    c.frame();
    c.state.operation().map(|o| o.address.clone())
}

#[test]
fn escape_and_q_lead_back_from_the_logs_to_the_same_operation() {
    for back in ["esc", "q"] {
        let mut c = Console::deploying(120, 40);
        c.press("4 j j");
        let here = operation(&mut c);
        c.press("l");
        assert_eq!(c.state.screen, Screen::Logs);
        // A search is closed first.
        c.press("/");
        c.type_text("aws");
        c.press("enter");
        c.press(back);
        assert_eq!(c.state.screen, Screen::Logs);
        c.press(back);
        assert_eq!(c.state.screen, Screen::Deploy);
        assert_eq!(operation(&mut c), here);
        assert!(!c.state.ending.quit);
    }
}

#[test]
fn logs_of_a_plugin_lead_back_to_its_row_and_pane() {
    let mut c = Console::staged(120, 40);
    c.press("1 G right right l");
    c.shows("nothing to do");
    c.hides("configured for eu-central-1");
    c.press("esc");
    assert_eq!(c.state.plugin().map(|p| &*p.id.0), Some("hashicorp/random"));
    c.shows("[calls]");
    // The Logs screen shows all sources again.
    c.press("7");
    c.shows("configured for eu-central-1");
}

#[test]
fn old_search_does_not_hide_the_logs_of_another_plugin() {
    let mut c = Console::staged(120, 40);
    c.press("7 &");
    c.type_text("no such line");
    c.press("enter 1 G l");
    c.shows("nothing to do");
}

#[test]
fn several_steps_lead_back_in_reverse_order() {
    let mut c = Console::deploying(120, 40);
    c.press("2 j");
    let waiting = c.state.list().key.clone();
    c.press("b");
    c.frame();
    assert_ne!(c.state.list().key, waiting);
    c.press("! enter");
    assert_eq!(c.state.screen, Screen::Plugins);
    c.press("l");
    assert_eq!(c.state.screen, Screen::Logs);
    c.press("esc");
    assert_eq!(c.state.plugin().map(|p| &*p.id.0), Some("acme/legacy"));
    c.press("esc");
    assert_eq!(c.state.screen, Screen::Calls);
    c.press("esc");
    c.frame();
    assert_eq!(c.state.list().key, waiting);
    assert!(c.state.frame.trail.is_empty());
    c.press("esc");
    c.shows("nothing to close or to go back to; q quits");
}

#[test]
fn chosen_screen_is_a_new_start_without_a_way_back() {
    let mut c = Console::staged(120, 40);
    c.press("1 l 3 q");
    assert!(c.state.ending.quit);
}

#[test]
fn logs_of_a_replayed_operation_lead_back_to_the_replay() {
    let mut c = Console::staged(120, 40);
    c.answer(Answer::History(fixture::history()));
    c.press("5 enter");
    c.answer(Answer::Record(Box::new(fixture::record())));
    c.press("l");
    c.shows("following");
    c.press("esc");
    c.shows("event 5 of 5");
}

#[test]
fn way_back_is_bounded() {
    let mut c = Console::staged(120, 40);
    for _ in 0..1_000 {
        c.press("! enter");
    }
    assert_eq!(c.state.frame.trail.len(), 32);
}

fn crash(plugin: &str, incident: &str, text: &str) -> EventKind {
    EventKind::Plugin(PluginEvent::Crash {
        plugin: fixture::id(plugin),
        incident: incident.into(),
        code: Some(2),
        signal: None,
        text: text.into(),
        trace: vec!["main.go:12".into()],
    })
}

#[test]
fn incidents_are_listed_newest_first_and_lead_to_the_plugin() {
    for (width, height) in [(120, 40), (80, 24)] {
        let mut c = Console::staged(width, height);
        c.event(crash("hashicorp/random", "i-7", "panic: nil map"));
        c.press("6");
        let frame = c.frame();
        let badge = frame.lines().nth(1).unwrap();
        assert!(
            badge.contains("! ✗ 2 plugin failures") || badge.ends_with(" !2"),
            "{badge}"
        );
        c.press("!");
        c.shows("2 failures, 2 not acknowledged");
        let frame = c.frame();
        let at = |text: &str| {
            frame
                .find(text)
                .unwrap_or_else(|| panic!("{text}: {frame}"))
        };
        assert!(at("hashicorp/random  crashed: panic: nil map") < at("launch 5 of 5 failed:"));
        c.press("j");
        c.shows("exited before registering: exit code 2");
        c.press("k enter");
        assert_eq!(c.state.plugin().map(|p| &*p.id.0), Some("hashicorp/random"));
        c.shows("crash i-7");
        c.press("esc");
        assert_eq!(c.state.screen, Screen::State);
        c.press("! j enter");
        assert_eq!(c.state.plugin().map(|p| &*p.id.0), Some("acme/legacy"));
        c.shows("launch 5 of 5");
    }
}

#[test]
fn acknowledged_incidents_leave_the_badge_and_stay_in_the_list() {
    let mut c = Console::staged(120, 40);
    c.event(crash("hashicorp/random", "i-7", "panic: nil map"));
    c.press("6 ! a");
    c.shows("2 failures, 1 not acknowledged");
    c.shows("! ✗ 1 plugin gave up");
    // The cursor stays on its incident while a new one comes.
    c.tick(1_000);
    c.event(crash("hashicorp/aws", "i-8", "SIGSEGV"));
    c.press("a");
    c.shows("3 failures, 3 not acknowledged");
    c.press("A");
    c.shows("3 failures, all acknowledged");
    c.press("esc");
    c.hides("! ✗");
    c.press("!");
    c.shows("crashed: panic: nil map");
    c.press("space");
    c.shows("3 failures, 1 not acknowledged");
}

#[test]
fn acknowledged_failure_of_a_launch_is_known_to_the_next_console_of_the_workspace() {
    let mut before = Console::staged(120, 40);
    before.event(crash("hashicorp/random", "i-7", "panic: nil map"));
    before.press("6 ! A");
    before.shows("2 failures, all acknowledged");
    let kept = Choices::of(&before.state);
    assert_eq!(kept.acknowledged.len(), 1, "crashes are not kept");
    let next = |workspace: &str, why: &str| {
        let mut c = Console::new(120, 40);
        kept.apply(&mut c.state);
        c.state.place.workspace = workspace.to_owned();
        let mut attempt = fixture::attempt(5, false);
        attempt.began += 86_400_000;
        attempt.verdict.as_mut().unwrap().text = why.to_owned();
        let plugin = fixture::id("acme/legacy");
        c.event(EventKind::Plugin(PluginEvent::Attempt { plugin, attempt }));
        c.press("6 !");
        c
    };
    let same = "exited before registering: exit code 2";
    let here = before.state.place.workspace.clone();
    let mut c = next(&here, same);
    c.shows("1 failure, all acknowledged");
    // The next crash is another incident.
    c.event(crash("hashicorp/random", "i-1", "panic: nil map"));
    c.shows("2 failures, 1 not acknowledged");
    // So is another reason, and the same one in another workspace.
    next(&here, "killed by SIGKILL").shows("1 failure, 1 not acknowledged");
    next("prod", same).shows("1 failure, 1 not acknowledged");
}

#[test]
fn failed_launch_stays_an_incident_after_the_plugin_was_started() {
    let mut c = Console::staged(120, 40);
    c.event(EventKind::Plugin(PluginEvent::Attempt {
        plugin: fixture::id("acme/legacy"),
        attempt: fixture::attempt(6, true),
    }));
    c.event(EventKind::Plugin(PluginEvent::State {
        plugin: fixture::id("acme/legacy"),
        state: PluginState::Ready {
            since: fixture::NOW,
        },
    }));
    c.press("!");
    c.shows("1 failure, 1 not acknowledged");
    c.shows("launch 5 of 5 failed:");
}

#[test]
fn empty_list_of_incidents_says_since_when() {
    let mut c = Console::new(120, 40);
    c.state.incident_log.since = fixture::NOW;
    c.press("!");
    c.shows("no plugin failed since 2026-11-21 14:02, the start of this console");
    c.press("a A enter");
    assert_eq!(c.state.screen, Screen::Plugins);
}
