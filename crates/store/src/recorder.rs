//! Persists the engine's events: plugins, launch attempts, log lines, latencies, and the events of
//! deploys for their replay. One task reads the bus. If it falls behind, it logs a warning about
//! the gap.

use super::Store;
use super::error::StoreError;
use super::records::CallSample;
use futures_util::FutureExt;
use model::bus::{Subscription, Update};
use model::view::View;
use model::{
    CallFinished, CallOutcome, DeployId, Event, EventKind, LaunchAttempt, LogLevel, LogLine,
    LogStream, PluginEvent, PluginFound, PluginId, UnixMs, now_ms,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

/// Maximum number of events in one batch, limited to one commit's time.
const MAX_BATCH: usize = 4_096;
/// Time to gather events. It saves waking this task for each event and committing a few events at a
/// time.
const BATCH_DELAY: Duration = Duration::from_millis(50);

/// The task that writes. Ends after [`Recorder`] is dropped and all earlier events are written;
/// [`Recorder::flush`] waits for them.
#[derive(Debug)]
pub struct Recorder {
    flush: mpsc::Sender<oneshot::Sender<()>>,
}

/// Events gathered for one write.
#[derive(Default)]
struct Batch {
    found: BTreeMap<PluginId, PluginFound>,
    attempts: BTreeMap<(PluginId, UnixMs, u32), LaunchAttempt>,
    logs: Vec<LogLine>,
    calls: Vec<CallSample>,
    events: BTreeMap<DeployId, Vec<Arc<Event>>>,
    size: usize,
}

impl Recorder {
    /// Starts to write `events` to `store`, which must be open for writing.
    pub fn start(store: Store, events: Subscription, tasks: &TaskTracker) -> Self {
        let (flush, asked) = mpsc::channel(8);
        tasks.spawn(run(store, events, asked));
        Self { flush }
    }

    /// Waits until all events emitted so far are written.
    pub async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.flush.send(done).await.is_ok() {
            // The task answered or has ended; either way there is nothing left to wait for.
            drop(written.await);
        }
    }
}

/// Stored form of an event: without call statistics, which a replay computes from the calls.
fn stored_form(event: &Arc<Event>) -> Arc<Event> {
    match &event.kind {
        EventKind::CallFinished(call) if call.measured.is_some() => {
            let call = CallFinished {
                measured: None,
                ..call.clone()
            };
            let kind = EventKind::CallFinished(call);
            Arc::new(Event { kind, ..**event })
        }
        _ => event.clone(),
    }
}

async fn run(store: Store, events: Subscription, mut asked: mpsc::Receiver<oneshot::Sender<()>>) {
    let mut listening = Listening {
        store,
        events,
        deploy: None,
        heard: 0,
    };
    loop {
        tokio::select! {
            update = listening.events.recv_together(BATCH_DELAY) => {
                let Some(update) = update else { break };
                let mut batch = Batch::default();
                listening.add_update(update, &mut batch);
                batch.write(&listening.store).await;
            }
            flush = asked.recv() => {
                let Some(done) = flush else { break };
                listening.drain().await;
                // The caller may have stopped waiting.
                done.send(()).unwrap_or_default();
            }
        }
    }
    listening.drain().await;
}

/// The subscription, and the position up to which events are taken.
struct Listening {
    store: Store,
    events: Subscription,
    /// Deploy that current events belong to.
    deploy: Option<DeployId>,
    /// Number of the last event taken.
    heard: u64,
}

impl Listening {
    /// Writes all events emitted so far, but none emitted meanwhile, so that it ends.
    async fn drain(&mut self) {
        // Fixed before the loop, so that later events do not prolong it.
        let said = self.events.last_event_number();
        while self.heard < said {
            let mut batch = Batch::default();
            self.fill(&mut batch);
            // Events from before the subscription never arrive.
            if batch.size == 0 {
                break;
            }
            batch.write(&self.store).await;
        }
    }

    /// Takes events that have already arrived. Unconstrained, because tokio's budget would make a
    /// full channel look empty.
    fn fill(&mut self, batch: &mut Batch) {
        while batch.size < MAX_BATCH
            && let Some(Some(update)) =
                tokio::task::unconstrained(self.events.recv()).now_or_never()
        {
            self.add_update(update, batch);
        }
    }

    fn add_update(&mut self, update: Update, batch: &mut Batch) {
        self.heard = match &update {
            Update::Events(events) => events.last().map_or(self.heard, |event| event.seq),
            Update::Snapshot(view) => view.seq,
        };
        batch.add_update(update, &mut self.deploy);
    }
}

impl Batch {
    fn add_update(&mut self, update: Update, deploy: &mut Option<DeployId>) {
        match update {
            Update::Events(events) => {
                self.size += events.len();
                events.iter().for_each(|event| self.event(event, deploy));
            }
            Update::Snapshot(view) => self.snapshot(&view, deploy),
        }
    }

    fn event(&mut self, event: &Arc<Event>, deploy: &mut Option<DeployId>) {
        // Set before the event is filed, so that the first event belongs to its deploy.
        if let EventKind::DeployStarted(started) = &event.kind {
            *deploy = Some(started.deploy);
        }
        match &event.kind {
            EventKind::Plugin(PluginEvent::Found { plugin, found }) => {
                drop(self.found.insert(plugin.clone(), found.clone()))
            }
            EventKind::Plugin(PluginEvent::Attempt { plugin, attempt }) => {
                self.attempts.insert(
                    (plugin.clone(), attempt.began, attempt.number),
                    attempt.clone(),
                );
            }
            EventKind::Plugin(PluginEvent::Log { line }) => self.logs.push(line.clone()),
            // The duration of a cancelled call says nothing about its method.
            EventKind::CallFinished(call) if call.outcome != CallOutcome::Cancelled => {
                self.calls.push(CallSample {
                    plugin: call.plugin.clone(),
                    method: call.method.clone(),
                    resource_type: call.resource_type.clone().unwrap_or_else(|| "".into()),
                    action: call.action,
                    took_ms: call.took_ms,
                    ok: call.outcome == CallOutcome::Ok,
                })
            }
            _ => {}
        }
        // Lines are stored in the log, and usage matters only at its moment. Operations and calls
        // cover the events of objects.
        if let Some(id) = *deploy
            && !matches!(
                &event.kind,
                EventKind::CallFinished(CallFinished { covers: true, .. })
                    | EventKind::Object(_)
                    | EventKind::Plugin(PluginEvent::Log { .. } | PluginEvent::Usage { .. })
            )
        {
            self.events.entry(id).or_default().push(stored_form(event));
        }
        // Cleared after the event is filed, so that the last event belongs to its deploy.
        if matches!(event.kind, EventKind::DeployFinished(_)) {
            *deploy = None;
        }
    }

    /// After a gap: stores the state of the view and logs the gap.
    fn snapshot(&mut self, view: &View, deploy: &mut Option<DeployId>) {
        self.size += 1;
        for plugin in view.plugins.values() {
            if let Some(found) = &plugin.found {
                self.found.insert(plugin.id.clone(), found.clone());
            }
            for attempt in &plugin.attempts {
                self.attempts.insert(
                    (plugin.id.clone(), attempt.began, attempt.number),
                    attempt.clone(),
                );
            }
        }
        // The deploy may have started or ended during the gap.
        *deploy = view
            .deploy
            .as_ref()
            .filter(|d| d.summary.is_none())
            .map(|d| d.deploy);
        self.logs.push(LogLine {
            plugin: PluginId("flightdeck".into()),
            at: now_ms(),
            level: LogLevel::Warn,
            stream: LogStream::Engine,
            module: None,
            text: format!("events arrived faster than they could be stored: log lines and calls before event {} are missing here", view.seq),
            panic: false,
        });
    }

    async fn write(self, store: &Store) {
        let found = self
            .found
            .into_iter()
            .map(|(plugin, found)| store.plugin_found(plugin, found).boxed());
        let attempts = self
            .attempts
            .into_iter()
            .map(|((plugin, ..), attempt)| store.launch_attempt(plugin, attempt).boxed());
        let events = self.events.into_iter().map(|(deploy, events)| {
            store
                .append_events(deploy, events)
                .map(|r| r.map(drop))
                .boxed()
        });
        // Queued together, so that they share a commit.
        let mut writes: Vec<_> = found.chain(attempts).chain(events).collect();
        if !self.logs.is_empty() {
            writes.push(store.append_logs(self.logs).boxed());
        }
        if !self.calls.is_empty() {
            writes.push(store.add_calls(self.calls).boxed());
        }
        let failed: Option<StoreError> = futures_util::future::join_all(writes)
            .await
            .into_iter()
            .find_map(Result::err);
        // One message for a batch, because its errors usually have the same cause.
        if let Some(error) = failed {
            tracing::warn!(%error, "cannot store plugin activity");
        }
    }
}
