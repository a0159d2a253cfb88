//! Tests of process replacement during calls, because of a changed file or a limit. No call is
//! lost, and each step is reported.

use crate::test_pool::*;
use futures_util::future::join_all;
use model::bus::Update;
use model::settings::{RenewSettings, ServiceSettings};
use model::*;
use provider::*;
use serde_json::json;
use std::time::Duration;

fn renewing(renew: RenewSettings) -> ServiceSettings {
    ServiceSettings {
        renew: RenewSettings {
            youngest: Duration::ZERO,
            ..renew
        },
        ..ServiceSettings::default()
    }
}

fn slow(lab: &dyn Provider, ms: u64) -> cty::Value {
    thing(lab, "slow", json!({"kind": "latency", "ms": ms}))
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_03_changed_file_replaces_the_process_without_losing_calls() {
    let bench = Bench::new(1);
    let id = bench.declare_script().await;
    let store = bench.folder.path().join("only.json");
    let lab = bench.configured_lab(json!({"file": store})).await;
    let old = bench.plugin(&id).pid.expect("it runs");
    let hang = thing(&*lab, "old", json!({"kind": "latency", "ms": 4_000}));
    let (kept, ()) = tokio::join!(create(&*lab, hang, "lab_thing.old", &bench.ctx), async {
        bench.until_runs("lab_thing.old").await;
        bench.script("echo anew >&2");
        bench
            .wait_until("the replacement", |v| !v.plugins[&id].leaving.is_empty())
            .await;
        let view = bench.plugin(&id);
        let (new, leaving) = (view.pid.expect("it runs"), &view.leaving[0]);
        assert_ne!(new, old);
        assert_eq!((leaving.pid, leaving.calls), (Some(old), 1));
        assert_eq!(leaving.why, "its file has changed");
        assert!(is_alive(old) && is_alive(new), "both at once");
        assert!(matches!(view.state, PluginState::Ready { .. }));
        assert_eq!(view.restarts, 0, "nothing was interrupted");
        // The slot belongs to the new process, which is configured. Its crash does not affect the
        // old process's call.
        let crash = thing(&*lab, "new", json!({"kind": "crash", "text": "enough"}));
        let error = create(&*lab, crash, "lab_thing.new", &bench.ctx).await;
        let error = error.expect_err("crashed");
        let incident = error.incident().expect("an incident").to_owned();
        assert!(incident.contains(&format!("@{new}-")), "{incident}");
        assert!(is_alive(old));
    });
    assert_eq!(kept.expect("answered").diagnostics, []);
    let written = std::fs::read_to_string(&store).expect("the configured file");
    assert!(written.contains("old"), "{written}");
    bench
        .wait_until("its end", |v| v.plugins[&id].leaving.is_empty())
        .await;
    assert!(!is_alive(old));
    // Calls after the crash succeed.
    let later = thing(&*lab, "later", json!(null));
    let made = create(&*lab, later, "lab_thing.later", &bench.ctx).await;
    assert_eq!(made.expect("answered").diagnostics, []);
    bench.pool.shutdown().await;
    assert_eq!(bench.all_pids(), Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn continuous_calls_survive_repeated_replacements() {
    let limits = RenewSettings {
        calls: Some(10),
        ..RenewSettings::default()
    };
    let bench = Bench::with_limits(4, renewing(limits));
    let id = bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let (_, mut events) = bench.bus.subscribe();
    let one = |n: u32| {
        let (lab, bench) = (&lab, &bench);
        async move {
            let name = format!("n{n}");
            let config = thing(&**lab, &name, json!({"kind": "latency", "ms": 30}));
            let address = format!("lab_thing.{name}");
            create(&**lab, config, &address, &bench.ctx).await
        }
    };
    let made = join_all((0..60).map(one)).await;
    for one in made {
        assert_eq!(one.expect("answered").diagnostics, []);
    }
    let (mut replaced, mut said) = (0, Vec::new());
    let has_left = |said: &[String]| said.iter().any(|s| s.contains("after its last call"));
    while replaced < 2 || !has_left(&said) {
        let Some(Update::Events(all)) = events.recv().await else {
            panic!("events")
        };
        let is_one = |e: &&std::sync::Arc<Event>| {
            matches!(e.kind, EventKind::Plugin(PluginEvent::Replaced { .. }))
        };
        replaced += all.iter().filter(is_one).count();
        said.extend(bench.engine_log_lines(&all));
    }
    assert!(said[0].contains("replaces"), "{said:?}");
    assert!(said[0].contains("calls, the limit is 10"), "{said:?}");
    assert_eq!(bench.plugin(&id).crashes.len(), 0);
    bench.pool.shutdown().await;
    assert_eq!(bench.all_pids(), Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn process_continues_if_its_replacement_fails_and_the_pool_retries() {
    let bench = Bench::new(1);
    let id = bench.declare_script().await;
    let lab = bench.configured_lab(json!({})).await;
    let old = bench.plugin(&id).pid;
    bench.script("echo no licence was found >&2; exit 3");
    let failed = |p: &model::view::PluginView| match &p.renewal {
        Some(Renewal::Failed { failed, tries, .. }) => Some((failed.clone(), *tries)),
        _ => None,
    };
    bench
        .wait_until("three tries", |v| {
            failed(&v.plugins[&id]).is_some_and(|(_, tries)| tries >= 3)
        })
        .await;
    let view = bench.plugin(&id);
    let (why, _) = failed(&view).expect("it failed");
    assert!(
        why.contains("exit code 3") && why.contains("no licence was found"),
        "{why}"
    );
    assert!(
        matches!(view.state, PluginState::Ready { .. }),
        "{:?}",
        view.state
    );
    assert_eq!(view.pid, old);
    let beside = view.attempts.back().expect("an attempt");
    assert!(beside.beside);
    let made = create(
        &*lab,
        thing(&*lab, "a", json!(null)),
        "lab_thing.a",
        &bench.ctx,
    )
    .await;
    assert_eq!(made.expect("the old one serves").diagnostics, []);
    // A new file is tried at once.
    bench.script("echo repaired >&2");
    bench
        .wait_until("the replacement", |v| {
            v.plugins[&id].pid != old && v.plugins[&id].renewal.is_none()
        })
        .await;
    bench.pool.shutdown().await;
    assert_eq!(bench.all_pids(), Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn approved_contents_run_until_the_run_has_ended() {
    let bench = Bench::new(1);
    let id = bench.declare_script().await;
    bench.configured_lab(json!({})).await;
    let old = bench.plugin(&id).pid;
    let pinned = bench.pool.pin();
    bench.script("echo anew >&2");
    let held = |p: &model::view::PluginView| matches!(p.renewal, Some(Renewal::Held { .. }));
    bench
        .wait_until("it to be said", |v| held(&v.plugins[&id]))
        .await;
    let text = bench.plugin(&id).renewal.expect("held").text();
    assert_eq!(
        text,
        "will be replaced once the running stage or deploy has ended: its file has changed"
    );
    assert_eq!(bench.plugin(&id).pid, old);
    drop(pinned);
    bench
        .wait_until("the replacement", |v| v.plugins[&id].pid != old)
        .await;
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_run_uses_the_new_file() {
    let bench = Bench::new(1);
    let id = bench.declare_script().await;
    bench.configured_lab(json!({})).await;
    let old = bench.plugin(&id).pid;
    let _pinned = bench.pool.pin();
    bench.script("echo anew >&2");
    bench.pool.replace_changed().await;
    assert_ne!(bench.plugin(&id).pid, old);
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn age_and_memory_limits_replace_the_process_and_are_named() {
    let table = [
        (
            RenewSettings {
                age: Some(Duration::from_millis(100)),
                ..RenewSettings::default()
            },
            "it is older than 100 ms",
        ),
        (
            RenewSettings {
                memory: Some(1 << 20),
                ..RenewSettings::default()
            },
            "MiB of memory, the limit is 1 MiB",
        ),
    ];
    for (limits, words) in table {
        let bench = Bench::with_limits(1, renewing(limits));
        let id = bench.declare("lab").await;
        let lab = bench.configured_lab(json!({})).await;
        let config = slow(&*lab, 2_000);
        let (made, ()) = tokio::join!(create(&*lab, config, "lab_thing.slow", &bench.ctx), async {
            bench.until_runs("lab_thing.slow").await;
            bench
                .wait_until("the replacement", |v| !v.plugins[&id].leaving.is_empty())
                .await;
            let why = bench.plugin(&id).leaving[0].why.clone();
            assert!(why.ends_with(words), "{why}");
        });
        assert_eq!(made.expect("answered").diagnostics, []);
        bench.pool.shutdown().await;
        assert_eq!(bench.all_pids(), Vec::<u32>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn overdue_draining_process_is_reported_and_not_killed() {
    let bench = Bench::with_limits(
        1,
        ServiceSettings {
            renew: RenewSettings {
                drain: Duration::from_millis(50),
                ..RenewSettings::default()
            },
            ..ServiceSettings::default()
        },
    );
    let id = bench.declare_script().await;
    let lab = bench.configured_lab(json!({})).await;
    let config = slow(&*lab, 3_000);
    let (made, ()) = tokio::join!(create(&*lab, config, "lab_thing.slow", &bench.ctx), async {
        bench.until_runs("lab_thing.slow").await;
        bench.script("echo anew >&2");
        let overdue = |p: &model::view::PluginView| p.leaving.iter().any(|l| l.overdue);
        bench
            .wait_until("it to be late", |v| overdue(&v.plugins[&id]))
            .await;
    });
    assert_eq!(made.expect("it was let be").diagnostics, []);
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_can_end_both_processes() {
    let bench = Bench::new(1);
    let id = bench.declare_script().await;
    let lab = bench.configured_lab(json!({})).await;
    let hang = thing(&*lab, "old", json!({"kind": "hang"}));
    let (lost, ()) = tokio::join!(create(&*lab, hang, "lab_thing.old", &bench.ctx), async {
        bench.until_runs("lab_thing.old").await;
        bench.script("echo anew >&2");
        bench
            .wait_until("the replacement", |v| !v.plugins[&id].leaving.is_empty())
            .await;
        assert_eq!(bench.all_pids().len(), 2);
        bench.pool.kill_all().await;
        assert_eq!(bench.all_pids(), Vec::<u32>::new());
    });
    assert!(lost.expect_err("killed").may_have_changed_infrastructure());
    assert!(bench.plugin(&id).leaving.is_empty());
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn process_that_crashes_after_a_file_change_restarts_from_the_new_file() {
    let bench = Bench::with_check_interval(1, Duration::from_secs(3_600));
    let id = bench.declare_script().await;
    let lab = bench.configured_lab(json!({})).await;
    let pinned = bench.pool.pin();
    let replace_and_crash = async |name: &str| {
        let trace = bench.folder.path().join(name);
        bench.script(&format!("touch '{}'", trace.display()));
        let crash = thing(&*lab, name, json!({"kind": "crash", "text": "enough"}));
        let error = create(&*lab, crash, &format!("lab_thing.{name}"), &bench.ctx).await;
        error.expect_err("crashed");
    };
    // Only approved contents may run, so another program does not take its place.
    replace_and_crash("first").await;
    bench
        .wait_until("it to be held back", |v| {
            matches!(v.plugins[&id].state, PluginState::Incompatible { .. })
        })
        .await;
    assert_eq!(bench.pids(), Vec::<u32>::new());
    let PluginState::Incompatible { why } = bench.plugin(&id).state else {
        panic!("it was just that");
    };
    assert!(
        why.contains("was replaced while it was in use; stage again to use the new file"),
        "{why}"
    );
    drop(pinned);
    // A new run accepts the new file.
    bench.pool.replace_changed().await;
    assert_eq!(bench.pids().len(), 1);
    let made = thing(&*lab, "made", json!(null));
    let made = create(&*lab, made, "lab_thing.made", &bench.ctx).await;
    assert_eq!(made.expect("answered").diagnostics, []);
    // No run needs the old contents, so the plugin restarts from the new file.
    let crashed = bench.plugin(&id).pid;
    replace_and_crash("second").await;
    bench
        .wait_until("it to be up again", |v| {
            let p = &v.plugins[&id];
            matches!(p.state, PluginState::Ready { .. }) && p.pid != crashed
        })
        .await;
    assert!(bench.folder.path().join("second").exists());
    bench.pool.shutdown().await;
    assert_eq!(bench.all_pids(), Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_that_gave_up_is_launched_again_with_a_new_file() {
    let bench = Bench::new(1);
    let id = bench.declare_script().await;
    bench.script("echo no licence was found >&2; exit 3");
    let up = bench.pool.unconfigured(LAB, &bench.ctx).await;
    assert!(up.is_err());
    let is_given_up = |p: &model::view::PluginView| matches!(p.state, PluginState::GaveUp { .. });
    assert!(is_given_up(&bench.plugin(&id)));
    let launches = bench.plugin(&id).attempts.len();
    bench.pool.replace_changed().await;
    assert_eq!(bench.plugin(&id).attempts.len(), launches, "the same file");
    bench.script("");
    bench.pool.replace_changed().await;
    assert!(matches!(bench.plugin(&id).state, PluginState::Ready { .. }));
    bench.pool.shutdown().await;
}
