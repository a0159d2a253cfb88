//! The leader's lock lease, and runs of the reconcile loop.

use super::*;
use crate::records::LeaderLease;
use model::{ReconcileOutcome, ReconcileRun};

fn lease(owner: &str, token: i64, expires: i64) -> LeaderLease {
    LeaderLease {
        owner: owner.into(),
        token,
        expires,
    }
}

#[tokio::test]
async fn lease_is_swapped_only_if_it_is_the_observed_one() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (open(dir.path()), open(dir.path()));
    assert_eq!(one.leader().await.unwrap(), None);
    let first = lease("a", 1, 100);
    assert!(one.swap_leader(None, first.clone()).await.unwrap());
    // Both have seen a free lease; the second comes too late.
    assert!(!other.swap_leader(None, lease("b", 1, 100)).await.unwrap());
    assert_eq!(other.leader().await.unwrap(), Some(first.clone()));
    let renewed = lease("a", 1, 150);
    assert!(
        one.swap_leader(Some(first.clone()), renewed.clone())
            .await
            .unwrap()
    );
    // The lease has been renewed since the other one saw it expire.
    assert!(
        !other
            .swap_leader(Some(first), lease("b", 2, 200))
            .await
            .unwrap()
    );
    assert!(
        other
            .swap_leader(Some(renewed), lease("b", 2, 200))
            .await
            .unwrap()
    );
}

#[tokio::test]
async fn deploy_of_a_former_leader_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let deploy = |fencing_token| NewDeploy {
        fencing_token,
        ..new_deploy(Vec::new())
    };
    let refused = |error: StoreError, by: &str| {
        assert!(
            matches!(&error, StoreError::NotLeader { owner } if owner == by),
            "{error:?}"
        );
    };
    refused(store.begin_deploy(deploy(Some(1))).await.unwrap_err(), "");
    store.swap_leader(None, lease("a", 1, 100)).await.unwrap();
    store.begin_deploy(deploy(Some(1))).await.unwrap();
    store.check_fencing_token().await.unwrap();
    let taken = store.swap_leader(Some(lease("a", 1, 100)), lease("b", 2, 200));
    assert!(taken.await.unwrap());
    refused(store.check_fencing_token().await.unwrap_err(), "b");
    refused(store.begin_deploy(deploy(Some(1))).await.unwrap_err(), "b");
    // The refused ones left nothing, and an operator's deploy has no token.
    store.begin_deploy(deploy(None)).await.unwrap();
    store.check_fencing_token().await.unwrap();
    assert_eq!(store.history(0).await.unwrap().len(), 2);
}

#[tokio::test]
async fn newest_runs_of_each_group_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let run = |group: &str, began| ReconcileRun {
        group: group.into(),
        began,
        mode: "observe".into(),
        outcome: ReconcileOutcome::InSync,
        drift: Vec::new(),
        stage: None,
        deploy: None,
        reason: None,
        next: began + 10,
    };
    store.put_reconcile_run(run("db", 0)).await.unwrap();
    for at in 0..150 {
        store.put_reconcile_run(run("web", at)).await.unwrap();
    }
    drop(store);
    let store = open(dir.path());
    let web = store.reconcile_runs("web", 1_000).await.unwrap();
    assert_eq!((web.len(), web[0].began, web[99].began), (100, 149, 50));
    assert_eq!(store.reconcile_runs("db", 9).await.unwrap(), [run("db", 0)]);
}

#[tokio::test]
async fn newest_hundred_conform_reports_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for number in 0..=100 {
        store.put_conform_report(number.to_string()).await.unwrap();
    }
    drop(store);
    let reports = open(dir.path()).conform_reports(1_000).await.unwrap();
    assert_eq!((reports.len(), &*reports[0]), (100, "100"));
}
