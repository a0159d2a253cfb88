//! What is put in comes out, in its order and within its bounds.

use super::*;
use crate::engine::words::LogQuery;

fn deposed(address: &str, key: &str) -> StateObject {
    StateObject {
        deposed: key.into(),
        ..object(address, "{}")
    }
}

fn addresses(state: &State) -> Vec<(&str, &str)> {
    state
        .objects
        .iter()
        .map(|o| (o.address.as_str(), o.deposed.as_str()))
        .collect()
}

#[tokio::test]
async fn state_edits_are_one_serial_and_keep_every_field() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let whole = StateObject {
        tainted: true,
        sensitive: "[[{\"type\":\"get_attr\",\"value\":\"p\"}]]".into(),
        identity: Some("{\"id\":1}".into()),
        identity_version: 3,
        ..object(
            "module.m[\"k\"].a.b[0]",
            "{\"n\":1267650600228229401496703205376}",
        )
    };
    let output = StateOutput {
        name: "o".into(),
        value: "\"v\"".into(),
        ty: "\"string\"".into(),
        sensitive: true,
    };
    let serial = store
        .edit_state(vec![
            StateEdit::Put(Box::new(whole.clone())),
            StateEdit::PutOutput(output.clone()),
        ])
        .await
        .unwrap();
    assert_eq!(serial, 1);
    let state = store.state().await.unwrap();
    assert_eq!(
        (state.serial, &state.objects, &state.outputs),
        (1, &vec![whole.clone()], &vec![output])
    );
    assert!(uuid::Uuid::parse_str(&state.lineage).is_ok());
    assert_eq!(
        store.edit_state(vec![]).await.unwrap(),
        1,
        "no edits, no new serial"
    );
    assert_eq!(
        store
            .edit_state(vec![StateEdit::RemoveOutput { name: "o".into() }])
            .await
            .unwrap(),
        2
    );
    assert!(store.state().await.unwrap().outputs.is_empty());
}

#[tokio::test]
async fn objects_are_deposed_restored_and_moved_without_losing_any() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let (a, key) = ("a.x".to_owned(), "00000001".to_owned());
    store
        .edit_state(vec![StateEdit::Put(Box::new(object("a.x", "{}")))])
        .await
        .unwrap();
    store
        .edit_state(vec![StateEdit::Depose {
            address: a.clone(),
            key: key.clone(),
        }])
        .await
        .unwrap();
    assert_eq!(
        addresses(&store.state().await.unwrap()),
        [("a.x", "00000001")]
    );
    store
        .edit_state(vec![StateEdit::Restore {
            address: a.clone(),
            key: key.clone(),
        }])
        .await
        .unwrap();
    assert_eq!(addresses(&store.state().await.unwrap()), [("a.x", "")]);

    store
        .edit_state(vec![StateEdit::Put(Box::new(deposed("a.x", "00000002")))])
        .await
        .unwrap();
    store
        .edit_state(vec![StateEdit::Restore {
            address: a.clone(),
            key: "00000002".into(),
        }])
        .await
        .unwrap();
    assert_eq!(
        addresses(&store.state().await.unwrap()),
        [("a.x", ""), ("a.x", "00000002")],
        "the place is taken: it stays deposed"
    );

    store
        .edit_state(vec![StateEdit::Move {
            from: a.clone(),
            to: "a.y".into(),
        }])
        .await
        .unwrap();
    assert_eq!(
        addresses(&store.state().await.unwrap()),
        [("a.y", ""), ("a.y", "00000002")]
    );
    store
        .edit_state(vec![StateEdit::Put(Box::new(object("a.z", "{}")))])
        .await
        .unwrap();
    let serial = store.state_serial().await.unwrap();
    let both = vec![
        StateEdit::Remove {
            address: "a.z".into(),
            deposed: "nothing there".into(),
        },
        StateEdit::Put(Box::new(object("a.new", "{}"))),
        StateEdit::Move {
            from: "a.y".into(),
            to: "a.z".into(),
        },
    ];
    let error = store.edit_state(both).await.unwrap_err();
    assert!(matches!(error, StoreError::Occupied { .. }), "{error}");
    let state = store.state().await.unwrap();
    assert_eq!(state.serial, serial, "a batch is kept whole or not at all");
    assert_eq!(
        addresses(&state),
        [("a.y", ""), ("a.y", "00000002"), ("a.z", "")]
    );
}

fn stage(id: StageId, digest: &str) -> StageRecord {
    StageRecord {
        id,
        name: None,
        at: 5,
        mode: StageMode::RefreshOnly,
        config_digest: digest.into(),
        variables_digest: "v".into(),
        plugins_digest: "p".into(),
        state_serial: 4,
        counts: Counts {
            create: 2,
            ..Counts::default()
        },
        summary: "{}".into(),
        detail: "{\"secret\":1}".into(),
        left: vec!["a.b".into()],
        snapshot: vec![("main.tf".into(), digest.into())],
    }
}

#[tokio::test]
async fn stages_are_numbered_kept_and_their_configuration_once_per_digest() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    assert_eq!(store.next_stage_id().await.unwrap(), 1);
    assert_eq!(
        store.next_stage_id().await.unwrap(),
        2,
        "a number is given out once"
    );
    store.put_stage(stage(1, "d1")).await.unwrap();
    store
        .put_stage(StageRecord {
            name: Some("tuesday".into()),
            ..stage(2, "d1")
        })
        .await
        .unwrap();
    assert_eq!(store.stage(1).await.unwrap(), Some(stage(1, "d1")));
    assert_eq!(store.latest_stage().await.unwrap().unwrap().id, 2);
    assert_eq!(store.stage_named("tuesday").await.unwrap().unwrap().id, 2);
    store.set_left(1, vec!["c.d".into()]).await.unwrap();
    assert_eq!(store.stage(1).await.unwrap().unwrap().left, ["c.d"]);
    assert!(matches!(
        store.set_left(9, vec![]).await,
        Err(StoreError::Missing { .. })
    ));
    let snapshots = store
        .read(|c| {
            Ok(
                c.query_row("SELECT count(*) FROM config_snapshot", [], |r| {
                    r.get::<_, i64>(0)
                })?,
            )
        })
        .await;
    assert_eq!(snapshots.unwrap(), 1);
}

#[tokio::test]
async fn old_stages_go_but_not_those_with_a_name_or_a_deploy() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.put_stage(stage(1, "d1")).await.unwrap();
    store
        .put_stage(StageRecord {
            name: Some("kept".into()),
            ..stage(2, "d2")
        })
        .await
        .unwrap();
    store.put_stage(stage(3, "d3")).await.unwrap();
    let deploy = store
        .begin_deploy(NewDeploy {
            stage: 3,
            config_digest: "d3".into(),
            ..new_deploy(vec![])
        })
        .await
        .unwrap();
    for id in 4..=60 {
        store.put_stage(stage(id, "rest")).await.unwrap();
    }
    assert_eq!(store.stage(1).await.unwrap(), None);
    assert_eq!(store.snapshot("d1").await.unwrap(), None);
    assert!(store.stage(2).await.unwrap().is_some());
    assert_eq!(
        store.stage(3).await.unwrap(),
        None,
        "its sensitive detail is gone"
    );
    assert!(
        store.snapshot("d3").await.unwrap().is_some(),
        "deploy {deploy} still names its configuration"
    );
    assert!(store.stage(11).await.unwrap().is_some());
}

#[tokio::test]
async fn a_deploy_is_remembered_with_its_operations_events_and_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let ops = vec![
        operation(0, "a.b", OperationState::Waiting),
        operation(1, "a.c", OperationState::Waiting),
    ];
    let id = store.begin_deploy(new_deploy(ops)).await.unwrap();
    assert_eq!(
        store.history(0).await.unwrap()[0].outcome,
        DeployOutcome::Running
    );
    store.intend(intent(id, 0, "a.b")).await.unwrap();
    assert!(
        store.unknown_outcomes().await.unwrap().is_empty(),
        "the deploy runs: nothing is unknown yet"
    );
    let serial = store
        .settle(outcome(
            id,
            0,
            true,
            vec![StateEdit::Put(Box::new(object("a.b", "{}")))],
        ))
        .await
        .unwrap();
    assert_eq!(serial, 1);
    let done = Operation {
        deploy: id,
        took_ms: Some(5),
        ..operation(0, "a.b", OperationState::Done)
    };
    store
        .operation_changed(done.clone(), Box::new(|e| panic!("{e}")))
        .await
        .unwrap();
    let events: Vec<Event> = (1..4)
        .map(|seq| Event {
            seq,
            at: 7,
            kind: EventKind::Notice {
                text: format!("event {seq}"),
            },
        })
        .collect();
    assert_eq!(store.append_events(id, events.clone()).await.unwrap(), 0);
    store
        .finish_deploy(finished(id, DeployOutcome::Succeeded))
        .await
        .unwrap();
    let second = store.begin_deploy(new_deploy(vec![])).await.unwrap();
    let record = store.deploy_record(id).await.unwrap().unwrap();
    assert_eq!(record.summary.outcome, DeployOutcome::Succeeded);
    assert_eq!(record.summary.ended, Some(9_000));
    assert_eq!(record.operations[0], done);
    assert_eq!(record.operations[1].deploy, id);
    assert_eq!(record.events, events);
    assert_eq!(store.history(1).await.unwrap()[0].deploy, second);
    assert_eq!(store.history(0).await.unwrap().len(), 2);
    assert_eq!(store.deploy_record(99).await.unwrap(), None);
}

#[tokio::test]
async fn an_operation_without_outcome_is_unknown_until_it_is_settled() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let id = store
        .begin_deploy(new_deploy(vec![operation(
            0,
            "a.b",
            OperationState::Running,
        )]))
        .await
        .unwrap();
    store.intend(intent(id, 0, "a.b")).await.unwrap();
    store
        .finish_deploy(finished(id, DeployOutcome::Cancelled))
        .await
        .unwrap();
    let unknown = store.unknown_outcomes().await.unwrap();
    assert_eq!(
        (
            unknown.len(),
            unknown[0].address.as_str(),
            unknown[0].deploy
        ),
        (1, "a.b", id)
    );
    let intents = vec![unknown[0].id];
    assert_eq!(
        store
            .settle_unknown(intents.clone(), "forgotten")
            .await
            .unwrap(),
        1
    );
    assert!(store.unknown_outcomes().await.unwrap().is_empty());
    assert_eq!(store.settle_unknown(intents, "forgotten").await.unwrap(), 0);
    assert_eq!(
        store.deploy_record(id).await.unwrap().unwrap().operations[0].step,
        Reached::Settled("forgotten".to_owned())
    );
}

fn failure(fingerprint: &str, address: &str, lines: usize) -> Failure {
    Failure {
        class: FailureClass::Transient,
        fingerprint: fingerprint.into(),
        summary: "rate exceeded".into(),
        detail: String::new(),
        address: Some(address.into()),
        plugin: None,
        method: None,
        incident: None,
        last_lines: (0..lines).map(|n| format!("line {n}")).collect(),
        last_lines_at: Vec::new(),
    }
}

#[tokio::test]
async fn failures_are_grouped_and_tell_what_followed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let one = store
        .begin_deploy(new_deploy(vec![operation(
            0,
            "a.b",
            OperationState::Failed,
        )]))
        .await
        .unwrap();
    store
        .put_failure(one, failure("f", "a.b", 150))
        .await
        .unwrap();
    store
        .put_failure(one, failure("f", "a.c", 1))
        .await
        .unwrap();
    store
        .put_failure(one, failure("g", "a.d", 0))
        .await
        .unwrap();
    let groups = store.failures(None).await.unwrap();
    assert_eq!(
        groups
            .iter()
            .map(|g| (g.fingerprint.as_str(), g.count))
            .collect::<Vec<_>>(),
        [("g", 1), ("f", 2)]
    );
    assert_eq!(groups[1].addresses, ["a.c", "a.b"]);
    assert_eq!(groups[1].deploys, [one]);
    assert_eq!(groups[1].followed_by, None);

    let two = store
        .begin_deploy(new_deploy(vec![operation(
            0,
            "a.b",
            OperationState::Failed,
        )]))
        .await
        .unwrap();
    store
        .put_failure(two, failure("f", "a.b", 150))
        .await
        .unwrap();
    store
        .begin_deploy(new_deploy(vec![operation(
            0,
            "a.b",
            OperationState::NotAttempted,
        )]))
        .await
        .unwrap();
    let four = store
        .begin_deploy(new_deploy(vec![operation(0, "a.b", OperationState::Done)]))
        .await
        .unwrap();
    let groups = store.failures(None).await.unwrap();
    assert_eq!((groups[0].count, &groups[0].deploys), (3, &vec![two, one]));
    assert_eq!(
        groups[0].followed_by.as_deref(),
        Some(format!("create of a.b in deploy {four} succeeded").as_str())
    );
    assert_eq!(groups[0].last_lines.len(), 100);
    assert_eq!(
        groups[0].last_lines[99], "line 149",
        "the last ones are kept"
    );
    assert!(store.failures(Some(i64::MAX)).await.unwrap().is_empty());
}

fn attempt(number: u32, began: UnixMs, verdict: Option<&str>) -> LaunchAttempt {
    LaunchAttempt {
        number,
        limit: 5,
        began,
        phases: vec![Phase {
            name: PhaseName::EXEC,
            at_ms: 1,
        }],
        pid: Some(7),
        start_time: Some(8),
        deadline_ms: 60_000,
        exit_code: None,
        signal: Some(9),
        last_lines: vec!["panic: no".into()],
        verdict: verdict.map(|kind| Verdict {
            kind: kind.into(),
            text: "why".into(),
            retryable: true,
        }),
        took_ms: Some(10),
        doing: None,
    }
}

#[tokio::test]
async fn launch_attempts_are_replaced_as_they_go_on_and_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let id = PluginId("bundled/lab".into());
    store
        .launch_attempt(id.clone(), attempt(1, 100, None))
        .await
        .unwrap();
    store
        .launch_attempt(id.clone(), attempt(1, 100, Some("exited")))
        .await
        .unwrap();
    let found = PluginFound {
        address: "flightdeck.internal/bundled/lab".into(),
        version: None,
        dialect: None,
        executable: None,
        source: "bundled".into(),
        why: "the only one".into(),
    };
    store.plugin_found(id.clone(), found.clone()).await.unwrap();
    let rows = store.plugins().await.unwrap();
    assert_eq!(
        (rows.len(), &rows[0].found, &rows[0].attempts),
        (1, &Some(found), &vec![attempt(1, 100, Some("exited"))])
    );
    for n in 0..150 {
        store
            .launch_attempt(id.clone(), attempt(1, 200 + n, Some("ready")))
            .await
            .unwrap();
    }
    let rows = store.plugins().await.unwrap();
    assert_eq!(rows[0].attempts.len(), 100);
    assert_eq!(rows[0].attempts[99].began, 349);
}

#[tokio::test]
async fn latencies_merge_over_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let sample = |took_ms, ok| CallSample {
        plugin: PluginId("p#2".into()),
        method: "PlanResourceChange".into(),
        resource_type: "lab_bucket".into(),
        action: String::new(),
        took_ms,
        ok,
    };
    for _ in 0..2 {
        let store = open(dir.path());
        store
            .add_calls((1..=100).map(|ms| sample(ms, ms != 100)).collect())
            .await
            .unwrap();
    }
    let store = open(dir.path());
    let stats = store.latencies().await.unwrap();
    assert_eq!(stats.len(), 1);
    // Of those that failed only the number is kept.
    assert_eq!(
        stats[0].latency,
        Latency {
            count: 200,
            errors: 2,
            p50_ms: 50,
            p95_ms: 95,
            max_ms: 99
        }
    );
    store
        .add_calls((0..1_000).map(|_| sample(7, true)).collect())
        .await
        .unwrap();
    let now = store.latencies().await.unwrap()[0].latency;
    assert_eq!(
        (now.count, now.p95_ms, now.max_ms),
        (1_200, 7, 99),
        "what is usual is told by the newest calls"
    );
}

fn line(n: i64, level: LogLevel, plugin: &str) -> LogLine {
    LogLine {
        plugin: PluginId(plugin.into()),
        at: n,
        level,
        stream: LogStream::Stderr,
        module: Some("m".into()),
        text: format!("line {n}"),
        panic: false,
    }
}

#[tokio::test]
async fn log_lines_are_found_by_plugin_level_and_time_and_followed_by_number() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lines = vec![
        line(1, LogLevel::Debug, "hashicorp/aws"),
        line(2, LogLevel::Error, "hashicorp/aws"),
        line(3, LogLevel::Warn, "lab"),
    ];
    store.append_logs(lines.clone()).await.unwrap();
    let texts = |rows: Vec<crate::engine::words::LogRow>| {
        rows.into_iter().map(|r| r.line.text).collect::<Vec<_>>()
    };
    let all = store.logs(LogQuery::default()).await.unwrap();
    assert_eq!(
        all.iter().map(|r| r.line.clone()).collect::<Vec<_>>(),
        lines
    );
    let query = LogQuery {
        level: Some(LogLevel::Warn),
        ..LogQuery::default()
    };
    assert_eq!(
        texts(store.logs(query).await.unwrap()),
        ["line 2", "line 3"]
    );
    let query = LogQuery {
        plugin: Some("aws".into()),
        since: Some(2),
        ..LogQuery::default()
    };
    assert_eq!(texts(store.logs(query).await.unwrap()), ["line 2"]);
    assert_eq!(
        texts(
            store
                .logs(LogQuery {
                    limit: 1,
                    ..LogQuery::default()
                })
                .await
                .unwrap()
        ),
        ["line 3"]
    );
    assert_eq!(
        texts(
            store
                .logs_after(
                    all[0].id,
                    LogQuery {
                        limit: 1,
                        ..LogQuery::default()
                    }
                )
                .await
                .unwrap()
        ),
        ["line 2"]
    );
}

#[tokio::test]
async fn log_lines_are_bounded_and_what_goes_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let total = KEPT_LINES + 5_000;
    store
        .append_logs((0..total).map(|n| line(n, LogLevel::Info, "p")).collect())
        .await
        .unwrap();
    let kept = store
        .read(|c| Ok(c.query_row("SELECT count(*) FROM log", [], |r| r.get::<_, i64>(0))?))
        .await
        .unwrap();
    assert!((KEPT_LINES..KEPT_LINES + 2_000).contains(&kept), "{kept}");
    assert_eq!(store.logs_trimmed().await.unwrap(), total - kept);
    assert_eq!(
        store
            .logs(LogQuery {
                limit: 1,
                ..LogQuery::default()
            })
            .await
            .unwrap()[0]
            .line
            .at,
        total - 1
    );
}
