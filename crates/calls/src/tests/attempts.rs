//! Retries of calls.

use super::*;

fn busy() -> Answered {
    let (plugin, code) = (
        PluginId("hashicorp/aws".into()),
        RefusalCode::Grpc(Code::Unavailable),
    );
    Err(ProviderError::Refused {
        plugin,
        method: Method::Read,
        code,
        message: "not now".to_owned(),
    })
}

/// Creates a lane with retries after the given pause, and a record of the reported pauses.
fn patient(pause: Duration) -> (Bench, CallContext, Arc<Mutex<Vec<Option<(u32, u32)>>>>) {
    let ear = Arc::new(Ear::default());
    let calls = Calls::new(ear.clone(), Deadlines::default(), Vec::new());
    calls.set_retries(RetrySettings {
        attempts: 3,
        backoff: vec![pause],
    });
    let lane = calls.lane(&PluginId("hashicorp/aws".into()), 1);
    let bench = Bench {
        ear,
        lane,
        tasks: TaskTracker::new(),
        cancel: CancellationToken::new(),
    };
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = heard.clone();
    let mut ctx = bench.ctx("a.b");
    ctx.retrying.on_pause = Some(Arc::new(move |retry| {
        let retry = retry.map(|pause| match pause {
            Pause::Retry(retry) => (retry.attempt, retry.of),
            Pause::Look(look) => panic!("a look: {look:?}"),
        });
        lock(&told).push(retry)
    }));
    (bench, ctx, heard)
}

#[tokio::test(start_paused = true)]
async fn call_is_retried_until_answered_or_attempts_are_exhausted() {
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
        error.to_string().contains("not now; all 3 attempts failed"),
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

#[tokio::test(start_paused = true)]
async fn cancelled_caller_does_not_wait_for_another_attempt() {
    let (bench, ctx, told) = patient(Duration::from_secs(3_600));
    let mut attempts = Attempts::at(&bench.lane, Method::Read, &ctx);
    let (answer, ()) = tokio::join!(attempts.next(|_| true, async { busy() }), async {
        settle().await;
        ctx.retrying.stop_token.cancel();
    });
    let error = answer.expect("no other").expect_err("given up");
    assert!(
        matches!(error, ProviderError::Cancelled { sent: false, .. }),
        "{error}"
    );
    assert_eq!(*lock(&told), [Some((2, 3)), None]);
    // Cancelled already: no pause at all.
    let mut attempts = Attempts::at(&bench.lane, Method::Read, &ctx);
    let error = attempts
        .next(|_| true, async { busy() })
        .await
        .expect("no other")
        .expect_err("given up");
    assert!(
        matches!(error, ProviderError::Cancelled { sent: false, .. }),
        "the same as in the pause: {error}"
    );
    assert_eq!(lock(&told).len(), 2, "no pause is announced");
}
