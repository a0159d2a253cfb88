//! Order of calls, reports to waiting calls, deadlines and cancellation.

mod attempts;
mod banks;
mod ends;
mod measures;

use super::lane::REPORT_AFTER;
use super::*;
use model::bus::{Bus, EventSink};
use model::mutex::lock;
use model::secrets::Secrets;
use model::settings::RetrySettings;
use model::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Code;

/// Records events as short texts.
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
        let lane = calls.lane(&PluginId("hashicorp/aws".into()), slots);
        Self {
            ear,
            lane,
            tasks: TaskTracker::new(),
            cancel: CancellationToken::new(),
        }
    }

    fn ctx(&self, resource: &str) -> CallContext {
        CallContext::for_resource(resource, &self.cancel)
    }

    /// Starts a call that ends on the returned sender's signal.
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

/// Runs all tasks as far as possible, with a pause after which waiting calls are reported.
async fn settle() {
    at_once().await;
    tokio::time::sleep(REPORT_AFTER * 2).await;
    at_once().await;
}

/// Runs all tasks as far as possible, without time passing.
async fn at_once() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

fn fine() -> Answered {
    Ok(Checked::default())
}

#[tokio::test(start_paused = true)]
async fn slots_are_granted_in_order_and_waiters_name_their_blocker() {
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
    // No call waits for 2 by name, so no update is sent.
    end2.send(fine()).expect("waits");
    settle().await;
    assert_eq!(bench.heard(), ["2 Ok", "3 in slot 2 of 2"]);
    // 4 gets the slot of the call that all waited for; 5 gets an update with the new longest call.
    end1.send(fine()).expect("waits");
    settle().await;
    assert_eq!(bench.heard(), ["1 Ok", "5 waits for 3", "4 in slot 1 of 2"]);
    for end in [end3, end4, end5] {
        end.send(fine()).expect("waits");
        settle().await;
    }
    assert_eq!(bench.heard(), ["3 Ok", "5 in slot 2 of 2", "4 Ok", "5 Ok"]);
}

#[tokio::test(start_paused = true)]
async fn short_waits_are_not_reported() {
    let bench = Bench::new(1);
    let (end1, _) = bench.begin(Method::Apply, "a").await;
    let (lane, ctx) = (bench.lane.clone(), bench.ctx("b"));
    let second = bench
        .tasks
        .spawn(async move { lane.run(Method::Read, &ctx, async { fine() }).await });
    at_once().await;
    assert!(bench.lane.has_waiters());
    end1.send(fine()).expect("waits");
    second.await.expect("ran").expect("answered");
    settle().await;
    assert_eq!(
        bench.heard(),
        ["1 in slot 1 of 1", "1 Ok", "2 in slot 1 of 1", "2 Ok"]
    );
}

#[tokio::test(start_paused = true)]
async fn call_view_names_the_slot_owner_a_call_waits_for() {
    let bus = Bus::default();
    let calls = Calls::new(Arc::new(bus.clone()), Deadlines::default(), Vec::new());
    let lane = calls.lane(&PluginId("hashicorp/aws".into()), 1);
    let (tasks, cancel) = (TaskTracker::new(), CancellationToken::new());
    for resource in ["aws_db_instance.main", "aws_s3_bucket.logs"] {
        let (lane, ctx) = (lane.clone(), CallContext::for_resource(resource, &cancel));
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

#[tokio::test(start_paused = true)]
async fn cancelled_waiter_leaves_the_queue_and_others_advance() {
    let bench = Bench::new(1);
    let (end1, _) = bench.begin(Method::Read, "a").await;
    let alone = CancellationToken::new();
    let (lane, ctx) = (bench.lane.clone(), CallContext::for_resource("b", &alone));
    let given_up = bench
        .tasks
        .spawn(async move { lane.run(Method::Apply, &ctx, async { fine() }).await });
    settle().await;
    let (end3, task3) = bench.begin(Method::Read, "c").await;
    bench.heard();
    alone.cancel();
    let error = given_up.await.expect("ran").expect_err("cancelled");
    assert!(
        matches!(error, ProviderError::Cancelled { sent: false, .. })
            && !error.may_have_changed_infrastructure(),
        "{error}"
    );
    assert_eq!(bench.heard(), ["2 Cancelled"]);
    end1.send(fine()).expect("waits");
    settle().await;
    end3.send(fine()).expect("has its turn");
    task3.await.expect("ran").expect("answered");
    assert_eq!(bench.heard(), ["1 Ok", "3 in slot 1 of 1", "3 Ok"]);
}

#[tokio::test(start_paused = true)]
async fn drain_waits_for_running_calls_and_emits_no_call_event() {
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

#[tokio::test(start_paused = true)]
async fn sensitive_text_is_redacted_from_answers_and_errors() {
    let bench = Bench::new(1);
    bench
        .ear
        .secrets
        .register_text("correct horse battery staple");
    let refused = || ProviderError::Refused {
        plugin: bench.lane.plugin().clone(),
        method: Method::Read,
        code: RefusalCode::Grpc(Code::Internal),
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

/// Counts a running call until it ends or is dropped.
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
async fn running_calls_never_exceed_the_slots_and_none_is_lost() {
    let bus = Bus::default();
    let calls = Calls::new(Arc::new(bus.clone()), Deadlines::default(), Vec::new());
    let lane = calls.lane(&PluginId("p".into()), 3);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tasks = TaskTracker::new();
    for n in 0..400 {
        let (lane, running, most) = (lane.clone(), running.clone(), most.clone());
        tasks.spawn(async move {
            let ctx = CallContext {
                resource: Some(format!("r[{n}]").into()),
                ..Default::default()
            };
            let call = async {
                let _counted = Counted::new(&running, &most);
                tokio::task::yield_now().await;
                fine()
            };
            // Some are cancelled, in line or while running.
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

#[test]
fn refusal_mentions_grpc_only_for_grpc_codes() {
    for (code, text, class) in [
        (
            RefusalCode::Grpc(Code::Unavailable),
            "(gRPC Unavailable)",
            FailureClass::Transient,
        ),
        (
            RefusalCode::Grpc(Code::Internal),
            "(gRPC Internal)",
            FailureClass::Unexpected,
        ),
        (
            RefusalCode::Transient,
            "(transient)",
            FailureClass::Transient,
        ),
        (RefusalCode::BadInput, "(bad input)", FailureClass::BadInput),
        (
            RefusalCode::Other("unexpected"),
            "(unexpected)",
            FailureClass::Unexpected,
        ),
    ] {
        let error = ProviderError::Refused {
            plugin: PluginId("bluelink/fake".into()),
            method: Method::DeployResource,
            code,
            message: "no".to_owned(),
        };
        assert!(
            error.to_string().ends_with(&format!("no {text}")),
            "{error}"
        );
        assert_eq!(error.class(), class, "{code}");
    }
}
