//! Running call: applies its deadline and cancellation, reports its start, and reports its end
//! exactly once.

use super::Lane;
use super::slot_queue::SlotGuard;
use crate::{Answer, CallContext, Kind, Method, ProviderError};
use model::mutex::lock;
use model::*;
use std::cell::Cell;
use std::pin::pin;
use std::sync::Arc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

tokio::task_local! {
    /// Call in progress in this task.
    static CURRENT: Current;
}

/// Call in progress, as code within it sees it.
struct Current {
    number: CallId,
    plugin: PluginId,
    /// Set if the calls within it are reported instead of it.
    items: Option<Items>,
}

/// Request of the engine that holds a slot for several calls, which are reported one by one.
struct Items {
    slot: u32,
    /// Number and queue time of the request. Its first call takes them over, so that readers see
    /// the waiting request become that call.
    first: Cell<Option<(CallId, u64)>>,
}

/// Returns the slot of a call within a request, and the number and queue time that the first one
/// takes over.
fn item(plugin: &PluginId) -> Option<(u32, Option<(CallId, u64)>)> {
    let of = |current: &Current| {
        let items = current
            .items
            .as_ref()
            .filter(|_| current.plugin == *plugin)?;
        Some((items.slot, items.first.take()))
    };
    CURRENT.try_with(of).ok().flatten()
}

/// Returns the number of the call that the current task is part of.
pub fn current() -> Option<CallId> {
    CURRENT.try_with(|current| current.number).ok()
}

/// Returns the plugin whose slot the current task's call holds.
pub fn seat() -> Option<PluginId> {
    CURRENT.try_with(|current| current.plugin.clone()).ok()
}

impl Lane {
    pub(super) async fn running<T, F>(
        self: &Arc<Self>,
        number: CallId,
        method: Method,
        ctx: &CallContext,
        (slot, queued): (Option<SlotGuard>, Instant),
        judge: impl Fn(&ProviderError) -> Option<Retry>,
        call: F,
    ) -> (Result<T, ProviderError>, Option<Retry>)
    where
        T: Answer,
        F: Future<Output = Result<T, ProviderError>>,
    {
        let deadline = ctx.deadline.or_else(|| self.shared.deadline(method));
        let (began, kind) = (Instant::now(), Kind::of_call(method, ctx));
        // 0 stands for a call without a slot.
        let place = slot.as_ref().map_or(0, |s| s.place.1 as u32 + 1);
        let queued_ms = began.duration_since(queued).as_millis() as u64;
        let items = (place > 0 && self.itemised.get().is_some()).then(|| Items {
            slot: place,
            first: Cell::new(Some((number, queued_ms))),
        });
        // A covering request is not reported as started; its first call is.
        let covers = items.is_some();
        let number = match covers {
            true => number,
            false => self.report_start((number, method), ctx, (place, queued_ms), deadline),
        };
        let given_up = CancellationToken::new();
        // A covering request has the number of its first call.
        if !covers {
            lock(&self.shared.running).insert(number, given_up.clone());
        }
        // From here on the end of the call is always reported, even if the future is dropped.
        let mut running = Running {
            lane: self.clone(),
            number,
            kind,
            resource: ctx.resource.clone(),
            began,
            _slot: slot,
            covers,
            reported: false,
        };
        let current = Current {
            number,
            plugin: self.plugin.clone(),
            items,
        };
        let mut call = pin!(CURRENT.scope(current, call));
        // Biased: an answer that has arrived wins over a cancellation or deadline at the same time.
        let result = tokio::select! {
            biased;
            result = &mut call => result,
            () = ctx.cancel.cancelled(), if method.can_be_dropped() => {
                Err(ProviderError::Cancelled { plugin: self.plugin.clone(), method, sent: true })
            }
            () = given_up.cancelled() => Err(ProviderError::GivenUp { plugin: self.plugin.clone(), method, after: began.elapsed() }),
            after = deadline_passed(deadline) => Err(ProviderError::Deadline { plugin: self.plugin.clone(), method, after }),
        };
        let mut result = result;
        match &mut result {
            // Redacted before anything is reported or returned.
            Ok(answer) => answer.hide(&self.shared.secrets),
            Err(error) => error.redact(&self.shared.secrets),
        }
        let retry = result.as_ref().err().and_then(judge);
        match &result {
            Ok(answer) => match answer.first_error() {
                None => running.report(CallOutcome::Ok, None, None),
                Some(d) => running.report(CallOutcome::Error, Some(d.summary.clone()), None),
            },
            Err(error) => running.report(error.outcome(), Some(error.to_string()), retry.clone()),
        }
        (result, retry)
    }

    /// Reports the start of a call and returns its number. A call within a request has that
    /// request's slot, and the first one takes over its number.
    fn report_start(
        &self,
        (mut number, method): (CallId, Method),
        ctx: &CallContext,
        (mut slot, mut queued_ms): (u32, u64),
        deadline: Option<std::time::Duration>,
    ) -> CallId {
        // A call without a slot within a request is displayed in the slot of that request.
        if let Some((of_request, first)) = item(&self.plugin).filter(|_| slot == 0) {
            slot = of_request;
            (number, queued_ms) = first.unwrap_or((number, queued_ms));
        }
        self.shared.sink.emit(EventKind::CallStarted(CallStarted {
            call: number,
            plugin: self.plugin.clone(),
            slot,
            slots: self.slots,
            method: method.into(),
            resource: ctx.resource.clone(),
            deadline_ms: deadline.map(|d| d.as_millis() as u64),
            usual: self.usual_latency(&Kind::of_call(method, ctx)),
            queued_ms,
        }));
        number
    }
}

/// Completes after the deadline; never without one.
pub(super) async fn deadline_passed(deadline: Option<std::time::Duration>) -> std::time::Duration {
    match deadline {
        Some(after) => {
            tokio::time::sleep(after).await;
            after
        }
        None => std::future::pending().await,
    }
}

/// Running call. Reports its end exactly once.
struct Running {
    pub(super) lane: Arc<Lane>,
    pub(super) number: CallId,
    pub(super) kind: Kind,
    pub(super) resource: Option<Arc<str>>,
    began: Instant,
    // Dropped after the report, so that the next call starts after this one is reported as
    // finished.
    _slot: Option<SlotGuard>,
    covers: bool,
    reported: bool,
}

impl Running {
    pub(super) fn report(
        &mut self,
        outcome: CallOutcome,
        error: Option<String>,
        again: Option<Retry>,
    ) {
        self.reported = true;
        if !self.covers {
            lock(&self.lane.shared.running).remove(&self.number);
        }
        let took = self.began.elapsed();
        // Held until the event is emitted, so that the newest measurement is emitted last.
        let mut stats = lock(&self.lane.stats);
        // The duration of a cancelled call says nothing about others.
        let counts = outcome != CallOutcome::Cancelled;
        let error_counts = outcome != CallOutcome::Ok;
        let measured = match (counts, self.covers) {
            (false, _) => None,
            (true, false) => Some(stats.add(&self.kind, took, error_counts)),
            // The calls within it have been counted; this measures the duration of the request.
            (true, true) => {
                stats.add_whole(&self.kind, took, error_counts);
                None
            }
        };
        let kind = &self.kind.resource_type;
        self.lane
            .shared
            .sink
            .emit(EventKind::CallFinished(CallFinished {
                call: self.number,
                plugin: self.lane.plugin.clone(),
                method: self.kind.method.into(),
                resource: self.resource.take(),
                resource_type: (!kind.is_empty()).then(|| kind.clone()),
                action: self.kind.action,
                // Rounded, because truncation would show many fast calls as 0.
                took_ms: (took.as_micros() as u64 + 500) / 1_000,
                outcome,
                error,
                again,
                covers: self.covers,
                measured,
            }));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reported {
            self.report(
                CallOutcome::Cancelled,
                Some("the caller no longer waits for the answer".to_owned()),
                None,
            );
        }
    }
}
