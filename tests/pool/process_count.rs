//! Tests of several processes for one configuration, and of idle processes.

use crate::test_pool::*;
use calls::{CallContext, ProviderError};
use model::settings::ServiceSettings;
use model::*;
use serde_json::json;
use std::time::Duration;

fn up_to(processes: u32) -> ServiceSettings {
    ServiceSettings {
        processes,
        ..ServiceSettings::default()
    }
}

fn is_ready(p: &model::view::PluginView) -> bool {
    matches!(p.state, PluginState::Ready { .. })
}

#[tokio::test(flavor = "multi_thread")]
async fn second_process_starts_for_a_waiting_call_with_the_same_configuration() {
    let bench = Bench::with_limits(1, up_to(2));
    let id = bench.declare("lab").await;
    let store = bench.folder.path().join("only.json");
    let lab = bench.configured_lab(json!({"file": store})).await;
    let second = PluginId(format!("{id}#2").into());
    assert_eq!(bench.all_pids().len(), 1, "nobody has waited");
    let slow = |name| thing(&*lab, name, json!({"kind": "latency", "ms": 3_000}));
    let (a, b, ()) = tokio::join!(
        create(&*lab, slow("a"), "lab_thing.a", &bench.ctx),
        async {
            bench.until_runs("lab_thing.a").await;
            create(&*lab, slow("b"), "lab_thing.b", &bench.ctx).await
        },
        async {
            bench.until_runs("lab_thing.b").await;
            // The first process is still busy, so two processes have calls.
            let running = bench.bus.with_view(|v| {
                let mut by: Vec<_> = v.calls.values().map(|c| c.plugin.clone()).collect();
                by.sort();
                by
            });
            assert_eq!(running, [id.clone(), second.clone()]);
        }
    );
    for made in [a, b] {
        assert_eq!(made.expect("answered").diagnostics, []);
    }
    assert_eq!(bench.all_pids().len(), 2);
    let why = bench.plugin(&second).found.expect("found").why;
    assert!(
        why.ends_with("this process serves provider.lab beside bundled/lab"),
        "{why}"
    );
    let written = std::fs::read_to_string(&store).expect("the configured file");
    assert!(
        written.contains("\"a\"") && written.contains("\"b\""),
        "{written}"
    );
    // Another configuration ends both processes and starts one.
    bench.configured_lab(json!({"region": "elsewhere"})).await;
    assert_eq!(bench.all_pids().len(), 1);
    bench.pool.shutdown().await;
    assert_eq!(bench.all_pids(), Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_go_to_remaining_processes_after_a_crash() {
    let bench = Bench::with_limits(1, up_to(2));
    let id = bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let second = PluginId(format!("{id}#2").into());
    let slow = |name| thing(&*lab, name, json!({"kind": "latency", "ms": 1_500}));
    let crash = thing(&*lab, "b", json!({"kind": "crash", "text": "enough"}));
    let (a, b) = tokio::join!(create(&*lab, slow("a"), "lab_thing.a", &bench.ctx), async {
        bench.until_runs("lab_thing.a").await;
        create(&*lab, crash, "lab_thing.b", &bench.ctx).await
    });
    assert_eq!(a.expect("the other one has died").diagnostics, []);
    assert_eq!(
        b.expect_err("it has died").class(),
        FailureClass::PluginCrashed
    );
    assert_eq!(bench.plugin(&second).crashes.len(), 1);
    assert_eq!(bench.plugin(&id).crashes.len(), 0);
    for name in ["c", "d", "e"] {
        let address = format!("lab_thing.{name}");
        let made = create(&*lab, thing(&*lab, name, json!(null)), &address, &bench.ctx).await;
        assert_eq!(made.expect("answered").diagnostics, []);
    }
    assert!(bench.pool.blocked().is_empty());
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_process_ends_and_starts_with_the_next_call() {
    let bench = Bench::with_limits(
        1,
        ServiceSettings {
            idle_timeout: Some(Duration::from_millis(300)),
            ..ServiceSettings::default()
        },
    );
    let id = bench.declare("lab").await;
    let lab = bench
        .configured_lab(json!({"file": bench.folder.path().join("only.json")}))
        .await;
    let old = bench.plugin(&id).pid.expect("it runs");
    // The call takes longer than the idle limit, and the process stays.
    let slow = thing(&*lab, "slow", json!({"kind": "latency", "ms": 1_000}));
    let made = create(&*lab, slow, "lab_thing.slow", &bench.ctx).await;
    assert_eq!(made.expect("answered").diagnostics, []);
    assert_eq!(bench.plugin(&id).pid, Some(old));
    let idle = |p: &model::view::PluginView| matches!(p.state, PluginState::Idle { .. });
    bench.wait_until("its end", |v| idle(&v.plugins[&id])).await;
    assert_eq!(
        bench.plugin(&id).state.unavailable_reason(),
        Some("ended after 300 ms without a call; starts again when needed")
    );
    assert!(!is_alive(old));
    assert!(bench.pool.blocked().is_empty(), "nothing is wrong with it");
    // The same handle starts a new process with its configuration.
    let made = create(
        &*lab,
        thing(&*lab, "later", json!(null)),
        "lab_thing.later",
        &bench.ctx,
    )
    .await;
    assert_eq!(made.expect("answered").diagnostics, []);
    let kept = std::fs::read_to_string(bench.folder.path().join("only.json"));
    assert!(kept.expect("the configured file").contains("later"));
    bench.pool.shutdown().await;
    assert_eq!(bench.all_pids(), Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_additional_process_ends_and_starts_again() {
    let bench = Bench::with_limits(
        1,
        ServiceSettings {
            processes: 2,
            idle_timeout: Some(Duration::from_millis(200)),
            ..ServiceSettings::default()
        },
    );
    let id = bench.declare("lab").await;
    let second = PluginId(format!("{id}#2").into());
    for round in 0..2 {
        let lab = bench.configured_lab(json!({})).await;
        let names = [0, 1].map(|n| format!("r{round}n{n}"));
        let slow = |n: usize| thing(&*lab, &names[n], json!({"kind": "latency", "ms": 2_000}));
        let address = names.clone().map(|name| format!("lab_thing.{name}"));
        let (a, b) = tokio::join!(create(&*lab, slow(0), &address[0], &bench.ctx), async {
            bench.until_runs(&address[0]).await;
            create(&*lab, slow(1), &address[1], &bench.ctx).await
        });
        for made in [a, b] {
            assert_eq!(made.expect("answered").diagnostics, []);
        }
        let both = |v: &model::view::View| {
            let all = [&id, &second].map(|p| v.plugins[p].state.label());
            all == ["idle", "idle"]
        };
        bench.wait_until("the end of both", both).await;
        assert_eq!(bench.plugin(&second).attempts.len(), round + 1);
    }
    assert!(!is_ready(&bench.plugin(&id)));
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_trap_1_call_waits_no_longer_than_the_deadline_of_the_call_before_it() {
    let bench = Bench::new(1);
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let hang = thing(&*lab, "hanging", json!({"kind": "hang"}));
    let soon = CallContext {
        deadline: Some(Duration::from_millis(200)),
        ..CallContext::default()
    };
    let (hung, ()) = tokio::join!(create(&*lab, hang, "lab_thing.hanging", &soon), async {
        bench.until_runs("lab_thing.hanging").await;
        let next = thing(&*lab, "next", json!(null));
        let made = create(&*lab, next, "lab_thing.next", &bench.ctx).await;
        assert_eq!(made.expect("answered").diagnostics, []);
    });
    assert!(matches!(hung, Err(ProviderError::Deadline { .. })));
    bench.pool.shutdown().await;
}
