//! Tests of the testing kit as a Bluelink host.

use std::sync::Arc;

use sdk::testing::TestProvider;
use serde_json::json;

use crate::store::{Cloud, provider};

async fn start(cloud: &Arc<Cloud>) -> TestProvider {
    let test = TestProvider::bluelink_plugin(provider(cloud)).unwrap();
    test.configure(json!({"region": "earth"})).await.unwrap();
    test
}

#[tokio::test]
async fn object_is_created_updated_replaced_imported_and_destroyed() {
    let cloud = Arc::new(Cloud::default());
    let test = start(&cloud).await;
    let config = json!({
        "name": "a", "groups": ["y", "x"], "network": {"name": "n"}, "disk": [{"size": 1.5}],
    });
    let made = test
        .apply("cloud_server", None, config.clone())
        .await
        .unwrap();
    let made = made.done().unwrap();
    assert_eq!(made.attr("id"), "id-a");
    assert_eq!(made.attr("zone"), "a", "the default");
    assert_eq!(made.attr("type"), "small");
    assert_eq!(made.attr("network")["address"], "10.0.0.1");
    assert_eq!(made.attr("disk").to_string(), r#"[{"size":1.5}]"#);
    assert_eq!(test.read(&made).await.unwrap().unwrap().value, made.value);
    let same = test
        .apply("cloud_server", Some(&made), config)
        .await
        .unwrap();
    assert_eq!(same.done().unwrap().value, made.value);
    assert_eq!(*cloud.calls.lock().unwrap(), ["create", "exists", "read"]);

    let config = json!({"name": "b", "type": "large"});
    let changed = test
        .apply("cloud_server", Some(&made), config)
        .await
        .unwrap();
    let changed = changed.done().unwrap();
    assert_eq!(
        (changed.attr("id"), changed.attr("name")),
        ("id-a".into(), "b".into())
    );
    assert_eq!(changed.attr("type"), "large");
    let imported = test.import("cloud_server", "id-a").await.unwrap();
    assert_eq!(imported.attr("name"), "b");
    cloud.calls.lock().unwrap().clear();
    let config = json!({"name": "b", "zone": "b"});
    let moved = test
        .apply("cloud_server", Some(&changed), config)
        .await
        .unwrap();
    let moved = moved.done().unwrap();
    assert_eq!(*cloud.calls.lock().unwrap(), ["delete", "create"]);
    assert!(test.destroy(&moved).await.unwrap().object.is_none());
    assert_eq!(test.read(&moved).await.unwrap(), None);
    assert!(test.import("cloud_server", "id-b").await.is_err());
}

#[tokio::test]
async fn host_keeps_its_state_after_a_failure_and_reads_what_was_done() {
    let cloud = Arc::new(Cloud::default());
    let test = start(&cloud).await;
    let made = test
        .apply("cloud_server", None, json!({"name": "a"}))
        .await
        .unwrap();
    let made = made.done().unwrap();
    *cloud.fails.lock().unwrap() = Some("name");
    let wanted = json!({"name": "b", "tags": {"env": "live"}});
    let failed = test
        .apply("cloud_server", Some(&made), wanted.clone())
        .await
        .unwrap();
    assert_eq!(failed.diagnostics.0[0].summary, "name failed");
    let kept = failed.object.unwrap();
    assert_eq!(kept, made);
    let read = test.read(&kept).await.unwrap().unwrap();
    assert_eq!(
        (read.attr("name"), read.attr("tags")),
        ("a".into(), json!({"env": "live"}))
    );
    *cloud.fails.lock().unwrap() = None;
    let repaired = test
        .apply("cloud_server", Some(&read), wanted)
        .await
        .unwrap();
    assert_eq!(repaired.done().unwrap().attr("name"), "b");
    // A half-created object is removed again.
    *cloud.fails.lock().unwrap() = Some("create");
    let failed = test
        .apply("cloud_server", None, json!({"name": "c"}))
        .await
        .unwrap();
    assert_eq!(failed.object, None);
    let said = &failed.diagnostics.0[1].summary;
    assert_eq!(said, "the partly created object (id-c) was removed");
}

#[tokio::test]
async fn mistakes_in_a_configuration_are_errors() {
    let test = start(&Arc::new(Cloud::default())).await;
    let refused = test
        .apply("cloud_server", None, json!({"name": "much too long"}))
        .await;
    let refused = refused.unwrap_err().diagnostics.0[0].summary.clone();
    assert!(
        refused.contains("must have less than 10 characters"),
        "{refused}"
    );
    let refused = test
        .plan("cloud_server", None, json!({"name": "a"}))
        .await
        .unwrap_err();
    assert!(
        refused.diagnostics.0[0]
            .detail
            .contains("test of a Bluelink plugin")
    );
    test.configure(json!({"region": "moon"})).await.unwrap();
    let failed = test.apply("cloud_server", None, json!({"name": "a"})).await;
    let failed = failed.unwrap();
    assert_eq!(failed.diagnostics.0[0].summary, "no such region");
}
