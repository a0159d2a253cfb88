//! Tests of the calls about an object: create, read, delete, import, upgrade, and their failures.

use std::sync::atomic::Ordering;

use proto::tfplugin6 as pb;
use serde_json::json;

use super::serve;
use crate::common::{decode, encode, said, text, type_of};

#[tokio::test]
async fn create_returns_when_the_object_is_stable() {
    let mut served = serve().await;
    served
        .host
        .made("toy_box", json!({"name": "settles"}))
        .await;
    assert_eq!(served.looks.load(Ordering::SeqCst), 2);
    let unwell = json!({"name": "unwell"});
    let unwell = served.host.create("toy_box", unwell).await;
    assert_eq!(said(&unwell.diagnostics)[0].0, "unwell");
    assert_eq!(text(&unwell.state, "id"), "box-unwell", "it is there");
}

#[tokio::test]
async fn failed_calls_return_the_remaining_state() {
    let mut served = serve().await;
    let failed = served
        .host
        .create("toy_box", json!({"name": "fails"}))
        .await;
    assert!(failed.state.is_null());
    assert_eq!(said(&failed.diagnostics)[0].0, "fails");
    let half = served.host.create("toy_box", json!({"name": "half"})).await;
    assert_eq!(text(&half.state, "id"), "box-half");
    assert_eq!(
        (
            said(&half.diagnostics)[0].0.as_str(),
            half.private.as_slice()
        ),
        ("half", &b"made"[..])
    );
    let silent = served
        .host
        .create("toy_box", json!({"name": "silent"}))
        .await;
    assert_eq!(
        said(&silent.diagnostics)[0].0,
        "the provider failed",
        "a failure always says something"
    );
    let forgot = served
        .host
        .create("toy_box", json!({"name": "forgets"}))
        .await;
    assert_eq!(
        said(&forgot.diagnostics),
        [(
            "the provider returned an unknown value".to_owned(),
            ".etag".to_owned()
        )]
    );
    assert_eq!(
        (text(&forgot.state, "id"), text(&forgot.state, "etag")),
        ("box-forgets".into(), String::new())
    );

    let state = served.host.made("toy_box", json!({"name": "a"})).await;
    let config = served
        .host
        .config("toy_box", json!({"name": "a", "size": "huge"}));
    let failed = served.host.apply("toy_box", &state, &config).await;
    assert_eq!(failed.state, state, "a failed update keeps what was there");
    let state = served.host.made("toy_box", json!({"name": "stuck"})).await;
    let failed = served.host.delete("toy_box", &state).await;
    assert_eq!(
        (said(&failed.diagnostics)[0].0.as_str(), failed.state),
        ("stuck", state)
    );
}

#[tokio::test]
async fn warnings_private_data_and_write_only_values_are_passed_on() {
    let mut served = serve().await;
    let warned = served
        .host
        .create("toy_box", json!({"name": "warns"}))
        .await;
    assert_eq!(
        warned.diagnostics[0].severity(),
        pb::diagnostic::Severity::Warning
    );
    assert_eq!(text(&warned.state, "id"), "box-warns");
    assert_eq!(warned.private, b"made");
    let told = served
        .host
        .create("toy_box", json!({"name": "tells", "secret": "psst"}))
        .await;
    assert_eq!(told.diagnostics[0].detail, "psst");
    assert!(told.state.get_attr("secret").unwrap().is_null());
    // Private data that a read does not set is unchanged.
    let ty = type_of(served.host.block("toy_box"));
    let request = pb::read_resource::Request {
        type_name: "toy_box".into(),
        current_state: Some(encode(&warned.state, &ty)),
        private: b"made".to_vec().into(),
        ..Default::default()
    };
    assert_eq!(
        served
            .host
            .client
            .read_resource(request)
            .await
            .unwrap()
            .into_inner()
            .private,
        &b"made"[..]
    );
}

#[tokio::test]
async fn read_returns_null_for_a_missing_object_and_keeps_state_on_error() {
    let mut served = serve().await;
    let state = served
        .host
        .made(
            "toy_box",
            json!({"name": "gone", "anything": {"a": [1, true]}}),
        )
        .await;
    assert!(served.host.read("toy_box", &state).await.0.is_null());
    let state = served
        .host
        .made("toy_box", json!({"name": "unreadable"}))
        .await;
    let (kept, diagnostics) = served.host.read("toy_box", &state).await;
    assert_eq!(
        (kept, said(&diagnostics)[0].0.as_str()),
        (state, "unreadable")
    );
}

#[tokio::test]
async fn delete_returns_a_null_state() {
    let mut served = serve().await;
    let state = served.host.made("toy_box", json!({"name": "a"})).await;
    let null = served.host.null("toy_box");
    let plan = served.host.plan("toy_box", &state, &null, b"kept").await;
    assert!(plan.planned.is_null());
    assert_eq!(plan.private, b"kept");
    let deleted = served.host.delete("toy_box", &state).await;
    assert_eq!(deleted.diagnostics, []);
    assert!(deleted.state.is_null());
}

#[tokio::test]
async fn panic_becomes_a_diagnostic_and_the_provider_keeps_serving() {
    let mut served = serve().await;
    let failed = served
        .host
        .create("toy_box", json!({"name": "panics"}))
        .await;
    assert_eq!(said(&failed.diagnostics)[0].0, "the provider panicked");
    assert!(failed.diagnostics[0].detail.contains("toy panic"));
    assert!(failed.state.is_null());
    served.host.made("toy_box", json!({"name": "a"})).await;
}

#[tokio::test]
async fn old_state_is_upgraded_and_newer_state_is_rejected() {
    let mut served = serve().await;
    let ty = type_of(served.host.block("toy_box"));
    let mut upgrade = async |version: i64, json: serde_json::Value| {
        let raw_state = Some(pb::RawState {
            json: json.to_string().into_bytes().into(),
            ..Default::default()
        });
        let request = pb::upgrade_resource_state::Request {
            type_name: "toy_box".into(),
            version,
            raw_state,
        };
        let answer = served
            .host
            .client
            .upgrade_resource_state(request)
            .await
            .unwrap()
            .into_inner();
        (
            decode(answer.upgraded_state.as_ref(), &ty),
            answer.diagnostics,
        )
    };
    let (state, diagnostics) = upgrade(1, json!({"title": "old", "dropped": 1})).await;
    assert_eq!(diagnostics, []);
    assert_eq!(
        (text(&state, "name"), text(&state, "origin")),
        ("old".into(), "version 1".into())
    );
    let (state, diagnostics) = upgrade(
        2,
        json!({"name": "same", "unknown_to_us": {}, "lid": [{"shape": "round"}]}),
    )
    .await;
    assert_eq!(diagnostics, []);
    assert_eq!(text(&state, "name"), "same");
    assert!(
        state
            .get_attr("lid")
            .unwrap()
            .index_int(0)
            .unwrap()
            .get_attr("serial")
            .unwrap()
            .is_null()
    );
    assert!(upgrade(3, json!({})).await.1[0].summary.contains("newer"));
    assert_eq!(
        upgrade(2, json!({"name": {"not": "text"}})).await.1.len(),
        1
    );
}

#[tokio::test]
async fn object_is_imported_by_its_id() {
    let mut served = serve().await;
    let request = pb::import_resource_state::Request {
        type_name: "toy_box".into(),
        id: "box-7".into(),
        ..Default::default()
    };
    let answer = served
        .host
        .client
        .import_resource_state(request)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.diagnostics, []);
    let imported = &answer.imported_resources[0];
    assert_eq!(imported.type_name, "toy_box");
    let state = decode(
        imported.state.as_ref(),
        &type_of(served.host.block("toy_box")),
    );
    assert_eq!(text(&state, "id"), "box-7");
    assert_eq!(
        state.get_attr("lid").unwrap().len(),
        Some(0),
        "repeated blocks are empty, not null"
    );
}

#[tokio::test]
async fn malformed_requests_return_diagnostics() {
    let mut served = serve().await;
    let junk = || {
        Some(pb::DynamicValue {
            msgpack: vec![0xc1, 0xff].into(),
            ..Default::default()
        })
    };
    let request = pb::read_resource::Request {
        type_name: "toy_box".into(),
        current_state: junk(),
        ..Default::default()
    };
    assert_eq!(
        served
            .host
            .client
            .read_resource(request)
            .await
            .unwrap()
            .into_inner()
            .diagnostics
            .len(),
        1
    );
    let request = pb::apply_resource_change::Request {
        type_name: "toy_nothing".into(),
        ..Default::default()
    };
    let diagnostics = served
        .host
        .client
        .apply_resource_change(request)
        .await
        .unwrap()
        .into_inner()
        .diagnostics;
    assert_eq!(diagnostics[0].summary, "unknown resource type toy_nothing");
    // JSON is accepted as well as msgpack.
    let json = Some(pb::DynamicValue {
        json: r#"{"token":"good"}"#.into(),
        ..Default::default()
    });
    let request = pb::configure_provider::Request {
        config: json,
        ..Default::default()
    };
    let diagnostics = served
        .host
        .client
        .configure_provider(request)
        .await
        .unwrap()
        .into_inner()
        .diagnostics;
    assert_eq!(diagnostics[0].detail, "good");
}
