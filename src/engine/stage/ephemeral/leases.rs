//! Open ephemeral resources of one walk. A lease is renewed when the provider requests it, and
//! closed once no unfinished step needs it, even after failures. Owned by the walk and polled
//! concurrently with it.

use crate::stage::walk::Walk;
use calls::{Answer, CallContext, Checked, ProviderError};
use futures_util::stream::{FuturesUnordered, StreamExt};
use graph::{Graph, Releases, Step};
use lang::addr::AbsInstance;
use lang::diag::Diagnostic;
use lang::source::Span;
use model::mutex::lock;
use model::{ObjectPhase, ObjectWork, Severity};
use proto::Bytes;
use provider::{Provider, RenewResponse};
use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Shortest interval between renewals.
const MIN_RENEW_INTERVAL: Duration = Duration::from_millis(100);

/// Open instance.
pub(super) struct Lease {
    pub(super) address: AbsInstance,
    pub(super) span: Span,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) private: Option<Bytes>,
    pub(super) renew_at: Option<SystemTime>,
}

/// Leases of one walk.
pub struct Leases {
    /// Cancelled when plugins are killed and take no calls any more.
    kill: CancellationToken,
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Default)]
struct Inner {
    /// Steps that are still needed; `None` before and after the walk.
    releases: Option<Releases>,
    /// Opened leases that no task watches yet.
    new: Vec<(Step, Lease, CancellationToken)>,
    /// By the step that opened them: number of open leases, and the token that closes them.
    open: HashMap<Step, (usize, CancellationToken)>,
}

impl Inner {
    fn close(&self, due: Vec<Step>) {
        for (_, token) in due.iter().filter_map(|step| self.open.get(step)) {
            token.cancel();
        }
    }
}

impl Leases {
    /// Creates an empty set. `kill` aborts even the calls that open and close.
    pub fn new(kill: CancellationToken) -> Self {
        Self {
            kill,
            inner: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Returns the token that aborts calls which open or close. Only the end of the plugins does,
    /// so that no resource is left open.
    pub(super) fn kill(&self) -> &CancellationToken {
        &self.kill
    }

    /// Registers a lease that a running step has opened.
    pub(super) fn register(&self, step: Step, lease: Lease) {
        let mut inner = lock(&self.inner);
        // The hold keeps the step's own needs open until its leases are closed.
        if let Some(releases) = &mut inner.releases {
            releases.hold(step);
        }
        let (count, token) = inner.open.entry(step).or_default();
        *count += 1;
        let token = token.clone();
        inner.new.push((step, lease, token));
        self.changed.notify_one();
    }

    /// Reports that a step has ended or will not start.
    pub fn step_ended(&self, graph: &Graph, step: Step) {
        let mut inner = lock(&self.inner);
        let due = inner
            .releases
            .as_mut()
            .map(|r| r.end(graph, step))
            .unwrap_or_default();
        inner.close(due);
    }

    /// Runs the work of a walk and, concurrently, renews and closes leases. Returns once the work
    /// is done and all leases are closed.
    pub async fn run_with_renewal<F: Future>(
        &self,
        walk: &Walk,
        graph: &Graph,
        work: F,
    ) -> F::Output {
        lock(&self.inner).releases = Some(Releases::new(graph));
        let mut kept = FuturesUnordered::new();
        let mut work = pin!(work);
        let output = loop {
            kept.extend(self.take_new(walk));
            // Work and leases are polled in one task: leases can borrow the walk, and end with it.
            tokio::select! {
                output = &mut work => break output,
                Some(step) = kept.next() => self.lease_closed(graph, step),
                () = self.changed.notified() => {}
            }
        };
        // The work may have opened leases in its last poll, and cancelled steps never report their
        // end.
        kept.extend(self.take_new(walk));
        self.all_ended(graph);
        while let Some(step) = kept.next().await {
            self.lease_closed(graph, step);
        }
        output
    }

    fn take_new<'a>(
        &'a self,
        walk: &'a Walk,
    ) -> impl Iterator<Item = impl Future<Output = Step> + 'a> + 'a {
        let new = std::mem::take(&mut lock(&self.inner).new);
        new.into_iter().map(move |(step, lease, due)| async move {
            self.renew_and_close(walk, step, lease, &due).await;
            step
        })
    }

    fn all_ended(&self, graph: &Graph) {
        let mut inner = lock(&self.inner);
        let due = inner
            .releases
            .as_mut()
            .map(|r| r.end_all(graph))
            .unwrap_or_default();
        inner.close(due);
    }

    /// Records that one lease of a step is closed. The last one releases the leases that the step
    /// needed itself.
    fn lease_closed(&self, graph: &Graph, step: Step) {
        let mut inner = lock(&self.inner);
        let Some((count, _)) = inner.open.get_mut(&step) else {
            return;
        };
        *count -= 1;
        if *count > 0 {
            return;
        }
        inner.open.remove(&step);
        let due = inner
            .releases
            .as_mut()
            .map(|r| r.release(graph, step))
            .unwrap_or_default();
        inner.close(due);
    }

    async fn renew_and_close(
        &self,
        walk: &Walk,
        step: Step,
        mut lease: Lease,
        due: &CancellationToken,
    ) {
        // A renewal that fails leaves `renew_at` empty, so that a broken provider is not called in
        // a loop.
        while let Some(at) = lease.renew_at.take() {
            let wait = at
                .duration_since(SystemTime::now())
                .unwrap_or_default()
                .max(MIN_RENEW_INTERVAL);
            if due
                .run_until_cancelled(tokio::time::sleep(wait))
                .await
                .is_none()
            {
                break;
            }
            self.renew(walk, step, &mut lease).await;
        }
        // The token is cancelled once no step needs the lease.
        due.cancelled().await;
        self.close(walk, step, lease).await;
    }

    async fn renew(&self, walk: &Walk, step: Step, lease: &mut Lease) {
        let ctx = CallContext::for_resource(lease.address.to_string(), &self.kill);
        let follow = |phase| walk.report_step(&lease.address, ObjectWork::Renew, phase, None);
        follow(ObjectPhase::Begun);
        let answer = lease
            .provider
            .renew_ephemeral(&lease.address.resource.kind, lease.private.clone(), &ctx)
            .await;
        follow(ObjectPhase::Ended);
        let trouble = call_diagnostics(&answer);
        if let Ok(RenewResponse {
            private, renew_at, ..
        }) = answer
        {
            // A provider that returns no private data keeps the former.
            lease.private = private.or(lease.private.take());
            lease.renew_at = renew_at;
        }
        let after = "Requests that use it may fail from now on.";
        warn(
            walk,
            step,
            lease,
            "Ephemeral resource could not be renewed",
            trouble,
            after,
        );
    }

    async fn close(&self, walk: &Walk, step: Step, mut lease: Lease) {
        // The plugin cannot close it any more; the operator must know that it may still be open.
        let trouble = if self.kill.is_cancelled() {
            vec![(true, "its plugin was killed".to_owned())]
        } else {
            let ctx = CallContext::for_resource(lease.address.to_string(), &self.kill);
            let private = lease.private.take();
            let follow = |phase| walk.report_step(&lease.address, ObjectWork::Close, phase, None);
            follow(ObjectPhase::Begun);
            let answer = lease
                .provider
                .close_ephemeral(&lease.address.resource.kind, private, &ctx)
                .await;
            follow(ObjectPhase::Ended);
            call_diagnostics::<Checked>(&answer)
        };
        let after = "It may stay open until its issuer ends it.";
        warn(
            walk,
            step,
            &lease,
            "Ephemeral resource could not be closed",
            trouble,
            after,
        );
    }
}

/// Returns the errors and warnings of a call; true marks an error.
fn call_diagnostics<T: Answer>(answer: &Result<T, ProviderError>) -> Vec<(bool, String)> {
    match answer {
        Err(error) => vec![(true, error.to_string())],
        Ok(answer) => answer
            .diagnostics()
            .iter()
            .map(|d| {
                let text = if d.detail.is_empty() {
                    d.summary.clone()
                } else {
                    format!("{}: {}", d.summary, d.detail)
                };
                (d.severity == Severity::Error, text)
            })
            .collect(),
    }
}

/// Adds warnings: a failed renewal or close never fails the run, because no object depends on it.
fn warn(
    walk: &Walk,
    step: Step,
    lease: &Lease,
    summary: &str,
    trouble: Vec<(bool, String)>,
    after: &str,
) {
    for (failed, text) in trouble {
        let diagnostic = match failed {
            true => Diagnostic::warning(summary, format!("{}: {text}. {after}", lease.address)),
            false => {
                Diagnostic::warning("Ephemeral resource", format!("{}: {text}", lease.address))
            }
        };
        walk.cells.add_diagnostics(
            step,
            diagnostic
                .at(lease.span)
                .with_address(lease.address.to_string()),
        );
    }
}
