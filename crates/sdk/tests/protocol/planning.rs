//! Tests of plans: defaults, unknown values, stable values, replacement.

use cty::Value;
use proto::tfplugin6 as pb;
use serde_json::json;

use super::serve;
use crate::common::{decode, encode, said, text, type_of};

#[tokio::test]
async fn attribute_validation_errors_name_the_attribute() {
    let mut served = serve().await;
    let config = served
        .host
        .config("toy_box", json!({"name": "a", "colour": "green"}));
    let diagnostics = served.host.validate("toy_box", &config).await;
    assert_eq!(
        said(&diagnostics),
        [("invalid value for colour".to_owned(), ".colour".to_owned())]
    );
    assert!(diagnostics[0].detail.contains("red, blue"));
    // Unknown values are not checked.
    let mut object = sdk::Object::of(&config).unwrap();
    object.set("colour", Value::unknown(cty::Type::String));
    assert_eq!(
        served
            .host
            .validate("toy_box", &object.into_value().unwrap())
            .await,
        []
    );
}

#[tokio::test]
async fn new_object_is_planned_with_defaults_and_unknown_values() {
    let mut served = serve().await;
    let config = served.host.config(
        "toy_box",
        json!({"name": "a", "secret": "s", "inner": {"label": "l"}, "lid": [{"shape": "round"}]}),
    );
    let null = served.host.null("toy_box");
    let plan = served.host.plan("toy_box", &null, &config, b"").await;
    assert_eq!(plan.replace, Vec::<String>::new(), "nothing to replace");
    let attr = |name: &str| plan.planned.get_attr(name).unwrap();
    assert_eq!(attr("size"), Value::string("small"));
    assert!(attr("secret").is_null(), "write-only");
    assert!(
        attr("colour").is_null() && attr("anything").is_null(),
        "optional and not set"
    );
    assert!(!attr("id").is_known() && !attr("origin").is_known() && !attr("etag").is_known());
    assert!(!attr("inner").get_attr("mark").unwrap().is_known());
    assert_eq!(attr("inner").get_attr("label").unwrap(), Value::string("l"));
    let lid = attr("lid").index_int(0).unwrap();
    assert!(!lid.get_attr("serial").unwrap().is_known());
    assert_eq!(lid.get_attr("weight").unwrap(), Value::int(1));
}

#[tokio::test]
async fn update_plan_keeps_stable_values_and_no_op_changes_nothing() {
    let mut served = serve().await;
    let json = json!({"name": "a", "lid": [{"shape": "round"}]});
    let state = served.host.made("toy_box", json.clone()).await;
    assert_eq!(
        (text(&state, "id"), text(&state, "etag")),
        ("box-a".into(), "1".into())
    );
    let same = served.host.config("toy_box", json);
    assert_eq!(
        served
            .host
            .plan("toy_box", &state, &same, b"")
            .await
            .planned,
        state,
        "no-op"
    );

    let other = served.host.config(
        "toy_box",
        json!({"name": "a", "size": "large", "lid": [{"shape": "square"}, {"shape": "round"}]}),
    );
    let plan = served.host.plan("toy_box", &state, &other, b"").await;
    assert_eq!(plan.planned.get_attr("id"), state.get_attr("id"));
    assert!(!plan.planned.get_attr("etag").unwrap().is_known());
    let lids = plan.planned.get_attr("lid").unwrap();
    assert_eq!(
        lids.index_int(0).unwrap().get_attr("serial").unwrap(),
        Value::string("s1"),
        "stable inside a block"
    );
    assert!(
        !lids
            .index_int(1)
            .unwrap()
            .get_attr("serial")
            .unwrap()
            .is_known(),
        "a new block has none yet"
    );
    let applied = served.host.apply("toy_box", &state, &other).await;
    assert_eq!(applied.diagnostics, []);
    assert_eq!(
        (text(&applied.state, "size"), text(&applied.state, "etag")),
        ("large".into(), "2".into())
    );
}

#[tokio::test]
async fn change_that_cannot_be_made_in_place_plans_a_replacement() {
    let mut served = serve().await;
    let state = served
        .host
        .made("toy_box", json!({"name": "a", "colour": "red"}))
        .await;
    let config = served
        .host
        .config("toy_box", json!({"name": "a", "colour": "blue"}));
    assert_eq!(
        served
            .host
            .plan("toy_box", &state, &config, b"")
            .await
            .replace,
        [".colour"]
    );
    let config = served
        .host
        .config("toy_box", json!({"name": "b", "colour": "red"}));
    assert_eq!(
        served
            .host
            .plan("toy_box", &state, &config, b"")
            .await
            .replace,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn plan_is_deferred_only_for_hosts_that_allow_it() {
    let mut served = serve().await;
    let config = served.host.config("toy_box", json!({"name": "defers"}));
    let null = served.host.null("toy_box");
    let plan = served.host.plan("toy_box", &null, &config, b"").await;
    assert_eq!(said(&plan.diagnostics)[0].0, "the shelf does not exist");
    let ty = type_of(served.host.block("toy_box"));
    let request = pb::plan_resource_change::Request {
        type_name: "toy_box".into(),
        prior_state: Some(encode(&null, &ty)),
        proposed_new_state: Some(encode(&config, &ty)),
        config: Some(encode(&config, &ty)),
        client_capabilities: Some(pb::ClientCapabilities {
            deferral_allowed: true,
            ..Default::default()
        }),
        ..Default::default()
    };
    let answer = served.host.client.plan_resource_change(request).await;
    let answer = answer.unwrap().into_inner();
    assert_eq!(answer.diagnostics, []);
    let reason = answer.deferred.unwrap().reason();
    assert_eq!(reason, pb::deferred::Reason::AbsentPrereq);
    let planned = decode(answer.planned_state.as_ref(), &ty);
    assert_eq!(text(&planned, "name"), "defers");
    assert!(!planned.get_attr("id").unwrap().is_known());
}
