//! Tests of providers through the pool, without failures.

use crate::test_pool::*;
use calls::Answer as _;
use cty::{Type, Value};
use model::*;
use provider::*;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn s1_08_object_is_created_read_updated_and_destroyed() {
    let bench = Bench::new(10);
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    assert_eq!(lab.info().dialect, "tfplugin6");
    let config = thing(&*lab, "one", json!(null));
    let checked = lab
        .validate_resource("lab_thing", config.clone(), &bench.ctx)
        .await
        .expect("answered");
    assert_eq!(checked.diagnostics, []);
    let made = create(&*lab, config.clone(), "lab_thing.one", &bench.ctx)
        .await
        .expect("applied");
    assert_eq!(made.diagnostics, []);
    let state = made.new_state.expect("a state");
    assert!(state.is_wholly_known() && attr(&state, "revision") == Value::int(1));

    // Encode the state as a state file has it, upgrade it, and read it again.
    let ty = lab.known_schema().expect("known").resources["lab_thing"]
        .implied_type()
        .clone();
    let raw = cty::json::encode(&state, &ty).expect("encodes");
    let request = UpgradeRequest {
        type_name: "lab_thing".into(),
        version: 0,
        raw_json: raw.into_bytes().into(),
    };
    let upgraded = lab.upgrade(request, &bench.ctx).await.expect("answered");
    assert_eq!(
        (upgraded.state.clone(), upgraded.diagnostics),
        (state.clone(), vec![])
    );
    let request = ReadRequest {
        type_name: "lab_thing".into(),
        current: state.clone(),
        private: made.private.clone(),
        identity: None,
    };
    let read = lab
        .read(request.clone(), &bench.ctx)
        .await
        .expect("answered");
    assert_eq!(read.state, state);

    // The plan names the attributes that force a replacement.
    let mut changed = state.as_map().map(cty::Members::to_map).expect("an object");
    changed.insert(
        "triggers".into(),
        Value::map(Type::String, [("a", Value::string("b"))]),
    );
    let changed = Value::object_from_map(changed);
    let plan = PlanRequest {
        type_name: "lab_thing".into(),
        prior: state.clone(),
        proposed: changed.clone(),
        config: changed,
        prior_private: made.private.clone(),
        prior_identity: None,
    };
    let plan = lab.plan(plan, &bench.ctx).await.expect("answered");
    assert_eq!(plan.requires_replace.first(), at("triggers").as_ref());

    let gone = Value::null(state.ty().clone());
    let request = ApplyRequest {
        type_name: "lab_thing".into(),
        prior: state,
        planned: gone.clone(),
        config: gone.clone(),
        private: made.private,
        planned_identity: None,
    };
    let removed = lab.apply(request, &bench.ctx).await.expect("answered");
    assert_eq!(
        (removed.new_state, removed.diagnostics),
        (Some(gone), vec![])
    );
    assert!(
        lab.read(request_of(&read), &bench.ctx)
            .await
            .expect("answered")
            .state
            .is_null()
    );

    // Each of them was a visible call.
    let view = bench.bus.view();
    let count = |method: &str| {
        view.latencies
            .values()
            .filter_map(|l| l.methods.get(method))
            .map(|l| l.count)
            .sum::<u64>()
    };
    assert_eq!(
        count("GetResourceIdentitySchemas"),
        1,
        "what belongs to coming up is seen too"
    );
    assert_eq!(
        (
            count("ApplyResourceChange"),
            count("ReadResource"),
            count("ConfigureProvider")
        ),
        (2, 2, 1)
    );
    assert_eq!(bench.bus.with_view(|v| v.calls.len()), 0);
    bench.pool.shutdown().await;
    assert_eq!(bench.pids(), Vec::<u32>::new());
}

fn request_of(read: &ReadResponse) -> ReadRequest {
    ReadRequest {
        type_name: "lab_thing".into(),
        current: read.state.clone(),
        private: read.private.clone(),
        identity: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_reported_with_its_path() {
    let bench = Bench::new(10);
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let schema = lab.known_schema().expect("known");
    let config = complete_value(
        &schema.resources["lab_server"].block,
        &json!({"name": "web", "image": "debian", "size": "gigantic"}),
    );
    let checked = lab
        .validate_resource("lab_server", config, &bench.ctx)
        .await
        .expect("answered");
    let error = checked.first_error().expect("an error");
    assert_eq!(
        (error.severity, error.path.clone()),
        (Severity::Error, at("size"))
    );
    let error = lab
        .validate_resource("lab_serverr", Value::empty_object(), &bench.ctx)
        .await
        .expect_err("there is no such type");
    assert_eq!(
        error.to_string(),
        "bundled/lab has no resource type \"lab_serverr\""
    );
    assert_eq!(error.class(), FailureClass::BadInput);
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_configuration_has_a_process_and_the_first_serves_unconfigured_calls() {
    let bench = Bench::new(10);
    bench.declare("lab").await;
    let west = json!({"region": "west", "file": bench.folder.path().join("w.json")});
    let east = json!({"region": "east", "file": bench.folder.path().join("e.json")});
    let (a, done) = bench
        .lab_with_configuration("provider.lab.west", west.clone())
        .await;
    assert!(!done);
    let (b, done) = bench
        .lab_with_configuration("provider.lab.east", east)
        .await;
    assert!(!done);
    let plain = bench.pool.unconfigured(LAB, &bench.ctx).await.expect("up");
    let ids = [&a, &b, &plain].map(|p| p.info().plugin.to_string());
    assert_eq!(ids, ["bundled/lab", "bundled/lab#2", "bundled/lab"]);
    assert_eq!(bench.pids().len(), 2);
    // All processes of an executable share one schema.
    let schemas = [&a, &b].map(|p| p.known_schema().expect("known"));
    assert!(std::sync::Arc::ptr_eq(&schemas[0], &schemas[1]));
    // The same configuration uses the existing process.
    let pids = bench.pids();
    let (_, done) = bench
        .lab_with_configuration("provider.lab.west", west)
        .await;
    assert!(done);
    assert_eq!(bench.pids(), pids);
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_configuration_gets_a_new_process_after_running_calls() {
    let bench = Bench::new(10);
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({"region": "one"})).await;
    let before = bench.pids();
    let slow = thing(&*lab, "slow", json!({"kind": "latency", "ms": 1_000}));
    let (slow, fresh) = tokio::join!(create(&*lab, slow, "lab_thing.slow", &bench.ctx), async {
        bench.until_runs("lab_thing.slow").await;
        bench
            .lab_with_configuration("provider.lab", json!({"region": "two"}))
            .await
    });
    let slow = slow.expect("answered by the process that it was sent to");
    assert_eq!(slow.diagnostics, []);
    assert!(!fresh.1);
    let after = bench.pids();
    assert_eq!(after.len(), 1);
    assert_ne!(before, after);
    // An earlier handle uses the new process.
    let config = thing(&*lab, "later", json!(null));
    assert_eq!(
        create(&*lab, config, "lab_thing.later", &bench.ctx)
            .await
            .expect("answered")
            .diagnostics,
        []
    );
    bench.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_14_slots_belong_to_a_process_and_waiting_calls_name_it() {
    let bench = Bench::new(1);
    bench.declare("lab").await;
    let lab = bench.configured_lab(json!({})).await;
    let (_, mut events) = bench.bus.subscribe();
    let slow = thing(&*lab, "slow", json!({"kind": "latency", "ms": 1_000}));
    let quick = thing(&*lab, "quick", json!(null));
    let (a, b) = tokio::join!(create(&*lab, slow, "lab_thing.slow", &bench.ctx), async {
        bench.until_runs("lab_thing.slow").await;
        create(&*lab, quick, "lab_thing.quick", &bench.ctx).await
    });
    a.expect("applied");
    b.expect("applied");
    let Some(model::bus::Update::Events(events)) = events.recv().await else {
        panic!("events")
    };
    let queued = events.iter().find_map(|e| {
        if let EventKind::CallQueued(q) = &e.kind {
            Some(q.clone())
        } else {
            None
        }
    });
    let queued = queued.expect("the second one had to wait");
    assert_eq!(queued.resource.as_deref(), Some("lab_thing.quick"));
    assert_eq!(
        queued.waits_for,
        "slot of bundled/lab, held by lab_thing.slow (ApplyResourceChange)"
    );
    bench.pool.shutdown().await;
}

#[tokio::test]
async fn built_in_provider_needs_no_process() {
    let bench = Bench::new(10);
    let (builtin, done) = bench
        .pool
        .configured(
            dependency::BUILTIN_PROVIDER,
            "provider.terraform",
            &Value::empty_object(),
            &bench.ctx,
        )
        .await
        .expect("there");
    assert!(done);
    assert!(
        builtin
            .known_schema()
            .expect("known")
            .resources
            .get("terraform_data")
            .is_some()
    );
    let seen = bench.bus.with_view(|v| {
        v.plugins
            .values()
            .map(|p| (p.id.to_string(), p.state.label()))
            .collect::<Vec<_>>()
    });
    assert_eq!(seen, [("builtin/terraform".to_owned(), "ready")]);
    assert_eq!(bench.pids(), Vec::<u32>::new());
}
