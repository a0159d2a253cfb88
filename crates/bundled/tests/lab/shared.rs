//! Tests of several processes that share a lab file, including killed ones.

use crate::plugin;
use std::path::Path;
use std::time::{Duration, Instant};

use bundled::lab::{Cloud, control};
use serde_json::json;

use super::{cloud, fresh};
use crate::plugin::Plugin;
use crate::plugin::common::text;

#[tokio::test]
async fn external_changes_are_visible_on_read() {
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
    control::delete_object(&lab, &id).unwrap();
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
async fn two_processes_share_one_lab_without_losing_objects() {
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

/// Creates things of a few thousand bytes until the process ends, and kills it after `enough`
/// responses. Returns the ids of the acknowledged things.
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
async fn answered_changes_survive_a_killed_process() {
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
async fn orderly_shutdown_folds_the_journal() {
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
async fn idle_process_folds_the_journal_for_manual_edits() {
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
async fn servers_of_a_network_get_the_lowest_free_addresses() {
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
    control::delete_object(&lab, &text(&made[1], "id")).unwrap();
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
async fn malformed_lab_file_is_named_in_the_error() {
    let (folder, mut plugin) = fresh().await;
    std::fs::write(folder.path().join("lab.json"), "nonsense").unwrap();
    let failed = plugin.host.create("lab_thing", json!({"name": "t"})).await;
    assert!(
        failed.diagnostics[0].detail.contains("lab.json"),
        "{failed:?}"
    );
}
