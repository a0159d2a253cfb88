//! Tests of unmodified providers, if the environment names an executable or a mirror.

use crate::test_plugin::*;
use dependency::VersionConstraint;
use model::PluginId;
use plugin::find::{Environment, HashCache, LockFile, Places, ProviderRequest, find};
use provider::tfplugin::{SchemaReply, TfLifecycle};
use std::collections::HashMap;
use std::sync::Arc;

#[tokio::test]
async fn released_provider_starts_and_serves() {
    let Some(path) = std::env::var_os("FLIGHTDECK_TEST_PLUGIN") else {
        cty::testing::skipped("FLIGHTDECK_TEST_PLUGIN names no provider executable");
        return;
    };
    let mut patient = settings();
    patient.launch.grace = PATIENCE;
    let bench = Bench::new(patient);
    let plugin = bench.add(program(path));
    let connection = plugin.ready().await.expect("ready");
    let resources = match provider_link(&connection).take_schema().expect("schema") {
        SchemaReply::V5(reply) => reply.resource_schemas.len(),
        SchemaReply::V6(reply) => reply.resource_schemas.len(),
    };
    println!(
        "{:?}, {resources} resource types, {:?}",
        provider_link(&connection).protocol,
        bench.ear.attempts().pop().expect("attempt").phases
    );
    assert!(resources > 0);
    let pid = connection.pid.expect("pid");
    let began = std::time::Instant::now();
    plugin.stop().await;
    assert!(began.elapsed() < PATIENCE, "it ends when it is asked to");
    assert_eq!(process_state(pid), None);
}

#[tokio::test]
async fn every_provider_of_a_mirror_is_found_and_starts() {
    let Some(mirror) = std::env::var_os("FLIGHTDECK_TEST_MIRROR") else {
        cty::testing::skipped("FLIGHTDECK_TEST_MIRROR names no mirror");
        return;
    };
    let bench = Bench::new(settings());
    let rc = bench.folder.path().join("rc");
    let text = format!(
        "provider_installation {{ filesystem_mirror {{ path = \"{}\" }} }}",
        std::path::Path::new(&mirror).display()
    );
    std::fs::write(&rc, text).expect("written");
    let around = Environment {
        variables: HashMap::from([("TF_CLI_CONFIG_FILE".to_owned(), rc.into())]),
        executable: None,
    };
    let places = Places::gather(bench.folder.path(), &around).expect("places");
    let mut seen = 0;
    for address in addresses(mirror.as_ref()) {
        let want = ProviderRequest {
            implied: false,
            address: address.parse().expect("address"),
            constraints: VersionConstraint::any(),
            in_state: Vec::new(),
        };
        let found = find(
            &want,
            &LockFile::default(),
            &places,
            &HashCache::in_memory(),
        )
        .expect("found");
        let start = found.start.clone().expect("start");
        let plugin = bench.plugins.add(
            PluginId(address.as_str().into()),
            found.record(),
            start,
            Arc::new(TfLifecycle::default()),
        );
        let connection = plugin.ready().await.expect("ready");
        assert!(provider_link(&connection).take_schema().is_some());
        println!("{address}: {:?}", plugin.description());
        seen += 1;
    }
    assert!(seen > 0, "the mirror is empty");
    bench.plugins.shutdown().await;
}

fn addresses(mirror: &std::path::Path) -> Vec<String> {
    let mut folders = vec![(String::new(), mirror.to_owned())];
    for _ in 0..3 {
        let inner = |(prefix, folder): (String, std::path::PathBuf)| {
            let entries = std::fs::read_dir(folder)
                .expect("directory")
                .flatten()
                .filter(|e| e.path().is_dir());
            entries
                .map(|e| {
                    (
                        format!("{prefix}/{}", e.file_name().to_string_lossy()),
                        e.path(),
                    )
                })
                .collect::<Vec<_>>()
        };
        folders = folders.into_iter().flat_map(inner).collect();
    }
    folders
        .into_iter()
        .map(|(address, _)| address.trim_start_matches('/').to_owned())
        .collect()
}
