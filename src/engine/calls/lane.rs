//! One plugin's slots, its line of waiters and its measures. All of it is under one short lock of the lane's own, which is never held over an await.

mod line;
mod running;
mod standing;

use super::stats::{self, Past, Window};
use super::switchboard::Shared;
use super::{Answer, CallContext, Kind, Method, ProviderError};
use crate::engine::mutex::lock;
use crate::engine::secrets::Secrets;
use crate::engine::settings::RetrySettings;
use crate::engine::words::*;
pub use line::Drained;
use line::Line;
pub use running::current;
pub use standing::Standing;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// One plugin's slots and its line of waiters.
pub struct Lane {
    shared: Arc<Shared>,
    plugin: PluginId,
    slots: u32,
    line: Mutex<Line>,
    stats: Mutex<Stats>,
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
        Self {
            shared,
            plugin,
            slots,
            line: Mutex::new(Line::new(slots)),
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
}
