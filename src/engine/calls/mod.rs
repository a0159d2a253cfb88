//! Every call to a plugin goes through here: it gets a number, waits for one of its plugin's slots,
//! runs against its deadline and its caller's cancellation, and is reported and measured. Owns the
//! numbering, the deadlines and one [`Lane`] for each plugin; a lane owns its slots and its
//! measures.

mod answer;
mod attempts;
mod context;
mod error;
mod lane;
mod method;
mod stats;

pub use answer::{Answer, Checked, ProviderDiagnostic};
pub use attempts::{Attempts, Retrying};
pub use context::CallContext;
pub use error::ProviderError;
pub use lane::{Drained, Lane};
pub use method::Method;

use super::bus::EventSink;
use super::mutex::lock;
use super::secrets::Secrets;
use super::settings::RetrySettings;
use super::words::{CallStat, Latency, PluginId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

/// What a duration is usual for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    pub method: Method,
    /// Empty where no resource is meant.
    pub resource_type: String,
    /// What an apply does; empty for other methods.
    pub action: String,
}

impl Kind {
    /// An apply that creates, updates or destroys an object of a type.
    pub fn apply(resource_type: &str, action: &str) -> Self {
        Self {
            method: Method::Apply,
            resource_type: resource_type.to_owned(),
            action: action.to_owned(),
        }
    }

    /// A call as its caller describes it.
    fn of(method: Method, ctx: &CallContext) -> Self {
        let address = ctx.resource.as_deref().unwrap_or_default();
        let address = address.split(" (deposed ").next().unwrap_or_default();
        let parsed = address.parse::<lang::addr::AbsInstance>();
        let resource_type = parsed
            .map(|a| a.resource.kind.to_string())
            .unwrap_or_default();
        Self {
            method,
            resource_type,
            action: ctx.action.unwrap_or_default().to_owned(),
        }
    }

    fn named(stat: &CallStat) -> Option<Self> {
        Some(Self {
            method: Method::named(&stat.method)?,
            resource_type: stat.resource_type.clone(),
            action: stat.action.clone(),
        })
    }
}

/// How long each method may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlines(BTreeMap<Method, Option<Duration>>);

impl Default for Deadlines {
    fn default() -> Self {
        Self(
            Method::ALL
                .into_iter()
                .map(|m| (m, m.default_deadline()))
                .collect(),
        )
    }
}

impl Deadlines {
    /// The deadline of a method; `None` for as long as it takes.
    pub fn get(&self, method: Method) -> Option<Duration> {
        self.0.get(&method).copied().flatten()
    }

    /// Changes one deadline.
    pub fn set(&mut self, method: Method, deadline: Option<Duration>) {
        self.0.insert(method, deadline);
    }
}

/// What all lanes share.
struct Shared {
    sink: Arc<dyn EventSink>,
    secrets: Secrets,
    next: AtomicU64,
    deadlines: RwLock<Deadlines>,
    retries: RwLock<RetrySettings>,
}

/// The switchboard. Cheap to clone.
#[derive(Clone)]
pub struct Calls {
    shared: Arc<Shared>,
    lanes: Arc<Mutex<BTreeMap<PluginId, Arc<Lane>>>>,
    history: Arc<Mutex<Vec<CallStat>>>,
}

impl std::fmt::Debug for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Calls")
            .field("lanes", &lock(&self.lanes).keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Calls {
    /// A switchboard that reports to `sink`; `history` says how long calls took in earlier runs.
    pub fn new(sink: Arc<dyn EventSink>, deadlines: Deadlines, history: Vec<CallStat>) -> Self {
        let secrets = sink.secrets();
        let (next, deadlines, retries) =
            (AtomicU64::new(1), RwLock::new(deadlines), RwLock::default());
        Self {
            shared: Arc::new(Shared {
                sink,
                secrets,
                next,
                deadlines,
                retries,
            }),
            lanes: Arc::default(),
            history: Arc::new(Mutex::new(history)),
        }
    }

    /// The lane of a plugin; made with this many slots (at least one) when it is first asked for.
    /// It outlives the plugin's process, so that who waits keeps its place while the plugin is
    /// launched again.
    pub fn lane(&self, plugin: &PluginId, slots: u32) -> Arc<Lane> {
        let mut lanes = lock(&self.lanes);
        if let Some(lane) = lanes.get(plugin) {
            return lane.clone();
        }
        let history = lock(&self.history)
            .iter()
            .filter(|h| h.plugin == plugin.base())
            .cloned()
            .collect::<Vec<_>>();
        let lane = Arc::new(Lane::new(
            self.shared.clone(),
            plugin.clone(),
            slots.max(1),
            &history,
        ));
        lanes.insert(plugin.clone(), lane.clone());
        lane
    }

    /// What is hidden in what plugins answer.
    pub fn secrets(&self) -> &Secrets {
        &self.shared.secrets
    }

    /// How long such calls to a plugin usually take, over this run and earlier ones.
    pub fn usual(&self, plugin: &PluginId, kind: &Kind) -> Option<Latency> {
        if let Some(lane) = lock(&self.lanes).get(plugin).cloned() {
            return lane.usual(kind);
        }
        let history = lock(&self.history);
        let known = history
            .iter()
            .find(|h| h.plugin == plugin.base() && Kind::named(h).as_ref() == Some(kind))?;
        Some(known.latency).filter(Latency::is_known)
    }

    /// Changes the deadlines; running calls keep theirs.
    pub fn set_deadlines(&self, deadlines: Deadlines) {
        *self
            .shared
            .deadlines
            .write()
            .unwrap_or_else(PoisonError::into_inner) = deadlines;
    }

    /// Changes how often calls are made again; those on their way keep to what they began with.
    pub fn set_retries(&self, retries: RetrySettings) {
        *self
            .shared
            .retries
            .write()
            .unwrap_or_else(PoisonError::into_inner) = retries;
    }
}

impl Shared {
    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn deadline(&self, method: Method) -> Option<Duration> {
        self.deadlines
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(method)
    }
}

#[cfg(test)]
mod tests;
