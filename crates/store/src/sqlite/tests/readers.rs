//! The state for other tools and for display; the recorder.

use super::*;
use model::LogQuery;
use model::bus::{Bus, CAPACITY};
use model::secrets::Secrets;
use serde_json::json;
use std::sync::Arc;

fn whole_state() -> State {
    let tainted = StateObject {
        tainted: true,
        ..object(
            "module.m[\"k\"].lab_x.y[10]",
            "{\"n\":1267650600228229401496703205376.5}",
        )
    };
    let second = StateObject {
        private: vec![],
        dependencies: vec![],
        create_before_destroy: false,
        ..object("module.m[\"k\"].lab_x.y[2]", "{}")
    };
    let old = StateObject {
        deposed: "0000000a".into(),
        ..second.clone()
    };
    let data = StateObject {
        identity: Some("{\"id\":1}".into()),
        ..object("data.lab_x.y[\"a.b\"]", "{}")
    };
    let outputs = vec![StateOutput {
        rest: String::new(),
        name: "o".into(),
        value: "[1]".into(),
        ty: "[\"tuple\",[\"number\"]]".into(),
        sensitive: true,
    }];
    State {
        serial: 7,
        lineage: "l".into(),
        objects: vec![data, tainted, second, old],
        outputs,
        ..State::default()
    }
}

#[test]
fn state_version_4_groups_instances_and_keeps_all_digits() {
    let v4: serde_json::Value = serde_json::from_str(&version4(&whole_state()).to_line()).unwrap();
    assert_eq!(
        (&v4["version"], &v4["serial"], &v4["lineage"]),
        (&json!(4), &json!(7), &json!("l"))
    );
    assert_eq!(
        v4["outputs"],
        json!({"o": {"value": [1], "type": ["tuple", ["number"]], "sensitive": true}})
    );
    let resources = v4["resources"].as_array().unwrap();
    assert_eq!(resources.len(), 2);
    let data = &resources[0];
    assert_eq!(
        (
            &data["mode"],
            &data["module"],
            &data["instances"][0]["index_key"]
        ),
        (&json!("data"), &json!(null), &json!("a.b"))
    );
    assert_eq!(data["instances"][0]["identity"], json!({"id": 1}));
    assert_eq!(data["instances"][0]["private"], "AJ//");
    let managed = &resources[1];
    assert_eq!(
        (&managed["module"], &managed["type"], &managed["name"]),
        (&json!("module.m[\"k\"]"), &json!("lab_x"), &json!("y"))
    );
    let keys: Vec<_> = managed["instances"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| (&i["index_key"], &i["deposed"]))
        .collect();
    assert_eq!(
        keys,
        [
            (&json!(2), &json!(null)),
            (&json!(2), &json!("0000000a")),
            (&json!(10), &json!(null))
        ],
        "by number, not by text"
    );
    assert_eq!(managed["instances"][2]["status"], "tainted");
    assert_eq!(
        managed["instances"][2]["attributes"].to_string(),
        "{\"n\":1267650600228229401496703205376.5}"
    );
    assert_eq!(managed["instances"][0].get("dependencies"), None);
    assert!(version4(&State::default()).resources.is_empty());
}

#[test]
fn state_rows_redact_sensitive_values_at_any_depth() {
    let attributes = json!({
        "id": "i", "password": "p", "absent": null, "tags": {"a b": "t", "key": "secret"},
        "rule": [{"port": 1, "token": "s"}, {"port": 2, "token": "t"}], "set": ["x", "y"], "none": [],
        "any": {"value": {"a": 1, "b": 2}, "type": ["object", {"a": "number", "b": "number"}]},
    });
    let step = |name: &str| json!({"type": "get_attr", "value": name});
    let index = |value: serde_json::Value, ty: &str| json!({"type": "index", "value": {"value": value, "type": ty}});
    let sensitive = json!([
        [step("password")],
        [step("tags"), index(json!("key"), "string")],
        [step("rule"), index(json!(1), "number"), step("token")],
        [step("any"), index(json!("b"), "string")],
        [step("set"), index(json!({"x": 1}), "object")],
    ]);
    let state = State {
        objects: vec![
            StateObject {
                sensitive: sensitive.to_string(),
                ..object("module.m.lab_x.y", &attributes.to_string())
            },
            StateObject {
                dependencies: vec!["module.m.lab_x.y".into()],
                ..object("lab_x.z[0]", "{\"id\":1}")
            },
            StateObject {
                dependencies: vec!["module.m.lab_x.y".into()],
                ..object("lab_x.z[1]", "{\"id\":2}")
            },
            StateObject {
                sensitive: "what is this".into(),
                ..object("lab_x.w", "{\"id\":1}")
            },
        ],
        ..State::default()
    };
    let rows = rows(&Arc::new(state), &Secrets::default());
    let shown: Vec<String> = rows[0]
        .attributes
        .iter()
        .map(|(path, value)| format!("{path} = {value}"))
        .collect();
    assert_eq!(
        shown,
        [
            "id = \"i\"",
            "password = (sensitive)",
            "tags[\"a b\"] = \"t\"",
            "tags.key = (sensitive)",
            "rule[0].port = 1",
            "rule[0].token = \"s\"",
            "rule[1].port = 2",
            "rule[1].token = (sensitive)",
            "set = (sensitive)",
            "none = []",
            "any.a = 1",
            "any.b = (sensitive)",
        ]
    );
    assert_eq!(
        (
            rows[0].module.as_str(),
            rows[0].name.as_str(),
            &rows[0].dependents
        ),
        ("module.m", "y", &vec!["lab_x.z".to_owned()])
    );
    let counts: Vec<_> = rows
        .iter()
        .map(|r| (r.dependency_count, r.dependent_count))
        .collect();
    assert_eq!(
        counts,
        [(0, 2), (1, 0), (1, 0), (0, 0)],
        "objects, not resources"
    );
    assert_eq!(
        *rows[3].attributes,
        [("*".to_owned(), "(sensitive)".to_owned())],
        "in doubt it is a secret"
    );
}

#[tokio::test]
async fn engine_events_are_recorded_after_a_flush() {
    let dir = tempfile::tempdir().unwrap();
    let (store, bus, tasks) = (
        open(dir.path()),
        Bus::default(),
        tokio_util::task::TaskTracker::new(),
    );
    let recorder = Recorder::start(Store(Arc::new(store.clone())), bus.subscribe().1, &tasks);
    let deploy = store.begin_deploy(new_deploy(vec![])).await.unwrap().deploy;
    let plugin = PluginId("bundled/lab".into());
    let line = |n: u32| LogLine {
        plugin: plugin.clone(),
        at: 1,
        level: LogLevel::Info,
        stream: LogStream::Stderr,
        module: None,
        text: format!("line {n}"),
        panic: false,
    };
    let call = |outcome| {
        EventKind::CallFinished(CallFinished {
            call: 1,
            plugin: plugin.clone(),
            method: "ApplyResourceChange".into(),
            resource: None,
            resource_type: None,
            action: None,
            took_ms: 20,
            outcome,
            error: None,
            again: None,
            covers: false,
            measured: Some(Measured {
                method: Latency::default(),
                plugin: Latency::default(),
            }),
        })
    };
    bus.emit(EventKind::Notice {
        text: "before the deploy".into(),
    });
    let started = DeployStarted {
        deploy,
        stage: 1,
        mode: StageMode::Normal,
        who: "kim".into(),
        host: "here".into(),
        parallelism: 10,
        operations: vec![],
    };
    bus.emit(EventKind::DeployStarted(started));
    for n in 0..3_000 {
        bus.emit(EventKind::Plugin(PluginEvent::Log { line: line(n) }));
    }
    bus.emit(call(CallOutcome::Ok));
    bus.emit(call(CallOutcome::Cancelled));
    bus.emit(EventKind::DeployFinished(finished(
        deploy,
        DeployOutcome::Succeeded,
    )));
    bus.emit(EventKind::Notice {
        text: "after the deploy".into(),
    });
    recorder.flush().await;

    assert_eq!(
        store
            .logs(LogQuery {
                limit: 9_000,
                ..LogQuery::default()
            })
            .await
            .unwrap()
            .len(),
        3_000
    );
    assert_eq!(store.latencies().await.unwrap()[0].latency.count, 1);
    let events = store.deploy_record(deploy).await.unwrap().unwrap().events;
    let kinds: Vec<bool> = events
        .iter()
        .map(|e| matches!(e.kind, EventKind::CallFinished(_)))
        .collect();
    assert_eq!(
        kinds,
        [false, true, true, false],
        "from its beginning to its end, without log lines: {events:?}"
    );
    let measured =
        |e: &Event| matches!(&e.kind, EventKind::CallFinished(call) if call.measured.is_some());
    assert!(
        !events.iter().any(measured),
        "how calls went by then is not kept with each of them"
    );
    drop(recorder);
    tasks.close();
    tasks.wait().await;
}

#[tokio::test]
async fn event_overflow_is_recorded_as_missing_lines_and_keeps_attempts() {
    let dir = tempfile::tempdir().unwrap();
    let (store, bus, tasks) = (
        open(dir.path()),
        Bus::default(),
        tokio_util::task::TaskTracker::new(),
    );
    let (_, events) = bus.subscribe();
    let plugin = PluginId("bundled/lab".into());
    for n in (0..).take(CAPACITY + 10_000) {
        let text = format!("line {n}");
        let line = LogLine {
            plugin: plugin.clone(),
            at: n,
            level: LogLevel::Info,
            stream: LogStream::Stderr,
            module: None,
            text,
            panic: false,
        };
        bus.emit(EventKind::Plugin(PluginEvent::Log { line }));
    }
    let attempt = LaunchAttempt {
        number: 1,
        limit: 5,
        began: 5,
        phases: vec![],
        pid: None,
        start_time: None,
        deadline_ms: 1,
        exit_code: None,
        signal: None,
        last_lines: vec![],
        verdict: None,
        took_ms: None,
        doing: None,
        beside: false,
    };
    bus.emit(EventKind::Plugin(PluginEvent::Attempt {
        plugin,
        attempt: attempt.clone(),
    }));
    let recorder = Recorder::start(Store(Arc::new(store.clone())), events, &tasks);
    recorder.flush().await;
    assert_eq!(store.plugins().await.unwrap()[0].attempts, [attempt]);
    let lines = store
        .logs(LogQuery {
            plugin: Some("flightdeck".into()),
            ..LogQuery::default()
        })
        .await
        .unwrap();
    assert!(lines[0].line.text.contains("missing"), "{lines:?}");
}

#[tokio::test]
async fn log_lines_emitted_before_shutdown_are_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let (store, bus, tasks) = (
        open(dir.path()),
        Bus::default(),
        tokio_util::task::TaskTracker::new(),
    );
    let recorder = Recorder::start(Store(Arc::new(store.clone())), bus.subscribe().1, &tasks);
    for n in 0..8_000 {
        let line = LogLine {
            plugin: PluginId("bundled/lab".into()),
            at: n,
            level: LogLevel::Info,
            stream: LogStream::Stderr,
            module: None,
            text: format!("line {n}"),
            panic: false,
        };
        bus.emit(EventKind::Plugin(PluginEvent::Log { line }));
    }
    drop(recorder);
    tasks.close();
    tasks.wait().await;
    let query = LogQuery {
        limit: 9_000,
        ..LogQuery::default()
    };
    assert_eq!(store.logs(query).await.unwrap().len(), 8_000);
}
