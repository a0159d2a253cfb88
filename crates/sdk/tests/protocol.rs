//! The SDK's server, driven over a real unix socket with real mutual TLS by a client of protocol 6.
#![allow(clippy::unwrap_used)]

mod common;
mod toy;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{Host, decode, encode, said, text, type_of};
use cty::Value;
use proto::tfplugin6 as pb;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

struct Served {
    host: Host,
    line: String,
    identity: wire::Identity,
    stopped: Arc<AtomicBool>,
    end: CancellationToken,
    tasks: TaskTracker,
    folder: tempfile::TempDir,
}

fn options(folder: &tempfile::TempDir, identity: Option<&wire::Identity>) -> sdk::Options {
    sdk::Options {
        cookie: Some(wire::env::MAGIC_COOKIE_VALUE.into()),
        client_cert: identity.map(|identity| identity.pem().to_owned()),
        socket_dir: Some(folder.path().to_owned()),
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
    let stopped = toy.stopped.clone();
    let (line, end, tasks) = start(&folder, Some(&identity), toy).await;
    let channel = common::connect(&line, Some(&identity)).await.unwrap();
    Served {
        host: Host::new(channel).await,
        line,
        identity,
        stopped,
        end,
        tasks,
        folder,
    }
}

/// Waits for what must come soon.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(240), what)
        .await
        .expect("within four minutes")
}

#[tokio::test]
async fn the_schema_and_the_metadata_tell_what_there_is() {
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
            && !capabilities.move_resource_state
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
async fn what_is_not_served_is_answered_with_unimplemented() {
    let mut served = serve().await;
    let refused = served
        .host
        .client
        .move_resource_state(pb::move_resource_state::Request::default())
        .await
        .unwrap_err();
    assert_eq!(refused.code(), tonic::Code::Unimplemented);
    let refused = served
        .host
        .client
        .call_function(pb::call_function::Request::default())
        .await
        .unwrap_err();
    assert_eq!(refused.code(), tonic::Code::Unimplemented);
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
async fn the_provider_configuration_is_checked_and_taken() {
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

#[tokio::test]
async fn checks_of_attributes_name_the_attribute() {
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
    // what is unknown is not checked
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
async fn a_new_object_is_planned_with_defaults_and_unknowns() {
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
async fn an_update_keeps_what_is_stable_and_a_no_op_changes_nothing() {
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
async fn a_change_that_cannot_be_made_in_place_asks_for_replacement() {
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
async fn failures_say_what_exists_now() {
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
            "the provider did not say all".to_owned(),
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
async fn warnings_private_bytes_and_write_only_values_go_their_way() {
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
    // private bytes that a read does not set stay as they were
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
async fn reading_finds_an_object_or_not() {
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
async fn deleting_leaves_nothing() {
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
async fn a_panic_is_a_diagnostic_and_the_provider_lives_on() {
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
async fn stop_reaches_calls_that_run_and_not_those_that_come_later() {
    let mut served = serve().await;
    let mut other = Host::new(served.host.channel.clone()).await;
    let tasks = TaskTracker::new();
    let waiting =
        tasks.spawn(async move { other.create("toy_box", json!({"name": "waits"})).await });
    // stop again and again until it has reached the call, which may not have begun at the first
    soon(async {
        while !served.stopped.load(Ordering::SeqCst) {
            served.host.stop().await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(
        said(&soon(waiting).await.unwrap().diagnostics)[0].0,
        "stopped"
    );
    served.host.made("toy_box", json!({"name": "a"})).await;
}

#[tokio::test]
async fn a_host_that_hangs_up_stops_its_call() {
    let mut served = serve().await;
    let mut other = Host::new(served.host.channel.clone()).await;
    let given_up = tokio::time::timeout(
        Duration::from_millis(300),
        other.create("toy_box", json!({"name": "waits"})),
    )
    .await;
    assert!(given_up.is_err());
    soon(async {
        while !served.stopped.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    served.host.made("toy_box", json!({"name": "a"})).await;
}

#[tokio::test]
async fn state_is_upgraded_and_newer_state_refused() {
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
async fn an_object_is_imported_by_its_id() {
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
async fn what_does_not_fit_is_a_diagnostic_and_never_a_crash() {
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
    // JSON is as good as msgpack
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

#[tokio::test]
async fn messages_may_be_large() {
    let mut served = serve().await;
    let value = served
        .host
        .read_data("toy_big", json!({"megabytes": 20}))
        .await
        .unwrap();
    assert_eq!(text(&value, "text").len(), 20 << 20);
}

#[tokio::test]
async fn health_is_told_and_the_streams_stay_open_until_shutdown() {
    use proto::health::{
        HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
    };
    let served = serve().await;
    let mut health = HealthClient::new(served.host.channel.clone());
    let answer = health
        .check(HealthCheckRequest {
            service: "plugin".into(),
        })
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.status(), ServingStatus::Serving);
    assert_eq!(
        health
            .check(HealthCheckRequest {
                service: "other".into()
            })
            .await
            .unwrap_err()
            .code(),
        tonic::Code::NotFound
    );
    let mut stdio =
        proto::plugin::grpc_stdio_client::GrpcStdioClient::new(served.host.channel.clone());
    let mut stream = stdio.stream_stdio(()).await.unwrap().into_inner();
    assert!(
        tokio::time::timeout(Duration::from_millis(200), stream.message())
            .await
            .is_err(),
        "open and silent"
    );
    served.host.shutdown().await;
    let end = soon(stream.message()).await;
    assert!(!matches!(end, Ok(Some(_))), "{end:?}");
    soon(served.tasks.wait()).await;
    assert_eq!(
        std::fs::read_dir(served.folder.path()).unwrap().count(),
        0,
        "the socket is gone"
    );
}

#[tokio::test]
async fn shutdown_does_not_wait_for_a_call_that_hangs() {
    let served = serve().await;
    let mut other = Host::new(served.host.channel.clone()).await;
    let tasks = TaskTracker::new();
    let waiting = tasks.spawn(async move {
        let config = other.config("toy_box", json!({"name": "waits"}));
        let null = other.null("toy_box");
        other.try_apply("toy_box", &null, &config).await
    });
    served.end.cancel();
    soon(served.tasks.wait()).await;
    soon(waiting).await.unwrap().ok();
}

#[tokio::test]
async fn only_the_host_that_was_announced_gets_in() {
    let served = serve().await;
    let stranger = wire::Identity::generate().unwrap();
    let channel = common::connect(&served.line, Some(&stranger)).await;
    // with TLS 1.3 the client learns of it with the first call
    if let Ok(channel) = channel {
        let mut client = proto::tfplugin6::provider_client::ProviderClient::new(channel);
        client
            .get_metadata(pb::get_metadata::Request {})
            .await
            .unwrap_err();
    }
    // the right one still does
    let channel = common::connect(&served.line, Some(&served.identity))
        .await
        .unwrap();
    Host::new(channel).await;
}

#[tokio::test]
async fn without_a_certificate_the_connection_is_plain() {
    let folder = tempfile::tempdir().unwrap();
    let (line, end, tasks) = start(&folder, None, toy::Toy::default()).await;
    assert!(
        line.starts_with("1|6|unix|") && line.ends_with("|grpc|"),
        "{line}"
    );
    let mut host = Host::new(common::connect(&line, None).await.unwrap()).await;
    host.made("toy_box", json!({"name": "a"})).await;
    end.cancel();
    soon(tasks.wait()).await;
}

#[tokio::test]
async fn a_start_by_hand_is_explained() {
    let announce = |_: &str| -> std::io::Result<()> { panic!("nothing is announced") };
    let served = sdk::serve_with(
        Arc::new(toy::Toy::default()),
        sdk::Options::default(),
        CancellationToken::new(),
        announce,
    )
    .await;
    let text = served.unwrap_err().to_string();
    assert!(
        text.contains("this program is a plugin") && text.contains("flightdeck plugins"),
        "{text}"
    );
}

#[tokio::test]
async fn a_folder_too_deep_for_a_socket_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("x".repeat(100));
    let options = sdk::Options {
        socket_dir: Some(deep),
        ..options(&folder, None)
    };
    let served = sdk::serve_with(
        Arc::new(toy::Toy::default()),
        options,
        CancellationToken::new(),
        |_| Ok(()),
    )
    .await;
    assert!(matches!(served, Err(sdk::ServeError::PathTooLong { .. })));
}
