//! Tests of identities, moves between types, and deferrals.

use std::sync::Arc;

use sdk::{Deferral, Failure, MovedState, Provider as _, testing::TestProvider};
use serde_json::json;

use crate::partial::start;
use crate::store::{Cloud, provider};

#[tokio::test]
async fn objects_have_an_identity_and_are_imported_by_it() {
    let cloud = Arc::new(Cloud::default());
    let test = start(&cloud).await;
    let made = test.apply("cloud_server", None, json!({"name": "a"})).await;
    let made = made.unwrap().done().unwrap();
    assert_eq!(made.identity, Some(json!({"id": "id-a"})));
    assert_eq!(test.read(&made).await.unwrap(), Some(made.clone()));
    let by_identity = test
        .import_by_identity("cloud_server", json!({"id": "id-a"}))
        .await;
    assert_eq!(by_identity.unwrap(), made);
    let part = test
        .import_by_identity("cloud_server", json!({}))
        .await
        .unwrap_err();
    assert_eq!(
        part.diagnostics.0[0].summary,
        "a part of the identity is missing"
    );
    let same = test
        .upgrade_identity("cloud_server", 0, json!({"id": "id-a", "old": 1}))
        .await;
    assert_eq!(same.unwrap(), json!({"id": "id-a"}));
    let newer = test
        .upgrade_identity("cloud_server", 1, json!({"id": "id-a"}))
        .await;
    assert!(
        newer.unwrap_err().diagnostics.0[0]
            .summary
            .ends_with("is too new")
    );
}

#[tokio::test]
async fn objects_of_another_type_are_moved() {
    let test = start(&Arc::new(Cloud::default())).await;
    let from = |type_name: &str| MovedState {
        provider: "example.com/acme/vms".to_owned(),
        type_name: type_name.to_owned(),
        version: 0,
        state: json!({"title": "a", "id": "id-a"}),
    };
    let moved = test
        .move_state(from("cloud_vm"), "cloud_server")
        .await
        .unwrap();
    assert_eq!(
        (moved.attr("name"), moved.attr("id")),
        ("a".into(), "id-a".into())
    );
    assert_eq!(moved.identity, Some(json!({"id": "id-a"})));
    let other = test
        .move_state(from("cloud_disk"), "cloud_server")
        .await
        .unwrap_err();
    let said = &other.diagnostics.0[0].summary;
    assert_eq!(
        said,
        "cannot move an object from cloud_disk to cloud_server"
    );
}

#[tokio::test]
async fn reads_are_deferred_while_the_provider_configuration_is_unknown() {
    let cloud = Arc::new(Cloud::default());
    let test = start(&cloud).await;
    let made = test.apply("cloud_server", None, json!({"name": "a"})).await;
    let made = made.unwrap().done().unwrap();
    let unknown = sdk::Value::unknown(sdk::Type::String);
    test.configure_value(sdk::Value::object([("region", unknown)]))
        .await
        .unwrap();
    let deferred = test.read(&made).await.unwrap_err();
    let said = &deferred.diagnostics.0[0];
    assert_eq!(said.detail, "its reason is PROVIDER_CONFIG_UNKNOWN");
    // The plan of a new object needs no client.
    let plan = test
        .plan("cloud_server", None, json!({"name": "b"}))
        .await
        .unwrap();
    assert_eq!(plan.deferred, None);
    assert!(plan.is_unknown("id"));
}

#[tokio::test]
async fn deferral_is_an_error_for_a_host_that_does_not_support_it() {
    let provider = provider(&Arc::new(Cloud::default()));
    let unknown = sdk::Value::unknown(sdk::Type::String);
    let cx = sdk::Context::new(tokio_util::sync::CancellationToken::new());
    provider
        .configure(&cx, &sdk::Value::object([("region", unknown)]))
        .await;
    let server = provider.resources().remove(0);
    let refused: Failure = server.import(&cx, "id-a").await.unwrap_err();
    assert_eq!(refused.deferred, Some(Deferral::ProviderConfigUnknown));
    assert!(
        refused.diagnostics.0[0]
            .detail
            .starts_with("region is unknown until an apply")
    );
}

#[tokio::test]
async fn test_provider_works_in_process_without_a_socket() {
    let test = TestProvider::in_process(provider(&Arc::new(Cloud::default()))).unwrap();
    test.configure(json!({"region": "earth"})).await.unwrap();
    test.stop().await.unwrap();
}
