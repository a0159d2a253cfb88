//! Tests of the Stage screen while a stage is computed.

use super::Console;
use super::fixture;
use model::*;

fn read(call: CallId, resource: &str, p50_ms: u64) -> EventKind {
    EventKind::CallStarted(CallStarted {
        call,
        plugin: fixture::id("hashicorp/aws"),
        slot: 1,
        slots: 10,
        method: "ReadResource".into(),
        resource: Some(resource.into()),
        deadline_ms: None,
        usual: Some(Latency {
            count: 4,
            errors: 0,
            p50_ms,
            p95_ms: p50_ms,
            max_ms: p50_ms,
        }),
        queued_ms: 0,
    })
}

fn staging(width: u16, height: u16) -> Console {
    let mut c = Console::new(width, height);
    c.press("3");
    c.event(EventKind::StageStarted(StageStarted {
        stage: 13,
        mode: StageMode::Normal,
        resources: 0,
    }));
    c
}

#[test]
fn staging_names_the_plugin_that_it_waits_for() {
    for (width, height) in [(120, 40), (80, 24)] {
        let mut c = staging(width, height);
        c.event(EventKind::Plugin(PluginEvent::State {
            plugin: fixture::id("bundled/broken"),
            state: PluginState::Backoff {
                until: c.state.now + 5_000,
                attempt: 4,
                limit: 5,
                why: "exit code 2".to_owned(),
            },
        }));
        c.tick(2_000);
        c.shows("◐ staging #13 · 2 s · waiting for bundled/broken: launch 5 of 5 in 3 s");
        c.shows("Reading the configuration and starting plugins");
        c.hides("0 of 0");
        c.hides("0/0");
    }
}

#[test]
fn staging_shows_counts_and_calls_with_the_slow_ones() {
    let mut c = staging(120, 40);
    c.event(EventKind::StageProgress {
        stage: 13,
        done: 10,
        total: 40,
        now: "aws_eip.old".to_owned(),
    });
    c.event(read(1, "aws_db_instance.main", 400));
    c.tick(4_000);
    c.event(read(2, "aws_eip.old", 400));
    c.shows(
        "◐ staging #13 · 10 of 40 · 4 s · reading aws_db_instance.main  4 s, 10× usual and 1 more",
    );
    c.shows("Planning the changes  ━━━━━─────────────── 10 of 40  4 s");
    c.shows("in progress, oldest first");
    // A running call without a resource does not wait for a slot.
    c.event(EventKind::CallStarted(CallStarted {
        call: 3,
        plugin: fixture::id("hashicorp/aws"),
        slot: 2,
        slots: 10,
        method: "ConfigureProvider".into(),
        resource: None,
        deadline_ms: None,
        usual: None,
        queued_ms: 0,
    }));
    c.hides("for a slot of the pool");
    c.shows("reading aws_eip.old  0 s");
    c.hides("aws_eip.old  0 s,");
}

#[test]
fn long_list_of_calls_is_counted() {
    let mut c = staging(120, 40);
    for call in 0..30 {
        c.event(read(call, &format!("aws_eip.n{call:02}"), 400));
    }
    c.shows("aws_eip.n19");
    c.hides("aws_eip.n20");
    c.shows("and 10 more calls");
}
