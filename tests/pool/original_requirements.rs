//! Tests of the original requirements of the pool, one by one, and of known defects of an earlier
//! implementation.

use crate::test_pool::*;
use calls::{CallContext, ProviderError};
use cty::Value;
use futures_util::future::join_all;
use model::settings::ServiceSettings;
use plugin::{SpawnSpec, Start};
use provider::*;
use serde_json::json;
use tokio_util::sync::CancellationToken;

fn up_to(processes: u32) -> ServiceSettings {
    ServiceSettings {
        processes,
        ..ServiceSettings::default()
    }
}

fn slow(lab: &dyn Provider, name: &str, ms: u64) -> Value {
    thing(lab, name, json!({"kind": "latency", "ms": ms}))
}

async fn make(bench: &Bench, lab: &dyn Provider, name: &str) {
    let address = format!("lab_thing.{name}");
    let made = create(lab, thing(lab, name, json!(null)), &address, &bench.ctx).await;
    assert_eq!(made.expect("answered").diagnostics, []);
}

/// Number of calls of a method by all processes so far.
fn count(bench: &Bench, method: &str) -> u64 {
    let of = |l: &model::view::Latencies| l.methods.get(method).map_or(0, |l| l.count);
    bench.bus.with_view(|v| v.latencies.values().map(of).sum())
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_01_configured_number_of_processes_serves_all_resource_types() {
    let bench = Bench::with_limits(1, up_to(3));
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let names = ["a", "b", "c", "d", "e"];
    let all = names.map(|name| {
        let (lab, bench) = (&lab, &bench);
        async move {
            let address = format!("lab_thing.{name}");
            create(&**lab, slow(&**lab, name, 3_000), &address, &bench.ctx).await
        }
    });
    let (made, ()) = tokio::join!(join_all(all), async {
        bench
            .wait_until("three at a time", |v| {
                let runs = v.calls.values().filter(|c| c.started_at.is_some());
                runs.count() == 3
            })
            .await;
        assert_eq!(bench.all_pids().len(), 3);
    });
    for made in made {
        assert_eq!(made.expect("answered").diagnostics, []);
    }
    assert_eq!(bench.all_pids().len(), 3, "and never more");
    // Another resource type uses the same processes.
    let schema = lab.known_schema().expect("known");
    let server = json!({"name": "web", "image": "debian", "size": "small"});
    let server = complete_value(&schema.resources["lab_server"].block, &server);
    let checked = lab
        .validate_resource("lab_server", server, &bench.ctx)
        .await;
    checked.expect("answered");
    assert_eq!(bench.all_pids().len(), 3);
    bench.pool.shutdown().await;
    assert_eq!(bench.all_pids(), Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_02_process_starts_at_first_use_and_a_failed_start_holds_no_slot() {
    let bench = Bench::new(1);
    bench.declare("lab").await;
    bench.declare("broken").await;
    assert_eq!(bench.all_pids(), Vec::<u32>::new(), "nobody has asked");
    let broken = "flightdeck.internal/bundled/broken";
    for _ in 0..2 {
        let error = bench.pool.unconfigured(broken, &bench.ctx).await.err();
        let error = error.expect("it never comes up").to_string();
        assert!(error.contains("was given up after 5 launches"), "{error}");
    }
    assert_eq!(bench.bus.with_view(|v| v.calls.len()), 0, "no slot is held");
    make(&bench, &*bench.configured_lab(json!({})).await, "a").await;
    assert_eq!(bench.all_pids().len(), 1);
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_03_lease_ends_with_the_cancellation_of_its_call() {
    let bench = Bench::new(1);
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let cancel = CancellationToken::new();
    let ctx = CallContext::for_resource("lab_thing.read", &cancel);
    let hang = thing(&*lab, "hanging", json!({"kind": "hang", "on": "read"}));
    let made = create(&*lab, hang, "lab_thing.hanging", &bench.ctx).await;
    let made = made.expect("answered");
    let read = ReadRequest {
        type_name: "lab_thing".into(),
        current: made.new_state.expect("a state"),
        private: made.private,
        identity: None,
    };
    let (read, ()) = tokio::join!(lab.read(read, &ctx), async {
        let runs = |v: &model::view::View| v.calls.values().any(|c| c.method == "ReadResource");
        bench.wait_until("the read", runs).await;
        cancel.cancel();
    });
    assert!(matches!(
        read,
        Err(ProviderError::Cancelled { sent: true, .. })
    ));
    make(&bench, &*lab, "next").await;
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_04_long_call_keeps_its_slot_and_waiting_calls_are_visible() {
    let bench = Bench::new(1);
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let long = slow(&*lab, "long", 1_500);
    let all = tokio::join!(
        create(&*lab, long, "lab_thing.long", &bench.ctx),
        async {
            bench.until_runs("lab_thing.long").await;
            tokio::join!(make(&bench, &*lab, "b"), make(&bench, &*lab, "c"))
        },
        async {
            let waiting = |v: &model::view::View| {
                v.calls.values().filter(|c| c.started_at.is_none()).count() == 2
            };
            bench.wait_until("two who wait", waiting).await;
            bench.bus.with_view(|v| {
                for call in v.calls.values().filter(|c| c.started_at.is_none()) {
                    let why = call.waits_for.as_deref().expect("what it waits for");
                    assert_eq!(
                        why,
                        "slot of bundled/lab, held by lab_thing.long (ApplyResourceChange)"
                    );
                }
                let holder = v.calls.values().find(|c| c.started_at.is_some());
                let holder = holder.expect("who holds it");
                assert_eq!((holder.slot, holder.slots), (Some(1), 1));
            });
        }
    );
    assert_eq!(all.0.expect("answered").diagnostics, []);
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_05_view_tells_size_use_blocker_and_queue_of_the_pool() {
    let bench = Bench::new(1);
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let long = slow(&*lab, "long", 1_500);
    let all = tokio::join!(
        create(&*lab, long, "lab_thing.long", &bench.ctx),
        async {
            bench.until_runs("lab_thing.long").await;
            tokio::join!(make(&bench, &*lab, "b"), make(&bench, &*lab, "c"))
        },
        async {
            let waits = |v: &model::view::View| {
                let behind = v.calls.values().filter(|c| c.blocker.is_some());
                behind.count() == 2
            };
            bench.wait_until("two who wait", waits).await;
            bench.bus.with_view(|v| {
                assert_eq!(v.slots(), (1, 1));
                let blocker = v.longest_blocker().expect("a call that holds the slot");
                assert_eq!(blocker.resource.as_deref(), Some("lab_thing.long"));
                assert_eq!(blocker.method.to_string(), "ApplyResourceChange");
                assert!(blocker.started_at >= Some(blocker.queued_at));
                let waiting = v.calls.values().filter(|c| c.started_at.is_none());
                for call in waiting {
                    assert_eq!(call.blocker, Some(blocker.call));
                }
            });
        }
    );
    assert_eq!(all.0.expect("answered").diagnostics, []);
    // An empty queue rules the pool out as the cause of a delay.
    bench.wait_until("no call", |v| v.calls.is_empty()).await;
    bench
        .bus
        .with_view(|v| assert!(v.longest_blocker().is_none()));
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_09_schema_comes_from_the_process_and_from_nowhere_else() {
    let bench = Bench::new(1);
    bench.declare("lab").await;
    bench.declare("broken").await;
    // A declared provider that does not start has no schema at all.
    let broken = "flightdeck.internal/bundled/broken";
    assert!(bench.pool.unconfigured(broken, &bench.ctx).await.is_err());
    assert_eq!(bench.all_pids(), Vec::<u32>::new());
    let lab = bench.configured_lab(json!({})).await;
    assert_eq!(bench.all_pids().len(), 1, "a process was asked");
    let schema = lab.known_schema().expect("the answer of the process");
    assert!(schema.resources.get("lab_thing").is_some());
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_06_declared_file_is_the_one_that_is_executed() {
    let bench = Bench::new(1);
    let id = bench.declare_script().await;
    let mark = bench.folder.path().join("executed");
    bench.script(&format!("echo $0 >> '{}'", mark.display()));
    bench.pool.unconfigured(LAB, &bench.ctx).await.expect("up");
    let executed = std::fs::read_to_string(&mark).expect("it left a mark");
    let declared = bench.folder.path().join("provider").display().to_string();
    assert_eq!(executed.trim(), declared);
    // Another file declared for the same address is executed.
    let other = bench.folder.path().join("other");
    std::fs::copy(bench.folder.path().join("provider"), &other).expect("copied");
    let spec = SpawnSpec {
        executable: other.clone(),
        ..SpawnSpec::default()
    };
    let other = other.display().to_string();
    let again = bench
        .pool
        .declare(found(LAB, &other), Start::Spawn(spec))
        .await;
    assert_eq!(again, id);
    bench.pool.unconfigured(LAB, &bench.ctx).await.expect("up");
    let executed = std::fs::read_to_string(&mark).expect("marks");
    assert_eq!(executed.lines().collect::<Vec<_>>(), [declared, other]);
    assert_eq!(bench.all_pids().len(), 1);
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_trap_1_waiting_call_can_be_cancelled_and_others_keep_their_places() {
    let bench = Bench::new(1);
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let cancel = CancellationToken::new();
    let impatient = CallContext {
        cancel: cancel.clone(),
        ..CallContext::default()
    };
    let waits = |name: &'static str| {
        move |v: &model::view::View| {
            let of = |c: &&model::view::CallView| c.resource.as_deref() == Some(name);
            v.calls
                .values()
                .find(of)
                .is_some_and(|c| c.started_at.is_none())
        }
    };
    let (long, given_up, patient) = tokio::join!(
        create(
            &*lab,
            slow(&*lab, "long", 2_000),
            "lab_thing.long",
            &bench.ctx
        ),
        async {
            bench.until_runs("lab_thing.long").await;
            let config = thing(&*lab, "impatient", json!(null));
            create(&*lab, config, "lab_thing.impatient", &impatient).await
        },
        async {
            bench
                .wait_until("who gives up", waits("lab_thing.impatient"))
                .await;
            let config = thing(&*lab, "patient", json!(null));
            tokio::join!(
                create(&*lab, config, "lab_thing.patient", &bench.ctx),
                async {
                    bench
                        .wait_until("who waits", waits("lab_thing.patient"))
                        .await;
                    cancel.cancel();
                }
            )
            .0
        }
    );
    assert_eq!(long.expect("answered").diagnostics, []);
    assert!(matches!(
        given_up,
        Err(ProviderError::Cancelled { sent: false, .. })
    ));
    assert_eq!(patient.expect("answered").diagnostics, []);
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_trap_2_zero_slots_and_processes_mean_one() {
    let bench = Bench::with_limits(0, up_to(0));
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    make(&bench, &*lab, "a").await;
    assert_eq!(bench.all_pids().len(), 1);
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_trap_4_concurrent_requests_launch_each_configuration_once() {
    let bench = Bench::new(4);
    bench.declare("lab").await;
    let ask = |n: usize| {
        let bench = &bench;
        async move {
            let (key, region) = (format!("provider.lab.r{}", n % 3), format!("r{}", n % 3));
            let lab = bench
                .lab_with_configuration(&key, json!({"region": region}))
                .await
                .0;
            lab.info().plugin.clone()
        }
    };
    // Configure each of them once before the parallel requests.
    for n in 0..3 {
        ask(n).await;
    }
    let mut ids = join_all((0..48).map(ask)).await;
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    assert_eq!(bench.all_pids().len(), 3);
    assert_eq!(count(&bench, "ConfigureProvider"), 3);
    let launches = bench
        .bus
        .with_view(|v| v.plugins.values().map(|p| p.attempts.len()).sum::<usize>());
    assert_eq!(launches, 3);
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_trap_5_killed_provider_is_replaced_for_the_next_call() {
    let bench = Bench::new(1);
    let id = bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let dead = bench.plugin(&id).pid.expect("it runs");
    let pid = rustix::process::Pid::from_raw(i32::try_from(dead).expect("fits")).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    bench
        .wait_until("its death", |v| v.plugins[&id].crashes.len() == 1)
        .await;
    make(&bench, &*lab, "a").await;
    assert_ne!(bench.plugin(&id).pid, Some(dead));
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_trap_6_process_never_has_two_configurations() {
    let bench = Bench::with_limits(1, up_to(2));
    bench.declare("lab").await;
    let file = |name: &str| bench.folder.path().join(name);
    let config = |name: &str| json!({"region": name, "file": file(name)});
    let west = bench
        .lab_with_configuration("provider.lab.west", config("west"))
        .await
        .0;
    let east = bench
        .lab_with_configuration("provider.lab.east", config("east"))
        .await
        .0;
    let one = |lab: &std::sync::Arc<dyn Provider>, name: &'static str| {
        let (lab, bench) = (lab.clone(), &bench);
        async move {
            let address = format!("lab_thing.{name}");
            create(&*lab, slow(&*lab, name, 1_500), &address, &bench.ctx).await
        }
    };
    // Two calls at a time for each configuration start a second process for each.
    let made = tokio::join!(
        one(&west, "w1"),
        one(&east, "e1"),
        one(&west, "w2"),
        one(&east, "e2")
    );
    for made in [made.0, made.1, made.2, made.3] {
        assert_eq!(made.expect("answered").diagnostics, []);
    }
    let kept = |name: &str| std::fs::read_to_string(file(name)).expect("the configured file");
    for (name, own, others) in [("west", "w", "e"), ("east", "e", "w")] {
        for n in [1, 2] {
            assert!(kept(name).contains(&format!("\"{own}{n}\"")), "{name}");
            assert!(!kept(name).contains(&format!("\"{others}{n}\"")), "{name}");
        }
    }
    assert_eq!(bench.all_pids().len(), 4);
    bench.pool.shutdown().await;
    assert_eq!(bench.all_pids(), Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_trap_7_schema_is_fetched_once() {
    let bench = Bench::with_limits(1, up_to(2));
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let asked = count(&bench, "GetProviderSchema");
    for n in 0..20 {
        make(&bench, &*lab, &format!("n{n}")).await;
    }
    assert_eq!(count(&bench, "ApplyResourceChange"), 20);
    assert_eq!(count(&bench, "GetProviderSchema"), asked);
    assert!(asked <= 1);
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_trap_8_update_is_a_plan_and_an_apply_without_a_read() {
    let bench = Bench::new(1);
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let config = thing(&*lab, "a", json!(null));
    let made = create(&*lab, config, "lab_thing.a", &bench.ctx).await;
    let made = made.expect("answered");
    let prior = made.new_state.expect("a state");
    let mut changed = prior.as_map().map(cty::Members::to_map).expect("an object");
    changed.insert("comment".into(), Value::string("changed"));
    let changed = Value::object_from_map(changed);
    let plan = PlanRequest {
        type_name: "lab_thing".into(),
        prior: prior.clone(),
        proposed: changed.clone(),
        config: changed.clone(),
        prior_private: made.private,
        prior_identity: None,
    };
    let plan = lab.plan(plan, &bench.ctx).await.expect("answered");
    assert_eq!(
        (&plan.diagnostics[..], plan.requires_replace.len()),
        (&[][..], 0)
    );
    let request = ApplyRequest {
        type_name: "lab_thing".into(),
        prior,
        planned: plan.planned,
        config: changed,
        private: plan.private,
        planned_identity: None,
    };
    let updated = lab.apply(request, &bench.ctx).await.expect("answered");
    assert_eq!(updated.diagnostics, []);
    let counts = ["PlanResourceChange", "ApplyResourceChange", "ReadResource"];
    assert_eq!(counts.map(|method| count(&bench, method)), [2, 2, 0]);
    bench.pool.shutdown().await;
}
