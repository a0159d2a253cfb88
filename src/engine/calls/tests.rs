//! The order of calls, what waiters are told, deadlines and cancellation.

use super::*;
use super::{CallContext, Checked, ProviderDiagnostic, ProviderError};
use crate::engine::bus::Bus;
use crate::engine::words::*;
use std::sync::atomic::AtomicUsize;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Keeps events as short words.
#[derive(Default)]
struct Ear {
    heard: Mutex<Vec<String>>,
    secrets: Secrets,
}

impl EventSink for Ear {
    fn emit(&self, kind: EventKind) {
        let words = match kind {
            EventKind::CallQueued(q) => format!(
                "{} waits for {}",
                q.call,
                q.blocker.map_or("nobody".into(), |b| b.to_string())
            ),
            EventKind::CallStarted(s) => format!("{} in slot {} of {}", s.call, s.slot, s.slots),
            EventKind::CallFinished(f) => format!("{} {:?}", f.call, f.outcome),
            other => format!("{other:?}"),
        };
        lock(&self.heard).push(words);
    }

    fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }
}

struct Bench {
    ear: Arc<Ear>,
    lane: Arc<Lane>,
    tasks: TaskTracker,
    cancel: CancellationToken,
}

type Answered = Result<Checked, ProviderError>;

impl Bench {
    fn new(slots: u32) -> Self {
        let ear = Arc::new(Ear::default());
        let calls = Calls::new(ear.clone(), Deadlines::default(), Vec::new());
        let lane = calls.lane(&PluginId("hashicorp/aws".to_owned()), slots);
        Self {
            ear,
            lane,
            tasks: TaskTracker::new(),
            cancel: CancellationToken::new(),
        }
    }

    fn ctx(&self, resource: &str) -> CallContext {
        CallContext::of(resource, &self.cancel)
    }

    /// Starts a call that ends when it is told to.
    async fn begin(
        &self,
        method: Method,
        resource: &str,
    ) -> (oneshot::Sender<Answered>, tokio::task::JoinHandle<Answered>) {
        let (end, ended) = oneshot::channel::<Answered>();
        let (lane, ctx) = (self.lane.clone(), self.ctx(resource));
        let task = self.tasks.spawn(async move {
            lane.run(method, &ctx, async { ended.await.expect("told") })
                .await
        });
        settle().await;
        (end, task)
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.ear.heard))
    }
}

/// Lets every task do what it can.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

fn fine() -> Answered {
    Ok(Checked::default())
}

#[tokio::test]
async fn first_come_first_served_and_each_waiter_names_its_blocker() {
    let bench = Bench::new(2);
    let (end1, _) = bench.begin(Method::Apply, "aws_db_instance.main").await;
    let (end2, _) = bench.begin(Method::Read, "b").await;
    let (end3, _) = bench.begin(Method::Read, "c").await;
    let (end4, _) = bench.begin(Method::Read, "d").await;
    let (end5, _) = bench.begin(Method::Read, "e").await;
    assert_eq!(
        bench.heard(),
        [
            "1 in slot 1 of 2",
            "2 in slot 2 of 2",
            "3 waits for 1",
            "4 waits for 1",
            "5 waits for 1"
        ]
    );
    // Nobody waited for 2 by name, so nobody is told anew.
    end2.send(fine()).expect("waits");
    settle().await;
    assert_eq!(bench.heard(), ["2 Ok", "3 in slot 2 of 2"]);
    // 4 gets the slot of the one that all waited for; 5 learns who is the longest now.
    end1.send(fine()).expect("waits");
    settle().await;
    assert_eq!(bench.heard(), ["1 Ok", "5 waits for 3", "4 in slot 1 of 2"]);
    for end in [end3, end4, end5] {
        end.send(fine()).expect("waits");
        settle().await;
    }
    assert_eq!(bench.heard(), ["3 Ok", "5 in slot 2 of 2", "4 Ok", "5 Ok"]);
}

#[tokio::test]
async fn the_board_shows_who_waits_for_whom_in_words() {
    let bus = Bus::default();
    let calls = Calls::new(Arc::new(bus.clone()), Deadlines::default(), Vec::new());
    let lane = calls.lane(&PluginId("hashicorp/aws".to_owned()), 1);
    let (tasks, cancel) = (TaskTracker::new(), CancellationToken::new());
    for resource in ["aws_db_instance.main", "aws_s3_bucket.logs"] {
        let (lane, ctx) = (lane.clone(), CallContext::of(resource, &cancel));
        tasks.spawn(async move {
            lane.run::<Checked, _>(Method::Apply, &ctx, std::future::pending())
                .await
        });
        settle().await;
    }
    let view = bus.view();
    let waiter = &view.calls[&2];
    assert_eq!(
        waiter.waits_for.as_deref(),
        Some("slot of hashicorp/aws, held by aws_db_instance.main (ApplyResourceChange)")
    );
    assert_eq!((waiter.blocker, waiter.slot), (Some(1), None));
    assert_eq!(view.longest_blocker().map(|c| c.call), Some(1));
    assert_eq!(view.slots(), (1, 1));
}

#[tokio::test]
async fn a_waiter_that_gives_up_leaves_the_line_and_the_others_move_up() {
    let bench = Bench::new(1);
    let (end1, _) = bench.begin(Method::Read, "a").await;
    let alone = CancellationToken::new();
    let (lane, ctx) = (bench.lane.clone(), CallContext::of("b", &alone));
    let given_up = bench
        .tasks
        .spawn(async move { lane.run(Method::Apply, &ctx, async { fine() }).await });
    settle().await;
    let (end3, task3) = bench.begin(Method::Read, "c").await;
    bench.heard();
    alone.cancel();
    let error = given_up.await.expect("ran").expect_err("cancelled");
    assert!(
        matches!(error, ProviderError::Cancelled { sent: false, .. }) && !error.may_have_acted(),
        "{error}"
    );
    assert_eq!(bench.heard(), ["2 Cancelled"]);
    end1.send(fine()).expect("waits");
    settle().await;
    end3.send(fine()).expect("has its turn");
    task3.await.expect("ran").expect("answered");
    assert_eq!(bench.heard(), ["1 Ok", "3 in slot 1 of 1", "3 Ok"]);
}

#[tokio::test]
async fn a_caller_that_is_gone_gives_its_slot_back_wherever_it_was() {
    let bench = Bench::new(1);
    let (_end1, task1) = bench.begin(Method::Read, "a").await;
    let (_end2, task2) = bench.begin(Method::Read, "b").await;
    let (end3, task3) = bench.begin(Method::Read, "c").await;
    bench.heard();
    // The second is in line, the first holds the slot.
    task2.abort();
    task1.abort();
    settle().await;
    end3.send(fine()).expect("has its turn");
    task3.await.expect("ran").expect("answered");
    let heard = bench.heard();
    assert_eq!(heard[..2], ["2 Cancelled", "1 Cancelled"]);
    assert_eq!(heard[2..], ["3 in slot 1 of 1", "3 Ok"]);
}

#[tokio::test]
async fn deadlines_count_from_the_start_of_the_call_and_can_be_set() {
    let bench = Bench::new(1);
    let began = std::time::Instant::now();
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
            "hashicorp/aws did not answer ReadResource within 50 ms; raise the deadline of this method, or look at the plugin's log"
        );
        assert!(error.may_have_acted());
        assert_eq!(error.class(), FailureClass::Deadline);
    }
    assert_eq!(
        bench.heard()[2..],
        ["1 Deadline", "2 in slot 1 of 1", "2 Deadline"]
    );
}

#[tokio::test]
async fn methods_have_their_own_deadlines_and_an_apply_has_none() {
    assert_eq!(
        Deadlines::default().get(Method::ValidateResource),
        Some(Duration::from_secs(60))
    );
    assert_eq!(Deadlines::default().get(Method::Apply), None);
    let calls = Calls::new(Arc::new(Ear::default()), Deadlines::default(), Vec::new());
    let lane = calls.lane(&PluginId("p".to_owned()), 2);
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

#[tokio::test]
async fn cancelling_drops_a_read_and_never_an_apply() {
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

#[tokio::test]
async fn stop_gets_through_when_all_slots_are_held() {
    let bench = Bench::new(1);
    let (_end, _task) = bench.begin(Method::Apply, "a").await;
    bench.heard();
    bench
        .lane
        .run_beside(Method::Stop, &CallContext::default(), async { fine() })
        .await
        .expect("answered");
    assert_eq!(bench.heard(), ["2 in slot 0 of 1", "2 Ok"]);
}

#[tokio::test]
async fn draining_waits_for_all_and_is_no_call() {
    let bench = Bench::new(2);
    let (end, task) = bench.begin(Method::Read, "a").await;
    bench.heard();
    let lane = bench.lane.clone();
    let drain = bench
        .tasks
        .spawn(async move { lane.drain(Method::Configure, &CallContext::default()).await });
    settle().await;
    let (end2, task2) = bench.begin(Method::Read, "b").await;
    assert!(!drain.is_finished());
    end.send(fine()).expect("waits");
    task.await.expect("ran").expect("answered");
    let all = drain.await.expect("ran").expect("drained");
    settle().await;
    assert!(!task2.is_finished());
    assert!(
        bench.heard().iter().all(|w| !w.starts_with("0 ")),
        "nobody sees it"
    );
    drop(all);
    end2.send(fine()).expect("has its turn");
    task2.await.expect("ran").expect("answered");
}

#[tokio::test]
async fn what_is_shown_of_calls_is_of_the_last_thousand_errors_and_durations_alike() {
    let bus = Bus::default();
    let calls = Calls::new(Arc::new(bus.clone()), Deadlines::default(), Vec::new());
    let plugin = PluginId("p".to_owned());
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

#[tokio::test]
async fn what_a_sink_must_not_hear_is_in_no_answer_that_goes_through_here() {
    let bench = Bench::new(1);
    bench.ear.secrets.learn_text("correct horse battery staple");
    let refused = || ProviderError::Refused {
        plugin: bench.lane.plugin().clone(),
        method: Method::Read,
        code: "Internal".to_owned(),
        message: "no user has the password correct horse battery staple".to_owned(),
    };
    let ctx = bench.ctx("a");
    let error = bench
        .lane
        .run::<Checked, _>(Method::Read, &ctx, async { Err(refused()) })
        .await
        .expect_err("refused");
    assert!(!error.to_string().contains("staple"), "{error}");
    let said = ProviderDiagnostic::error("the password correct horse battery staple is wrong", "");
    let answer = bench
        .lane
        .run(Method::Read, &ctx, async {
            Ok(Checked {
                diagnostics: vec![said],
            })
        })
        .await
        .expect("answered");
    assert!(
        !answer.diagnostics[0].summary.contains("staple"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn answers_with_errors_count_as_errors_and_latencies_are_kept_by_method_type_and_action() {
    let ear = Arc::new(Ear::default());
    let plugin = PluginId("p".to_owned());
    let past = Latency {
        count: 9,
        errors: 1,
        p50_ms: 500,
        p95_ms: 800,
        max_ms: 900,
    };
    let stat = |method: &str, resource_type: &str, action: &str| CallStat {
        plugin: plugin.clone(),
        method: method.to_owned(),
        resource_type: resource_type.to_owned(),
        action: action.to_owned(),
        latency: past,
    };
    let history = vec![
        stat("ReadResource", "lab_bucket", ""),
        stat("ApplyResourceChange", "lab_bucket", "create"),
    ];
    let calls = Calls::new(ear.clone(), Deadlines::default(), history);
    // Another process of the same plugin takes as long.
    let lane = calls.lane(&PluginId("p#2".to_owned()), 1);
    let ctx = CallContext {
        resource: Some("module.a[\"x.y\"].lab_bucket.logs[0] (deposed ab)".to_owned()),
        ..Default::default()
    };
    let read = |resource_type: &str| Kind {
        method: Method::Read,
        resource_type: resource_type.to_owned(),
        action: String::new(),
    };
    let usual = lane.usual(&read("lab_bucket")).expect("known from history");
    assert!(
        usual.p50_ms.abs_diff(500) <= 31 && usual.count == 9,
        "{usual:?}"
    );
    // Of other types, and of other things done to this one, nothing is known by that.
    assert_eq!(lane.usual(&read("lab_database")), None);
    assert_eq!(lane.usual(&Kind::apply("lab_bucket", "destroy")), None);
    assert!(lane.usual(&Kind::apply("lab_bucket", "create")).is_some());
    let bad = Checked {
        diagnostics: vec![ProviderDiagnostic::error("no", "")],
    };
    lane.run(Method::Plan, &ctx, async { Ok(bad) })
        .await
        .expect("an answer all the same");
    lane.run(Method::Plan, &ctx, async { fine() })
        .await
        .expect("answered");
    let planned = lane.usual(&Kind {
        method: Method::Plan,
        resource_type: "lab_bucket".to_owned(),
        action: String::new(),
    });
    let planned = planned.expect("known from this run");
    assert_eq!((planned.count, planned.errors), (2, 1));
    assert_eq!(
        *lock(&ear.heard),
        ["1 in slot 1 of 1", "1 Error", "2 in slot 1 of 1", "2 Ok"]
    );
}

/// One call at work, until it ends or is dropped.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(running: &'a AtomicUsize, most: &AtomicUsize) -> Self {
        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Self(running)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn never_more_calls_than_slots_and_none_is_lost() {
    let bus = Bus::default();
    let calls = Calls::new(Arc::new(bus.clone()), Deadlines::default(), Vec::new());
    let lane = calls.lane(&PluginId("p".to_owned()), 3);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tasks = TaskTracker::new();
    for n in 0..400 {
        let (lane, running, most) = (lane.clone(), running.clone(), most.clone());
        tasks.spawn(async move {
            let ctx = CallContext {
                resource: Some(format!("r[{n}]")),
                ..Default::default()
            };
            let call = async {
                let _counted = Counted::new(&running, &most);
                tokio::task::yield_now().await;
                fine()
            };
            // Some give up at some point, in line or at work.
            if n % 7 == 0 {
                tokio::time::timeout(
                    Duration::from_micros(n * 3),
                    lane.run(Method::Read, &ctx, call),
                )
                .await
                .ok();
                return;
            }
            lane.run(Method::Read, &ctx, call).await.expect("answered");
        });
    }
    tasks.close();
    tokio::time::timeout(Duration::from_secs(240), tasks.wait())
        .await
        .expect("all have their turn");
    assert!(most.load(Ordering::SeqCst) <= 3);
    assert!(
        bus.with_view(|v| v.calls.is_empty()),
        "every call that was seen has ended"
    );
    // All three slots are free again.
    tokio::time::timeout(
        Duration::from_secs(240),
        lane.drain(Method::Read, &CallContext::default()),
    )
    .await
    .expect("free")
    .expect("free");
}

fn busy() -> Answered {
    let (plugin, code) = (
        PluginId("hashicorp/aws".to_owned()),
        "Unavailable".to_owned(),
    );
    Err(ProviderError::Refused {
        plugin,
        method: Method::Read,
        code,
        message: "not now".to_owned(),
    })
}

/// A lane whose calls are made again after such a pause, and what is told of it.
fn patient(pause: Duration) -> (Bench, CallContext, Arc<Mutex<Vec<Option<(u32, u32)>>>>) {
    let ear = Arc::new(Ear::default());
    let calls = Calls::new(ear.clone(), Deadlines::default(), Vec::new());
    calls.set_retries(RetrySettings {
        attempts: 3,
        backoff: vec![pause],
    });
    let lane = calls.lane(&PluginId("hashicorp/aws".to_owned()), 1);
    let bench = Bench {
        ear,
        lane,
        tasks: TaskTracker::new(),
        cancel: CancellationToken::new(),
    };
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = heard.clone();
    let mut ctx = bench.ctx("a.b");
    ctx.retrying.told = Some(Arc::new(move |retry| {
        lock(&told).push(retry.map(|r| (r.attempt, r.of)))
    }));
    (bench, ctx, heard)
}

#[tokio::test]
async fn a_call_is_made_again_until_it_is_answered_or_there_were_enough_attempts() {
    let (bench, ctx, told) = patient(Duration::ZERO);
    let mut attempts = Attempts::at(&bench.lane, Method::Read, &ctx);
    assert!(attempts.next(|_| true, async { busy() }).await.is_none());
    attempts
        .next(|_| true, async { fine() })
        .await
        .expect("the last one")
        .expect("answered");
    assert_eq!(
        bench.heard(),
        ["1 in slot 1 of 1", "1 Error", "2 in slot 1 of 1", "2 Ok"],
        "each is a call, with a turn of its own"
    );
    assert_eq!(*lock(&told), [Some((2, 3)), None]);

    lock(&told).clear();
    let mut attempts = Attempts::at(&bench.lane, Method::Read, &ctx);
    assert!(attempts.next(|_| true, async { busy() }).await.is_none());
    assert!(attempts.next(|_| true, async { busy() }).await.is_none());
    let error = attempts
        .next(|_| true, async { busy() })
        .await
        .expect("the last one")
        .expect_err("busy");
    assert!(
        error
            .to_string()
            .contains("not now; so it did at each of 3 attempts"),
        "{error}"
    );
    assert_eq!(*lock(&told), [Some((2, 3)), Some((3, 3)), None]);

    let mut attempts = Attempts::at(&bench.lane, Method::Read, &ctx);
    let error = attempts
        .next(|_| false, async { busy() })
        .await
        .expect("no other")
        .expect_err("busy");
    assert!(
        error.to_string().ends_with("not now (gRPC Unavailable)"),
        "{error}"
    );
}

#[tokio::test]
async fn who_does_not_want_it_any_more_does_not_wait_for_another_attempt() {
    let (bench, ctx, told) = patient(Duration::from_secs(3_600));
    let mut attempts = Attempts::at(&bench.lane, Method::Read, &ctx);
    let (answer, ()) = tokio::join!(attempts.next(|_| true, async { busy() }), async {
        settle().await;
        ctx.retrying.until.cancel();
    });
    let error = answer.expect("no other").expect_err("given up");
    assert!(
        matches!(error, ProviderError::Cancelled { sent: false, .. }),
        "{error}"
    );
    assert_eq!(*lock(&told), [Some((2, 3)), None]);
    // Asked for by then, nothing is waited for at all.
    let mut attempts = Attempts::at(&bench.lane, Method::Read, &ctx);
    attempts
        .next(|_| true, async { busy() })
        .await
        .expect("no other")
        .expect_err("busy");
}
