//! Tests of the SDK's server over a real Unix socket with mutual TLS, by a client of protocol 6.
#![allow(clippy::unwrap_used)]

mod connection;
mod objects;
mod planning;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use proto::tfplugin6 as pb;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::common::{Host, said};

#[path = "../common/mod.rs"]
mod common;

#[path = "../toy/mod.rs"]
mod toy;

struct Served {
    host: Host,
    line: String,
    identity: wire::Identity,
    stopped: Arc<AtomicBool>,
    looks: Arc<AtomicU32>,
    end: CancellationToken,
    tasks: TaskTracker,
    folder: tempfile::TempDir,
}

fn options(folder: &tempfile::TempDir, identity: Option<&wire::Identity>) -> sdk::Options {
    sdk::Options {
        cookie: Some(wire::env::MAGIC_COOKIE_VALUE.into()),
        client_cert: identity.map(|identity| identity.pem().to_owned()),
        socket_dir: Some(folder.path().to_owned()),
        host_port: None,
    }
}

async fn start(
    folder: &tempfile::TempDir,
    identity: Option<&wire::Identity>,
    toy: toy::Toy,
) -> (String, CancellationToken, TaskTracker) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let (end, tasks) = (CancellationToken::new(), TaskTracker::new());
    let announce = |line: &str| {
        sender.send(line.to_owned()).unwrap();
        Ok(())
    };
    let served = sdk::serve_with(
        Arc::new(toy),
        options(folder, identity),
        end.clone(),
        announce,
    );
    tasks.spawn(async move { served.await.unwrap() });
    tasks.close();
    (receiver.await.unwrap(), end, tasks)
}

async fn serve() -> Served {
    let folder = tempfile::tempdir().unwrap();
    let identity = wire::Identity::generate().unwrap();
    let toy = toy::Toy::default();
    let (stopped, looks) = (toy.stopped.clone(), toy.looks.clone());
    let (line, end, tasks) = start(&folder, Some(&identity), toy).await;
    let channel = common::connect(&line, Some(&identity)).await.unwrap();
    Served {
        host: Host::new(channel).await,
        line,
        identity,
        stopped,
        looks,
        end,
        tasks,
        folder,
    }
}

#[tokio::test]
async fn schema_and_metadata_list_types_and_capabilities() {
    let mut served = serve().await;
    let metadata = served
        .host
        .client
        .get_metadata(pb::get_metadata::Request {})
        .await
        .unwrap()
        .into_inner();
    let capabilities = metadata.server_capabilities.unwrap();
    assert!(
        capabilities.plan_destroy
            && capabilities.get_provider_schema_optional
            && capabilities.move_resource_state
    );
    assert_eq!(metadata.resources[0].type_name, "toy_box");
    assert_eq!(metadata.data_sources[0].type_name, "toy_big");
    assert_eq!(served.host.schema.server_capabilities, Some(capabilities));
    let schema = &served.host.schema.resource_schemas["toy_box"];
    assert_eq!(schema.version, 2);
    let attr = |name: &str| {
        schema
            .block
            .as_ref()
            .unwrap()
            .attributes
            .iter()
            .find(|attr| attr.name == name)
            .unwrap()
            .clone()
    };
    assert!(attr("name").required && !attr("name").optional && !attr("name").computed);
    assert!(
        attr("size").optional && attr("size").computed,
        "a default makes an attribute computed"
    );
    assert!(attr("secret").write_only && attr("secret").optional);
    assert_eq!(
        attr("inner").nested_type.unwrap().nesting(),
        pb::schema::object::NestingMode::Single
    );
    assert_eq!(
        schema.block.as_ref().unwrap().block_types[0].nesting(),
        pb::schema::nested_block::NestingMode::List
    );
    assert!(
        served
            .host
            .schema
            .provider
            .as_ref()
            .unwrap()
            .block
            .as_ref()
            .unwrap()
            .attributes[0]
            .sensitive
    );
}

#[tokio::test]
async fn unsupported_methods_return_unimplemented() {
    let mut served = serve().await;
    let refused = served
        .host
        .client
        .plan_action(pb::plan_action::Request::default())
        .await
        .unwrap_err();
    assert_eq!(refused.code(), tonic::Code::Unimplemented);
    let unknown = served
        .host
        .client
        .call_function(pb::call_function::Request::default())
        .await
        .unwrap();
    let error = unknown.into_inner().error.unwrap();
    assert!(error.text.contains("unknown function"), "{}", error.text);
    let functions = served
        .host
        .client
        .get_functions(pb::get_functions::Request {})
        .await
        .unwrap()
        .into_inner();
    assert!(functions.functions.is_empty() && functions.diagnostics.is_empty());
    let identities = served
        .host
        .client
        .get_resource_identity_schemas(pb::get_resource_identity_schemas::Request {})
        .await
        .unwrap();
    assert!(identities.into_inner().identity_schemas.is_empty());
}

#[tokio::test]
async fn provider_configuration_is_validated_and_accepted() {
    let mut served = serve().await;
    let diagnostics = served.host.configure(json!({"token": "good"})).await;
    assert_eq!(
        said(&diagnostics),
        [("configured".to_owned(), String::new())]
    );
    assert_eq!(diagnostics[0].severity(), pb::diagnostic::Severity::Warning);
    let diagnostics = served.host.configure(json!({"token": "bad"})).await;
    assert_eq!(
        said(&diagnostics)[0],
        ("bad token".to_owned(), ".token".to_owned())
    );
}
