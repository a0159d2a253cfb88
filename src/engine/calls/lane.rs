//! One plugin's slots: who holds them, who waits in line (first come, first served), how long calls
//! took. All of it is under one short lock of the lane's own, which is never held over an await.

use super::stats::{self, Past, Window};
use super::{Answer, CallContext, Method, ProviderError};
use super::{Kind, Shared};
use crate::engine::mutex::lock;
use crate::engine::secrets::Secrets;
use crate::engine::settings::RetrySettings;
use crate::engine::words::*;
use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How many waiters are told again what they wait for when the one they waited for is done: those
/// at the head of the line.
const TOLD_AGAIN: usize = 64;

/// One plugin's slots and its line of waiters.
pub struct Lane {
    shared: Arc<Shared>,
    plugin: PluginId,
    slots: u32,
    line: Mutex<Line>,
    stats: Mutex<Stats>,
}

#[derive(Default)]
struct Line {
    /// By slot.
    holders: Vec<Option<Holder>>,
    waiting: VecDeque<Waiter>,
}

#[derive(Clone)]
struct Holder {
    call: CallId,
    method: Method,
    resource: Option<String>,
    since: Instant,
}

struct Waiter {
    call: CallId,
    method: Method,
    resource: Option<String>,
    /// The call that it was last told it waits for; `None` for one who is not told.
    told: Option<CallId>,
    grant: oneshot::Sender<usize>,
}

/// The lane's measures: what is usual for a kind of call, and what is shown of its methods and of
/// the whole plugin.
#[derive(Default)]
struct Stats {
    live: BTreeMap<Kind, Window>,
    past: BTreeMap<Kind, Past>,
    methods: BTreeMap<Method, Window>,
    plugin: Window,
}

impl Stats {
    fn add(&mut self, kind: &Kind, took: Duration, error: bool) -> Measured {
        self.live.entry(kind.clone()).or_default().add(took, error);
        let method = self.methods.entry(kind.method).or_default();
        method.add(took, error);
        self.plugin.add(took, error);
        Measured {
            method: method.latency(),
            plugin: self.plugin.latency(),
        }
    }
}

impl Line {
    /// The call that has held its slot longest; the first slot's among equals.
    fn longest(&self) -> Option<&Holder> {
        self.holders.iter().flatten().min_by_key(|h| h.since)
    }
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lane")
            .field("plugin", &self.plugin)
            .field("slots", &self.slots)
            .finish_non_exhaustive()
    }
}

impl Lane {
    pub(super) fn new(
        shared: Arc<Shared>,
        plugin: PluginId,
        slots: u32,
        history: &[CallStat],
    ) -> Self {
        let past = history
            .iter()
            .filter_map(|h| Some((Kind::named(h)?, Past::of(&h.latency))))
            .collect();
        let line = Line {
            holders: vec![None; slots as usize],
            waiting: VecDeque::new(),
        };
        Self {
            shared,
            plugin,
            slots,
            line: Mutex::new(line),
            stats: Mutex::new(Stats {
                past,
                ..Stats::default()
            }),
        }
    }

    /// What is hidden in its answers.
    pub fn secrets(&self) -> &Secrets {
        &self.shared.secrets
    }

    /// Whose lane it is.
    pub fn plugin(&self) -> &PluginId {
        &self.plugin
    }

    /// How long such a call usually takes, over this run and earlier ones.
    pub fn usual(&self, kind: &Kind) -> Option<Latency> {
        let stats = lock(&self.stats);
        Some(stats::latency(stats.live.get(kind), stats.past.get(kind))).filter(Latency::is_known)
    }

    /// How often calls are made again.
    pub(super) fn retries(&self) -> RetrySettings {
        self.shared
            .retries
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Makes a call when it is its turn. `call` is not polled before. Waiting in line ends with the
    /// caller's cancellation; the deadline counts from when the call is sent.
    pub async fn run<T, F>(
        self: &Arc<Self>,
        method: Method,
        ctx: &CallContext,
        call: F,
    ) -> Result<T, ProviderError>
    where
        T: Answer,
        F: Future<Output = Result<T, ProviderError>>,
    {
        self.attempt(method, ctx, |_| None, call).await.0
    }

    /// As [`Lane::run`]; and what follows where it failed, as `judge` has it.
    pub(super) async fn attempt<T, F>(
        self: &Arc<Self>,
        method: Method,
        ctx: &CallContext,
        judge: impl Fn(&ProviderError) -> Option<Retry>,
        call: F,
    ) -> (Result<T, ProviderError>, Option<Retry>)
    where
        T: Answer,
        F: Future<Output = Result<T, ProviderError>>,
    {
        let queued = Instant::now();
        let number = self.shared.number();
        match self.acquire(number, method, ctx, true).await {
            Ok(slot) => {
                self.running(number, method, ctx, (Some(slot), queued), judge, call)
                    .await
            }
            Err(error) => (Err(error), None),
        }
    }

    /// Makes a call that needs no slot, at once: it must get through when all slots are held.
    pub async fn run_beside<T, F>(
        self: &Arc<Self>,
        method: Method,
        ctx: &CallContext,
        call: F,
    ) -> Result<T, ProviderError>
    where
        T: Answer,
        F: Future<Output = Result<T, ProviderError>>,
    {
        let number = self.shared.number();
        self.running(number, method, ctx, (None, Instant::now()), |_| None, call)
            .await
            .0
    }

    /// Waits until no call holds a slot any more, and keeps all of them until what is returned is
    /// dropped. Calls that are already in line go first. Reported to nobody: it is no call. Two at
    /// a time would wait for each other: the caller sees to it that there is one.
    pub async fn drain(
        self: &Arc<Self>,
        method: Method,
        ctx: &CallContext,
    ) -> Result<Drained, ProviderError> {
        let mut slots = Vec::with_capacity(self.slots as usize);
        for _ in 0..self.slots {
            slots.push(self.acquire(0, method, ctx, false).await?);
        }
        Ok(Drained { _slots: slots })
    }

    async fn running<T, F>(
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
        let (began, kind) = (Instant::now(), Kind::of(method, ctx));
        self.shared.sink.emit(EventKind::CallStarted(CallStarted {
            call: number,
            plugin: self.plugin.clone(),
            slot: slot.as_ref().map_or(0, |s| s.slot as u32 + 1),
            slots: self.slots,
            method: method.name().to_owned(),
            resource: ctx.resource.clone(),
            deadline_ms: deadline.map(|d| d.as_millis() as u64),
            usual: self.usual(&kind),
            queued_ms: began.duration_since(queued).as_millis() as u64,
        }));
        // From here on the call is reported as finished whatever happens, a dropped future
        // included.
        let mut running = Running {
            lane: self.clone(),
            number,
            kind,
            resource: ctx.resource.clone(),
            began,
            _slot: slot,
            reported: false,
        };
        let mut call = pin!(call);
        let result = tokio::select! {
            biased;
            result = &mut call => result,
            () = ctx.cancel.cancelled(), if method.can_be_dropped() => {
                Err(ProviderError::Cancelled { plugin: self.plugin.clone(), method, sent: true })
            }
            after = past(deadline) => Err(ProviderError::Deadline { plugin: self.plugin.clone(), method, after }),
        };
        let mut result = result;
        match &mut result {
            Ok(answer) => answer.hide(&self.shared.secrets),
            Err(error) => error.hide(&self.shared.secrets),
        }
        let retry = result.as_ref().err().and_then(judge);
        match &result {
            Ok(answer) => match answer.first_error() {
                None => running.report(CallOutcome::Ok, None, None),
                Some(d) => running.report(CallOutcome::Error, Some(d.summary.clone()), None),
            },
            Err(error) => running.report(error.outcome(), Some(error.to_string()), retry),
        }
        (result, retry)
    }

    /// A slot, once all who came earlier have had theirs.
    async fn acquire(
        self: &Arc<Self>,
        call: CallId,
        method: Method,
        ctx: &CallContext,
        told: bool,
    ) -> Result<SlotGuard, ProviderError> {
        let cancelled = || ProviderError::Cancelled {
            plugin: self.plugin.clone(),
            method,
            sent: false,
        };
        if ctx.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let receiver = {
            let mut line = lock(&self.line);
            let holder = Holder {
                call,
                method,
                resource: ctx.resource.clone(),
                since: Instant::now(),
            };
            // Free slots and waiters never exist together: a slot that is given back goes to the
            // head of the line.
            if let Some(slot) = line.holders.iter().position(Option::is_none) {
                line.holders[slot] = Some(holder);
                return Ok(SlotGuard {
                    lane: self.clone(),
                    slot,
                });
            }
            let (grant, receiver) = oneshot::channel();
            let blocker = told.then(|| line.longest().map_or(0, |h| h.call));
            line.waiting.push_back(Waiter {
                call,
                method,
                resource: ctx.resource.clone(),
                told: blocker,
                grant,
            });
            if let Some(waiter) = line.waiting.back().filter(|_| told) {
                // Under the lane's lock, so that no reader sees "waits" after "started".
                self.tell(waiter, line.longest());
            }
            receiver
        };
        let mut ticket = Ticket {
            lane: self.clone(),
            call,
            method,
            resource: ctx.resource.clone(),
            queued: Instant::now(),
            told,
            receiver: Some(receiver),
        };
        let Some(receiver) = ticket.receiver.as_mut() else {
            return Err(cancelled());
        };
        tokio::select! {
            biased;
            granted = receiver => match granted {
                Ok(slot) => {
                    ticket.receiver = None;
                    Ok(SlotGuard { lane: self.clone(), slot })
                }
                Err(_) => Err(cancelled()),
            },
            () = ctx.cancel.cancelled() => Err(cancelled()),
        }
    }

    fn tell(&self, waiter: &Waiter, blocker: Option<&Holder>) {
        let waits_for = match blocker {
            None => format!("slot of {}", self.plugin),
            Some(Holder {
                method,
                resource: Some(resource),
                ..
            }) => format!("slot of {}, held by {resource} ({method})", self.plugin),
            Some(Holder {
                method,
                resource: None,
                ..
            }) => format!("slot of {}, held by {method}", self.plugin),
        };
        self.shared.sink.emit(EventKind::CallQueued(CallQueued {
            call: waiter.call,
            plugin: self.plugin.clone(),
            method: waiter.method.name().to_owned(),
            resource: waiter.resource.clone(),
            waits_for,
            blocker: blocker.map(|b| b.call),
        }));
    }

    /// Hands a slot to the first who still waits for it, and tells those at the head of the line
    /// whom they wait for now.
    fn release(&self, slot: usize) {
        let mut guard = lock(&self.line);
        let line = &mut *guard;
        line.holders[slot] = None;
        while let Some(Waiter {
            call,
            method,
            resource,
            grant,
            ..
        }) = line.waiting.pop_front()
        {
            line.holders[slot] = Some(Holder {
                call,
                method,
                resource,
                since: Instant::now(),
            });
            if grant.send(slot).is_ok() {
                break;
            }
            line.holders[slot] = None;
        }
        let Some(longest) = line.longest().cloned() else {
            return;
        };
        for waiter in line.waiting.iter_mut().take(TOLD_AGAIN) {
            if waiter
                .told
                .is_some_and(|told| !line.holders.iter().flatten().any(|h| h.call == told))
            {
                waiter.told = Some(longest.call);
                self.tell(waiter, Some(&longest));
            }
        }
    }
}

/// Ends with the deadline, if there is one.
async fn past(deadline: Option<std::time::Duration>) -> std::time::Duration {
    match deadline {
        Some(after) => {
            tokio::time::sleep(after).await;
            after
        }
        None => std::future::pending().await,
    }
}

/// A held slot; given back when dropped.
struct SlotGuard {
    lane: Arc<Lane>,
    slot: usize,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.lane.release(self.slot);
    }
}

/// All slots of a lane; given back when dropped.
pub struct Drained {
    _slots: Vec<SlotGuard>,
}

/// A place in the line. Dropped without a slot, the call is over and reported so.
struct Ticket {
    lane: Arc<Lane>,
    call: CallId,
    method: Method,
    resource: Option<String>,
    queued: Instant,
    told: bool,
    receiver: Option<oneshot::Receiver<usize>>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some(mut receiver) = self.receiver.take() else {
            return;
        };
        let granted = {
            let mut line = lock(&self.lane.line);
            line.waiting.retain(|w| w.call != self.call);
            receiver.close();
            // Granted in the meantime: it goes on to the next.
            receiver.try_recv().ok()
        };
        if self.told {
            self.report();
        }
        if let Some(slot) = granted {
            self.lane.release(slot);
        }
    }
}

impl Ticket {
    fn report(&mut self) {
        self.lane
            .shared
            .sink
            .emit(EventKind::CallFinished(CallFinished {
                call: self.call,
                plugin: self.lane.plugin.clone(),
                method: self.method.name().to_owned(),
                resource: self.resource.take(),
                resource_type: None,
                action: None,
                took_ms: self.queued.elapsed().as_millis() as u64,
                outcome: CallOutcome::Cancelled,
                error: Some("cancelled while it waited for its turn".to_owned()),
                again: None,
                measured: None,
            }));
    }
}

/// A call on its way. Reports its end once.
struct Running {
    lane: Arc<Lane>,
    number: CallId,
    kind: Kind,
    resource: Option<String>,
    began: Instant,
    // Dropped after the report: who waits for the slot starts after this call has ended.
    _slot: Option<SlotGuard>,
    reported: bool,
}

impl Running {
    fn report(&mut self, outcome: CallOutcome, error: Option<String>, again: Option<Retry>) {
        self.reported = true;
        let took = self.began.elapsed();
        // Held until it is said, so that the newest measure is the last to be said.
        let mut stats = lock(&self.lane.stats);
        // How long a call took that was given up says nothing about others.
        let counts = outcome != CallOutcome::Cancelled;
        let measured = counts.then(|| stats.add(&self.kind, took, outcome != CallOutcome::Ok));
        let word = |text: &String| (!text.is_empty()).then(|| text.clone());
        self.lane
            .shared
            .sink
            .emit(EventKind::CallFinished(CallFinished {
                call: self.number,
                plugin: self.lane.plugin.clone(),
                method: self.kind.method.name().to_owned(),
                resource: self.resource.take(),
                resource_type: word(&self.kind.resource_type),
                action: word(&self.kind.action),
                took_ms: (took.as_micros() as u64 + 500) / 1_000,
                outcome,
                error,
                again,
                measured,
            }));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reported {
            self.report(
                CallOutcome::Cancelled,
                Some("its caller is gone".to_owned()),
                None,
            );
        }
    }
}
