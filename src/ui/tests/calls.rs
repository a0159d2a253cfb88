//! Tests of the Calls screen: charts and usual durations.

use super::{Console, fixture};
use model::*;

fn start(c: &mut Console, call: CallId, usual: Option<Latency>) {
    c.event(EventKind::CallStarted(CallStarted {
        call,
        plugin: fixture::id("hashicorp/aws"),
        slot: 1,
        slots: 4,
        method: "ReadResource".into(),
        resource: None,
        deadline_ms: None,
        usual,
        queued_ms: 0,
    }));
}

fn finish(c: &mut Console, call: CallId, took_ms: u64) {
    c.event(EventKind::CallFinished(CallFinished {
        call,
        plugin: fixture::id("hashicorp/aws"),
        method: "ReadResource".into(),
        resource: None,
        resource_type: None,
        action: None,
        took_ms,
        outcome: CallOutcome::Ok,
        error: None,
        again: None,
        covers: false,
        measured: None,
    }));
}

#[test]
fn chart_of_running_calls_has_the_most_calls_of_each_second() {
    let mut c = Console::staged(120, 40);
    c.press("2");
    for call in [901, 902, 903] {
        start(&mut c, call, None);
    }
    finish(&mut c, 901, 5);
    finish(&mut c, 902, 5);
    c.tick(1_000);
    finish(&mut c, 903, 1_000);
    c.tick(1_000);
    c.tick(1_000);
    let newest = c.state.samples.running.iter().rev().take(3).rev();
    assert_eq!(newest.copied().collect::<Vec<_>>(), [3, 1, 0]);
    c.shows("peak 3 · last");
}

#[test]
fn charts_are_as_wide_as_the_screen_and_have_the_95th_percentile() {
    let mut c = Console::staged(120, 40);
    c.press("2");
    (0..20).for_each(|_| c.tick(1_000));
    for (call, took_ms) in (901..).zip(1..=20) {
        start(&mut c, call, None);
        finish(&mut c, call, took_ms * 100);
    }
    c.tick(1_000);
    c.shows("20 calls/s · peak 20/s · last 22 s");
    c.shows("p95 1.9 s · peak 1.9 s");
    let base = c.line("▁▁▁▁▁▁▁▁▁▁");
    assert!(base.starts_with(" ▁▁▁▁▁▁▁▁▁▁"), "{base:?}");
    c.tick(1_000);
    c.shows("0 calls/s · peak 20/s");
    c.shows("p95 1.9 s · peak 1.9 s");
}

#[test]
fn slow_call_is_marked_beside_its_usual_duration() {
    let usual = Latency {
        count: 9,
        errors: 0,
        p50_ms: 3,
        p95_ms: 5,
        max_ms: 5,
    };
    let mut c = Console::staged(120, 40);
    c.press("2");
    for (call, took_ms) in [(901, 4), (902, 900)] {
        start(&mut c, call, Some(usual));
        finish(&mut c, call, took_ms);
    }
    c.shows("TIME  USUAL  STATUS");
    let row = c.line("900 ms");
    assert!(row.contains("900 ms   3 ms  ✓ ok  slow"), "{row}");
    let row = c.line("  4 ms");
    assert!(row.ends_with("3 ms  ✓ ok"), "{row}");
}

#[test]
fn detail_of_a_plugin_charts_its_memory_and_the_durations_of_its_calls() {
    let mut c = Console::staged(120, 40);
    c.press("1 j j");
    c.shows("usage in the last 120 s");
    c.shows("180 M");
    c.hides("calls, p95");
    for (second, took_ms) in [(0, 20), (5, 1_200), (10, 600)] {
        finish(&mut c, 901 + second, took_ms);
        c.event(EventKind::Plugin(PluginEvent::Usage {
            plugin: fixture::id("hashicorp/aws"),
            usage: Usage {
                pid: 41_822,
                cpu_percent: 3.2,
                rss_bytes: (200 + second) << 20,
            },
        }));
        (0..5).for_each(|_| c.tick(1_000));
    }
    let calls = c.line("calls, p95");
    assert!(calls.contains("▁▂▇▄  20 ms to 1.2 s"), "{calls}");
    let memory = c.line("memory ");
    assert!(memory.contains("▇▇▇  180 M to 210 M"), "{memory}");
    // A plugin without a process has used nothing.
    c.press("k k");
    c.hides("usage in the last");
    c.press("j j");
    c.state.frame.size = (80, 24);
    assert!(c.line("memory ").contains("180 M to 210 M"));
}
