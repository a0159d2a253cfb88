//! Tests of the bundled providers' launch: found by address, served by the program itself.

use crate::test_plugin::*;
use dependency::VersionConstraint;
use model::PluginId;
use plugin::find::{Environment, HashCache, LockFile, Places, ProviderRequest, find};
use plugin::{Plugin, PluginError};
use provider::tfplugin::{SchemaReply, TfLifecycle};
use std::sync::Arc;

fn add(bench: &Bench, name: &str) -> Plugin {
    let around = Environment {
        executable: Some(env!("CARGO_BIN_EXE_flightdeck").into()),
        ..Environment::default()
    };
    let mut places = Places::gather(bench.folder.path(), &around).expect("places");
    places
        .bundled_environment
        .insert("FLIGHTDECK_LAB_DIR".into(), bench.folder.path().into());
    let address = format!("flightdeck.internal/bundled/{name}")
        .parse()
        .expect("address");
    let want = ProviderRequest {
        implied: false,
        address,
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
    bench.plugins.add(
        PluginId(name.into()),
        found.record(),
        start,
        Arc::new(TfLifecycle::default()),
    )
}

#[tokio::test]
async fn lab_starts_over_tls_and_ends_when_asked() {
    let bench = Bench::new(settings());
    let plugin = add(&bench, "lab");
    let connection = plugin.ready().await.expect("ready");
    let Some(SchemaReply::V6(schema)) = provider_link(&connection).take_schema() else {
        panic!("protocol 6")
    };
    assert!(
        schema
            .resource_schemas
            .keys()
            .any(|name| name.starts_with("lab_"))
    );
    assert_eq!(bench.ear.attempts().len(), 1);
    plugin.stop().await;
    assert_eq!(process_state(connection.pid.expect("pid")), None);
}

#[tokio::test]
async fn plugin_may_start_at_its_third_launch_or_never() {
    let bench = Bench::new(settings());
    let (slow, broken) = (add(&bench, "slowstart"), add(&bench, "broken"));
    slow.ready().await.expect("ready");
    let error = broken.ready().await.expect_err("never");
    assert!(
        matches!(error, PluginError::GaveUp { attempts: 5, .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("panic"),
        "{error} does not show its last words"
    );
    let attempts = bench.ear.attempts();
    assert_eq!(attempts.len(), 3 + 5);
    assert_eq!(
        attempts.iter().filter(|a| a.exit_code == Some(2)).count(),
        5,
        "as a panicking program ends"
    );
    bench.plugins.shutdown().await;
}
