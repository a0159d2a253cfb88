//! Cancelled calls: by a deadline, by the caller, by dropping the caller.

use super::*;

#[tokio::test(start_paused = true)]
async fn aborted_caller_releases_its_slot_or_queue_position() {
    let bench = Bench::new(1);
    let (_end1, task1) = bench.begin(Method::Read, "a").await;
    let (_end2, task2) = bench.begin(Method::Read, "b").await;
    let (end3, task3) = bench.begin(Method::Read, "c").await;
    bench.heard();
    // The second call is in line, the first holds the slot.
    task2.abort();
    task1.abort();
    settle().await;
    end3.send(fine()).expect("has its turn");
    task3.await.expect("ran").expect("answered");
    let heard = bench.heard();
    assert_eq!(heard[..2], ["2 Cancelled", "1 Cancelled"]);
    assert_eq!(heard[2..], ["3 in slot 1 of 1", "3 Ok"]);
}

#[tokio::test(start_paused = true)]
async fn deadline_counts_from_the_start_of_the_call() {
    let bench = Bench::new(1);
    let began = tokio::time::Instant::now();
    let ctx = CallContext {
        deadline: Some(Duration::from_millis(50)),
        ..bench.ctx("a")
    };
    let (first, second) = tokio::join!(
        bench
            .lane
            .run::<Checked, _>(Method::Read, &ctx, std::future::pending()),
        bench
            .lane
            .run::<Checked, _>(Method::Read, &ctx, std::future::pending()),
    );
    assert!(
        began.elapsed() >= Duration::from_millis(100),
        "the second one's time began with its turn"
    );
    for error in [first, second].map(|r| r.expect_err("too late")) {
        assert_eq!(
            error.to_string(),
            "hashicorp/aws did not answer ReadResource within 50 ms; check the plugin's log, and its connection to the target system"
        );
        assert!(error.may_have_changed_infrastructure());
        assert_eq!(error.class(), FailureClass::Deadline);
    }
    assert_eq!(
        bench.heard()[2..],
        ["1 Deadline", "2 in slot 1 of 1", "2 Deadline"]
    );
}

#[tokio::test(start_paused = true)]
async fn call_that_is_given_up_ends_with_an_unknown_outcome() {
    let ear = Arc::new(Ear::default());
    let calls = Calls::new(ear.clone(), Deadlines::default(), Vec::new());
    let lane = calls.lane(&PluginId("hashicorp/aws".into()), 2);
    let (ctx, tasks) = (CallContext::default(), TaskTracker::new());
    let wait = |method| {
        let (lane, ctx) = (lane.clone(), ctx.clone());
        tasks.spawn(async move {
            lane.run::<Checked, _>(method, &ctx, std::future::pending())
                .await
        })
    };
    let (given_up, other) = (wait(Method::Apply), wait(Method::Apply));
    settle().await;
    assert!(calls.give_up(1));
    let error = given_up.await.expect("ran").expect_err("given up");
    assert_eq!(
        error.to_string(),
        "the operator stopped waiting for ApplyResourceChange of hashicorp/aws after 20 ms; the plugin may still work on it"
    );
    assert!(error.may_have_changed_infrastructure());
    assert_eq!(lock(&ear.heard)[2..], ["1 Cancelled"]);
    // Its end removes it, as an answer does.
    assert!(!calls.give_up(1) && !calls.give_up(7));
    assert!(!other.is_finished());
    other.abort();
    settle().await;
    assert!(!calls.give_up(2));
}

#[tokio::test(start_paused = true)]
async fn methods_have_own_deadlines_and_apply_has_none() {
    assert_eq!(
        Deadlines::default().get(Method::ValidateResource),
        Some(Duration::from_secs(60))
    );
    assert_eq!(Deadlines::default().get(Method::Apply), None);
    let calls = Calls::new(Arc::new(Ear::default()), Deadlines::default(), Vec::new());
    let lane = calls.lane(&PluginId("p".into()), 2);
    let mut short = Deadlines::default();
    Method::ALL
        .into_iter()
        .filter(|m| *m != Method::Apply)
        .for_each(|m| short.set(m, Some(Duration::from_millis(20))));
    calls.set_deadlines(short);
    let ctx = CallContext::default();
    let error = lane
        .run::<Checked, _>(Method::Plan, &ctx, std::future::pending())
        .await
        .expect_err("too late");
    assert!(matches!(error, ProviderError::Deadline { .. }));
    let apply = lane.run::<Checked, _>(Method::Apply, &ctx, std::future::pending());
    assert!(
        tokio::time::timeout(Duration::from_millis(200), apply)
            .await
            .is_err(),
        "an apply is waited for"
    );
}

#[tokio::test(start_paused = true)]
async fn cancellation_drops_a_read_but_not_an_apply() {
    let bench = Bench::new(2);
    let (_end, read) = bench.begin(Method::Read, "a").await;
    let (end, apply) = bench.begin(Method::Apply, "b").await;
    bench.cancel.cancel();
    let error = read.await.expect("ran").expect_err("cancelled");
    assert!(
        matches!(error, ProviderError::Cancelled { sent: true, .. }),
        "{error}"
    );
    settle().await;
    assert!(!apply.is_finished());
    end.send(fine()).expect("still waited for");
    apply.await.expect("ran").expect("its answer is heard");
}

#[tokio::test(start_paused = true)]
async fn stop_is_sent_while_all_slots_are_in_use() {
    let bench = Bench::new(1);
    let (_end, _task) = bench.begin(Method::Apply, "a").await;
    bench.heard();
    bench
        .lane
        .run_without_slot(Method::Stop, &CallContext::default(), async { fine() })
        .await
        .expect("answered");
    assert_eq!(bench.heard(), ["2 in slot 0 of 1", "2 Ok"]);
}

#[tokio::test(start_paused = true)]
async fn waiter_times_out_only_when_the_queue_does_not_advance() {
    let bench = Bench::new(1);
    let hour = Duration::from_secs(3_600);
    let (end1, _task1) = bench.begin(Method::Apply, "a").await;
    let (end2, _task2) = bench.begin(Method::Apply, "b").await;
    let (_end3, task3) = bench.begin(Method::Apply, "c").await;
    // Each of them takes most of an hour, so the third waits for more than one hour.
    tokio::time::sleep(hour * 9 / 10).await;
    end1.send(fine()).expect("waits");
    tokio::time::sleep(hour * 9 / 10).await;
    end2.send(fine()).expect("waits");
    settle().await;
    bench.heard();
    assert!(!task3.is_finished(), "it has its turn, and no deadline");
    let (_end4, task4) = bench.begin(Method::Plan, "d").await;
    assert_eq!(bench.heard(), ["4 waits for 3"]);
    let waits = tokio::time::Instant::now();
    let error = task4.await.expect("ran").expect_err("the line stands");
    assert_eq!((waits.elapsed() + REPORT_AFTER * 2).as_secs(), 3_600);
    assert!(!error.may_have_changed_infrastructure());
    assert_eq!(error.class(), FailureClass::Deadline);
    assert_eq!(
        error.to_string(),
        "PlanResourceChange was not sent: all slots of hashicorp/aws are held and none became free within 3600 s (held longest: c (ApplyResourceChange), for 3600.0 s); end the calls that hold them, or raise FLIGHTDECK_WAIT_S"
    );
    assert_eq!(bench.heard(), ["4 Deadline"]);
    assert!(!task3.is_finished(), "it keeps its slot");
}

#[tokio::test]
async fn queued_call_is_sent_before_the_previous_answer_is_processed() {
    let bench = Bench::new(1);
    let asked = Arc::new(AtomicUsize::new(0));
    let (end, ended) = oneshot::channel::<Answered>();
    let (lane, ctx, seen) = (bench.lane.clone(), bench.ctx("a"), asked.clone());
    let first = bench.tasks.spawn(async move {
        let answer = lane.run(Method::Plan, &ctx, async { ended.await.expect("told") });
        assert!(answer.await.is_ok());
        seen.load(Ordering::SeqCst)
    });
    at_once().await;
    let (lane, ctx, asks) = (bench.lane.clone(), bench.ctx("b"), asked.clone());
    let second = bench.tasks.spawn(async move {
        let call = async {
            asks.fetch_add(1, Ordering::SeqCst);
            fine()
        };
        lane.run(Method::Plan, &ctx, call).await
    });
    at_once().await;
    assert_eq!(asked.load(Ordering::SeqCst), 0, "the slot is held");
    end.send(fine()).expect("waited for");
    assert_eq!(first.await.expect("ended"), 1);
    assert!(second.await.expect("ended").is_ok());
}
