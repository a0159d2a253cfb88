//! The gcs backend against fake-gcs-server.

use super::super::http_client::{HttpClient, HttpRequest};
use super::parts::{Part, Shared, find};
use super::{check_text_beside, info, settings};
use crate::backend::{Backend, Settings};
use crate::{StateError, StateManager};
use net::HttpOptions;
use reqwest::{Method, Url};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

static SERVER: Shared = Shared::new();

fn server() -> Option<Arc<Part>> {
    let Some(program) = find("FLIGHTDECK_TEST_GCS", "fake-gcs-server") else {
        cty::testing::skipped(
            "there is no fake-gcs-server on the path, and FLIGHTDECK_TEST_GCS names none",
        );
        return None;
    };
    Some(SERVER.get(|| {
        Part::start(|_, port| {
            let mut command = Command::new(program);
            let port = port.to_string();
            command.args([
                "-backend",
                "memory",
                "-scheme",
                "http",
                "-host",
                "127.0.0.1",
            ]);
            command.args(["-port", &port, "-public-host", &format!("127.0.0.1:{port}")]);
            command
        })
    }))
}

async fn said(server: &Part, bucket: &str, more: &[(&str, &str)]) -> Settings {
    let url = format!("http://127.0.0.1:{}/storage/v1/b", server.port);
    let mut ask = HttpRequest::new(Method::POST, Url::parse(&url).unwrap());
    ask.body = format!("{{\"name\":\"{bucket}\"}}").into_bytes();
    HttpClient::new(HttpOptions::default())
        .send_once(ask)
        .await
        .unwrap();
    let endpoint = format!("http://127.0.0.1:{}/storage/v1/", server.port);
    let all = [
        ("bucket", bucket),
        ("prefix", "a/b"),
        ("access_token", "t"),
        ("storage_custom_endpoint", endpoint.as_str()),
    ];
    settings("gcs", &[&all, more].concat())
}

fn open(settings: &Settings) -> Arc<dyn Backend> {
    settings.open_with(Path::new("."), &|_| None).unwrap()
}

fn home(settings: &Settings) -> Arc<dyn StateManager> {
    open(settings).state_manager("").unwrap()
}

fn words<T: std::fmt::Debug>(result: Result<T, StateError>) -> String {
    result.unwrap_err().to_string()
}

#[tokio::test]
async fn gcs_state_is_an_object_and_its_lock_id_a_generation() {
    let Some(server) = server() else { return };
    let settings = said(&server, "one", &[]).await;
    let ours = home(&settings);
    assert_eq!(ours.place(), "gs://one/a/b/default.tfstate");
    ours.lock(info("1")).await.unwrap();
    let other = home(&settings);
    let refused = words(other.lock(info("2")).await);
    assert!(refused.contains("is locked by me@here"), "{refused}");
    let id = refused.split(", lock ").nth(1).unwrap();
    let id = id.split(';').next().unwrap().to_owned();
    assert!(id.parse::<i64>().is_ok(), "{refused}");
    assert!(ours.read().await.unwrap().is_empty());
    ours.write("{}\n".into()).await.unwrap();
    assert_eq!(other.read().await.unwrap(), b"{}\n");
    let refused = words(other.force_unlock("abc").await);
    assert!(
        refused.contains("lock ids of the gcs backend are numbers"),
        "{refused}"
    );
    let refused = words(other.force_unlock("2").await);
    assert!(refused.contains("has the id"), "{refused}");
    other.force_unlock(&id).await.unwrap();
    let refused = words(ours.unlock().await);
    assert!(refused.contains("the state is not locked"), "{refused}");
    // A command that ended before it knew the generation uses the id inside the lock.
    ours.lock(info("1")).await.unwrap();
    other.force_unlock("1").await.unwrap();
    let refused = words(ours.unlock().await);
    assert!(refused.contains("the state is not locked"), "{refused}");
    ours.lock(info("1")).await.unwrap();
    ours.unlock().await.unwrap();
    ours.delete().await.unwrap();
    assert!(ours.read().await.unwrap().is_empty());
}

#[tokio::test]
async fn gcs_workspaces_are_objects_beside_the_default_one() {
    let Some(server) = server() else { return };
    let backend = open(&said(&server, "spaces", &[]).await);
    assert!(backend.workspaces().await.unwrap().is_empty());
    for name in ["prod", "dev"] {
        backend.create(name, info("1")).await.unwrap();
    }
    let default = backend.state_manager("").unwrap();
    default.write("{}".into()).await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["dev", "prod"]);
    check_text_beside(&*backend, "1").await;
}

#[tokio::test]
async fn gcs_rejects_unusable_arguments() {
    for (arguments, word) in [
        (
            &[("credentials", "{\"type\":\"external_account\"}")][..],
            "external_account",
        ),
        (&[("credentials", "/nowhere")], "/nowhere cannot be read"),
        (&[("access_token", "t")], "\"bucket\""),
        (
            &[
                ("access_token", "t"),
                ("bucket", "b"),
                ("encryption_key", "x"),
            ],
            "32 bytes",
        ),
    ] {
        let opened = settings("gcs", arguments).open_with(Path::new("."), &|_| None);
        let said = opened.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
    let key = r#"{"type":"service_account","private_key":"x","client_email":"a@b"}"#;
    let bad = settings("gcs", &[("credentials", key), ("bucket", "b")]);
    let refused = words(home(&bad).read().await);
    assert!(refused.contains("private_key"), "{refused}");
}
