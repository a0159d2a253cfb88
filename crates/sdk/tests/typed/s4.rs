//! Statements of the first provider library (helper/schema) that this SDK keeps, by their numbers.

use std::sync::Arc;

use sdk::testing::TestProvider;
use serde_json::json;

use crate::partial::start;
use crate::store::{Cloud, provider};

#[tokio::test]
async fn s4_01_a_provider_owns_the_life_cycle_of_its_resource_types() {
    let cloud = Arc::new(Cloud::default());
    let test = start(&cloud).await;
    let made = test.apply("cloud_server", None, json!({"name": "a"})).await;
    let made = made.unwrap().done().unwrap();
    test.read(&made).await.unwrap().unwrap();
    let changed = test
        .apply("cloud_server", Some(&made), json!({"name": "b"}))
        .await;
    let changed = changed.unwrap().done().unwrap();
    assert!(test.destroy(&changed).await.unwrap().object.is_none());
    let calls = cloud.calls.lock().unwrap().clone();
    assert_eq!(calls, ["create", "exists", "read", "update", "delete"]);
}

#[tokio::test]
async fn s4_02_every_call_receives_the_result_of_the_configuration() {
    let cloud = Arc::new(Cloud::default());
    let test = TestProvider::in_process(provider(&cloud)).unwrap();
    let refused = test.configure(json!({"region": "moon"})).await.unwrap_err();
    assert_eq!(refused.diagnostics.0[0].summary, "no such region");
    let early = test.apply("cloud_server", None, json!({"name": "a"})).await;
    let early = early.unwrap();
    assert_eq!(
        early.diagnostics.0[0].summary,
        "the provider is not configured"
    );
    test.configure(json!({"region": "earth"})).await.unwrap();
    let made = test.apply("cloud_server", None, json!({"name": "a"})).await;
    made.unwrap().done().unwrap();
    // The objects are in the client that the configuration returned.
    assert!(cloud.servers.lock().unwrap().contains_key("id-a"));
}

#[tokio::test]
async fn s4_04_create_has_no_id_and_later_calls_have_it() {
    let cloud = Arc::new(Cloud::default());
    let test = start(&cloud).await;
    let plan = test.plan("cloud_server", None, json!({"name": "a"})).await;
    assert!(plan.unwrap().is_unknown("id"));
    let made = test.apply("cloud_server", None, json!({"name": "a"})).await;
    let made = made.unwrap().done().unwrap();
    let plan = test
        .plan("cloud_server", Some(&made), json!({"name": "b"}))
        .await;
    let plan = plan.unwrap();
    assert_eq!(plan.attr("id"), "id-a");
    assert!(plan.replace.is_empty());
    // Attributes that cannot be updated never reach an update.
    let other = json!({"name": "a", "zone": "b"});
    let plan = test.plan("cloud_server", Some(&made), other.clone()).await;
    assert_eq!(plan.unwrap().replace, ["zone"]);
    cloud.calls.lock().unwrap().clear();
    let moved = test.apply("cloud_server", Some(&made), other).await;
    moved.unwrap().done().unwrap();
    assert_eq!(*cloud.calls.lock().unwrap(), ["delete", "create"]);
}

#[tokio::test]
async fn s4_05_exists_runs_before_read() {
    let cloud = Arc::new(Cloud::default());
    let test = start(&cloud).await;
    let made = test.apply("cloud_server", None, json!({"name": "a"})).await;
    let made = made.unwrap().done().unwrap();
    cloud.calls.lock().unwrap().clear();
    assert!(test.read(&made).await.unwrap().is_some());
    assert_eq!(*cloud.calls.lock().unwrap(), ["exists", "read"]);
    cloud.servers.lock().unwrap().clear();
    cloud.calls.lock().unwrap().clear();
    assert!(test.read(&made).await.unwrap().is_none());
    assert_eq!(*cloud.calls.lock().unwrap(), ["exists"], "it is not read");
}

#[test]
fn s4_06_schemas_map_names_to_attributes_for_providers_and_types_alike() {
    use sdk::Provider as _;
    let provider = provider(&Arc::new(Cloud::default()));
    let names = |schema: &sdk::Schema| -> Vec<String> {
        let attrs = schema.block.attributes.iter();
        attrs.map(|attr| attr.name.clone()).collect()
    };
    assert_eq!(names(&provider.schema()), ["region"]);
    let server = provider.resources()[0].schema();
    assert_eq!(names(&server)[..3], ["name", "zone", "tags"]);
    let about = |name: &str| {
        let attrs = server.block.attributes.iter();
        attrs
            .clone()
            .find(|attr| attr.name == name)
            .unwrap()
            .clone()
    };
    assert_eq!(about("name").description, "Name.", "the doc comment");
    assert_eq!(server.block.description, "Server of the cloud.");
    assert!(about("name").required && about("tags").optional);
    assert!(about("id").computed && !about("id").optional && about("id").stable);
    assert!(about("type").computed && about("type").optional);
    assert!(about("zone").replaces && about("zone").optional && !about("zone").required);
    assert!(about("secret").write_only && about("note").sensitive);
    assert_eq!(about("note").deprecated, "use tags");
    assert_eq!(server.version, 2);
}

#[tokio::test]
async fn s4_07_a_create_sets_the_id_and_all_computed_attributes() {
    let cloud = Arc::new(Cloud::default());
    let test = start(&cloud).await;
    let config = json!({
        "name": "a", "groups": ["x"], "network": {"name": "n"}, "disk": [{"size": 1.5}],
        "secret": "psst", "note": "n",
    });
    let made = test.apply("cloud_server", None, config).await;
    let made = made.unwrap().done().unwrap();
    assert_eq!(
        (made.attr("id"), made.attr("type")),
        ("id-a".into(), "small".into())
    );
    assert_eq!(made.attr("address"), json!(null));
    assert_eq!(made.attr("network")["address"], "10.0.0.1");
    assert_eq!(made.attr("disk").to_string(), r#"[{"size":1.5}]"#);
    assert_eq!(made.attr("groups"), json!(["x"]));
    assert_eq!(made.attr("secret"), json!(null), "write-only");
    assert_eq!(cloud.secret.lock().unwrap().as_deref(), Some("psst"));
    assert!(made.attr("timeouts").is_null());
}
