//! Tests of failures half-way: the state keeps exactly the committed part.

use std::sync::Arc;

use sdk::testing::{Instance, TestProvider};
use serde_json::json;

use crate::store::{Cloud, provider};

pub async fn start(cloud: &Arc<Cloud>) -> TestProvider {
    let test = TestProvider::over_protocol(provider(cloud)).await.unwrap();
    test.configure(json!({"region": "earth"})).await.unwrap();
    test
}

async fn server(test: &TestProvider, config: serde_json::Value) -> Instance {
    let made = test.apply("cloud_server", None, config).await.unwrap();
    made.done().unwrap()
}

#[tokio::test]
async fn s4_08_failed_update_keeps_exactly_the_committed_part() {
    let cloud = Arc::new(Cloud::default());
    let test = start(&cloud).await;
    let before = json!({"name": "a", "tags": {"env": "test"}});
    let made = server(&test, before).await;
    *cloud.fails.lock().unwrap() = Some("name");
    let wanted = json!({"name": "b", "tags": {"env": "live"}});
    let failed = test
        .apply("cloud_server", Some(&made), wanted.clone())
        .await;
    let failed = failed.unwrap();
    assert_eq!(failed.diagnostics.0[0].summary, "name failed");
    let half = failed.object.unwrap();
    assert!(!half.tainted, "a failed update leaves a good object");
    assert_eq!(half.attr("tags"), json!({"env": "live"}), "committed");
    assert_eq!(half.attr("name"), "a", "not committed");
    assert_eq!(half.attr("id"), made.attr("id"));

    // The next plan shows the rest only, and its apply repairs it.
    *cloud.fails.lock().unwrap() = None;
    let plan = test.plan("cloud_server", Some(&half), wanted.clone()).await;
    let plan = plan.unwrap();
    assert_eq!(plan.attr("name"), "b");
    assert_eq!(plan.attr("tags"), half.attr("tags"));
    let repaired = test
        .apply("cloud_server", Some(&half), wanted.clone())
        .await;
    let repaired = repaired.unwrap().done().unwrap();
    assert_eq!(repaired.attr("name"), "b");
    let plan = test.plan("cloud_server", Some(&repaired), wanted).await;
    assert!(plan.unwrap().is_no_op());
}

#[tokio::test]
async fn s4_08_a_commit_takes_the_whole_nested_structure() {
    let cloud = Arc::new(Cloud::default());
    let test = start(&cloud).await;
    let made = server(&test, json!({"name": "a", "network": {"name": "one"}})).await;
    assert_eq!(made.attr("network")["address"], "10.0.0.1");
    *cloud.fails.lock().unwrap() = Some("name");
    let wanted = json!({"name": "b", "network": {"name": "two", "port": 7}});
    let failed = test.apply("cloud_server", Some(&made), wanted).await;
    let half = failed.unwrap().object.unwrap();
    assert_eq!(half.attr("network")["name"], "two");
    assert_eq!(half.attr("network")["port"].to_string(), "7");
    assert_eq!(half.attr("name"), "a");
}

#[tokio::test]
async fn s4_08_failed_update_without_a_commit_changes_nothing() {
    let cloud = Arc::new(Cloud::default());
    let test = start(&cloud).await;
    let made = server(&test, json!({"name": "a"})).await;
    *cloud.fails.lock().unwrap() = Some("tags");
    let wanted = json!({"name": "b", "tags": {"env": "live"}});
    let failed = test.apply("cloud_server", Some(&made), wanted).await;
    assert_eq!(failed.unwrap().object, Some(made));
}

#[tokio::test]
async fn s4_08_failed_create_leaves_a_tainted_object_that_is_replaced() {
    let cloud = Arc::new(Cloud::default());
    let test = start(&cloud).await;
    *cloud.fails.lock().unwrap() = Some("create");
    let config = json!({"name": "a"});
    let failed = test.apply("cloud_server", None, config.clone()).await;
    let half = failed.unwrap().object.unwrap();
    assert!(half.tainted);
    assert_eq!(half.attr("id"), "id-a");
    *cloud.fails.lock().unwrap() = None;
    cloud.calls.lock().unwrap().clear();
    let made = test.apply("cloud_server", Some(&half), config).await;
    assert!(!made.unwrap().done().unwrap().tainted);
    assert_eq!(*cloud.calls.lock().unwrap(), ["delete", "create"]);
}
