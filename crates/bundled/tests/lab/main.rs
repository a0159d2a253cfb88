//! Tests of the lab as a real process over mutual TLS: lifecycles of its objects, and each fault.
#![allow(clippy::unwrap_used)]

mod faults;
mod shared;

use std::path::Path;

use bundled::lab::{Cloud, LabFile};
use cty::Value;
use proto::tfplugin6::schema::nested_block::NestingMode as BlockNesting;
use serde_json::json;

use crate::plugin::Plugin;
use crate::plugin::common::{said, text};

#[path = "../plugin/mod.rs"]
mod plugin;

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

fn thing(name: &str, fault: serde_json::Value) -> serde_json::Value {
    json!({"name": name, "fault": [fault]})
}

#[tokio::test]
async fn objects_are_created_read_updated_and_deleted() {
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
async fn lab_file_contains_no_sensitive_values() {
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
async fn each_resource_type_is_created_and_read_back() {
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
async fn thing_revision_increases_with_each_update() {
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
async fn bad_input_is_reported_at_its_attribute() {
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
async fn object_is_imported_by_its_id() {
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
async fn old_server_state_is_upgraded() {
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

#[tokio::test]
async fn single_blocks_have_equal_minimum_and_maximum() {
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
