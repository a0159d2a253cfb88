//! Rollouts, and the migration of a store without their tables.

use super::*;
use crate::records::{GroupCommitRecord, MemberHash, RolloutRecord, RolloutRequestRecord};
use std::collections::BTreeMap;

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
        members: Vec::new(),
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
    set_version(
        &path,
        11,
        "DROP TABLE stage_inputs; ALTER TABLE stage DROP COLUMN inputs_digest; DROP TABLE group_member; DROP TABLE leader; DROP TABLE reconcile_run; DROP TABLE rollout_request;
         DROP TABLE group_commit; DROP TABLE rollout_step; DROP TABLE rollout;",
    );
    let store = open(dir.path());
    let new = rollout(None, "web", "running", &[(0, "a")]);
    store.put_rollout(new).await.unwrap();
    assert_eq!(store.rollouts(None, 10).await.unwrap().len(), 1);
    assert!(store.object("a.b").await.unwrap().is_some());
}

fn pause(rollout: i64) -> RolloutRequestRecord {
    RolloutRequestRecord {
        id: 0,
        rollout,
        verb: "pause".into(),
        member: None,
        who: "ann".into(),
        requested: 1_000,
        answered: None,
        refusal: None,
    }
}

#[tokio::test]
async fn request_is_either_taken_or_withdrawn() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let new = rollout(None, "web", "running", &[]);
    let id = store.put_rollout(new).await.unwrap();
    let first = store.put_rollout_request(pause(id)).await.unwrap();
    let second = store.put_rollout_request(pause(id)).await.unwrap();
    let open = store.open_rollout_requests(id).await.unwrap();
    let ids: Vec<i64> = open.iter().map(|request| request.id).collect();
    assert_eq!(ids, [first, second]);
    assert!(store.take_rollout_request(first, 2_000).await.unwrap());
    assert!(!store.take_rollout_request(first, 2_000).await.unwrap());
    assert!(!store.withdraw_rollout_request(first).await.unwrap());
    assert!(store.withdraw_rollout_request(second).await.unwrap());
    assert!(!store.take_rollout_request(second, 2_000).await.unwrap());
    assert_eq!(store.rollout_request(second).await.unwrap(), None);
    assert_eq!(store.open_rollout_requests(id).await.unwrap(), []);
    let refusal = Some("it is paused".to_owned());
    let answered = store.answer_rollout_request(first, 3_000, refusal.clone());
    answered.await.unwrap();
    let expected = RolloutRequestRecord {
        id: first,
        answered: Some(3_000),
        refusal,
        ..pause(id)
    };
    assert_eq!(store.rollout_request(first).await.unwrap(), Some(expected));
}

#[tokio::test]
async fn commits_of_a_group_are_kept_newest_first() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let commit = |hash: &str| GroupCommitRecord {
        id: None,
        name: "web".into(),
        committed: 1_000,
        who: "ann".into(),
        hash: hash.into(),
        spec: "{}".into(),
        content: "{}".into(),
        taken: None,
        freed: None,
    };
    let old = store.put_group_commit(commit("a")).await.unwrap();
    let new = store.put_group_commit(commit("b")).await.unwrap();
    let taken = GroupCommitRecord {
        id: Some(new),
        content: "[]".into(),
        taken: Some(2_000),
        ..commit("b")
    };
    store.put_group_commit(taken.clone()).await.unwrap();
    let before = GroupCommitRecord {
        id: Some(old),
        ..commit("a")
    };
    let all = store.group_commits(Some("web".into())).await.unwrap();
    assert_eq!(all, [taken, before]);
    assert_eq!(store.group_commits(Some("db".into())).await.unwrap(), []);
    assert_eq!(store.group_commits(None).await.unwrap().len(), 2);
}

fn hash(member: &str, hash: Option<&str>) -> MemberHash {
    MemberHash {
        member: member.into(),
        hash: hash.map(str::to_owned),
    }
}

#[tokio::test]
async fn rollout_stores_the_hashes_of_its_members() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let known = vec![hash("a", Some("1")), hash("b", Some("1"))];
    store.put_member_hashes("web".into(), known).await.unwrap();
    let mut new = rollout(None, "web", "running", &[(0, "a")]);
    new.members = vec![hash("a", Some("2")), hash("b", None), hash("c", Some("2"))];
    store.put_rollout(new).await.unwrap();
    let found = store.member_hashes("web".into()).await.unwrap();
    let expected = [("a", "2"), ("c", "2")].map(|(k, h)| (k.to_owned(), h.to_owned()));
    assert_eq!(found, BTreeMap::from(expected));
    assert!(store.member_hashes("db".into()).await.unwrap().is_empty());
}

#[tokio::test]
async fn store_of_the_version_before_hashes_of_members_is_migrated() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let old = rollout(None, "web", "paused", &[(0, "a")]);
    let id = store.put_rollout(old.clone()).await.unwrap();
    let path = store.path().to_owned();
    drop(store);
    set_version(
        &path,
        14,
        "DROP TABLE stage_inputs; ALTER TABLE stage DROP COLUMN inputs_digest; DROP TABLE group_member;",
    );
    let store = open(dir.path());
    assert!(store.member_hashes("web".into()).await.unwrap().is_empty());
    let mut update = rollout(Some(id), "web", "converged", &[]);
    update.members = vec![hash("a", Some("1"))];
    store.put_rollout(update).await.unwrap();
    let expected = [("a".to_owned(), "1".to_owned())];
    let found = store.member_hashes("web".into()).await.unwrap();
    assert_eq!(found, BTreeMap::from(expected));
    let rollouts = store.rollouts(None, 10).await.unwrap();
    assert_eq!(rollouts[0].steps, old.steps);
}
