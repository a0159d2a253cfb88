//! Progress of unfinished destroys: lifetime of recorded steps.

use super::*;

const DETAIL: &str = r#"{"destroy":{"object":"o1","command":"c1"}}"#;

fn provisioner() -> OperationStep {
    OperationStep::Provisioner {
        kind: "local-exec".into(),
        place: 1,
    }
}

fn begun(deploy: DeployId, detail: &str) -> Intent {
    Intent {
        step: provisioner(),
        detail: detail.into(),
        ..intent(deploy, 0, "a.b")
    }
}

fn ended(deploy: DeployId, step: OperationStep, ok: bool) -> Outcome {
    Outcome {
        step,
        ..outcome(deploy, 0, ok, Vec::new())
    }
}

/// A store with one recorded step.
async fn with_step(dir: &Path) -> (Sqlite, DeployId) {
    let store = open(dir);
    let put = StateEdit::Put(Box::new(object("a.b", "{}")));
    store.edit_state(vec![put]).await.unwrap();
    let ops = vec![operation(0, "a.b", OperationState::Running)];
    let id = store.begin_deploy(new_deploy(ops)).await.unwrap().deploy;
    store.intend(begun(id, DETAIL)).await.unwrap();
    store.settle(ended(id, provisioner(), true)).await.unwrap();
    (store, id)
}

async fn addresses(store: &Sqlite) -> Vec<String> {
    let steps = store.destroy_steps().await.unwrap();
    steps.into_iter().map(|step| step.address).collect()
}

#[tokio::test]
async fn a_step_of_a_destroy_is_on_record_with_what_it_ran_for() {
    let dir = tempfile::tempdir().unwrap();
    let (store, id) = with_step(dir.path()).await;
    let step = DestroyStep {
        address: "a.b".into(),
        deploy: id,
        step: provisioner(),
        ended: 3_000,
        of: DestroyStepOf {
            object: "o1".into(),
            command: "c1".into(),
        },
    };
    assert_eq!(store.destroy_steps().await.unwrap(), [step]);
    // Neither a step of a creation nor a failed one.
    let second = store.begin_deploy(new_deploy(vec![])).await.unwrap().deploy;
    for (detail, ok) in [("{}", true), (DETAIL, false)] {
        store.intend(begun(second, detail)).await.unwrap();
        store
            .settle(ended(second, provisioner(), ok))
            .await
            .unwrap();
    }
    assert_eq!(addresses(&store).await, ["a.b"]);
}

#[tokio::test]
async fn a_step_is_dropped_once_its_object_is_gone_or_another_one() {
    let remove = |deposed: &str| StateEdit::Remove {
        address: "a.b".into(),
        deposed: deposed.into(),
    };
    let depose = StateEdit::Depose {
        address: "a.b".into(),
        key: "0a1b2c3d".into(),
    };
    let moved = StateEdit::Move {
        from: "a.b".into(),
        to: "a.c".into(),
    };
    let put = StateEdit::Put(Box::new(object("a.b", "{}")));
    let of_other = StateEdit::Remove {
        address: "a.x".into(),
        deposed: String::new(),
    };
    for (edit, left) in [
        (remove(""), vec![]),
        (depose, vec![]),
        (remove("0a1b2c3d"), vec!["a.b"]),
        (of_other, vec!["a.b"]),
        (put, vec!["a.b"]),
        (moved, vec!["a.c"]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = with_step(dir.path()).await;
        store.edit_state(vec![edit.clone()]).await.unwrap();
        assert_eq!(addresses(&store).await, left, "{edit:?}");
    }
}

#[tokio::test]
async fn a_step_is_dropped_by_an_update_and_by_a_failure_that_is_not_a_stop() {
    use OperationStep::{Destroy, Update};
    for (step, ok, starts_over, left) in [
        (Update, true, false, 0),
        (Update, false, false, 1),
        (Destroy, false, true, 0),
        (Destroy, false, false, 1),
        (provisioner(), false, true, 0),
        (provisioner(), false, false, 1),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (store, id) = with_step(dir.path()).await;
        let next = Intent {
            step: step.clone(),
            detail: DETAIL.into(),
            ..intent(id, 0, "a.b")
        };
        store.intend(next).await.unwrap();
        let outcome = Outcome {
            starts_over,
            ..ended(id, step.clone(), ok)
        };
        store.settle(outcome).await.unwrap();
        let all = addresses(&store).await;
        assert_eq!(all.len(), left, "{step} {ok} {starts_over}");
    }
}

#[tokio::test]
async fn all_steps_are_dropped_where_another_state_takes_the_place() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = with_step(dir.path()).await;
    let state = store.state().await.unwrap();
    let home = store.home().await.unwrap();
    store.take_over(state, home).await.unwrap();
    assert!(addresses(&store).await.is_empty());
}

#[tokio::test]
async fn a_step_that_an_operator_says_is_done_is_on_record_and_one_that_is_forgotten_is_not() {
    for (done, left) in [(true, 1), (false, 0)] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let ops = vec![operation(0, "a.b", OperationState::Running)];
        let id = store.begin_deploy(new_deploy(ops)).await.unwrap().deploy;
        store.intend(begun(id, DETAIL)).await.unwrap();
        let summary = finished(id, DeployOutcome::Interrupted);
        store.finish_deploy(summary).await.unwrap();
        let unknown = store.unknown_outcomes().await.unwrap();
        assert!(unknown[0].is_destroy_provisioner());
        let settling = Settling {
            intents: vec![unknown[0].id],
            how: "by hand".into(),
            done,
        };
        store
            .change_by_hand(Vec::new(), settling, Vec::new())
            .await
            .unwrap();
        assert!(store.unknown_outcomes().await.unwrap().is_empty());
        assert_eq!(addresses(&store).await.len(), left);
    }
}

#[tokio::test]
async fn a_rescued_store_has_the_steps_of_objects_that_are_still_there() {
    for (gone, left) in [(false, 1), (true, 0)] {
        let dir = tempfile::tempdir().unwrap();
        let (store, id) = with_step(dir.path()).await;
        if gone {
            store
                .intend(Intent {
                    step: OperationStep::Destroy,
                    ..intent(id, 0, "a.b")
                })
                .await
                .unwrap();
            let edit = StateEdit::Remove {
                address: "a.b".into(),
                deposed: String::new(),
            };
            let outcome = Outcome {
                edits: vec![edit],
                ..ended(id, OperationStep::Destroy, true)
            };
            store.settle(outcome).await.unwrap();
        }
        let to = tempfile::tempdir().unwrap();
        let file = store.rescue(to.path()).await.unwrap();
        let rescued = rusqlite::Connection::open(file).unwrap();
        let count: i64 = rescued
            .query_row("SELECT count(*) FROM destroy_step", [], |r| r.get(0))
            .unwrap();
        assert_eq!(count, left);
    }
}
