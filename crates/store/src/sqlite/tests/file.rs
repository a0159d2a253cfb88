//! File access and the workspace lock.

use super::*;
use model::lock_owner::LivenessCheck as _;
use model::lock_owner::lease::LeaseCheck;
use std::os::unix::fs::PermissionsExt;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn store_directory_and_files_are_private() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.next_stage_id().await.unwrap();
    let home = dir.path().join(".flightdeck");
    assert_eq!(mode(&home), 0o700);
    for name in ["flightdeck.db", "flightdeck.db-wal", "flightdeck.db-shm"] {
        assert_eq!(mode(&home.join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn readable_store_file_is_made_private_again() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let path = dir.path().join(".flightdeck/flightdeck.db");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(open(dir.path()));
    assert_eq!(mode(&path), 0o600);
}

#[tokio::test]
async fn read_only_access_without_a_store_is_empty_and_creates_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::open(dir.path(), Access::ReadOnly).unwrap();
    assert_eq!(store.state().await.unwrap(), State::default());
    assert!(store.history(0).await.unwrap().is_empty());
    assert!(store.plugins().await.unwrap().is_empty());
    assert!(store.latest_stage().await.unwrap().is_none());
    assert!(store.lock_owner().await.unwrap().is_none());
    assert!(matches!(
        store.next_stage_id().await,
        Err(StoreError::ReadOnly { .. })
    ));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn reader_sees_later_writes() {
    let dir = tempfile::tempdir().unwrap();
    let reader = Sqlite::open(dir.path(), Access::ReadOnly).unwrap();
    assert_eq!(reader.state_serial().await.unwrap(), 0);
    let writer = open(dir.path());
    writer
        .edit_state(vec![StateEdit::Put(Box::new(object("a.b", "{}")))])
        .await
        .unwrap();
    assert_eq!(reader.state_serial().await.unwrap(), 1);
    writer
        .edit_state(vec![StateEdit::Put(Box::new(object("a.c", "{}")))])
        .await
        .unwrap();
    assert_eq!(reader.state().await.unwrap().objects.len(), 2);
}

#[tokio::test]
async fn newer_store_version_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let path = dir.path().join(".flightdeck/flightdeck.db");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();
    for access in [Access::ReadWrite, Access::ReadOnly] {
        let error = Sqlite::open(dir.path(), access).unwrap_err();
        assert!(
            matches!(error, StoreError::Newer { theirs: 99, .. }),
            "{error}"
        );
        assert!(error.to_string().contains("newer flightdeck"), "{error}");
    }
}

#[tokio::test]
async fn file_of_another_program_is_refused_and_left_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join(".flightdeck");
    std::fs::create_dir(&home).unwrap();
    let path = home.join("flightdeck.db");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE theirs (x); PRAGMA application_id = 7")
        .unwrap();
    let error = Sqlite::open(dir.path(), Access::ReadWrite).unwrap_err();
    assert!(matches!(error, StoreError::NotOurs { .. }), "{error}");
    std::fs::write(
        &path,
        "it was a text file all along, long enough to be taken for a header",
    )
    .unwrap();
    let error = Sqlite::open(dir.path(), Access::ReadWrite).unwrap_err();
    assert!(matches!(error, StoreError::NotOurs { .. }), "{error}");
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .starts_with("it was")
    );
}

#[tokio::test]
async fn damaged_store_file_is_reported_as_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let many = (0..500)
        .map(|n| StateEdit::Put(Box::new(object(&format!("a.b{n}"), "{\"x\":1}"))))
        .collect();
    store.edit_state(many).await.unwrap();
    drop(store);
    let path = dir.path().join(".flightdeck/flightdeck.db");
    let mut bytes = std::fs::read(&path).unwrap();
    // Overwrites everything after the first page, which has header and schema.
    for (n, byte) in bytes.iter_mut().enumerate().skip(4096) {
        *byte = u8::try_from(n % 251).unwrap();
    }
    std::fs::write(&path, bytes).unwrap();
    let error = match Sqlite::open(dir.path(), Access::ReadWrite) {
        Ok(store) => store.state().await.unwrap_err(),
        Err(error) => error,
    };
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("damaged"), "{error}");
}

#[tokio::test]
async fn unwritable_directory_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = dir.path().join("blocked");
    std::fs::create_dir(&blocked).unwrap();
    std::fs::set_permissions(&blocked, std::fs::Permissions::from_mode(0o500)).unwrap();
    if std::fs::write(blocked.join("probe"), "").is_ok() {
        // Root may write anywhere, but not to this kernel file system.
        let error = Sqlite::open(Path::new("/proc/self"), Access::ReadWrite).unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::ReadOnlyDirectory { .. } | StoreError::Io { .. }
            ),
            "{error}"
        );
        cty::testing::skipped("the permission of a directory does not bind root");
        return;
    }
    let error = Sqlite::open(&blocked, Access::ReadWrite).unwrap_err();
    assert!(
        matches!(error, StoreError::ReadOnlyDirectory { .. }),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn busy_store_is_reported_when_another_writer_does_not_finish() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let other = rusqlite::Connection::open(store.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.next_stage_id().await.unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.next_stage_id().await.unwrap(), 1);
}

#[test]
fn first_writer_waits_for_a_concurrent_transaction() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let other = rusqlite::Connection::open(dir.path().join(".flightdeck/flightdeck.db")).unwrap();
    // Journal mode of a file before its first writer.
    other
        .query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))
        .unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (tell, opened) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| tell.send(Sqlite::open(dir.path(), Access::ReadWrite).map(drop)));
        let meanwhile = opened.recv_timeout(std::time::Duration::from_millis(500));
        other.execute_batch("ROLLBACK").unwrap();
        assert!(meanwhile.is_err(), "it waits: {meanwhile:?}");
        opened.recv().unwrap().unwrap();
    });
}

#[tokio::test]
async fn full_disk_rolls_back_the_write_and_the_store_stays_usable() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store
        .edit_state(vec![StateEdit::Put(Box::new(object("a.b", "{}")))])
        .await
        .unwrap();
    store
        .write("a limit", |conn| {
            let pages: i64 = conn.query_row("PRAGMA page_count", [], |r| r.get(0))?;
            conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
            Ok(())
        })
        .await
        .unwrap();
    let big = "x".repeat(1 << 20);
    let error = store
        .edit_state(vec![StateEdit::Put(Box::new(object("a.big", &big)))])
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
    assert_eq!(store.state().await.unwrap().objects.len(), 1);
    assert_eq!(
        store
            .edit_state(vec![StateEdit::Remove {
                address: "a.b".into(),
                deposed: String::new()
            }])
            .await
            .unwrap(),
        2
    );
}

#[tokio::test]
async fn locked_workspace_names_its_lock_owner_until_release() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (open(dir.path()), open(dir.path()));
    let me = LockHolder {
        leased: true,
        ..this_process("console")
    };
    assert_eq!(
        one.acquire_lock(me.clone()).await.unwrap(),
        Acquired { former_owner: None }
    );
    assert_eq!(
        one.acquire_lock(me.clone()).await.unwrap(),
        Acquired { former_owner: None }
    );
    let error = two.acquire_lock(this_process("stage")).await.unwrap_err();
    assert!(
        matches!(&error, StoreError::Locked(holder) if **holder == me),
        "{error}"
    );
    assert!(error.to_string().contains(&me.pid.to_string()), "{error}");
    two.release_lock().await.unwrap();
    assert_eq!(two.lock_owner().await.unwrap(), Some(me));
    one.release_lock().await.unwrap();
    assert_eq!(two.lock_owner().await.unwrap(), None);
    two.acquire_lock(this_process("stage")).await.unwrap();
    drop(two);
    assert_eq!(
        one.lock_owner().await.unwrap(),
        None,
        "a store that goes gives its lock back"
    );
}

#[tokio::test]
async fn lock_of_a_dead_owner_is_taken_over_and_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let dead = dead_holder();
    let text = serde_json::to_string(&dead).unwrap();
    store
        .write("a test", move |conn| {
            Ok(conn.execute("INSERT INTO lock VALUES (1, 'theirs', ?1)", [text])?)
        })
        .await
        .unwrap();
    assert_eq!(store.lock_owner().await.unwrap(), None);
    let me = LockHolder {
        leased: true,
        ..this_process("stage")
    };
    assert_eq!(
        store.acquire_lock(me.clone()).await.unwrap().former_owner,
        Some(dead.clone())
    );
    let record = store.takeovers().await.unwrap();
    assert_eq!((&record[0].1, &record[0].2), (&dead, &me));
}

#[test]
fn recycled_pid_or_another_boot_is_not_the_lock_owner() {
    let me = this_process("x");
    let is_alive = |holder: &LockHolder| {
        LeaseCheck::for_store(Path::new("/nowhere/flightdeck.db")).is_alive(holder)
    };
    assert!(is_alive(&me));
    assert!(!is_alive(&LockHolder {
        start_time: me.start_time + 1,
        ..me.clone()
    }));
    assert!(!is_alive(&LockHolder {
        boot_id: "another".into(),
        ..me.clone()
    }));
    assert!(
        is_alive(&LockHolder {
            host: "elsewhere.example".into(),
            pid: 1,
            ..me.clone()
        }),
        "nobody can tell from here"
    );
    let other = LockHolder {
        pid_namespace: "pid:[1]".into(),
        start_time: 1,
        ..me.clone()
    };
    assert!(is_alive(&other), "its number means nothing here");
    assert!(
        is_alive(&LockHolder {
            start_time: 0,
            boot_id: String::new(),
            ..me.clone()
        }),
        "it had no /proc to name itself by"
    );
    assert!(
        is_alive(&LockHolder {
            leased: true,
            boot_id: "another".into(),
            ..me
        }),
        "two machines may share a name and a directory"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_on_one_file_lose_no_edit() {
    let dir = tempfile::tempdir().unwrap();
    let stores = [open(dir.path()), open(dir.path())];
    let tasks = tokio_util::task::TaskTracker::new();
    for n in 0..200 {
        let store = stores[n % 2].clone();
        tasks.spawn(async move {
            store
                .edit_state(vec![StateEdit::Put(Box::new(object(
                    &format!("a.b{n}"),
                    "{}",
                )))])
                .await
                .unwrap()
        });
    }
    tasks.close();
    tasks.wait().await;
    let state = stores[0].state().await.unwrap();
    assert_eq!((state.serial, state.objects.len()), (200, 200));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_first_opens_all_succeed() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| Sqlite::open(dir.path(), Access::ReadWrite).map(drop)))
            .collect();
        for one in all {
            one.join().unwrap().unwrap();
        }
    });
    assert!(!open(dir.path()).state().await.unwrap().lineage.is_empty());
}
