//! What a walk has opened. A lease runs beside the walk: it is renewed whenever the provider wants
//! that, and closed when nothing in the graph needs it any more, whatever became of the steps that
//! did. Owned by one walk.

use crate::engine::calls::{Answer, CallContext, Checked, ProviderError};
use crate::engine::graph::{Graph, Releases, Step};
use crate::engine::mutex::lock;
use crate::engine::provider::{Provider, RenewResponse};
use crate::engine::stage::walk::Walk;
use crate::engine::words::{ObjectPhase, ObjectWork, Severity};
use futures_util::stream::{FuturesUnordered, StreamExt};
use lang::addr::AbsInstance;
use lang::diag::Diagnostic;
use lang::source::Span;
use proto::Bytes;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A provider that wants to be asked again at once is asked this often at most.
const SOONEST: Duration = Duration::from_millis(100);

/// One instance that is open.
pub(super) struct Lease {
    pub(super) address: AbsInstance,
    pub(super) span: Span,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) private: Option<Bytes>,
    pub(super) renew_at: Option<SystemTime>,
}

/// The leases of one walk.
pub struct Leases {
    /// Plugins are killed: nothing can be asked of them any more.
    kill: CancellationToken,
    inner: Mutex<Inner>,
    news: Notify,
}

#[derive(Default)]
struct Inner {
    /// Which steps are needed still; none before and after the walk.
    releases: Option<Releases>,
    /// Opened, and not yet looked after.
    new: Vec<(Step, Lease, CancellationToken)>,
    /// By the step that has opened them, how many are open, and what tells them to close.
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
    /// None. `kill` ends even the calls that open and close.
    pub fn new(kill: CancellationToken) -> Self {
        Self {
            kill,
            inner: Mutex::default(),
            news: Notify::new(),
        }
    }

    /// What drops a call that opens or closes: nothing less than the plugins' end, so that nothing
    /// is left open.
    pub(super) fn kill(&self) -> &CancellationToken {
        &self.kill
    }

    /// Keeps what a step, which has not ended, has opened.
    pub(super) fn hold(&self, step: Step, lease: Lease) {
        let mut inner = lock(&self.inner);
        if let Some(releases) = &mut inner.releases {
            releases.hold(step);
        }
        let (count, token) = inner.open.entry(step).or_default();
        *count += 1;
        let token = token.clone();
        inner.new.push((step, lease, token));
        self.news.notify_one();
    }

    /// A step of the graph has ended, or will not begin.
    pub fn ended(&self, graph: &Graph, step: Step) {
        let mut inner = lock(&self.inner);
        let due = inner
            .releases
            .as_mut()
            .map(|r| r.end(graph, step))
            .unwrap_or_default();
        inner.close(due);
    }

    /// Does the work of a walk, and beside it looks after what that opens. Ends when the work is
    /// done and all is closed.
    pub async fn beside<F: Future>(&self, walk: &Walk, graph: &Graph, work: F) -> F::Output {
        lock(&self.inner).releases = Some(Releases::new(graph));
        let mut kept = FuturesUnordered::new();
        let mut work = pin!(work);
        let output = loop {
            kept.extend(self.take_new(walk));
            tokio::select! {
                output = &mut work => break output,
                Some(step) = kept.next() => self.closed(graph, step),
                () = self.news.notified() => {}
            }
        };
        kept.extend(self.take_new(walk));
        self.all_ended(graph);
        while let Some(step) = kept.next().await {
            self.closed(graph, step);
        }
        output
    }

    fn take_new<'a>(
        &'a self,
        walk: &'a Walk,
    ) -> impl Iterator<Item = impl Future<Output = Step> + 'a> + 'a {
        let new = std::mem::take(&mut lock(&self.inner).new);
        new.into_iter().map(move |(step, lease, due)| async move {
            self.look_after(walk, step, lease, &due).await;
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

    /// One of a step's leases is closed; with the last one, what the step needed itself may be
    /// closed.
    fn closed(&self, graph: &Graph, step: Step) {
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
            .map(|r| r.let_go(graph, step))
            .unwrap_or_default();
        inner.close(due);
    }

    async fn look_after(&self, walk: &Walk, step: Step, mut lease: Lease, due: &CancellationToken) {
        while let Some(at) = lease.renew_at.take() {
            let wait = at
                .duration_since(SystemTime::now())
                .unwrap_or_default()
                .max(SOONEST);
            if due
                .run_until_cancelled(tokio::time::sleep(wait))
                .await
                .is_none()
            {
                break;
            }
            self.renew(walk, step, &mut lease).await;
        }
        due.cancelled().await;
        self.close(walk, step, lease).await;
    }

    async fn renew(&self, walk: &Walk, step: Step, lease: &mut Lease) {
        let ctx = CallContext::of(lease.address.to_string(), &self.kill);
        let follow = |phase| walk.follow(&lease.address, ObjectWork::Renew, phase, None);
        follow(ObjectPhase::Begun);
        let answer = lease
            .provider
            .renew_ephemeral(&lease.address.resource.kind, lease.private.clone(), &ctx)
            .await;
        follow(ObjectPhase::Ended);
        let trouble = trouble(&answer);
        if let Ok(RenewResponse {
            private, renew_at, ..
        }) = answer
        {
            lease.private = private.or(lease.private.take());
            lease.renew_at = renew_at;
        }
        let after = "What needs it may be refused from now on.";
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
        let trouble = if self.kill.is_cancelled() {
            vec![(true, "its plugin was killed".to_owned())]
        } else {
            let ctx = CallContext::of(lease.address.to_string(), &self.kill);
            let private = lease.private.take();
            let follow = |phase| walk.follow(&lease.address, ObjectWork::Close, phase, None);
            follow(ObjectPhase::Begun);
            let answer = lease
                .provider
                .close_ephemeral(&lease.address.resource.kind, private, &ctx)
                .await;
            follow(ObjectPhase::Ended);
            trouble::<Checked>(&answer)
        };
        let after = "It may be open still, until whoever issued it ends it.";
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

/// What went wrong with a call, or was only warned of.
fn trouble<T: Answer>(answer: &Result<T, ProviderError>) -> Vec<(bool, String)> {
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

/// Nothing in the world depends on a lease that is over, so that this is never an error of the run.
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
        walk.cells.beside(
            step,
            diagnostic.at(lease.span).about(lease.address.to_string()),
        );
    }
}
