//! Stored deploys: operations, order, unknown outcomes, failures.

use super::*;
use std::sync::Arc;

#[tokio::test]
async fn deploy_record_includes_operations_events_and_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let ops = vec![
        operation(0, "a.b", OperationState::Waiting),
        operation(1, "a.c", OperationState::Waiting),
    ];
    let id = store.begin_deploy(new_deploy(ops)).await.unwrap().deploy;
    assert_eq!(
        store.history(0).await.unwrap()[0].outcome,
        DeployOutcome::Running
    );
    store.record_intent(intent(id, 0, "a.b")).await.unwrap();
    assert!(
        store.unknown_outcomes().await.unwrap().is_empty(),
        "the deploy runs: nothing is unknown yet"
    );
    let serial = store
        .record_outcome(outcome(
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
        .operations_changed(vec![done.clone()], Box::new(|e| panic!("{e}")))
        .await
        .unwrap();
    let events: Vec<Event> = (1..4).map(notice).collect();
    for together in events.chunks(2) {
        let shared = together.iter().cloned().map(Arc::new).collect();
        assert_eq!(store.append_events(id, shared).await.unwrap(), 0);
    }
    store
        .finish_deploy(finished(id, DeployOutcome::Succeeded))
        .await
        .unwrap();
    let second = store.begin_deploy(new_deploy(vec![])).await.unwrap().deploy;
    let record = store.deploy_record(id).await.unwrap().unwrap();
    assert_eq!(record.summary.outcome, DeployOutcome::Succeeded);
    assert_eq!(record.summary.ended, Some(9_000));
    assert_eq!(record.operations[0], done);
    assert_eq!(record.operations[1].deploy, id);
    assert_eq!(record.events, events);
    assert_eq!(store.history(1).await.unwrap()[0].deploy, second);
    assert_eq!(store.history(0).await.unwrap().len(), 2);
    assert_eq!(store.operations(id).await.unwrap(), record.operations);
    assert_eq!(store.deploy_record(99).await.unwrap(), None);
    assert_eq!(store.operations(99).await.unwrap(), []);
}

/// Events in the form of layouts before the eighth: one row each.
#[tokio::test]
async fn single_event_rows_are_read_before_batched_ones() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let id = store.begin_deploy(new_deploy(vec![])).await.unwrap().deploy;
    let first = notice(1);
    let text = serde_json::to_string(&first).unwrap();
    store
        .write("an older event", move |conn| {
            conn.execute("INSERT INTO event VALUES (?1, 1, ?2)", (id, text))?;
            Ok(())
        })
        .await
        .unwrap();
    let more = vec![Arc::new(notice(2)), Arc::new(notice(3))];
    store.append_events(id, more).await.unwrap();
    let record = store.deploy_record(id).await.unwrap().unwrap();
    assert_eq!(record.events, [first, notice(2), notice(3)]);
    let later = id + 50;
    store
        .write("a later deploy", move |conn| {
            super::super::deploys::insert_deploy(
                conn,
                Some(later),
                &mut new_deploy(vec![]),
                false,
            )?;
            Ok(())
        })
        .await
        .unwrap();
    store
        .finish_deploy(finished(later, DeployOutcome::Succeeded))
        .await
        .unwrap();
    let record = store.deploy_record(id).await.unwrap().unwrap();
    assert_eq!(record.events, [], "those of fifty deploys are kept");
}

#[tokio::test]
async fn excess_deploy_events_are_dropped_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let id = store.begin_deploy(new_deploy(vec![])).await.unwrap().deploy;
    let most = u64::from(MAX_EVENTS);
    let some = |from: u64, to: u64| (from..to).map(|seq| Arc::new(notice(seq))).collect();
    assert_eq!(store.append_events(id, some(1, most)).await.unwrap(), 0);
    // A new store counts the stored events.
    drop(store);
    let store = open(dir.path());
    for (events, dropped) in [(some(most, most + 3), 2), (some(most + 3, most + 5), 2)] {
        assert_eq!(store.append_events(id, events).await.unwrap(), dropped);
    }
    let record = store.deploy_record(id).await.unwrap().unwrap();
    assert_eq!(record.events.len(), MAX_EVENTS as usize);
    assert_eq!(record.events.last(), Some(&notice(most)));
    let counted = store.read(|conn| {
        Ok(
            conn.query_row("SELECT events_dropped FROM deploy", [], |r| {
                r.get::<_, i64>(0)
            })?,
        )
    });
    assert_eq!(counted.await.unwrap(), 4);
}

fn notice(seq: u64) -> Event {
    Event {
        seq,
        at: 7,
        kind: EventKind::Notice {
            text: format!("event {seq}"),
        },
    }
}

#[tokio::test]
async fn operation_without_outcome_is_unknown_until_settled() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let id = store
        .begin_deploy(new_deploy(vec![operation(
            0,
            "a.b",
            OperationState::Running,
        )]))
        .await
        .unwrap()
        .deploy;
    store.record_intent(intent(id, 0, "a.b")).await.unwrap();
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
        OperationProgress::Settled("forgotten".to_owned())
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
async fn failures_are_grouped_with_the_outcome_that_followed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let one = store
        .begin_deploy(new_deploy(vec![operation(
            0,
            "a.b",
            OperationState::Failed,
        )]))
        .await
        .unwrap()
        .deploy;
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
        .unwrap()
        .deploy;
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
        .unwrap()
        .deploy;
    let groups = store.failures(None).await.unwrap();
    assert_eq!((groups[0].count, &groups[0].deploys), (3, &vec![two, one]));
    assert_eq!(
        groups[0].followed_by.as_deref(),
        Some(format!("create of a.b in deploy {four} succeeded").as_str())
    );
    let newest: Vec<_> = groups[0]
        .newest
        .iter()
        .map(|f| (f.deploy, f.address.as_deref(), f.next))
        .collect();
    assert_eq!(
        newest,
        [
            (two, Some("a.b"), Some((four, OperationState::Done))),
            (one, Some("a.c"), None),
            (one, Some("a.b"), Some((two, OperationState::Failed))),
        ]
    );
    assert_eq!(groups[0].newest[0].action, Some(Action::Create));
    // The other resource of the group has not succeeded since.
    assert_eq!(groups[0].solved_in, None);
    let five = store
        .begin_deploy(new_deploy(vec![operation(0, "a.c", OperationState::Done)]))
        .await
        .unwrap()
        .deploy;
    let solved = store.failures(None).await.unwrap();
    assert_eq!(solved[0].solved_in, Some(five));
    assert_eq!(solved[1].solved_in, None, "a.d has no later operation");
    assert_eq!(groups[0].last_lines.len(), 100);
    assert_eq!(
        groups[0].last_lines[99], "line 149",
        "the last ones are kept"
    );
    assert!(store.failures(Some(i64::MAX)).await.unwrap().is_empty());
}

#[tokio::test]
async fn withdrawn_intent_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let ops = vec![operation(0, "a.b", OperationState::Waiting)];
    let id = store.begin_deploy(new_deploy(ops)).await.unwrap().deploy;
    for n in [0, 1] {
        store.record_intent(intent(id, n, "a.b")).await.unwrap();
    }
    let step = intent(id, 1, "a.b").step;
    store.remove_intent(id, 1, step.clone()).await.unwrap();
    // An intent with an outcome stays.
    store
        .record_outcome(outcome(id, 0, true, vec![]))
        .await
        .unwrap();
    store.remove_intent(id, 0, step).await.unwrap();
    let rows: Vec<(u32, Option<bool>)> = store
        .read(|conn| {
            let mut query = conn.prepare("SELECT idx, ok FROM intent ORDER BY id")?;
            let rows = query.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
        .unwrap();
    assert_eq!(rows, [(0, Some(true))]);
}
