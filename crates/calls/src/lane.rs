//! Lane: admission of calls to one plugin process. It has the slots (permits for concurrent calls),
//! the line (queue of waiting calls) and the latency measurements. Each of these has a lock of its
//! own that is never held across an await.

mod host_request;
mod running;
mod slot_queue;
mod ticket;

use super::lanes::Shared;
use super::stats::{self, EarlierStats, Window};
use super::{Answer, CallContext, Kind, Method, ProviderError};
pub use host_request::HostRequest;
use model::mutex::lock;
use model::secrets::Secrets;
use model::settings::RetrySettings;
use model::*;
pub use running::{current, seat};
pub use slot_queue::Drained;
use slot_queue::Line;
#[cfg(test)]
pub(super) use slot_queue::REPORT_AFTER;
pub(super) use slot_queue::SlotsOf;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Slots, line (queue) and measurements of one plugin process.
pub struct Lane {
    shared: Arc<Shared>,
    plugin: PluginId,
    slots: u32,
    /// Shared with the lanes of other processes of the same configuration.
    line: Arc<Mutex<Line>>,
    /// Number of its bank in the line; `None` while it is closed.
    bank_number: Mutex<Option<u64>>,
    /// True if the line belongs to another process, the leader.
    shares_line: bool,
    stats: Mutex<Stats>,
    /// Set if a request of the engine holds one slot for several calls of its dialect, which are
    /// reported one by one.
    itemised: OnceLock<Rpc>,
}

/// Returns the first RPC that a dialect makes for a request of the engine.
pub type Rpc = fn(Method, &CallContext) -> Method;

/// Measurements: usual latency per kind of call, and displayed latency per method and for the
/// plugin.
#[derive(Default)]
struct Stats {
    live: BTreeMap<Kind, Window>,
    past: BTreeMap<Kind, EarlierStats>,
    methods: BTreeMap<Method, Window>,
    plugin: Window,
}

impl Stats {
    fn add_whole(&mut self, kind: &Kind, took: Duration, error: bool) {
        self.live.entry(kind.clone()).or_default().add(took, error);
    }

    fn add(&mut self, kind: &Kind, took: Duration, error: bool) -> Measured {
        self.add_whole(kind, took, error);
        let method = self.methods.entry(kind.method).or_default();
        method.add(took, error);
        self.plugin.add(took, error);
        Measured {
            method: method.latency(),
            plugin: self.plugin.latency(),
        }
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
    ) -> Arc<Self> {
        let line = Arc::default();
        let lane = Arc::new(Self::new_closed(
            shared, plugin, slots, line, history, false,
        ));
        lane.open();
        lane
    }

    /// Creates the lane of another process of the same configuration; it is closed until
    /// [`open`](Self::open).
    pub(super) fn additional(&self, plugin: PluginId, history: &[CallStat]) -> Arc<Self> {
        let (shared, line) = (self.shared.clone(), self.line.clone());
        Arc::new(Self::new_closed(
            shared, plugin, self.slots, line, history, true,
        ))
    }

    fn new_closed(
        shared: Arc<Shared>,
        plugin: PluginId,
        slots: u32,
        line: Arc<Mutex<Line>>,
        history: &[CallStat],
        is_beside: bool,
    ) -> Self {
        let past = history
            .iter()
            .filter_map(|h| Some((Kind::from_stat(h)?, EarlierStats::from_latency(&h.latency))))
            .collect();
        Self {
            shared,
            plugin,
            slots,
            line,
            bank_number: Mutex::default(),
            shares_line: is_beside,
            stats: Mutex::new(Stats {
                past,
                ..Stats::default()
            }),
            itemised: OnceLock::new(),
        }
    }

    /// Reports, from now on, the calls made with [`Lane::run_without_slot`] and
    /// [`Lane::run_single_call`] instead of the requests that hold a slot. `rpc` names a request
    /// that waits for its slot.
    pub fn report_single_calls(&self, rpc: Rpc) {
        self.itemised.get_or_init(|| rpc);
    }

    /// Opens a new bank of slots and returns its number. Calls that hold a slot of the previous
    /// bank keep it. Waiting calls get the new slots.
    pub fn open(self: &Arc<Self>) -> u64 {
        let mut line = lock(&self.line);
        let number = line.open(Arc::downgrade(self), self.slots);
        // The old bank is closed after the new one is open, so that waiting calls always have one.
        if let Some(last) = lock(&self.bank_number).replace(number) {
            line.close(last);
        }
        self.serve(&mut line);
        number
    }

    /// Stops granting slots of this lane.
    pub fn close(&self) {
        let mut line = lock(&self.line);
        if let Some(number) = lock(&self.bank_number).take() {
            line.close(number);
        }
    }

    /// Closes the lane as [`Lane::close`] does, if it is open with this number.
    pub fn close_if(&self, number: u64) {
        if *lock(&self.bank_number) == Some(number) {
            self.close();
        }
    }

    /// Returns true if its line belongs to another process.
    pub(super) fn shares_line(&self) -> bool {
        self.shares_line
    }

    /// Returns true if calls may get its slots.
    pub fn is_open(&self) -> bool {
        lock(&self.bank_number).is_some()
    }

    /// Returns true if a call holds or waits for a slot of its line.
    pub fn is_used(&self) -> bool {
        lock(&self.line).is_used()
    }

    /// Returns true if a call waits for a slot, so all are held.
    pub fn has_waiters(&self) -> bool {
        lock(&self.line).has_waiters()
    }

    /// Sets the receiver that is notified when a call starts to wait.
    pub fn notify_on_wait(&self, told: &Arc<Notify>) {
        lock(&self.line).press(told);
    }

    /// Returns the values to redact in its answers.
    pub fn secrets(&self) -> &Secrets {
        &self.shared.secrets
    }

    /// Emits an event about its calls.
    pub fn emit(&self, kind: EventKind) {
        self.shared.sink.emit(kind);
    }

    /// Returns the plugin of the lane.
    pub fn plugin(&self) -> &PluginId {
        &self.plugin
    }

    /// Returns the usual latency of such a call, over this run and earlier ones.
    pub fn usual_latency(&self, kind: &Kind) -> Option<Latency> {
        let stats = lock(&self.stats);
        Some(stats::latency(stats.live.get(kind), stats.past.get(kind))).filter(Latency::is_known)
    }

    /// Returns the settings of retries.
    pub(super) fn retries(&self) -> RetrySettings {
        self.shared
            .retries
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits for a slot, then makes a call. `call` is not polled before. The wait ends on
    /// cancellation, or when the line has not moved for too long; the deadline counts from when the
    /// call is sent.
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
        let whose = SlotsOf::Any;
        self.attempt(whose, method, ctx, |_| None, call).await.0
    }

    /// Runs a call as [`Lane::run`] does, on this lane's own process only.
    pub async fn run_on_own_process<T, F>(
        self: &Arc<Self>,
        method: Method,
        ctx: &CallContext,
        call: F,
    ) -> Result<T, ProviderError>
    where
        T: Answer,
        F: Future<Output = Result<T, ProviderError>>,
    {
        let whose = SlotsOf::This;
        self.attempt(whose, method, ctx, |_| None, call).await.0
    }

    /// Runs a call as [`Lane::run`] does, and returns the retry that `judge` decides on after a
    /// failure.
    pub(super) async fn attempt<T, F>(
        self: &Arc<Self>,
        whose: SlotsOf,
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
        // While it waits, the request is shown as its first RPC.
        let shown = self.itemised.get().map_or(method, |rpc| rpc(method, ctx));
        match self.acquire(number, shown, ctx, (true, whose)).await {
            Ok(slot) => {
                // The slot may belong to another process of the line, which the call then runs on.
                let lane = slot.lane.clone();
                let ended = lane
                    .running(number, method, ctx, (Some(slot), queued), judge, call)
                    .await;
                // Let the next holder of the slot send its call first, so that the plugin does not
                // idle while this answer is processed.
                tokio::task::yield_now().await;
                ended
            }
            Err(error) => (Err(error), None),
        }
    }

    /// Makes a call without a slot, at once: it must succeed even if all slots are held.
    pub async fn run_without_slot<T, F>(
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

    /// Runs a call as [`Lane::run_without_slot`] does, and returns the retry that `judge` decides
    /// on after a failure.
    pub async fn run_single_call<T, F>(
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
        let number = self.shared.number();
        self.running(number, method, ctx, (None, Instant::now()), judge, call)
            .await
    }

    /// Waits until no call holds a slot of this process, and keeps all slots until the result is
    /// dropped. Calls already in line go first. No event is emitted, because it is no call. The
    /// caller must prevent concurrent drains, which would deadlock.
    pub async fn drain(
        self: &Arc<Self>,
        method: Method,
        ctx: &CallContext,
    ) -> Result<Drained, ProviderError> {
        let mut slots = Vec::with_capacity(self.slots as usize);
        // Slots are taken in order of arrival, so calls already in line are served first.
        for _ in 0..self.slots {
            slots.push(self.acquire(0, method, ctx, (false, SlotsOf::This)).await?);
        }
        Ok(Drained { _slots: slots })
    }
}
