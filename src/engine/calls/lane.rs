//! One plugin's slots, its line of waiters and its measures. All of it is under one short lock of
//! the lane's own, which is never held over an await.

mod line;
mod running;
mod standing;
mod ticket;

use super::stats::{self, Past, Window};
use super::switchboard::Shared;
use super::{Answer, CallContext, Kind, Method, ProviderError};
use crate::engine::mutex::lock;
use crate::engine::secrets::Secrets;
use crate::engine::settings::RetrySettings;
use crate::engine::words::*;
pub use line::Drained;
use line::Line;
#[cfg(test)]
pub(super) use line::UNTOLD;
pub(super) use line::Whose;
pub use running::{current, seat};
pub use standing::Standing;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// One plugin's slots and its line of waiters.
pub struct Lane {
    shared: Arc<Shared>,
    plugin: PluginId,
    slots: u32,
    /// Shared with the lanes of other processes that serve the same.
    line: Arc<Mutex<Line>>,
    /// The number of its bank in the line; none while it takes no calls.
    bank: Mutex<Option<u64>>,
    /// Whether the line is that of another process, which was there before.
    is_beside: bool,
    stats: Mutex<Stats>,
    /// Set where a request of the engine holds a slot for several calls of its dialect, each of
    /// which is reported by itself.
    itemised: OnceLock<Rpc>,
}

/// The first RPC that a dialect makes for a request of the engine.
pub type Rpc = fn(Method, &CallContext) -> Method;

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
        let lane = Arc::new(Self::closed(shared, plugin, slots, line, history, false));
        lane.open();
        lane
    }

    /// One of another process that serves the same; it takes no calls until it is opened.
    pub(super) fn beside(&self, plugin: PluginId, history: &[CallStat]) -> Arc<Self> {
        let (shared, line) = (self.shared.clone(), self.line.clone());
        Arc::new(Self::closed(
            shared, plugin, self.slots, line, history, true,
        ))
    }

    fn closed(
        shared: Arc<Shared>,
        plugin: PluginId,
        slots: u32,
        line: Arc<Mutex<Line>>,
        history: &[CallStat],
        is_beside: bool,
    ) -> Self {
        let past = history
            .iter()
            .filter_map(|h| Some((Kind::named(h)?, Past::of(&h.latency))))
            .collect();
        Self {
            shared,
            plugin,
            slots,
            line,
            bank: Mutex::default(),
            is_beside,
            stats: Mutex::new(Stats {
                past,
                ..Stats::default()
            }),
            itemised: OnceLock::new(),
        }
    }

    /// From now on requests that hold a slot are not reported, but the calls made for them with
    /// [`Lane::run_beside`] and [`Lane::run_item`]. `rpc` names a request that waits for its slot.
    pub fn itemise(&self, rpc: Rpc) {
        self.itemised.get_or_init(|| rpc);
    }

    /// Its calls go to a fresh bank of slots from now on, whose number is the answer; those that
    /// hold one of the last bank keep it until they are over. Who waits is served.
    pub fn open(self: &Arc<Self>) -> u64 {
        let mut line = lock(&self.line);
        let number = line.open(Arc::downgrade(self), self.slots);
        if let Some(last) = lock(&self.bank).replace(number) {
            line.close(last);
        }
        self.serve(&mut line);
        number
    }

    /// No further call gets one of its slots.
    pub fn close(&self) {
        let mut line = lock(&self.line);
        if let Some(number) = lock(&self.bank).take() {
            line.close(number);
        }
    }

    /// As [`Lane::close`], where it is open by that number.
    pub fn close_if(&self, number: u64) {
        if *lock(&self.bank) == Some(number) {
            self.close();
        }
    }

    /// Whether its line is that of another process.
    pub(super) fn is_beside(&self) -> bool {
        self.is_beside
    }

    /// Whether calls get slots of it.
    pub fn is_open(&self) -> bool {
        lock(&self.bank).is_some()
    }

    /// Whether somebody holds or waits for a slot of it, or of one that serves the same.
    pub fn is_used(&self) -> bool {
        lock(&self.line).is_used()
    }

    /// Whether somebody waits for a slot: all are held.
    pub fn is_waited_for(&self) -> bool {
        lock(&self.line).is_waited_for()
    }

    /// Has this one told when somebody begins to wait.
    pub fn presses(&self, told: &Arc<Notify>) {
        lock(&self.line).press(told);
    }

    /// What is hidden in its answers.
    pub fn secrets(&self) -> &Secrets {
        &self.shared.secrets
    }

    /// Says something that has to do with its calls.
    pub fn say(&self, kind: EventKind) {
        self.shared.sink.emit(kind);
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
    /// caller's cancellation, or when the line has stood for too long; the deadline counts from
    /// when the call is sent.
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
        let whose = Whose::Any;
        self.attempt(whose, method, ctx, |_| None, call).await.0
    }

    /// As [`Lane::run`], by no other process than this lane's own.
    pub async fn run_here<T, F>(
        self: &Arc<Self>,
        method: Method,
        ctx: &CallContext,
        call: F,
    ) -> Result<T, ProviderError>
    where
        T: Answer,
        F: Future<Output = Result<T, ProviderError>>,
    {
        let whose = Whose::This;
        self.attempt(whose, method, ctx, |_| None, call).await.0
    }

    /// As [`Lane::run`]; and what follows where it failed, as `judge` has it.
    pub(super) async fn attempt<T, F>(
        self: &Arc<Self>,
        whose: Whose,
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
        let shown = self.itemised.get().map_or(method, |rpc| rpc(method, ctx));
        match self.acquire(number, shown, ctx, (true, whose)).await {
            Ok(slot) => {
                let lane = slot.lane.clone();
                let ended = lane
                    .running(number, method, ctx, (Some(slot), queued), judge, call)
                    .await;
                // Whoever has the slot now asks first: the plugin need not wait until what it has
                // answered here is dealt with.
                tokio::task::yield_now().await;
                ended
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

    /// As [`Lane::run_beside`]; and what follows where it failed, as `judge` has it.
    pub async fn run_item<T, F>(
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

    /// Waits until no call holds a slot of this process any more, and keeps all of them until what
    /// is returned is dropped. Calls that are already in line go first. Reported to nobody: it is
    /// no call. Two at a time would wait for each other: the caller sees to it that there is one.
    pub async fn drain(
        self: &Arc<Self>,
        method: Method,
        ctx: &CallContext,
    ) -> Result<Drained, ProviderError> {
        let mut slots = Vec::with_capacity(self.slots as usize);
        for _ in 0..self.slots {
            slots.push(self.acquire(0, method, ctx, (false, Whose::This)).await?);
        }
        Ok(Drained { _slots: slots })
    }
}
