//! Progress of unfinished destroys: lifetime of recorded steps.

use super::*;
use lang::config::ProvisionerKind;

const DETAIL: &str = r#"{"destroy":{"object":"o1","command":"c1"}}"#;

fn provisioner() -> OperationStep {
    OperationStep::Provisioner {
        kind: ProvisionerKind::LocalExec,
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
    store.record_intent(begun(id, DETAIL)).await.unwrap();
    store
        .record_outcome(ended(id, provisioner(), true))
        .await
        .unwrap();
    (store, id)
}

async fn addresses(store: &Sqlite) -> Vec<String> {
    let steps = store.destroy_steps().await.unwrap();
    steps.into_iter().map(|step| step.address).collect()
}

#[tokio::test]
async fn completed_destroy_step_is_recorded_with_object_and_command() {
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
        store.record_intent(begun(second, detail)).await.unwrap();
        store
            .record_outcome(ended(second, provisioner(), ok))
            .await
            .unwrap();
    }
    assert_eq!(addresses(&store).await, ["a.b"]);
}

#[tokio::test]
async fn destroy_step_is_dropped_when_its_object_is_removed_or_deposed() {
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
async fn destroy_step_is_dropped_by_an_update_or_a_non_stop_failure() {
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
        store.record_intent(next).await.unwrap();
        let outcome = Outcome {
            starts_over,
            ..ended(id, step.clone(), ok)
        };
        store.record_outcome(outcome).await.unwrap();
        let all = addresses(&store).await;
        assert_eq!(all.len(), left, "{step} {ok} {starts_over}");
    }
}

#[tokio::test]
async fn destroy_steps_are_dropped_when_another_state_is_adopted() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = with_step(dir.path()).await;
    let state = store.state().await.unwrap();
    let home = store.backend_version().await.unwrap();
    store.replace_with_backend(state, home).await.unwrap();
    assert!(addresses(&store).await.is_empty());
}

#[tokio::test]
async fn destroy_step_confirmed_as_done_is_recorded_and_a_forgotten_one_is_not() {
    for (done, left) in [(true, 1), (false, 0)] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let ops = vec![operation(0, "a.b", OperationState::Running)];
        let id = store.begin_deploy(new_deploy(ops)).await.unwrap().deploy;
        store.record_intent(begun(id, DETAIL)).await.unwrap();
        let summary = finished(id, DeployOutcome::Interrupted);
        store.finish_deploy(summary).await.unwrap();
        let unknown = store.unknown_outcomes().await.unwrap();
        assert!(unknown[0].is_destroy_provisioner());
        let settling = Settlement {
            intents: vec![unknown[0].id],
            description: "by hand".into(),
            done,
        };
        store
            .apply_manual_edits(Vec::new(), settling, Vec::new())
            .await
            .unwrap();
        assert!(store.unknown_outcomes().await.unwrap().is_empty());
        assert_eq!(addresses(&store).await.len(), left);
    }
}

#[tokio::test]
async fn rescue_copy_has_only_destroy_steps_of_existing_objects() {
    for (gone, left) in [(false, 1), (true, 0)] {
        let dir = tempfile::tempdir().unwrap();
        let (store, id) = with_step(dir.path()).await;
        if gone {
            store
                .record_intent(Intent {
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
            store.record_outcome(outcome).await.unwrap();
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
