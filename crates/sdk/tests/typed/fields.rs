//! Tests of fields, time limits, imports and upgraders of typed resources.

use std::sync::Arc;

use sdk::testing::TestProvider;
use sdk::{Computed, Context, DataSource, Lookup, Model, TypedProvider, async_trait};
use serde_json::json;

use crate::partial::start;
use crate::store::{Cloud, provider};

#[tokio::test]
async fn checks_of_fields_name_the_attribute() {
    let test = start(&Arc::new(Cloud::default())).await;
    let cases = [
        (
            json!({"name": "much too long"}),
            "must have less than 10 characters",
        ),
        (json!({"name": "a", "zone": "c"}), "must be one of: a, b"),
        (
            json!({"name": "a", "timeouts": {"create": "soon"}}),
            "\"soon\" is not a positive duration",
        ),
        (
            json!({"name": "a", "network": {"name": "n", "port": 1.5}}),
            "1.5 is not a whole number",
        ),
        (
            json!({"name": "a", "tags": {"env": null}}),
            "[\"env\"]: is null",
        ),
        (json!({"name": "root"}), ""),
    ];
    for (config, wanted) in cases {
        let refused = test.validate("cloud_server", config).await.unwrap_err();
        let first = &refused.diagnostics.0[0];
        assert!(first.detail.starts_with(wanted), "{first:?}");
        assert!(first.attribute.is_some(), "{first:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn create_that_exceeds_its_limit_is_stopped_and_keeps_its_object() {
    let cloud = Arc::new(Cloud::default());
    let test = TestProvider::in_process(provider(&cloud)).unwrap();
    test.configure(json!({"region": "earth"})).await.unwrap();
    *cloud.fails.lock().unwrap() = Some("wait");
    let config = json!({"name": "a", "timeouts": {"create": "5s"}});
    let begun = tokio::time::Instant::now();
    let failed = test.apply("cloud_server", None, config).await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 5);
    let said: Vec<&str> = failed
        .diagnostics
        .0
        .iter()
        .map(|one| &*one.summary)
        .collect();
    assert_eq!(said, ["stopped", "the time limit has passed"]);
    assert!(
        failed.diagnostics.0[1]
            .detail
            .contains("the create took longer than its limit of 5s")
    );
    let half = failed.object.unwrap();
    assert_eq!(half.attr("id"), "id-a");
    assert_eq!(half.attr("timeouts")["create"], "5s");
}

#[tokio::test]
async fn object_is_imported_by_its_id() {
    let cloud = Arc::new(Cloud::default());
    let test = start(&cloud).await;
    let made = test.apply("cloud_server", None, json!({"name": "a"})).await;
    let made = made.unwrap().done().unwrap();
    let imported = test.import("cloud_server", "id-a").await.unwrap();
    assert_eq!(imported.value, made.value);
    let none = test.import("cloud_server", "id-b").await.unwrap_err();
    assert_eq!(
        none.diagnostics.0[0].summary,
        "there is no cloud_server id-b"
    );
}

#[tokio::test]
async fn old_states_are_upgraded_step_by_step() {
    let test = start(&Arc::new(Cloud::default())).await;
    let oldest = test.upgrade("cloud_server", 0, json!({"title": "a"})).await;
    let oldest = oldest.unwrap();
    assert_eq!(
        (oldest.attr("name"), oldest.attr("tags")),
        ("a".into(), json!({"from": "a"}))
    );
    let older = test.upgrade("cloud_server", 1, json!({"name": "b"})).await;
    assert_eq!(older.unwrap().attr("tags"), json!({"from": "b"}));
    let newest = test.upgrade("cloud_server", 2, json!({"name": "c"})).await;
    assert_eq!(newest.unwrap().attr("tags"), json!(null));
}

#[tokio::test]
async fn optional_computed_attribute_is_configured_or_set_by_the_provider() {
    let test = start(&Arc::new(Cloud::default())).await;
    let config = json!({"name": "a", "type": "large"});
    let plan = test
        .plan("cloud_server", None, config.clone())
        .await
        .unwrap();
    assert_eq!(plan.attr("type"), "large");
    let made = test.apply("cloud_server", None, config).await.unwrap();
    assert_eq!(made.done().unwrap().attr("type"), "large");
    let plan = test.plan("cloud_server", None, json!({"name": "a"})).await;
    assert!(plan.unwrap().is_unknown("type"));
}

/// Settings with defaults.
#[derive(Model)]
struct Settings {
    /// Text before each greeting.
    #[attr(default = "dear")]
    before: String,
}

/// Greeting.
#[derive(DataSource)]
#[data_source(name = "hello_greeting")]
struct Greeting {
    /// Name in the greeting.
    #[attr(default = "world")]
    name: String,
    /// The greeting.
    text: Computed<String>,
}

#[async_trait]
impl Lookup for Greeting {
    type Client = Settings;
    async fn read(_: &Context, settings: &Settings, mut found: Greeting) -> sdk::Result<Greeting> {
        found
            .text
            .set(format!("{} {}", settings.before, found.name));
        Ok(found)
    }
}

#[tokio::test]
async fn provider_and_data_source_have_the_defaults_of_their_arguments() {
    let hello = || {
        TypedProvider::new("hello", |_, settings: Settings| async { Ok(settings) })
            .data_source::<Greeting>()
    };
    let test = TestProvider::over_protocol(hello()).await.unwrap();
    for (settings, config, text) in [
        (json!({}), json!({}), "dear world"),
        (json!({"before": null}), json!({"name": "you"}), "dear you"),
        (json!({"before": "my"}), json!({"name": null}), "my world"),
    ] {
        test.configure(settings).await.unwrap();
        let found = test.data("hello_greeting", config).await.unwrap();
        assert_eq!(found["text"], text);
    }
}
