//! The lab as a real process over mutual TLS: its objects through their lives, and each of its
//! faults.
#![allow(clippy::unwrap_used)]

mod plugin;

use std::path::Path;
use std::time::{Duration, Instant};

use cty::Value;
use plugin::Plugin;
use plugin::common::{said, text};
use proto::tfplugin6::schema::nested_block::NestingMode as BlockNesting;
use providers::lab::control::{self, Fault, On};
use providers::lab::{Cloud, Kind, LabFile};
use serde_json::json;

fn cloud(folder: &Path) -> Cloud {
    LabFile::new(folder.join("lab.json"))
        .read(Cloud::clone)
        .unwrap()
}

async fn fresh() -> (tempfile::TempDir, Plugin) {
    let folder = tempfile::tempdir().unwrap();
    let plugin = Plugin::lab(folder.path(), json!({})).await;
    (folder, plugin)
}

/// Waits for a call, and asks the provider to stop until it is over: an early request may come
/// before the call.
async fn stopping<T>(plugin: &mut Plugin, call: impl Future<Output = T>) -> T {
    let mut call = std::pin::pin!(call);
    loop {
        tokio::select! {
            biased; // the answer first
            done = &mut call => return done,
            () = tokio::time::sleep(Duration::from_millis(100)) => plugin.host.stop().await,
        }
    }
}

fn thing(name: &str, fault: serde_json::Value) -> serde_json::Value {
    json!({"name": name, "fault": [fault]})
}

#[tokio::test]
async fn objects_are_made_read_changed_replaced_and_removed() {
    let (folder, mut plugin) = fresh().await;
    let host = &mut plugin.host;
    let network = json!({"name": "net", "cidr": "10.1.0.0/16", "subnet": [{"name": "one", "cidr": "10.1.1.0/24"}]});
    let network = host.made("lab_network", network).await;
    assert_eq!(text(&network, "gateway"), "10.1.0.1");
    assert_eq!(text(&network, "status"), "ready");
    assert!(
        text(
            &network.get_attr("subnet").unwrap().index_int(0).unwrap(),
            "id"
        )
        .starts_with("subnet-")
    );

    let image = host
        .read_data("lab_image", json!({"family": "debian"}))
        .await
        .unwrap();
    let server = json!({
        "name": "web", "image": text(&image, "id"), "network_id": text(&network, "id"), "security_groups": ["web", "ssh"],
        "disk": [{"name": "root", "size_gb": 10}], "health_check": {"path": "/"}, "tags": {"a": "b"},
    });
    let made = host.made("lab_server", server.clone()).await;
    assert_eq!(text(&made, "private_ip"), "10.1.0.10");
    assert_eq!(text(&made, "size"), "small");
    let stored = cloud(folder.path());
    let id = text(&made, "id");
    assert_eq!(stored.objects[&id].attributes["disk"][0]["kind"], "ssd");

    let (read, diagnostics) = host.read("lab_server", &made).await;
    assert_eq!((read, diagnostics), (made.clone(), vec![]));
    let same = host.config("lab_server", server.clone());
    assert_eq!(
        host.plan("lab_server", &made, &same, b"").await.planned,
        made,
        "nothing to do"
    );

    let mut larger = server.clone();
    larger["size"] = json!("large");
    let larger = host.config("lab_server", larger);
    let updated = host.apply("lab_server", &made, &larger).await;
    assert_eq!(updated.diagnostics, []);
    assert_eq!(
        cloud(folder.path()).objects[&id].attributes["size"],
        "large"
    );

    let mut other = server;
    other["image"] = json!("img-0");
    let other = host.config("lab_server", other);
    assert_eq!(
        host.plan("lab_server", &updated.state, &other, b"")
            .await
            .replace,
        [".image"]
    );

    let refused = host.delete("lab_network", &network).await;
    assert!(
        refused.diagnostics[0].detail.contains("lab_server web"),
        "{refused:?}"
    );
    assert_eq!(refused.state, network);
    assert_eq!(
        host.delete("lab_server", &updated.state).await.diagnostics,
        []
    );
    assert_eq!(host.delete("lab_network", &network).await.diagnostics, []);
    assert!(cloud(folder.path()).objects.is_empty());
    assert_eq!(
        host.delete("lab_network", &network).await.diagnostics,
        [],
        "what is gone is gone"
    );
}

#[tokio::test]
async fn the_lab_keeps_no_secrets() {
    let (folder, mut plugin) = fresh().await;
    let made = plugin
        .host
        .made(
            "lab_database",
            json!({"name": "db", "engine": "postgres", "password": "hunter22"}),
        )
        .await;
    let url = text(&made, "connection_string");
    assert!(
        url.starts_with("postgres://app:hunter22@db-") && url.ends_with(":5432/app"),
        "{url}"
    );
    let schema = plugin.host.block("lab_database");
    let sensitive: Vec<_> = schema
        .attributes
        .iter()
        .filter(|attr| attr.sensitive)
        .map(|attr| attr.name.as_str())
        .collect();
    assert_eq!(sensitive, ["password", "connection_string"]);
    let file = std::fs::read_to_string(folder.path().join("lab.json")).unwrap();
    assert!(!file.contains("hunter22"));
    assert_eq!(
        plugin.host.read("lab_database", &made).await.0,
        made,
        "a read keeps them in the state"
    );
}

#[tokio::test]
async fn every_kind_can_be_made_and_read_back() {
    let (folder, mut plugin) = fresh().await;
    let kinds = [
        (
            "lab_bucket",
            json!({"name": "b", "lifecycle_rule": [{"prefix": "x/", "expire_days": 3}], "policy": "{}"}),
        ),
        (
            "lab_dns_record",
            json!({"zone": "example.org", "name": "www", "records": ["192.0.2.1"]}),
        ),
        (
            "lab_thing",
            json!({"name": "t", "payload": {"deep": [1, "two"]}, "note": "secret", "spec": {"ports": [{"number": 80}]}}),
        ),
    ];
    for (kind, config) in kinds {
        let made = plugin.host.made(kind, config.clone()).await;
        assert_eq!(plugin.host.read(kind, &made).await.0, made, "{kind}");
        let config = plugin.host.config(kind, config);
        assert_eq!(
            plugin.host.plan(kind, &made, &config, b"").await.planned,
            made,
            "{kind}: nothing to do"
        );
    }
    let file = std::fs::read_to_string(folder.path().join("lab.json")).unwrap();
    assert!(
        !file.contains("secret"),
        "a write-only value is kept nowhere"
    );
}

#[tokio::test]
async fn a_thing_counts_its_changes() {
    let (_folder, mut plugin) = fresh().await;
    let made = plugin
        .host
        .made("lab_thing", json!({"name": "t", "spec": {"command": "a"}}))
        .await;
    assert_eq!(made.get_attr("revision").unwrap(), Value::int(1));
    let config = plugin
        .host
        .config("lab_thing", json!({"name": "t", "spec": {"command": "b"}}));
    let plan = plugin.host.plan("lab_thing", &made, &config, b"").await;
    assert!(!plan.planned.get_attr("revision").unwrap().is_known());
    let updated = plugin.host.apply("lab_thing", &made, &config).await;
    assert_eq!(updated.state.get_attr("revision").unwrap(), Value::int(2));
    assert_ne!(
        updated.state.get_attr("spec"),
        made.get_attr("spec"),
        "the checksum follows the command"
    );
}

#[tokio::test]
async fn bad_input_is_refused_at_its_attribute() {
    let (_folder, mut plugin) = fresh().await;
    let host = &mut plugin.host;
    let config = host.config(
        "lab_network",
        json!({"name": "Net!", "cidr": "10.1.0.7/16"}),
    );
    let places: Vec<String> = said(&host.validate("lab_network", &config).await)
        .into_iter()
        .map(|(_, place)| place)
        .collect();
    assert_eq!(places, [".name", ".cidr"]);
    let config = host.config("lab_bucket", json!({"name": "b", "policy": "{no"}));
    assert_eq!(
        said(&host.validate("lab_bucket", &config).await)[0].1,
        ".policy"
    );
    let lost = host
        .create(
            "lab_server",
            json!({"name": "s", "image": "img-1", "network_id": "net-0"}),
        )
        .await;
    assert_eq!(
        said(&lost.diagnostics),
        [(
            "network net-0 does not exist".to_owned(),
            ".network_id".to_owned()
        )]
    );
    host.made("lab_bucket", json!({"name": "b"})).await;
    assert_eq!(
        said(
            &host
                .create("lab_bucket", json!({"name": "b"}))
                .await
                .diagnostics
        )[0]
        .1,
        ".name"
    );
    assert_eq!(
        said(
            &host
                .read_data("lab_image", json!({"family": "beos"}))
                .await
                .unwrap_err()
        )[0]
        .1,
        ".family"
    );
}

#[tokio::test]
async fn an_object_is_imported_by_its_id() {
    let (_folder, mut plugin) = fresh().await;
    let made = plugin.host.made("lab_bucket", json!({"name": "b"})).await;
    let mut import = async |type_name: &str, id: String| {
        let request = proto::tfplugin6::import_resource_state::Request {
            type_name: type_name.into(),
            id,
            ..Default::default()
        };
        plugin
            .host
            .client
            .import_resource_state(request)
            .await
            .unwrap()
            .into_inner()
    };
    let answer = import("lab_bucket", text(&made, "id")).await;
    assert_eq!(
        import("lab_server", text(&made, "id"))
            .await
            .diagnostics
            .len(),
        1,
        "not that type"
    );
    assert_eq!(
        import("lab_bucket", "bkt-0".into()).await.diagnostics.len(),
        1,
        "not there"
    );
    let ty = plugin::common::type_of(plugin.host.block("lab_bucket"));
    let state = plugin::common::decode(answer.imported_resources[0].state.as_ref(), &ty);
    assert_eq!(plugin.host.read("lab_bucket", &state).await.0, made);
}

#[tokio::test]
async fn old_state_of_a_server_is_upgraded() {
    let (_folder, mut plugin) = fresh().await;
    let json = json!({"name": "s", "image": "img-1", "flavor": "large"}).to_string();
    let request = proto::tfplugin6::upgrade_resource_state::Request {
        type_name: "lab_server".into(),
        version: 0,
        raw_state: Some(proto::tfplugin6::RawState {
            json: json.into_bytes().into(),
            ..Default::default()
        }),
    };
    let answer = plugin
        .host
        .client
        .upgrade_resource_state(request)
        .await
        .unwrap()
        .into_inner();
    let ty = plugin::common::type_of(plugin.host.block("lab_server"));
    assert_eq!(
        text(
            &plugin::common::decode(answer.upgraded_state.as_ref(), &ty),
            "size"
        ),
        "large"
    );
}

// Faults.

#[tokio::test]
async fn a_transient_error_goes_away_after_its_tries() {
    let (_folder, mut plugin) = fresh().await;
    let config = thing(
        "t",
        json!({"kind": "transient", "on": "create", "times": 2}),
    );
    for _ in 0..2 {
        let failed = plugin.host.create("lab_thing", config.clone()).await;
        assert!(failed.diagnostics[0].detail.contains("ThrottlingException"));
        assert!(failed.state.is_null());
    }
    plugin.host.made("lab_thing", config).await;
}

#[tokio::test]
async fn a_transient_error_is_counted_across_processes() {
    let (folder, mut plugin) = fresh().await;
    let config = thing("t", json!({"kind": "transient"}));
    assert_eq!(
        plugin
            .host
            .create("lab_thing", config.clone())
            .await
            .diagnostics
            .len(),
        1
    );
    drop(plugin);
    let mut plugin = Plugin::lab(folder.path(), json!({})).await;
    assert_eq!(
        plugin
            .host
            .create("lab_thing", config.clone())
            .await
            .diagnostics
            .len(),
        1
    );
    plugin.host.made("lab_thing", config).await;
}

#[tokio::test]
async fn a_permanent_error_stays() {
    let (_folder, mut plugin) = fresh().await;
    let config = thing("t", json!({"kind": "permanent", "text": "no means no"}));
    for _ in 0..4 {
        assert_eq!(
            plugin
                .host
                .create("lab_thing", config.clone())
                .await
                .diagnostics[0]
                .detail,
            "no means no"
        );
    }
}

#[tokio::test]
async fn a_bad_input_names_its_attribute() {
    let (_folder, mut plugin) = fresh().await;
    let config = thing("t", json!({"kind": "bad_input", "attribute": "data"}));
    assert_eq!(
        said(&plugin.host.create("lab_thing", config).await.diagnostics)[0].1,
        ".data"
    );
}

#[tokio::test]
async fn latency_is_kept_and_stop_cuts_it_short() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::lab(folder.path(), json!({"create_ms": 300})).await;
    let begun = Instant::now();
    plugin.host.made("lab_thing", json!({"name": "a"})).await;
    assert!(begun.elapsed() >= Duration::from_millis(300));
    // the resource's own counts before the provider's
    let mut other = plugin::common::Host::new(plugin.host.channel.clone()).await;
    let slow = stopping(
        &mut plugin,
        other.create("lab_thing", json!({"name": "b", "create_ms": 600000})),
    )
    .await;
    assert!(said(&slow.diagnostics)[0].0.contains("stopped"), "{slow:?}");
    assert!(begun.elapsed() < Duration::from_secs(400));
    assert_eq!(cloud(folder.path()).objects.len(), 1);
}

#[tokio::test]
async fn a_hang_ends_with_stop_before_or_after_the_work() {
    let (folder, mut plugin) = fresh().await;
    for (after, objects) in [(false, 0), (true, 1)] {
        let mut other = plugin::common::Host::new(plugin.host.channel.clone()).await;
        let config = thing("t", json!({"kind": "hang", "after": after}));
        let hung = stopping(&mut plugin, other.create("lab_thing", config)).await;
        assert_eq!(hung.diagnostics.is_empty(), after, "{hung:?}");
        assert_eq!(hung.state.is_null(), !after);
        assert_eq!(cloud(folder.path()).objects.len(), objects);
    }
}

#[tokio::test]
async fn a_crash_ends_the_process_with_the_text_of_a_panic() {
    for (after, objects) in [(false, 0), (true, 1)] {
        let (folder, mut plugin) = fresh().await;
        let null = plugin.host.null("lab_thing");
        let config = plugin.host.config(
            "lab_thing",
            thing(
                "t",
                json!({"kind": "crash", "after": after, "text": "out of luck"}),
            ),
        );
        let lost = plugin.host.try_apply("lab_thing", &null, &config).await;
        assert!(lost.is_err(), "{lost:?}");
        let (status, said) = plugin.ended();
        assert_eq!(status.code(), Some(2));
        assert!(
            said.contains("panic: out of luck\n") && said.contains("goroutine 87 [running]:"),
            "{said}"
        );
        assert_eq!(cloud(folder.path()).objects.len(), objects);
    }
}

#[tokio::test]
async fn a_partial_create_leaves_an_incomplete_object() {
    let (folder, mut plugin) = fresh().await;
    let half = plugin
        .host
        .create("lab_thing", thing("t", json!({"kind": "partial"})))
        .await;
    assert!(said(&half.diagnostics)[0].0.contains("only half done"));
    assert_eq!(text(&half.state, "status"), "incomplete");
    assert_eq!(
        cloud(folder.path()).objects[&text(&half.state, "id")].attributes["status"],
        "incomplete"
    );
    assert_eq!(
        plugin
            .host
            .delete("lab_thing", &half.state)
            .await
            .diagnostics,
        []
    );
}

#[tokio::test]
async fn an_inconsistent_result_contradicts_the_plan() {
    let (_folder, mut plugin) = fresh().await;
    let wrong = plugin
        .host
        .made("lab_thing", thing("t", json!({"kind": "inconsistent"})))
        .await;
    assert_eq!(text(&wrong, "name"), "t-and-something-else");
    let config = json!({"name": "n", "cidr": "10.0.0.0/8", "fault": [{"kind": "inconsistent", "attribute": "dns_enabled"}]});
    assert_eq!(
        plugin
            .host
            .made("lab_network", config)
            .await
            .get_attr("dns_enabled"),
        Some(Value::bool(false))
    );
}

#[tokio::test]
async fn the_provider_s_faults_strike_what_they_name() {
    let folder = tempfile::tempdir().unwrap();
    let fault =
        json!({"kind": "permanent", "on": "create", "resource": "lab_bucket", "name": "logs-*"});
    let mut plugin = Plugin::lab(folder.path(), json!({"fault": [fault]})).await;
    plugin
        .host
        .made("lab_bucket", json!({"name": "data"}))
        .await;
    plugin
        .host
        .made("lab_thing", json!({"name": "logs-1"}))
        .await;
    assert_eq!(
        plugin
            .host
            .create("lab_bucket", json!({"name": "logs-1"}))
            .await
            .diagnostics
            .len(),
        1
    );
}

#[tokio::test]
async fn faults_of_the_control_file_strike_a_running_plugin() {
    let (folder, mut plugin) = fresh().await;
    let lab = folder.path().join("lab.json");
    let state = plugin.host.made("lab_thing", json!({"name": "t"})).await;
    control::set(
        &lab,
        Fault {
            times: Some(1),
            on: On::Read,
            ..Fault::new(Kind::Permanent)
        },
    )
    .unwrap();
    let id = control::set(
        &lab,
        Fault {
            name: Some("t".into()),
            ..Fault::new(Kind::Permanent)
        },
    )
    .unwrap();
    assert_eq!(plugin.host.read("lab_thing", &state).await.1.len(), 1);
    assert_eq!(plugin.host.read("lab_thing", &state).await.1, []);
    let listed = control::list(&lab).unwrap();
    assert_eq!(
        (listed[0].struck, listed[0].spent, listed[1].spent),
        (1, true, false)
    );
    assert_eq!(
        plugin
            .host
            .delete("lab_thing", &state)
            .await
            .diagnostics
            .len(),
        1
    );
    assert!(control::clear(&lab, &id).unwrap());
    assert_eq!(
        plugin.host.delete("lab_thing", &state).await.diagnostics,
        []
    );
}

#[tokio::test]
async fn what_others_change_is_seen() {
    let (folder, mut plugin) = fresh().await;
    let lab = folder.path().join("lab.json");
    let json = json!({"name": "s", "image": "img-1"});
    let state = plugin.host.made("lab_server", json.clone()).await;
    let id = text(&state, "id");
    control::tamper(&lab, &id, "size", json!("huge")).unwrap();
    let (drifted, _) = plugin.host.read("lab_server", &state).await;
    assert_eq!(text(&drifted, "size"), "huge");
    let config = plugin.host.config("lab_server", json);
    let plan = plugin.host.plan("lab_server", &drifted, &config, b"").await;
    assert_eq!(text(&plan.planned, "size"), "small", "the plan mends it");
    control::tamper(&lab, &id, "tags", json!(["no", "map"])).unwrap();
    let (kept, diagnostics) = plugin.host.read("lab_server", &drifted).await;
    assert!(diagnostics[0].detail.contains("tags"), "{diagnostics:?}");
    assert_eq!(kept, drifted);
    control::vanish(&lab, &id).unwrap();
    assert!(plugin.host.read("lab_server", &state).await.0.is_null());
    assert_eq!(
        plugin
            .host
            .apply("lab_server", &drifted, &config)
            .await
            .diagnostics
            .len(),
        1,
        "nothing left to update"
    );
}

#[tokio::test]
async fn two_processes_share_one_lab() {
    let (folder, mut one) = fresh().await;
    let mut two = Plugin::lab(folder.path(), json!({})).await;
    async fn make(plugin: &mut Plugin, prefix: &str) {
        for number in 0..20 {
            plugin
                .host
                .made("lab_thing", json!({"name": format!("{prefix}-{number}")}))
                .await;
        }
    }
    tokio::join!(make(&mut one, "one"), make(&mut two, "two"));
    assert_eq!(cloud(folder.path()).objects.len(), 40);
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|one| one.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Creates things, each of a few thousand bytes, until the process dies, and kills it once `enough`
/// were answered. The ids of those that were.
async fn made_until_killed(plugin: &mut Plugin, enough: usize) -> Vec<String> {
    let config = plugin.host.config(
        "lab_thing",
        json!({"name": "t", "data": {"text": "x".repeat(3_000)}}),
    );
    let (null, ty) = (
        plugin.host.null("lab_thing"),
        plugin::common::type_of(plugin.host.block("lab_thing")),
    );
    let planned = plugin
        .host
        .plan("lab_thing", &null, &config, b"")
        .await
        .planned;
    let request = proto::tfplugin6::apply_resource_change::Request {
        type_name: "lab_thing".into(),
        prior_state: Some(plugin::common::encode(&null, &ty)),
        planned_state: Some(plugin::common::encode(&planned, &ty)),
        config: Some(plugin::common::encode(&config, &ty)),
        ..Default::default()
    };
    let ids = std::cell::RefCell::new(Vec::new());
    let child = std::cell::RefCell::new(&mut plugin.child);
    let make = async || {
        let mut client = plugin.host.client.clone();
        while let Ok(answer) = client.apply_resource_change(request.clone()).await {
            let state = plugin::common::decode(answer.into_inner().new_state.as_ref(), &ty);
            ids.borrow_mut().push(text(&state, "id"));
            if ids.borrow().len() == enough {
                child.borrow_mut().kill().unwrap();
            }
        }
    };
    tokio::join!(make(), make(), make(), make());
    ids.into_inner()
}

#[tokio::test]
async fn what_was_answered_outlives_a_killed_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut answered = Vec::new();
    for enough in [3, 10, 40, 90, 1, 25] {
        let mut plugin = Plugin::lab(folder.path(), json!({})).await;
        answered.extend(made_until_killed(&mut plugin, enough).await);
        let there = cloud(folder.path()).objects;
        let lost: Vec<_> = answered
            .iter()
            .filter(|id| !there.contains_key(*id))
            .collect();
        assert!(
            lost.is_empty(),
            "{lost:?} of {} after {enough}",
            answered.len()
        );
    }
    assert!(
        names(folder.path()).contains(&"lab.json.journal".into()),
        "the test is about large labs"
    );
    let (there, mut plugin) = (
        cloud(folder.path()),
        Plugin::lab(folder.path(), json!({})).await,
    );
    plugin.host.made("lab_thing", json!({"name": "last"})).await;
    assert_eq!(
        names(folder.path()),
        ["lab.json", "lab.json.lock"],
        "the first change folds what it finds"
    );
    assert_eq!(cloud(folder.path()).objects.len(), there.objects.len() + 1);
}

#[tokio::test]
async fn a_process_that_ends_in_order_leaves_one_file() {
    let (folder, mut plugin) = fresh().await;
    for number in 0..30 {
        plugin
            .host
            .made(
                "lab_thing",
                json!({"name": format!("t-{number}"), "data": {"text": "x".repeat(4_000)}}),
            )
            .await;
    }
    let before = cloud(folder.path());
    plugin.host.shutdown().await;
    assert_eq!(plugin.ended().0.code(), Some(0));
    assert_eq!(names(folder.path()), ["lab.json", "lab.json.lock"]);
    let alone: Cloud =
        serde_json::from_slice(&std::fs::read(folder.path().join("lab.json")).unwrap()).unwrap();
    assert_eq!((&alone, alone.objects.len()), (&before, 30));
}

#[tokio::test]
async fn a_process_that_does_nothing_more_leaves_one_file_to_edit() {
    let (folder, mut plugin) = fresh().await;
    let mut state = plugin.host.null("lab_thing");
    for number in 0..30 {
        state = plugin
            .host
            .made(
                "lab_thing",
                json!({"name": format!("t-{number}"), "data": {"text": "x".repeat(4_000)}}),
            )
            .await;
    }
    let deadline = Instant::now() + Duration::from_secs(240);
    while names(folder.path()) != ["lab.json", "lab.json.lock"] {
        assert!(Instant::now() < deadline, "{:?}", names(folder.path()));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let file = folder.path().join("lab.json");
    std::fs::write(
        &file,
        std::fs::read_to_string(&file)
            .unwrap()
            .replace("\"t-29\"", "\"edited\""),
    )
    .unwrap();
    assert_eq!(
        text(&plugin.host.read("lab_thing", &state).await.0, "name"),
        "edited"
    );
}

#[tokio::test]
async fn servers_of_one_network_get_the_lowest_free_addresses() {
    let (folder, mut plugin) = fresh().await;
    let lab = folder.path().join("lab.json");
    let network = text(
        &plugin
            .host
            .made("lab_network", json!({"name": "net", "cidr": "10.0.0.0/28"}))
            .await,
        "id",
    );
    let server = |name: &str| json!({"name": name, "image": "img-1", "network_id": network});
    let mut made = Vec::new();
    for name in ["a", "b", "c"] {
        made.push(plugin.host.made("lab_server", server(name)).await);
    }
    control::vanish(&lab, &text(&made[1], "id")).unwrap();
    let database = json!({"name": "db", "engine": "mysql", "password": "p", "network_id": network});
    let got = [
        plugin.host.made("lab_database", database).await,
        plugin.host.made("lab_server", server("d")).await,
    ];
    assert_eq!(
        got.map(|one| text(&one, "private_ip")),
        ["10.0.0.11", "10.0.0.13"]
    );
    plugin.host.made("lab_server", server("e")).await;
    let full = plugin.host.create("lab_server", server("f")).await;
    assert!(
        full.diagnostics[0].summary.contains("no free address"),
        "{full:?}"
    );
}

#[tokio::test]
async fn a_lab_file_that_is_no_lab_is_named() {
    let (folder, mut plugin) = fresh().await;
    std::fs::write(folder.path().join("lab.json"), "nonsense").unwrap();
    let failed = plugin.host.create("lab_thing", json!({"name": "t"})).await;
    assert!(
        failed.diagnostics[0].detail.contains("lab.json"),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_single_block_has_limits_that_hosts_accept() {
    let (_folder, plugin) = fresh().await;
    let blocks = plugin
        .host
        .schema
        .resource_schemas
        .values()
        .flat_map(|schema| &schema.block.as_ref().unwrap().block_types);
    let single: Vec<_> = blocks
        .filter(|nested| nested.nesting() == BlockNesting::Single)
        .collect();
    assert!(!single.is_empty());
    assert!(
        single
            .iter()
            .all(|nested| nested.min_items == nested.max_items),
        "{single:?}"
    );
}
