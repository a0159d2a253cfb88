//! The pg backend against a real PostgreSQL.

use super::parts::Part;
use super::services::postgres;
use super::{check_text_beside, info, settings};
use crate::backend::{Backend, Settings};
use crate::{StateError, StateManager};
use std::path::Path;
use std::sync::Arc;

fn said(server: &Part, more: &[(&str, &str)]) -> Settings {
    let address = format!(
        "postgres://me@127.0.0.1:{}/postgres?sslmode=disable",
        server.port
    );
    settings("pg", &[&[("conn_str", address.as_str())], more].concat())
}

fn open(settings: &Settings) -> Arc<dyn Backend> {
    settings.open_with(Path::new("."), &|_| None).unwrap()
}

fn words<T: std::fmt::Debug>(result: Result<T, StateError>) -> String {
    result.unwrap_err().to_string()
}

/// A server listens shortly before it answers.
async fn ready(home: &dyn StateManager) {
    for _ in 0..600 {
        match home.read().await {
            Err(e) if e.to_string().contains("57P03") => {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
            _ => return,
        }
    }
}

#[tokio::test]
async fn pg_state_is_a_row_and_its_lock_belongs_to_the_session() {
    let Some(server) = postgres() else { return };
    let settings = said(&server, &[("schema_name", "rows")]);
    let ours = open(&settings).state_manager("").unwrap();
    ready(&*ours).await;
    ours.lock(info("1")).await.unwrap();
    let other = open(&settings).state_manager("").unwrap();
    let refused = words(other.lock(info("2")).await);
    assert!(
        refused.contains("is locked by me@127.0.0.1 (flightdeck"),
        "{refused}"
    );
    assert!(ours.read().await.unwrap().is_empty());
    ours.write("{}\n".into()).await.unwrap();
    ours.write("{ }\n".into()).await.unwrap();
    assert_eq!(other.read().await.unwrap(), b"{ }\n");
    ours.unlock().await.unwrap();
    // The row exists now and has its own lock.
    other.lock(info("2")).await.unwrap();
    assert!(words(ours.lock(info("1")).await).contains("is locked by"));
    let elsewhere = open(&settings).state_manager("dev").unwrap();
    elsewhere.lock(info("3")).await.unwrap();
    elsewhere.unlock().await.unwrap();
    // The owner's connection is ended, and it notices before its next write.
    let refused = words(ours.force_unlock("1").await);
    let id = refused.split("has the id ").nth(1).unwrap();
    let id = id.split([',', ' ']).next().unwrap();
    ours.force_unlock(id).await.unwrap();
    loop {
        let refused = words(other.write("lost".into()).await);
        assert!(refused.contains("cannot write the state"), "{refused}");
        // A new connection does not have the lock.
        if refused.contains("the lock with it") {
            break;
        }
    }
    assert!(words(other.write("lost".into()).await).contains("the lock with it"));
    other.unlock().await.unwrap();
    ours.lock(info("1")).await.unwrap();
    assert_eq!(ours.read().await.unwrap(), b"{ }\n");
    ours.delete().await.unwrap();
    assert!(ours.read().await.unwrap().is_empty());
    ours.unlock().await.unwrap();
    assert!(words(ours.force_unlock("1").await).contains("the state is not locked"));
}

#[tokio::test]
async fn pg_workspaces_are_rows() {
    let Some(server) = postgres() else { return };
    let settings = said(
        &server,
        &[("schema_name", "spaces"), ("table_name", "t \"q\"")],
    );
    let backend = open(&settings);
    ready(&*backend.state_manager("").unwrap()).await;
    for name in ["prod", "dev"] {
        backend.create(name, info("1")).await.unwrap();
    }
    backend.create("dev", info("1")).await.unwrap();
    let default = backend.state_manager("").unwrap();
    default.write("{}".into()).await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["dev", "prod"]);
    check_text_beside(&*backend, "1").await;
}

#[tokio::test]
async fn pg_connection_errors_omit_the_password() {
    let Some(server) = postgres() else { return };
    ready(&*open(&said(&server, &[])).state_manager("").unwrap()).await;
    let address = format!("postgres://me:hunter2@127.0.0.1:{}/postgres", server.port);
    let home = open(&settings("pg", &[("conn_str", &address)]))
        .state_manager("")
        .unwrap();
    let refused = words(home.read().await);
    assert!(refused.contains("TLS"), "{refused}");
    assert!(!refused.contains("hunter2"), "{refused}");
    let address = format!(
        "postgres://me:hunter2@127.0.0.1:{}/nothing?sslmode=disable",
        server.port
    );
    let home = open(&settings("pg", &[("conn_str", &address)]))
        .state_manager("")
        .unwrap();
    let refused = words(home.read().await);
    assert!(
        refused.contains("cannot read the state in postgres://127.0.0.1"),
        "{refused}"
    );
    assert!(!refused.contains("hunter2"), "{refused}");
}
