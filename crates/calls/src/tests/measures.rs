//! Measurements of calls: counting and reported latencies.

use super::*;

#[tokio::test(start_paused = true)]
async fn call_statistics_cover_the_last_thousand_calls() {
    let bus = Bus::default();
    let calls = Calls::new(Arc::new(bus.clone()), Deadlines::default(), Vec::new());
    let plugin = PluginId("p".into());
    let (lane, ctx) = (calls.lane(&plugin, 1), CallContext::default());
    let bad = || Checked {
        diagnostics: vec![ProviderDiagnostic::error("no", "")],
    };
    for n in 0..3_000 {
        let answer = if n < 1_500 { bad() } else { Checked::default() };
        lane.run(Method::Plan, &ctx, async { Ok(answer) })
            .await
            .expect("answered");
    }
    lane.run(Method::Read, &ctx, async { Ok(bad()) })
        .await
        .expect("answered");
    let gone = CancellationToken::new();
    gone.cancel();
    lane.run::<Checked, _>(
        Method::Import,
        &CallContext::general(&gone),
        std::future::pending(),
    )
    .await
    .expect_err("cancelled");
    let seen = bus.view().latencies.remove(&plugin).expect("measured");
    let count = |l: &Latency| (l.count, l.errors);
    assert_eq!(
        count(&seen.methods["PlanResourceChange"]),
        (1_000, 0),
        "what failed long ago is over"
    );
    assert_eq!(count(&seen.methods["ReadResource"]), (1, 1));
    assert!(
        !seen.methods["ReadResource"].is_known(),
        "nobody knows how long one takes that goes well"
    );
    assert_eq!(count(&seen.all), (1_000, 1));
    assert!(
        !seen.methods.contains_key("ImportResourceState"),
        "what was never sent took no time"
    );
}

#[tokio::test(start_paused = true)]
async fn error_answers_count_as_errors_and_latency_is_kept_per_kind() {
    let ear = Arc::new(Ear::default());
    let plugin = PluginId("p".into());
    let past = Latency {
        count: 9,
        errors: 1,
        p50_ms: 500,
        p95_ms: 800,
        max_ms: 900,
    };
    let stat = |method: &str, resource_type: &str, action| CallStat {
        plugin: plugin.clone(),
        method: method.into(),
        resource_type: resource_type.into(),
        action,
        latency: past,
    };
    let history = vec![
        stat("ReadResource", "lab_bucket", None),
        stat("ApplyResourceChange", "lab_bucket", Some(Action::Create)),
    ];
    let calls = Calls::new(ear.clone(), Deadlines::default(), history);
    // Another process of the same plugin shares the history.
    let lane = calls.lane(&PluginId("p#2".into()), 1);
    let ctx = CallContext {
        resource: Some("module.a[\"x.y\"].lab_bucket.logs[0] (deposed ab)".into()),
        ..Default::default()
    };
    let read = |resource_type: &str| Kind {
        method: Method::Read,
        resource_type: resource_type.into(),
        action: None,
    };
    let usual = lane
        .usual_latency(&read("lab_bucket"))
        .expect("known from history");
    assert!(
        usual.p50_ms.abs_diff(500) <= 31 && usual.count == 9,
        "{usual:?}"
    );
    // It says nothing about other types and other actions.
    assert_eq!(lane.usual_latency(&read("lab_database")), None);
    assert_eq!(
        lane.usual_latency(&Kind::apply("lab_bucket", Action::Destroy)),
        None
    );
    assert!(
        lane.usual_latency(&Kind::apply("lab_bucket", Action::Create))
            .is_some()
    );
    let bad = Checked {
        diagnostics: vec![ProviderDiagnostic::error("no", "")],
    };
    lane.run(Method::Plan, &ctx, async { Ok(bad) })
        .await
        .expect("an answer all the same");
    lane.run(Method::Plan, &ctx, async { fine() })
        .await
        .expect("answered");
    let planned = lane.usual_latency(&Kind {
        method: Method::Plan,
        resource_type: "lab_bucket".into(),
        action: None,
    });
    let planned = planned.expect("known from this run");
    assert_eq!((planned.count, planned.errors), (2, 1));
    assert_eq!(
        *lock(&ear.heard),
        ["1 in slot 1 of 1", "1 Error", "2 in slot 1 of 1", "2 Ok"]
    );
}
