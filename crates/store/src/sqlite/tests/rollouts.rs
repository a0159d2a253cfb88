//! Rollouts, and the migration of a store without their tables.

use super::*;
use crate::records::RolloutRecord;

fn rollout(id: Option<i64>, name: &str, state: &str, steps: &[(u32, &str)]) -> RolloutRecord {
    RolloutRecord {
        id,
        name: name.into(),
        deploy: 3,
        state: state.into(),
        began: 1_000,
        updated: 2_000,
        header: "{}".into(),
        steps: steps.iter().map(|(n, s)| (*n, (*s).into())).collect(),
    }
}

#[tokio::test]
async fn update_of_a_rollout_keeps_the_other_steps() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let new = rollout(None, "web", "running", &[(0, "a"), (1, "b")]);
    let id = store.put_rollout(new).await.unwrap();
    let update = rollout(Some(id), "web", "paused", &[(1, "c")]);
    assert_eq!(store.put_rollout(update).await.unwrap(), id);
    let other = rollout(None, "db", "running", &[]);
    let later = store.put_rollout(other.clone()).await.unwrap();
    drop(store);
    let store = open(dir.path());
    let web = rollout(Some(id), "web", "paused", &[(0, "a"), (1, "c")]);
    let db = RolloutRecord {
        id: Some(later),
        ..other
    };
    let all = store.rollouts(None, 10).await.unwrap();
    assert_eq!(all, [db.clone(), web.clone()]);
    let of_web = store.rollouts(Some("web".to_owned()), 10).await.unwrap();
    assert_eq!(of_web, [web]);
    let newest = store.rollouts(None, 1).await.unwrap();
    assert_eq!(newest, std::slice::from_ref(&db));
    let running = vec!["running".to_owned(), "planned".to_owned()];
    assert_eq!(store.rollouts_in(running).await.unwrap(), [db]);
}

#[tokio::test]
async fn store_of_the_version_before_rollouts_is_migrated() {
    let dir = tempfile::tempdir().unwrap();
    let path = {
        let store = open(dir.path());
        let put = StateEdit::Put(Box::new(object("a.b", "{}")));
        store.edit_state(vec![put]).await.unwrap();
        store.path().to_owned()
    };
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch("DROP TABLE rollout_step; DROP TABLE rollout; PRAGMA user_version = 11")
        .unwrap();
    drop(conn);
    let store = open(dir.path());
    let new = rollout(None, "web", "running", &[(0, "a")]);
    store.put_rollout(new).await.unwrap();
    assert_eq!(store.rollouts(None, 10).await.unwrap().len(), 1);
    assert!(store.object("a.b").await.unwrap().is_some());
}
