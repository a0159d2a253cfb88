//! Tests of replaced, idle and orphaned processes.

use super::{Console, fixture};
use crate::app::msg::{Answer, Effect};
use model::*;

fn aws() -> PluginId {
    fixture::id("hashicorp/aws")
}

fn tell(c: &mut Console, event: PluginEvent) {
    c.event(EventKind::Plugin(event));
}

fn leaving(calls: u64, overdue: bool) -> DrainingProcess {
    DrainingProcess {
        generation: 1,
        pid: Some(41_822),
        since: fixture::NOW - 12_000,
        why: "its file has changed".into(),
        calls,
        overdue,
    }
}

/// Adds a launch attempt beside the serving process.
fn beside(c: &mut Console) {
    let attempt = LaunchAttempt {
        beside: true,
        began: fixture::NOW - 500,
        pid: Some(50_001),
        ..fixture::attempt(1, true)
    };
    tell(
        c,
        PluginEvent::Attempt {
            plugin: aws(),
            attempt,
        },
    );
}

#[test]
fn replacement_is_shown_from_its_reason_to_the_exit_of_the_old_process() {
    for (width, height) in [(120, 40), (80, 24)] {
        let mut c = Console::staged(width, height);
        c.press("1");
        let renewal = Some(Renewal::Launching {
            why: "its file has changed".into(),
        });
        let plugin = aws();
        tell(&mut c, PluginEvent::Renewal { plugin, renewal });
        beside(&mut c);
        let row = c.line("hashicorp/aws ");
        assert!(row.contains("● ready"), "{row}");
        assert!(!row.contains("50001"), "the old one serves: {row}");
        c.shows("└ being replaced, still serving: its file has changed");
        tell(
            &mut c,
            PluginEvent::Replaced {
                plugin: aws(),
                pid: Some(50_001),
                leaving: leaving(2, false),
            },
        );
        c.shows("└ draining, pid 41822: 2 calls left, since 12 s");
        let row = c.line("hashicorp/aws ");
        c.press("g j j");
        c.shows("pid 50001");
        assert!(
            row.contains("● ready") && !row.contains("being replaced"),
            "{row}"
        );
        let plugin = aws();
        let late = leaving(1, true);
        tell(
            &mut c,
            PluginEvent::Leaves {
                plugin,
                leaving: late,
            },
        );
        c.shows("1 call left, since 12 s, overdue");
        tell(
            &mut c,
            PluginEvent::Left {
                plugin: aws(),
                generation: 1,
                how: "stopped after its last call".into(),
            },
        );
        c.hides("draining");
    }
}

#[test]
fn failed_replacement_shows_its_reason_and_the_next_attempt() {
    let mut c = Console::staged(120, 40);
    c.press("1");
    let renewal = Some(Renewal::Failed {
        why: "its file has changed".into(),
        failed: "exit code 3".into(),
        tries: 2,
        next: fixture::NOW + 30_000,
    });
    let plugin = aws();
    tell(&mut c, PluginEvent::Renewal { plugin, renewal });
    let row = c.line("hashicorp/aws ");
    assert!(row.contains("● ready"), "{row}");
    c.shows("└ to be replaced (its file has changed), but the replacement failed to start (2 tries): exit code 3");
    c.shows("└ next attempt in 30 s");
    let plugin = aws();
    tell(
        &mut c,
        PluginEvent::Renewal {
            plugin,
            renewal: None,
        },
    );
    c.hides("the replacement failed");
}

#[test]
fn idle_process_shows_its_reason_and_restart_condition() {
    let mut c = Console::staged(120, 40);
    c.press("1");
    let why = "ended after 10 min without a call; starts again when needed";
    tell(
        &mut c,
        PluginEvent::State {
            plugin: aws(),
            state: PluginState::Idle { why: why.into() },
        },
    );
    let row = c.line("hashicorp/aws ");
    assert!(row.contains("○ idle"), "{row}");
    c.shows(&format!("└ idle, {why}"));
    c.shows("● 1 of 4 plugins ready ○ 1 idle ◌ 1 retrying");
}

#[test]
fn orphans_are_counted_listed_and_ended_after_confirmation() {
    for (width, height) in [(120, 40), (80, 24)] {
        let mut c = Console::staged(width, height);
        let orphans: Vec<OrphanView> = [4_711, 4_712]
            .map(|pid| OrphanView {
                plugin: aws(),
                pid,
                start_time: 8_123_456,
                boot_id: "b".into(),
                parent: 1,
                launched: fixture::NOW - 60_000,
            })
            .into();
        c.event(EventKind::Orphans {
            orphans: orphans.clone(),
        });
        c.shows("O ✗ 2 orphans");
        c.press("1");
        c.shows("orphaned processes (2); O ends them");
        if height > 24 {
            c.shows("hashicorp/aws: process 4711, launched at");
        }
        c.take_effects();
        c.press("O");
        c.shows("End 2 orphans?");
        c.shows("8123456");
        c.shows("recorded launch");
        c.press("enter");
        assert_eq!(c.take_effects(), [], "No is what enter says");
        c.press("O y");
        assert_eq!(c.take_effects(), [Effect::EndOrphans(orphans)]);
        c.answer(Answer::EndedOrphans("process 4711 was killed".into()));
        c.shows("process 4711 was killed");
        c.event(EventKind::Orphans { orphans: vec![] });
        c.hides("orphan");
        c.hides("orphaned processes");
    }
}
