//! Tests of the lab's faults: each affects exactly the calls that it was configured for.

use crate::plugin;
use std::time::{Duration, Instant};

use bundled::lab::control::{Fault, On};
use bundled::lab::{Kind, control};
use cty::Value;
use serde_json::json;

use super::{cloud, fresh, thing};
use crate::plugin::Plugin;
use crate::plugin::common::{said, text};

/// Waits for a call while asking the provider to stop repeatedly, because an early request can
/// arrive before the call.
async fn stopping<T>(plugin: &mut Plugin, call: impl Future<Output = T>) -> T {
    let mut call = std::pin::pin!(call);
    loop {
        tokio::select! {
            biased; // the response has priority
            done = &mut call => return done,
            () = tokio::time::sleep(Duration::from_millis(100)) => plugin.host.stop().await,
        }
    }
}

// Faults.

#[tokio::test]
async fn transient_error_ends_after_its_number_of_tries() {
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
async fn transient_error_is_counted_across_processes() {
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
async fn permanent_error_repeats() {
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
async fn bad_input_fault_names_its_attribute() {
    let (_folder, mut plugin) = fresh().await;
    let config = thing("t", json!({"kind": "bad_input", "attribute": "data"}));
    assert_eq!(
        said(&plugin.host.create("lab_thing", config).await.diagnostics)[0].1,
        ".data"
    );
}

#[tokio::test]
async fn latency_delays_calls_and_stop_cuts_it_short() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::lab(folder.path(), json!({"create_ms": 300})).await;
    let begun = Instant::now();
    plugin.host.made("lab_thing", json!({"name": "a"})).await;
    assert!(begun.elapsed() >= Duration::from_millis(300));
    // The faults of the resource come before those of the provider.
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
async fn stop_ends_a_hang_before_or_after_the_work() {
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
async fn crash_ends_the_process_with_panic_output() {
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
async fn partial_create_leaves_an_incomplete_object() {
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
async fn inconsistent_result_contradicts_the_plan() {
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
async fn provider_fault_applies_only_to_matching_objects() {
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
async fn control_file_faults_apply_to_a_running_plugin() {
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
        (
            listed[0].occurrences,
            listed[0].is_exhausted,
            listed[1].is_exhausted
        ),
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
