//! Tests of providers that crash, hang, fail to start or are stopped.

use crate::test_pool::*;
use calls::{CallContext, ProviderError};
use cty::Value;
use model::*;
use plugin::{SpawnSpec, Start};
use provider::*;
use serde_json::json;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn one_crash_is_one_incident_for_all_its_calls_and_later_calls_succeed() {
    let bench = Bench::new(10);
    bench.declare("lab").await;
    // Only the configuration names the file: an unconfigured process would not find it.
    let lab = bench
        .configured_lab(json!({"file": bench.folder.path().join("only.json")}))
        .await;
    let hang = thing(&*lab, "hanging", json!({"kind": "hang"}));
    let crash = thing(
        &*lab,
        "crashing",
        json!({"kind": "crash", "text": "index out of range [3] with length 3"}),
    );
    let (hung, crashed) = tokio::join!(
        create(&*lab, hang, "lab_thing.hanging", &bench.ctx),
        async {
            bench.until_runs("lab_thing.hanging").await;
            create(&*lab, crash, "lab_thing.crashing", &bench.ctx).await
        }
    );
    let errors = [hung.expect_err("taken down"), crashed.expect_err("crashed")];
    let incident = errors[0].incident().expect("an incident").to_owned();
    for error in &errors {
        assert_eq!(error.incident(), Some(incident.as_str()));
        assert_eq!(
            (error.class(), error.outcome()),
            (FailureClass::PluginCrashed, CallOutcome::Crashed)
        );
        assert!(error.may_have_changed_infrastructure());
        assert!(
            error
                .to_string()
                .contains("index out of range [3] with length 3"),
            "{error}"
        );
    }
    let view = bench.bus.view();
    assert_eq!(
        view.incidents
            .iter()
            .map(|i| i.incident.as_str())
            .collect::<Vec<_>>(),
        [incident.as_str()]
    );
    // The same handle uses another process with the same configuration.
    let config = thing(&*lab, "after", json!(null));
    let made = create(&*lab, config, "lab_thing.after", &bench.ctx)
        .await
        .expect("answered");
    assert_eq!(made.diagnostics, []);
    let kept = std::fs::read_to_string(bench.folder.path().join("only.json"))
        .expect("the configured file");
    assert!(kept.contains("after"));
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_to_a_plugin_that_gave_up_are_refused_and_others_continue() {
    let bench = Bench::new(10);
    let broken = bench.declare("broken").await;
    bench.declare("lab").await;
    let error = bench
        .pool
        .unconfigured("flightdeck.internal/bundled/broken", &bench.ctx)
        .await
        .err()
        .expect("it never comes up");
    let ProviderError::Blocked { state, why, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(state, "was given up after 5 launches");
    assert!(why.contains("assignment to entry in nil map"), "{why}");
    assert!(!error.may_have_changed_infrastructure());
    let blocked = bench.pool.blocked();
    assert_eq!(blocked.len(), 1);
    assert_eq!(blocked[0].plugin, broken);
    assert!(matches!(blocked[0].state, PluginState::GaveUp { .. }));
    // Another request does not launch it again.
    let again = bench
        .pool
        .unconfigured("flightdeck.internal/bundled/broken", &bench.ctx)
        .await
        .err()
        .expect("still given up");
    assert_eq!(again.to_string(), error.to_string());
    bench.configured_lab(json!({})).await;
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_plugin_is_waited_for() {
    let bench = Bench::new(10);
    bench.declare("slowstart").await;
    let provider = bench
        .pool
        .unconfigured("flightdeck.internal/bundled/slowstart", &bench.ctx)
        .await
        .expect("up at its third launch");
    assert!(provider.known_schema().is_some());
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unavailable_and_unknown_plugins_are_refused() {
    let bench = Bench::new(10);
    bench
        .pool
        .declare_rejected(
            found("registry.terraform.io/hashicorp/nope", ""),
            "no mirror has it",
        )
        .await;
    let error = bench
        .pool
        .unconfigured("registry.terraform.io/hashicorp/nope", &bench.ctx)
        .await
        .err()
        .expect("rejected");
    assert_eq!(
        error.to_string(),
        "hashicorp/nope is not available: no mirror has it"
    );
    let spec = SpawnSpec {
        executable: "/nonexistent/terraform-provider-x".into(),
        ..Default::default()
    };
    bench
        .pool
        .declare(
            found("example.com/a/x", "/nonexistent/terraform-provider-x"),
            Start::Spawn(spec),
        )
        .await;
    let error = bench
        .pool
        .unconfigured("example.com/a/x", &bench.ctx)
        .await
        .err()
        .expect("not there");
    assert!(
        error
            .to_string()
            .starts_with("example.com/a/x is incompatible: "),
        "{error}"
    );
    let error = bench
        .pool
        .unconfigured("example.com/never/heard", &bench.ctx)
        .await
        .err()
        .expect("unknown");
    assert!(matches!(error, ProviderError::Blocked { .. }));
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_leaves_an_unknown_outcome_and_stop_is_sent_to_running_processes() {
    let bench = Bench::new(10);
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    assert_eq!(bench.pool.stop_all(&bench.ctx).await, []);
    let stops = bench
        .bus
        .view()
        .latencies
        .into_values()
        .find_map(|l| l.methods.get("StopProvider").copied())
        .expect("asked");
    assert_eq!(stops.count, 1);
    let hang = thing(&*lab, "hanging", json!({"kind": "hang"}));
    let (hung, ()) = tokio::join!(
        create(&*lab, hang, "lab_thing.hanging", &bench.ctx),
        async {
            bench.until_runs("lab_thing.hanging").await;
            bench.pool.kill_all().await;
        }
    );
    let error = hung.expect_err("killed");
    assert_eq!(
        error.to_string(),
        "bundled/lab was stopped during ApplyResourceChange"
    );
    assert!(error.may_have_changed_infrastructure() && error.class() == FailureClass::Cancelled);
    assert_eq!(bench.pids(), Vec::<u32>::new());
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deadline_ends_a_hanging_call_and_frees_its_slot() {
    let bench = Bench::new(1);
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let state = create(
        &*lab,
        thing(&*lab, "x", json!({"kind": "hang", "on": "read"})),
        "lab_thing.x",
        &bench.ctx,
    )
    .await
    .expect("applied");
    let state = state.new_state.expect("a state");
    let ctx = CallContext {
        deadline: Some(Duration::from_millis(300)),
        ..bench.ctx.clone()
    };
    let request = ReadRequest {
        type_name: "lab_thing".into(),
        current: state,
        private: Bytes::new(),
        identity: None,
    };
    let began = Instant::now();
    match lab.read(request, &ctx).await {
        Err(error) => {
            assert_eq!(error.class(), FailureClass::Deadline);
            assert!(began.elapsed() >= Duration::from_millis(300));
        }
        Ok(answer) => panic!("the fault was meant for reads: {answer:?}"),
    }
    let config = thing(&*lab, "y", json!(null));
    create(&*lab, config, "lab_thing.y", &bench.ctx)
        .await
        .expect("there is a slot");
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn value_outside_the_schema_is_not_sent() {
    let bench = Bench::new(10);
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let wrong = Value::object([("name", Value::int(1))]);
    let error = lab
        .validate_resource("lab_thing", wrong, &bench.ctx)
        .await
        .expect_err("it does not fit");
    assert!(
        matches!(error, ProviderError::Unencodable { .. }),
        "{error}"
    );
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reattached_process_serves_one_configuration() {
    let bench = Bench::new(10);
    let address = plugin::Address::Unix(bench.folder.path().join("nobody"));
    let reattach = plugin::Reattach {
        protocol: 6,
        pid: None,
        test: true,
        address,
    };
    let address = "registry.terraform.io/hashicorp/debugged";
    bench
        .pool
        .declare(found(address, ""), Start::Attach(reattach))
        .await;
    let config = Value::empty_object();
    let nobody = bench
        .pool
        .configured(address, "provider.debugged", &config, &bench.ctx)
        .await
        .err()
        .expect("nobody listens");
    assert!(matches!(nobody, ProviderError::Blocked { .. }), "{nobody}");
    let error = bench
        .pool
        .configured(address, "provider.debugged.alias", &config, &bench.ctx)
        .await
        .err()
        .expect("refused");
    assert_eq!(
        error.to_string(),
        "hashicorp/debugged cannot be shared: a reattached process cannot serve two configurations; remove the provider aliases"
    );
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_for_a_plugin_can_be_cancelled() {
    let bench = Bench::new(10);
    let spec = SpawnSpec {
        executable: "/bin/sleep".into(),
        args: vec!["600".into()],
        ..Default::default()
    };
    bench
        .pool
        .declare(
            found("example.com/a/asleep", "/bin/sleep"),
            Start::Spawn(spec),
        )
        .await;
    let ctx = CallContext::default();
    let began = Instant::now();
    let (given_up, ()) = tokio::join!(
        bench.pool.unconfigured("example.com/a/asleep", &ctx),
        async {
            bench
                .wait_until("an attempt", |v| {
                    v.plugins.values().any(|p| !p.attempts.is_empty())
                })
                .await;
            ctx.cancel.cancel();
        }
    );
    let error = given_up.err().expect("given up");
    assert_eq!(
        (error.class(), error.may_have_changed_infrastructure()),
        (FailureClass::Cancelled, false)
    );
    bench.pool.kill_all().await;
    assert_eq!(bench.pids(), Vec::<u32>::new());
    assert!(
        began.elapsed() < Duration::from_secs(300),
        "it was waited for"
    );
    bench.pool.shutdown().await;
}
