//! Observations of objects, their history, and the migration of a store without their tables.

use super::*;

fn observed(address: &str, at: UnixMs, readiness: Option<Readiness>) -> Observation {
    Observation {
        address: address.into(),
        deposed: None,
        resource_type: "a".into(),
        at,
        exists: true,
        readiness,
        status: None,
        since: 0,
        drift: Vec::new(),
    }
}

async fn with_objects(store: &Sqlite, count: usize) {
    let puts = (0..count).map(|n| StateEdit::Put(Box::new(object(&format!("a.b{n}"), "{}"))));
    store.edit_state(puts.collect()).await.unwrap();
}

async fn put(store: &Sqlite, observation: Observation, cause: &str) {
    let stored = store.put_observations(vec![observation], cause.into());
    stored.await.unwrap();
}

#[tokio::test]
async fn s1_11_existence_readiness_and_drift_are_separate_facts_with_their_times() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    with_objects(&store, 1).await;
    let creating = observed("a.b0", 10, Some(Readiness::Creating));
    put(&store, creating.clone(), "deploy #1").await;
    // Looked at again without a change: only the time of the look differs.
    put(&store, Observation { at: 20, ..creating }, "stage #2").await;
    let available = Observation {
        status: Some("available".into()),
        ..observed("a.b0", 30, Some(Readiness::Available))
    };
    put(&store, available.clone(), "reconcile").await;
    let drifted = Observation {
        at: 40,
        drift: vec![DriftAspect::StatusChanged, DriftAspect::UpdateNeeded],
        ..available
    };
    put(&store, drifted.clone(), "stage #3").await;
    let newest = Observation {
        since: 30,
        ..drifted
    };
    assert_eq!(
        store.observations().await.unwrap(),
        std::slice::from_ref(&newest)
    );
    let gone = Observation {
        at: 50,
        exists: false,
        readiness: None,
        drift: Vec::new(),
        ..newest
    };
    put(&store, gone, "stage #4").await;
    drop(store);
    let store = open(dir.path());
    let history = store.observation_history("a.b0", 10).await.unwrap();
    let shown = history.iter().map(|change| {
        let o = &change.observation;
        (
            o.at,
            o.since,
            o.exists,
            o.readiness,
            o.drift.len(),
            &*change.cause,
        )
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            (50, 50, false, None, 0, "stage #4"),
            (40, 30, true, Some(Readiness::Available), 2, "stage #3"),
            (30, 30, true, Some(Readiness::Available), 0, "reconcile"),
            (10, 10, true, Some(Readiness::Creating), 0, "deploy #1"),
        ]
    );
    assert_eq!(store.observation_history("a.b0", 1).await.unwrap().len(), 1);
}

#[tokio::test]
async fn observation_follows_a_moved_object_and_ends_with_a_removed_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    with_objects(&store, 2).await;
    put(&store, observed("a.b0", 10, None), "stage #1").await;
    put(&store, observed("a.b1", 10, None), "stage #1").await;
    let moved = StateEdit::Move {
        from: "a.b0".into(),
        to: "a.new".into(),
    };
    let removed = StateEdit::Remove {
        address: "a.b1".into(),
        deposed: String::new(),
    };
    store.edit_state(vec![moved, removed]).await.unwrap();
    put(&store, observed("a.new", 20, None), "stage #2").await;
    let all = store.observations().await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(
        (&*all[0].address, all[0].at, all[0].since),
        ("a.new", 20, 10)
    );
    assert_eq!(store.observation_history("a.b1", 9).await.unwrap().len(), 1);
    with_objects(&store, 2).await;
    assert_eq!(store.observations().await.unwrap(), all, "a new object");
    assert_eq!(
        store.observation_history("a.new", 9).await.unwrap().len(),
        1
    );
}

#[tokio::test]
async fn changes_of_an_address_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    with_objects(&store, 2).await;
    put(&store, observed("a.b1", 1, None), "stage #1").await;
    for at in 0..150 {
        let readiness = [Readiness::Available, Readiness::Unavailable][usize::from(at % 2 == 0)];
        put(&store, observed("a.b0", at, Some(readiness)), "reconcile").await;
    }
    let kept = store.observation_history("a.b0", 1_000).await.unwrap();
    assert_eq!((kept.len(), kept[99].observation.at), (100, 50));
    assert_eq!(store.observation_history("a.b1", 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn look_at_ten_thousand_objects_without_a_change_is_cheap() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    with_objects(&store, 10_000).await;
    let look = |at| {
        let one = |n| observed(&format!("a.b{n}"), at, Some(Readiness::Available));
        (0..10_000).map(one).collect::<Vec<_>>()
    };
    let mut took = Vec::new();
    for at in 0..4 {
        let began = std::time::Instant::now();
        let put = store.put_observations(look(at), "reconcile".into());
        put.await.unwrap();
        took.push(began.elapsed());
    }
    eprintln!("first look {:?}, later looks {:?}", took[0], &took[1..]);
    let all = store.observations().await.unwrap();
    assert!(all.len() == 10_000 && all.iter().all(|o| (o.at, o.since) == (3, 0)));
    // A wide limit for a slow machine without optimization; a scan for each object takes minutes.
    assert!(took[1..].iter().all(|t| t.as_secs() < 5), "{took:?}");
}

#[tokio::test]
async fn store_of_the_version_before_observations_is_migrated() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    with_objects(&store, 1).await;
    let path = store.path().to_owned();
    drop(store);
    set_version(&path, 16, "");
    let store = open(dir.path());
    assert_eq!(store.observations().await.unwrap(), []);
    put(&store, observed("a.b0", 10, None), "stage #1").await;
    assert_eq!(store.observations().await.unwrap().len(), 1);
    assert!(store.object("a.b0").await.unwrap().is_some());
}
