//! Tests of the plans of typed resource types.

use std::collections::BTreeMap;

use cty::{Type, Value};
use sdk::testing::TestProvider;
use sdk::{
    Computed, Context, Failure, Lifecycle, Model, Object, Plan, Planning, Provider, Resource,
    Result, TypedProvider, Updatable, Update, async_trait,
};
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

/// Configuration, which is the client as well.
#[derive(Clone, Model)]
struct Zone {
    /// Name of the zone.
    name: String,
}

/// Disk, which can only grow.
#[derive(Clone, Resource)]
#[resource(name = "box_disk", timeouts(create = "1m"))]
struct Disk {
    /// Name.
    name: String,
    /// Size in GB.
    size: f64,
    /// Labels.
    labels: Option<BTreeMap<String, String>>,
    /// Password, never stored.
    #[attr(write_only)]
    secret: Option<String>,
    /// The object cannot be destroyed.
    #[attr(default = false)]
    locked: bool,
    /// Path in the zone.
    path: Computed<String>,
    /// Time of the last change.
    changed: Computed<String>,
}

#[async_trait]
impl Lifecycle for Disk {
    type Client = Zone;

    async fn plan(cx: &Context, zone: &Zone, plan: &mut Plan<Disk>) -> Result<()> {
        let path = format!("{}/{}", zone.name, plan.planned.name);
        plan.planned.path.set(path);
        let Some(prior) = &plan.prior else {
            cx.set_private(b"planned");
            return Ok(());
        };
        if plan.planned.size == 0.0 {
            return Err(Failure::new("a disk has a size", ""));
        }
        if plan.planned.size < prior.size {
            cx.warn("the disk is replaced", "disks cannot shrink");
            plan.replace("size");
        }
        if plan.planned.name == "invalid" {
            plan.planned.size += 1.0;
        }
        Ok(())
    }

    async fn plan_destroy(_: &Context, _: &Zone, disk: &Disk) -> Result<()> {
        match disk.locked {
            true => Err(Failure::new(
                "the disk is locked",
                "set locked to false first",
            )),
            false => Ok(()),
        }
    }

    async fn create(cx: &Context, zone: &Zone, mut disk: Disk) -> Result<Disk> {
        assert_eq!(cx.private(), b"planned");
        disk.path.fill(format!("{}/{}", zone.name, disk.name));
        disk.changed.set("now");
        disk.secret = None;
        Ok(disk)
    }

    async fn read(_: &Context, _: &Zone, disk: Disk) -> Result<Option<Disk>> {
        Ok(Some(disk))
    }

    async fn delete(_: &Context, _: &Zone, _: Disk) -> Result<()> {
        Ok(())
    }
}

#[async_trait]
impl Updatable for Disk {
    async fn update(_: &Context, zone: &Zone, change: &mut Update<Disk>) -> Result<Disk> {
        let mut disk = change.planned.clone();
        disk.path.fill(format!("{}/{}", zone.name, disk.name));
        disk.changed.set("later");
        Ok(disk)
    }
}

fn provider() -> TypedProvider<Zone> {
    TypedProvider::new("box", |_, zone: Zone| async { Ok(zone) }).resource::<Disk>()
}

async fn start() -> TestProvider {
    let test = TestProvider::over_protocol(provider()).await.unwrap();
    test.configure(json!({"name": "a"})).await.unwrap();
    test
}

fn disk(name: &str, size: f64) -> Json {
    json!({"name": name, "size": size})
}

#[tokio::test]
async fn plan_sets_computed_attributes_before_the_apply() {
    let test = start().await;
    let plan = test.plan("box_disk", None, disk("d", 1.5)).await.unwrap();
    assert_eq!(plan.attr("path"), "a/d");
    assert!(plan.is_unknown("changed"), "left to the create");
    let made = test.apply("box_disk", None, disk("d", 1.5)).await.unwrap();
    let made = made.done().unwrap();
    let again = test.plan("box_disk", Some(&made), disk("d", 1.5)).await;
    assert!(again.unwrap().is_no_op());
    let plan = test
        .plan("box_disk", Some(&made), disk("d", 2.5))
        .await
        .unwrap();
    assert_eq!(
        plan.attr("path"),
        "a/d",
        "known, because it does not change"
    );
    assert!(plan.is_unknown("changed") && plan.replace.is_empty());
}

#[tokio::test]
async fn plan_requires_a_replacement_by_the_values() {
    let test = start().await;
    let made = test.apply("box_disk", None, disk("d", 2.0)).await.unwrap();
    let made = made.done().unwrap();
    let plan = test
        .plan("box_disk", Some(&made), disk("d", 1.0))
        .await
        .unwrap();
    assert_eq!(plan.replace, ["size"]);
    assert_eq!(plan.warnings.0[0].summary, "the disk is replaced");
}

#[tokio::test]
async fn plan_and_plan_of_a_destroy_can_refuse() {
    let test = start().await;
    let locked = json!({"name": "d", "size": 1, "locked": true});
    let made = test
        .apply("box_disk", None, locked)
        .await
        .unwrap()
        .done()
        .unwrap();
    let refused = test.plan("box_disk", Some(&made), disk("d", 0.0)).await;
    assert_eq!(
        refused.unwrap_err().diagnostics.0[0].summary,
        "a disk has a size"
    );
    let refused = test.destroy(&made).await.unwrap_err();
    assert_eq!(refused.diagnostics.0[0].summary, "the disk is locked");
    let made = test
        .apply("box_disk", Some(&made), disk("d", 1.0))
        .await
        .unwrap();
    let gone = test.destroy(&made.done().unwrap()).await.unwrap();
    assert!(gone.object.is_none());
    // The kit refuses, as hosts do, what is not the provider's to set.
    let made = test.apply("box_disk", None, disk("d", 1.0)).await.unwrap();
    let wrong = test.plan("box_disk", made.object.as_ref(), disk("invalid", 1.0));
    let problem = "the plan violates the rules of hosts";
    assert_eq!(wrong.await.unwrap_err().diagnostics.0[0].summary, problem);
}

#[tokio::test]
async fn values_that_the_plan_does_not_set_stay_exact() {
    let test = start().await;
    let config = json!({
        "name": "d", "size": 1, "labels": {"a": "b"}, "secret": "s", "timeouts": {"create": "5m"},
    });
    let plan = test.plan("box_disk", None, config).await.unwrap();
    assert_eq!(plan.attr("timeouts")["create"], "5m");
    assert_eq!(
        (plan.attr("labels"), plan.attr("secret")),
        (json!({"a": "b"}), json!(null))
    );
}

#[tokio::test]
async fn default_plan_applies_while_values_are_unknown() {
    let test = TestProvider::in_process(provider()).unwrap();
    let unknown = Value::object([("name", Value::unknown(Type::String))]);
    test.configure_value(unknown).await.unwrap();
    let plan = test.plan("box_disk", None, disk("d", 1.0)).await.unwrap();
    assert!(plan.is_unknown("path"));

    let (cx, provider) = (Context::new(CancellationToken::new()), provider());
    let zone = Value::object([("name", Value::string("a"))]);
    assert!(!provider.configure(&cx, &zone).await.has_errors());
    let resource = &provider.resources()[0];
    let schema = resource.schema();
    let mut object = Object::of(&schema.empty_value()).unwrap();
    object.set("size", Value::int(1));
    for (name, path) in [
        (Value::string("d"), Some("a/d")),
        (Value::unknown(Type::String), None),
    ] {
        object.set("name", name);
        let config = object.clone().into_value().unwrap();
        let request = Planning {
            schema: &schema,
            prior: Value::null(config.ty().clone()),
            proposed: config.clone(),
            config,
            private: Vec::new(),
        };
        let planned = resource.plan(&cx, request).await.unwrap().value;
        assert_eq!(planned.get_attr("path").unwrap().as_str(), path);
    }
}
