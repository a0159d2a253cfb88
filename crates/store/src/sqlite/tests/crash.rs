//! `kill -9` at any moment: answered writes are kept, unfinished ones are reported.

use super::*;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const DIR: &str = "FLIGHTDECK_TEST_CRASH_DIR";

/// Body of the killed process, not a test of its own. It prints each answer of the store and never
/// ends.
#[test]
#[ignore = "the other half of the test below"]
fn child_process_killed_by_the_crash_test() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = open(Path::new(&dir));
        store.acquire_lock(this_process("deploy")).await.unwrap();
        let ops = (0..3_000)
            .map(|n| operation(n, &format!("a.b{n}"), OperationState::Waiting))
            .collect();
        let id = store.begin_deploy(new_deploy(ops)).await.unwrap().deploy;
        for n in 0..3_000 {
            let address = format!("a.b{n}");
            store.record_intent(intent(id, n, &address)).await.unwrap();
            println!("\nintended {n}");
            let edits = vec![StateEdit::Put(Box::new(object(&address, "{}")))];
            store
                .record_outcome(outcome(id, n, true, edits))
                .await
                .unwrap();
            store
                .operations_changed(
                    vec![Operation {
                        deploy: id,
                        ..operation(n, &address, OperationState::Done)
                    }],
                    Box::new(|e| panic!("{e}")),
                )
                .await
                .unwrap();
            println!("\nsettled {n}");
        }
        std::thread::sleep(std::time::Duration::from_secs(60));
    });
}

#[tokio::test]
async fn killed_process_leaves_its_lock_state_and_unknown_outcomes() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "sqlite::tests::crash::child_process_killed_by_the_crash_test",
            "--ignored",
            "--nocapture",
        ])
        .env(DIR, dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines.by_ref() {
        if line.unwrap() == "intended 40" {
            break;
        }
    }
    // During its life, the workspace is locked and no outcome of its deploy is unknown.
    let reader = Sqlite::open(dir.path(), Access::ReadOnly).unwrap();
    assert_eq!(
        reader.lock_owner().await.unwrap().map(|h| h.pid),
        Some(child.id())
    );
    assert!(reader.unknown_outcomes().await.unwrap().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let (mut intended, mut settled) = (40, 39);
    for line in lines {
        let line = line.unwrap();
        if let Some(n) = line.strip_prefix("intended ") {
            intended = n.parse().unwrap();
        }
        if let Some(n) = line.strip_prefix("settled ") {
            settled = n.parse().unwrap();
        }
    }

    assert_eq!(
        reader.history(1).await.unwrap()[0].outcome,
        DeployOutcome::Interrupted,
        "a reader is not deceived either"
    );
    let store = open(dir.path());
    let state = store.state().await.unwrap();
    let kept = state.objects.len();
    assert!(
        kept == settled + 1 || kept == settled + 2,
        "settled {settled}, kept {kept}"
    );
    assert_eq!(usize::try_from(state.serial).unwrap(), kept);
    let record = store.deploy_record(1).await.unwrap().unwrap();
    assert_eq!(record.summary.outcome, DeployOutcome::Interrupted);
    assert!(record.summary.ended.is_some());
    assert_eq!(record.operations.len(), 3_000);
    assert!(
        !record
            .operations
            .iter()
            .any(|o| matches!(o.state, OperationState::Running | OperationState::Waiting))
    );
    let unknown = store.unknown_outcomes().await.unwrap();
    assert!(unknown.len() <= 1);
    if intended == kept {
        assert_eq!(unknown[0].address, format!("a.b{intended}"));
        assert_eq!(record.operations[intended].state, OperationState::Unknown);
        assert_eq!(record.summary.operations.unknown, 1);
    }
    let taken = store.acquire_lock(this_process("stage")).await.unwrap();
    assert_eq!(taken.former_owner.map(|h| h.pid), Some(child.id()));
}

/// The same at a fixed moment: the deploy's process has ended and its intent has no outcome.
#[tokio::test]
async fn deploy_of_a_dead_process_becomes_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let ops = ["a.done", "a.open", "a.next"];
    let ops = ops
        .iter()
        .zip(0..)
        .map(|(address, n)| operation(n, address, OperationState::Waiting))
        .collect();
    let id = store.begin_deploy(new_deploy(ops)).await.unwrap().deploy;
    store
        .operations_changed(
            vec![Operation {
                deploy: id,
                ..operation(0, "a.done", OperationState::Done)
            }],
            Box::new(|e| panic!("{e}")),
        )
        .await
        .unwrap();
    store.record_intent(intent(id, 1, "a.open")).await.unwrap();
    store
        .operations_changed(
            vec![Operation {
                deploy: id,
                ..operation(1, "a.open", OperationState::Running)
            }],
            Box::new(|e| panic!("{e}")),
        )
        .await
        .unwrap();
    let gone = i64::from(dead_holder().pid);
    store
        .write("a test", move |c| {
            Ok(c.execute(
                "UPDATE deploy SET holder_pid = ?1, holder_start = 1",
                [gone],
            )?)
        })
        .await
        .unwrap();
    drop(store);

    let store = open(dir.path());
    let record = store.deploy_record(id).await.unwrap().unwrap();
    assert_eq!(record.summary.outcome, DeployOutcome::Interrupted);
    assert_eq!(
        record.summary.operations,
        OperationCounts {
            done: 1,
            not_attempted: 1,
            unknown: 1,
            ..OperationCounts::default()
        }
    );
    assert_eq!(
        record.summary.ended,
        Some(2_001),
        "the last that was heard of it"
    );
    let states: Vec<_> = record.operations.iter().map(|o| o.state).collect();
    assert_eq!(
        states,
        [
            OperationState::Done,
            OperationState::Unknown,
            OperationState::NotAttempted
        ]
    );
    assert_eq!(store.unknown_outcomes().await.unwrap()[0].address, "a.open");
}

/// Killed after the destruction of the old object and before the intent of the new one, and vice
/// versa.
#[tokio::test]
async fn replacement_interrupted_between_its_steps_is_half_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let replace = |n, address: &str, action| Operation {
        action,
        ..operation(n, address, OperationState::Running)
    };
    let ops = vec![
        replace(0, "a.old", Action::Replace),
        replace(1, "a.new", Action::ReplaceCreateFirst),
        replace(2, "a.both", Action::Replace),
    ];
    let id = store.begin_deploy(new_deploy(ops)).await.unwrap().deploy;
    use OperationStep::{Create, Destroy};
    for (index, address, step) in [
        (0, "a.old", Destroy),
        (1, "a.new", Create),
        (2, "a.both", Destroy),
        (2, "a.both", Create),
    ] {
        let edits = if step == Create {
            vec![StateEdit::Put(Box::new(object(address, "{}")))]
        } else {
            Vec::new()
        };
        store
            .record_done(
                Intent {
                    step,
                    ..intent(id, index, address)
                },
                edits,
            )
            .await
            .unwrap();
    }
    let gone = i64::from(dead_holder().pid);
    store
        .write("a test", move |c| {
            Ok(c.execute(
                "UPDATE deploy SET holder_pid = ?1, holder_start = 1",
                [gone],
            )?)
        })
        .await
        .unwrap();
    drop(store);
    let record = open(dir.path()).deploy_record(id).await.unwrap().unwrap();
    let ended: Vec<_> = record
        .operations
        .iter()
        .map(|o| (o.state, o.step.to_string()))
        .collect();
    let half = OperationState::HalfReplaced;
    assert_eq!(
        ended,
        [
            (half, "destroyed, not re-created".to_owned()),
            (half, "created, the old object is not destroyed".to_owned()),
            (OperationState::Done, "replaced".to_owned())
        ]
    );
    assert_eq!(
        record.summary.operations,
        OperationCounts {
            done: 1,
            half_replaced: 2,
            ..OperationCounts::default()
        }
    );
}

/// The writer syncs if any job of a batch asks for it, and not for other jobs.
#[tokio::test]
async fn durable_writes_use_full_synchronous_commits() {
    const FULL: i64 = 2;
    const NORMAL: i64 = 1;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let synchronous = |c: &rusqlite::Connection| {
        Ok(c.query_row("PRAGMA synchronous", [], |r| r.get::<_, i64>(0))?)
    };
    for _ in 0..2 {
        assert_eq!(
            store.write_later("a test", synchronous).await.unwrap(),
            NORMAL
        );
        assert_eq!(store.write("a test", synchronous).await.unwrap(), FULL);
    }
    // The others queue while the first blocks the writer, and form one batch.
    let (go, held) = std::sync::mpsc::channel::<()>();
    let (begins, begun) = std::sync::mpsc::channel::<()>();
    let mut hold = Box::pin(store.write_later("a test", move |_| {
        begins.send(()).unwrap();
        held.recv().unwrap();
        Ok(())
    }));
    assert!(futures_util::FutureExt::now_or_never(hold.as_mut()).is_none());
    begun.recv().unwrap();
    let (_, later, now, ()) = tokio::join!(
        hold,
        store.write_later("a test", synchronous),
        store.write("a test", synchronous),
        async { go.send(()).unwrap() }
    );
    assert_eq!((later.unwrap(), now.unwrap()), (FULL, FULL));
}

/// Runs operations, sequentially within a part and concurrently across parts; returns the number of
/// commits.
async fn commits_of(store: &Sqlite, parts: impl Iterator<Item = std::ops::Range<u32>>) -> u64 {
    let id = store.begin_deploy(new_deploy(vec![])).await.unwrap().deploy;
    let tasks = tokio_util::task::TaskTracker::new();
    let before = store.commits();
    for part in parts {
        let store = store.clone();
        tasks.spawn(async move {
            for n in part {
                let address = format!("a.b{n}");
                store.record_intent(intent(id, n, &address)).await.unwrap();
                let edits = vec![StateEdit::Put(Box::new(object(&address, "{}")))];
                store
                    .record_outcome(outcome(id, n, true, edits))
                    .await
                    .unwrap();
            }
        });
    }
    tasks.close();
    tasks.wait().await;
    store.commits() - before
}

/// Each commit is an fsync: ten thousand concurrent operations must not need one for each record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_operations_share_commits() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let commits = commits_of(&store, (0..10_000).map(|n| n..n + 1)).await;
    let state = store.state().await.unwrap();
    assert_eq!((state.objects.len(), state.serial), (10_000, 10_000));
    assert!(commits < 1_000, "{commits} commits for 20,000 records");
    assert!(store.unknown_outcomes().await.unwrap().is_empty());
}

/// Ten concurrent operations, the default of a deploy: one sync serves most of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_parallel_operations_share_commits() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let commits = commits_of(&store, (0..10).map(|p| p * 100..(p + 1) * 100)).await;
    assert!(commits < 500, "{commits} commits for 2,000 records");
    assert!(store.unknown_outcomes().await.unwrap().is_empty());
}
