//! Saved selections, and the migration of a store without their table.

use super::*;

fn selection(name: &str, addresses: &[&str]) -> SavedSelection {
    SavedSelection {
        name: name.into(),
        at: 1_000,
        addresses: addresses.iter().map(|a| (*a).to_owned()).collect(),
    }
}

#[tokio::test]
async fn saved_selections_are_listed_replaced_and_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    assert_eq!(store.saved_selections().await.unwrap(), []);
    let (b, a) = (selection("b", &["x.y[\"k\"]"]), selection("a", &[]));
    store.save_selection(b.clone()).await.unwrap();
    store.save_selection(a.clone()).await.unwrap();
    assert_eq!(store.saved_selections().await.unwrap(), [a.clone(), b]);
    let replaced = selection("b", &["x.z"]);
    store.save_selection(replaced.clone()).await.unwrap();
    drop(store);
    let store = open(dir.path());
    assert_eq!(store.saved_selections().await.unwrap(), [a, replaced]);
    assert!(store.delete_selection("a").await.unwrap());
    assert!(!store.delete_selection("a").await.unwrap());
    assert_eq!(store.saved_selections().await.unwrap().len(), 1);
}

#[tokio::test]
async fn store_of_the_version_before_saved_selections_is_migrated() {
    let dir = tempfile::tempdir().unwrap();
    let path = {
        let store = open(dir.path());
        let put = StateEdit::Put(Box::new(object("a.b", "{}")));
        store.edit_state(vec![put]).await.unwrap();
        store.path().to_owned()
    };
    set_version(
        &path,
        10,
        "DROP TABLE stage_inputs; ALTER TABLE stage DROP COLUMN inputs_digest; DROP TABLE group_member; DROP TABLE leader; DROP TABLE reconcile_run; DROP TABLE rollout_request;
         DROP TABLE group_commit; DROP TABLE rollout_step; DROP TABLE rollout;
         DROP TABLE saved_selection;",
    );
    let store = open(dir.path());
    store
        .save_selection(selection("a", &["a.b"]))
        .await
        .unwrap();
    assert_eq!(store.saved_selections().await.unwrap().len(), 1);
    assert!(store.object("a.b").await.unwrap().is_some());
}
