//! Tests of the engine as a whole, with the built-in provider.

use super::Engine;
use model::bus::Update;
use model::settings::{Access, Settings};
use model::{Event, EventKind, StageRequest};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

async fn engine(dir: &Path) -> Engine {
    let settings = Settings {
        access: Access::ReadWrite,
        ..Settings::new(dir)
    };
    Engine::start(settings).await.expect("an engine")
}

/// As after a second Ctrl-C, when a command's time is up.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_command_releases_its_locks() {
    let dir = tempfile::tempdir().expect("a directory");
    let main = "resource \"terraform_data\" \"a\" {\n  count = 200\n}\n";
    std::fs::write(dir.path().join("main.tf"), main).expect("written");
    let first = engine(dir.path()).await;
    let (_, mut events) = first.subscribe();
    let mut stage = Box::pin(first.stage(StageRequest::default()));
    let started = async {
        while let Some(Update::Events(batch)) = events.recv().await {
            let is_started =
                |event: &Arc<Event>| matches!(event.kind, EventKind::StageStarted { .. });
            if batch.iter().any(is_started) {
                break;
            }
        }
    };
    tokio::select! { biased;
        () = started => {}
        _ = &mut stage => panic!("the stage ended before its first event was read"),
    }
    let lock_info = dir.path().join(".terraform.tfstate.lock.info");
    assert!(lock_info.exists(), "the running stage has the state lock");
    drop(stage);
    // The next command waits until the locks are released.
    first
        .stage(StageRequest::default())
        .await
        .expect("a second stage");
    assert!(!lock_info.exists(), "the state lock is released");
    let second = engine(dir.path()).await;
    let held = second.hold_workspace_lock();
    let held = tokio::time::timeout(Duration::from_secs(10), held).await;
    held.expect("an answer").expect("the workspace lock");
    second.shutdown().await;
    first.shutdown().await;
}
