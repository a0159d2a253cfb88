//! Counters from the events of a bus, and gauges from its view.

use super::Measures;
use model::bus::{Bus, CAPACITY};
use model::*;
use std::collections::BTreeSet;

fn plugin() -> PluginId {
    PluginId("acme/\"odd\"".into())
}

fn attempt(number: u32, verdict: Option<&str>) -> EventKind {
    let verdict = verdict.map(|kind| Verdict {
        kind: kind.into(),
        text: String::new(),
        retryable: true,
    });
    EventKind::Plugin(PluginEvent::Attempt {
        plugin: plugin(),
        attempt: LaunchAttempt {
            number,
            limit: 5,
            began: i64::from(number),
            phases: Vec::new(),
            pid: None,
            start_time: None,
            deadline_ms: 0,
            exit_code: None,
            signal: None,
            last_lines: Vec::new(),
            took_ms: verdict.is_some().then_some(40),
            verdict,
            doing: None,
            beside: false,
        },
    })
}

fn call(number: CallId, outcome: CallOutcome, took_ms: u64) -> EventKind {
    EventKind::CallFinished(CallFinished {
        call: number,
        plugin: plugin(),
        method: "ReadResource".into(),
        resource: None,
        resource_type: None,
        action: None,
        took_ms,
        outcome,
        error: None,
        again: None,
        covers: false,
        measured: None,
    })
}

fn operation(index: u32, state: OperationState) -> EventKind {
    EventKind::Operation(Operation {
        deploy: 1,
        index,
        address: "a.b".to_owned(),
        plugin: None,
        action: Action::Create,
        state,
        step: OperationProgress::default(),
        half_done: false,
        attempt: 1,
        retry: None,
        waits_until_ready: None,
        began: Some(1),
        took_ms: Some(2_000),
        waits_for: Vec::new(),
        waits_for_more: 0,
        waits_for_all_of: Vec::new(),
        usual_ms: None,
        failure: None,
        warnings: Vec::new(),
        beside: Vec::new(),
    })
}

/// Returns the lines of a metric, with the plugin's name shortened.
fn lines(text: &str, name: &str) -> Vec<String> {
    let named = |line: &&str| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
    };
    let short = |line: &str| line.replace("plugin=\"acme/\\\"odd\\\"\"", "plugin");
    let mut all: Vec<String> = text.lines().filter(named).map(short).collect();
    all.sort();
    all
}

fn measured(events: impl IntoIterator<Item = EventKind>) -> String {
    let (bus, measures) = (Bus::default(), Measures::new());
    bus.listen(measures.clone());
    events.into_iter().for_each(|event| bus.emit(event));
    measures.text(&bus).unwrap()
}

#[test]
fn launch_attempts_and_operations_are_counted_once() {
    use OperationState::{Done, Failed, NotAttempted, Running, Unknown};
    let text = measured([
        attempt(1, None),
        attempt(1, Some("timed_out")),
        attempt(2, None),
        attempt(2, Some("ready")),
        operation(0, Running),
        operation(0, Done),
        operation(0, Done),
        operation(1, Failed),
        operation(2, NotAttempted),
        operation(3, Unknown),
        operation(3, Unknown),
    ]);
    assert_eq!(
        lines(&text, "flightdeck_launches_total"),
        [
            "flightdeck_launches_total{plugin,verdict=\"ready\"} 1",
            "flightdeck_launches_total{plugin,verdict=\"timed_out\"} 1",
        ]
    );
    assert_eq!(
        lines(&text, "flightdeck_launch_duration_seconds_sum"),
        ["flightdeck_launch_duration_seconds_sum{plugin} 0.04"]
    );
    assert_eq!(
        lines(&text, "flightdeck_operations_total"),
        ["done", "failed", "not_attempted", "unknown_outcome"].map(|outcome| format!(
            "flightdeck_operations_total{{action=\"create\",outcome=\"{outcome}\"}} 1"
        ))
    );
}

#[test]
fn replacement_is_counted_once_and_old_process_is_draining_until_gone() {
    let leaving = |calls| DrainingProcess {
        generation: 1,
        pid: Some(7),
        since: 1,
        why: "its file has changed".to_owned(),
        calls,
        overdue: false,
    };
    let replaced = |calls| {
        EventKind::Plugin(PluginEvent::Replaced {
            plugin: plugin(),
            pid: Some(8),
            leaving: leaving(calls),
        })
    };
    let leaves = |calls| {
        EventKind::Plugin(PluginEvent::Leaves {
            plugin: plugin(),
            leaving: leaving(calls),
        })
    };
    let left = EventKind::Plugin(PluginEvent::Left {
        plugin: plugin(),
        generation: 1,
        how: "stopped after its last call".to_owned(),
    });
    let seen = |text: &str| {
        ["plugin_replacements_total", "plugin_processes_draining"]
            .map(|name| lines(text, &format!("flightdeck_{name}")).concat())
    };
    assert_eq!(
        seen(&measured([replaced(2), leaves(1)])),
        [
            "flightdeck_plugin_replacements_total{plugin} 1",
            "flightdeck_plugin_processes_draining{plugin} 1"
        ]
    );
    assert_eq!(
        seen(&measured([replaced(1), left])),
        [
            "flightdeck_plugin_replacements_total{plugin} 1",
            "flightdeck_plugin_processes_draining{plugin} 0"
        ]
    );
}

#[test]
fn cancelled_calls_are_not_in_the_duration_histogram() {
    let text = measured([
        call(1, CallOutcome::Ok, 20),
        call(2, CallOutcome::Error, 300),
        call(3, CallOutcome::Cancelled, 9_000),
    ]);
    let bucket = |bound: &str| {
        let all = lines(&text, "flightdeck_call_duration_seconds_bucket");
        let it = all.iter().find(|l| l.contains(&format!("le=\"{bound}\"")));
        it.unwrap().rsplit(' ').next().unwrap().to_owned()
    };
    assert_eq!(
        lines(&text, "flightdeck_calls_total"),
        ["cancelled", "error", "ok"].map(|outcome| format!(
            "flightdeck_calls_total{{plugin,method=\"ReadResource\",outcome=\"{outcome}\"}} 1"
        ))
    );
    assert_eq!(
        [
            bucket("0.01"),
            bucket("0.025"),
            bucket("0.5"),
            bucket("+Inf")
        ],
        ["0", "1", "2", "2"]
    );
}

#[test]
fn metrics_of_ended_calls_and_former_states_disappear() {
    let (bus, measures) = (Bus::default(), Measures::new());
    let state = |state| {
        EventKind::Plugin(PluginEvent::State {
            plugin: plugin(),
            state,
        })
    };
    let started = EventKind::CallStarted(CallStarted {
        call: 7,
        plugin: plugin(),
        slot: 1,
        slots: 10,
        method: "ReadResource".into(),
        resource: None,
        deadline_ms: None,
        usual: None,
        queued_ms: 0,
    });
    // Visible even though the listener was added later.
    bus.emit(state(PluginState::Ready { since: 1 }));
    bus.listen(measures.clone());
    bus.emit(started);
    let seen = |name: &str| lines(&measures.text(&bus).unwrap(), name);
    assert_eq!(
        seen("flightdeck_plugin_state"),
        ["flightdeck_plugin_state{plugin,state=\"ready\"} 1"]
    );
    assert_eq!(
        seen("flightdeck_pool_slots_held"),
        ["flightdeck_pool_slots_held{plugin} 1"]
    );
    bus.emit(call(7, CallOutcome::Ok, 1));
    bus.emit(state(PluginState::GaveUp { why: String::new() }));
    assert_eq!(
        seen("flightdeck_plugin_state"),
        ["flightdeck_plugin_state{plugin,state=\"gave_up\"} 1"]
    );
    assert_eq!(seen("flightdeck_pool_slots_held"), Vec::<String>::new());
    assert_eq!(
        seen("flightdeck_pool_slots"),
        ["flightdeck_pool_slots{plugin} 10"]
    );
}

#[tokio::test]
async fn missed_events_and_omitted_log_lines_are_counted() {
    let (bus, measures) = (Bus::default(), Measures::new());
    bus.listen(measures.clone());
    let (_, _reader) = bus.subscribe();
    let told = CAPACITY + 808;
    for _ in 0..told {
        bus.emit(EventKind::Plugin(PluginEvent::LinesLeftOut {
            plugin: plugin(),
            lines: 2,
        }));
    }
    let text = measures.text(&bus).unwrap();
    assert_eq!(
        lines(&text, "flightdeck_plugin_log_lines_left_out_total"),
        [format!(
            "flightdeck_plugin_log_lines_left_out_total{{plugin}} {}",
            2 * told
        )]
    );
    assert_eq!(
        lines(&text, "flightdeck_events_missed"),
        ["flightdeck_events_missed 808"]
    );
}

/// Returns the metric names in a text: `flightdeck_…`.
fn named(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let begins = text.match_indices("flightdeck_").map(|(at, _)| &text[at..]);
    let name = |text: &str| text.split(|c| !is_name(c)).next().unwrap().to_owned();
    begins.map(name).collect()
}

#[test]
fn metrics_documentation_and_dashboard_match_the_metrics() {
    let log = EventKind::Plugin(PluginEvent::Log {
        line: LogLine {
            plugin: plugin(),
            at: 0,
            level: LogLevel::Info,
            stream: LogStream::Stderr,
            module: None,
            text: String::new(),
            panic: false,
        },
    });
    let of_source = [include_str!("counters.rs"), include_str!("gauges.rs")].concat();
    // Each family is registered by a line with its name in quotes.
    let quoted: BTreeSet<&str> = of_source.split('"').skip(1).step_by(2).collect();
    let text = measured([log, attempt(1, Some("ready")), call(1, CallOutcome::Ok, 1)]);
    let said = text
        .lines()
        .filter_map(|l| l.strip_prefix("# TYPE flightdeck_"));
    let said: Vec<&str> = said.filter_map(|l| l.split(' ').next()).collect();
    assert!(said.len() > 5, "{text}");
    let bare = |name: &str| {
        let name = name.trim_start_matches("flightdeck_");
        ["_total", "_info", "_bucket", "_seconds"]
            .iter()
            .fold(name.to_owned(), |n, end| n.trim_end_matches(end).to_owned())
    };
    let page = named(include_str!("../../../../docs/metrics.md"));
    let page: BTreeSet<String> = page.iter().map(|name| bare(name)).collect();
    for name in said {
        assert!(
            page.contains(&bare(name)),
            "docs/metrics.md does not name {name}"
        );
    }
    for name in &page {
        assert!(
            quoted.contains(name.as_str()),
            "nothing is measured as {name}"
        );
    }
    let dashboard = include_str!("../../../../docs/metrics/grafana.json");
    serde_json::from_str::<serde_json::Value>(dashboard).unwrap();
    for name in named(dashboard) {
        assert!(page.contains(&bare(&name)), "the dashboard reads {name}");
    }
}
