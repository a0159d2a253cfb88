//! The azurerm backend against azurite.

use super::super::azurerm::Azure;
use super::super::http_client::{HttpClient, HttpRequest};
use super::super::values::Values;
use super::parts::{Part, Shared, find};
use super::{check_text_beside, info, settings};
use crate::backend::Backend;
use crate::{StateError, StateManager};
use net::HttpOptions;
use reqwest::{Method, Url};
use std::process::Command;
use std::sync::Arc;

static SERVER: Shared = Shared::new();
/// The fixed account of azurite, with its published key.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

fn server() -> Option<Arc<Part>> {
    let Some(program) = find("FLIGHTDECK_TEST_AZURITE", "azurite-blob") else {
        cty::testing::skipped(
            "there is no azurite-blob on the path, and FLIGHTDECK_TEST_AZURITE names none",
        );
        return None;
    };
    Some(SERVER.get(|| {
        Part::start(|dir, port| {
            let mut command = Command::new(program);
            command.args([
                "--silent",
                "--skipApiVersionCheck",
                "--blobHost",
                "127.0.0.1",
            ]);
            command.args(["--blobPort", &port.to_string(), "--location"]);
            command.arg(dir);
            command
        })
    }))
}

/// Creates a container with the code under test.
fn azure(server: &Part, container: &str, more: &[(&str, &str)]) -> Azure {
    let all = [
        ("storage_account_name", ACCOUNT),
        ("container_name", container),
        ("key", "a/b.tfstate"),
        ("access_key", KEY),
    ];
    let settings = settings("azurerm", &[&all, more].concat());
    let endpoint = format!("http://127.0.0.1:{}/{ACCOUNT}/", server.port);
    Azure::at(&Values::new(&settings, &|_| None), &endpoint).unwrap()
}

fn words<T: std::fmt::Debug>(result: Result<T, StateError>) -> String {
    result.unwrap_err().to_string()
}

fn home(azure: &Azure) -> Arc<dyn StateManager> {
    azure.state_manager("").unwrap()
}

#[tokio::test]
async fn azurerm_state_is_a_blob_locked_by_a_lease() {
    let Some(server) = server() else { return };
    let id = |n: u8| format!("00000000-0000-0000-0000-00000000000{n}");
    let ours = home(&azure(&server, "one", &[("snapshot", "true")]));
    let refused = words(ours.read().await);
    assert!(
        refused.contains("the container one does not exist"),
        "{refused}"
    );
    azure(&server, "one", &[]).make_container().await.unwrap();
    assert!(ours.read().await.unwrap().is_empty());
    ours.lock(info(&id(1))).await.unwrap();
    let other = home(&azure(&server, "one", &[]));
    let refused = words(other.lock(info(&id(2))).await);
    assert!(refused.contains("is locked by me@here"), "{refused}");
    assert!(refused.contains(&format!("lock {}", id(1))), "{refused}");
    for text in ["{}\n", "{ }\n"] {
        ours.write(text.into()).await.unwrap();
    }
    assert_eq!(other.read().await.unwrap(), b"{ }\n");
    // A write preserves the lock owner.
    let refused = words(other.lock(info(&id(2))).await);
    assert!(refused.contains("is locked by me@here"), "{refused}");
    let refused = words(other.write("no".into()).await);
    assert!(refused.contains("cannot write the state"), "{refused}");
    let refused = words(other.force_unlock(&id(3)).await);
    assert!(
        refused.contains(&format!("has the id {}", id(1))),
        "{refused}"
    );
    other.force_unlock(&id(1)).await.unwrap();
    let refused = words(ours.unlock().await);
    assert!(refused.contains("force-unlock"), "{refused}");
    other.lock(info(&id(2))).await.unwrap();
    other.unlock().await.unwrap();
    assert!(words(other.force_unlock(&id(2)).await).contains("the state is not locked"));
}

#[tokio::test]
async fn azurerm_workspaces_are_blobs_with_a_suffix() {
    let Some(server) = server() else { return };
    let backend = azure(&server, "spaces", &[]);
    backend.make_container().await.unwrap();
    let id = "00000000-0000-0000-0000-000000000001";
    for name in ["prod", "dev"] {
        backend.create(name, info(id)).await.unwrap();
    }
    home(&backend).write("{}".into()).await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["dev", "prod"]);
    let place = backend.state_manager("dev").unwrap().place();
    assert!(place.ends_with("/spaces/a/b.tfstateenv:dev"), "{place}");
    check_text_beside(&backend, id).await;
}

#[tokio::test]
async fn azurerm_reports_a_wrong_key_and_missing_arguments() {
    let Some(server) = server() else { return };
    let wrong = azure(&server, "keys", &[("access_key", "QUJD")]);
    let refused = words(home(&wrong).read().await);
    assert!(refused.contains("access denied"), "{refused}");
    let url = format!("http://127.0.0.1:{}/", server.port);
    let ask = HttpRequest::new(Method::GET, Url::parse(&url).unwrap());
    assert!(
        HttpClient::new(HttpOptions::default())
            .send_once(ask)
            .await
            .is_ok()
    );
    for (arguments, word) in [
        (&[][..], "storage_account_name"),
        (&[("storage_account_name", "a")], "ARM_ACCESS_KEY"),
        (
            &[("storage_account_name", "a"), ("environment", "moon")],
            "\"moon\"",
        ),
        (
            &[("storage_account_name", "a"), ("access_key", "k")],
            "\"container_name\"",
        ),
    ] {
        let settings = settings("azurerm", arguments);
        let said = Azure::new(&Values::new(&settings, &|_| None));
        let said = said.err().unwrap().to_string();
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
}
