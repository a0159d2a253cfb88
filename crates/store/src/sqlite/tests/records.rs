//! Records are read back in order and within their limits.

use super::*;

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
async fn batch_of_state_edits_is_one_serial_and_keeps_every_field() {
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
        rest: String::new(),
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
async fn objects_are_deposed_restored_and_moved_without_loss() {
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
        plugins_digest: "p".into(),
        state_serial: 4,
        counts: Counts {
            create: 2,
            ..Counts::default()
        },
        summary: CompressedJson::try_from("{}").unwrap(),
        detail: CompressedJson::try_from("{\"secret\":1}").unwrap(),
        left: vec!["a.b".into()],
        snapshot: vec![("main.tf".into(), digest.into())],
        inputs: Some(CompressedJson::try_from(digest).unwrap()),
    }
}

#[tokio::test]
async fn stages_are_numbered_and_share_configuration_snapshots_by_digest() {
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
    store.set_deselected(1, vec!["c.d".into()]).await.unwrap();
    assert_eq!(store.stage(1).await.unwrap().unwrap().left, ["c.d"]);
    assert!(matches!(
        store.set_deselected(9, vec![]).await,
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

async fn alter(store: &Sqlite, sql: &'static str) {
    let altered = store.write("a test", |conn| Ok(conn.execute_batch(sql)?));
    altered.await.unwrap();
}

#[tokio::test]
async fn store_of_the_version_before_inputs_of_stages_is_migrated() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.put_stage(stage(1, "d1")).await.unwrap();
    let path = store.path().to_owned();
    drop(store);
    set_version(
        &path,
        15,
        "DROP TABLE stage_inputs; ALTER TABLE stage DROP COLUMN inputs_digest;",
    );
    let store = open(dir.path());
    let old = StageRecord {
        inputs: None,
        ..stage(1, "d1")
    };
    assert_eq!(store.stage(1).await.unwrap(), Some(old));
    assert_eq!(store.stage_inputs(1).await.unwrap(), None);
    store.put_stage(stage(2, "d1")).await.unwrap();
    assert_eq!(store.stage(2).await.unwrap(), Some(stage(2, "d1")));
}

/// Stages in the form of layouts before the eighth.
#[tokio::test]
async fn uncompressed_stage_is_read_and_trimmed_like_others() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.put_stage(stage(1, "d1")).await.unwrap();
    let older = "UPDATE stage SET summary = '{}', detail = '{\"secret\":1}', packed_summary = NULL, packed_detail = NULL";
    alter(&store, older).await;
    assert_eq!(store.stage(1).await.unwrap(), Some(stage(1, "d1")));
    assert_eq!(store.latest_stage().await.unwrap().unwrap().id, 1);
    assert_eq!(store.deselected(1).await.unwrap(), ["a.b"]);
    for id in 2..=60 {
        store.put_stage(stage(id, "rest")).await.unwrap();
    }
    assert_eq!(store.stage(1).await.unwrap(), None);
}

#[tokio::test]
async fn stage_with_damaged_detail_is_readable_but_its_detail_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.put_stage(stage(1, "d1")).await.unwrap();
    alter(&store, "UPDATE stage SET packed_detail = x'789c00'").await;
    let read = store.stage(1).await.unwrap().unwrap();
    assert!(read.summary.text().is_ok() && read.detail.text().is_err());
}

#[tokio::test]
async fn old_stages_are_removed_unless_named_or_deployed() {
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
            fencing_token: None,
            stage: 3,
            config_digest: "d3".into(),
            ..new_deploy(vec![])
        })
        .await
        .unwrap()
        .deploy;
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
    assert!(store.stage_inputs(1).await.unwrap().is_none());
    assert!(store.stage_inputs(3).await.unwrap().is_some());
    let count = "SELECT count(*) FROM stage_inputs";
    let digests = store
        .read(move |c| Ok(c.query_row(count, [], |r| r.get::<_, i64>(0))?))
        .await;
    assert_eq!(digests.unwrap(), 3, "each once, and none without a stage");
    assert!(store.stage(11).await.unwrap().is_some());
}
