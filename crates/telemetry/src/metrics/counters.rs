//! Counters and histograms, updated with each event, so that infrequent scrapes miss nothing.

use super::gauges::StateGauges;
use model::bus::{Bus, Listener};
use model::mutex::lock;
use model::*;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Label names with values, in output order.
pub(super) type Labels<const N: usize> = [(&'static str, String); N];
type Counts<const N: usize> = Family<Labels<N>, Counter>;
type Durations<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

/// Upper bounds in seconds: from a call answered from memory to the creation of a database.
const BOUNDS: [f64; 18] = [
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
    600.0, 1800.0,
];

fn durations() -> Histogram {
    Histogram::new(BOUNDS)
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

/// All metrics of one engine.
pub struct Measures {
    registry: Registry,
    gauges: StateGauges,
    launches: Counts<2>,
    launched: Durations<1>,
    crashes: Counts<1>,
    replaced: Counts<1>,
    lines: Counts<2>,
    dropped_lines: Counts<1>,
    calls: Counts<3>,
    retries: Counts<2>,
    call_durations: Durations<2>,
    wait_durations: Durations<1>,
    /// Set by each started call; it stays valid after the call.
    slots: Family<Labels<1>, Gauge>,
    stages: Counts<1>,
    reconcile_runs: Counts<1>,
    operations: Counts<2>,
    operated: Durations<1>,
    deploys: Counts<1>,
    /// Ended operations of the running deploy that are counted already.
    counted_operations: Mutex<BTreeMap<(DeployId, u32), OperationState>>,
}

impl std::fmt::Debug for Measures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Measures").finish_non_exhaustive()
    }
}

/// Registers a new metric family.
fn new<F: Clone + prometheus_client::registry::Metric>(
    registry: &mut Registry,
    (name, help): (&str, &str),
    unit: Option<Unit>,
    family: F,
) -> F {
    match unit {
        Some(unit) => registry.register_with_unit(name, help, unit, family.clone()),
        None => registry.register(name, help, family.clone()),
    }
    family
}

fn count<const N: usize>(all: &mut Registry, name: &str, help: &str) -> Counts<N> {
    new(all, (name, help), None, Counts::default())
}

fn times<const N: usize>(all: &mut Registry, name: &str, help: &str) -> Durations<N> {
    let family = Durations::new_with_constructor(durations);
    new(all, (name, help), Some(Unit::Seconds), family)
}

/// Longer help texts.
mod help {
    pub(super) const LAUNCHED: &str = "Duration of successful launches, until the plugin is ready";
    pub(super) const DROPPED_LINES: &str = "Log lines dropped because there were too many";
    pub(super) const RETRIES: &str = "Calls retried after a transient failure";
    pub(super) const CALL_DURATIONS: &str =
        "Duration of calls from sending to the answer, without cancelled calls";
    pub(super) const REPLACED: &str = "Processes replaced by another process";
    pub(super) const WAIT_DURATIONS: &str =
        "Time that calls waited for a slot before they were sent";
    pub(super) const SLOTS: &str = "Slots of a plugin process, after its first call";
    pub(super) const ENDED: &str = "Operations of deploys that ended, by action and outcome";
    pub(super) const OPERATION_DURATIONS: &str = "Duration of started operations";
}

impl Measures {
    /// Creates the metrics, all at zero.
    #[must_use]
    pub fn new() -> Arc<Self> {
        let mut registry = Registry::with_prefix("flightdeck");
        let sights = StateGauges::new(&mut registry);
        let all = &mut registry;
        let slots = ("pool_slots", help::SLOTS);
        Arc::new(Self {
            launches: count(all, "launches", "Launch attempts that ended, by verdict"),
            launched: times(all, "launch_duration", help::LAUNCHED),
            crashes: count(all, "plugin_crashes", "Crashes of plugins in use"),
            replaced: count(all, "plugin_replacements", help::REPLACED),
            lines: count(all, "plugin_log_lines", "Log lines printed by plugins"),
            dropped_lines: count(all, "plugin_log_lines_left_out", help::DROPPED_LINES),
            calls: count(all, "calls", "Calls to plugins that ended, by outcome"),
            retries: count(all, "call_retries", help::RETRIES),
            call_durations: times(all, "call_duration", help::CALL_DURATIONS),
            wait_durations: times(all, "call_queue", help::WAIT_DURATIONS),
            slots: new(all, slots, None, Family::default()),
            stages: count(all, "stages", "Stages that ended, by outcome"),
            reconcile_runs: count(
                all,
                "reconcile_runs",
                "Runs of the reconcile loop, by outcome",
            ),
            operations: count(all, "operations", help::ENDED),
            operated: times(all, "operation_duration", help::OPERATION_DURATIONS),
            deploys: count(all, "deploys", "Deploys that ended, by outcome"),
            counted_operations: Mutex::default(),
            gauges: sights,
            registry,
        })
    }

    /// Renders the metrics, including gauges of the engine's current state.
    ///
    /// # Errors
    /// The text cannot be encoded.
    pub fn text(&self, bus: &Bus) -> Result<String, std::fmt::Error> {
        let missed = bus.missed_events();
        // The view is locked only while the gauges are set, not while the text is rendered.
        bus.with_view(|view| self.gauges.update(view, missed));
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    fn plugin(&self, event: &PluginEvent) {
        match event {
            PluginEvent::Attempt { plugin, attempt } => self.attempt(plugin, attempt),
            PluginEvent::Crash { plugin, .. } => {
                self.crashes.get_or_create(&[plugin_label(plugin)]).inc();
            }
            PluginEvent::Log { line } => {
                let level = ("level", line.level.label().to_owned());
                self.lines
                    .get_or_create(&[plugin_label(&line.plugin), level])
                    .inc();
            }
            PluginEvent::LinesLeftOut { plugin, lines } => {
                self.dropped_lines
                    .get_or_create(&[plugin_label(plugin)])
                    .inc_by(*lines);
            }
            PluginEvent::Replaced { plugin, .. } => {
                self.replaced.get_or_create(&[plugin_label(plugin)]).inc();
            }
            // Current state, which the gauges show.
            PluginEvent::Found { .. }
            | PluginEvent::State { .. }
            | PluginEvent::Removed { .. }
            | PluginEvent::Usage { .. }
            | PluginEvent::Renewal { .. }
            | PluginEvent::Leaves { .. }
            | PluginEvent::Left { .. } => {}
        }
    }

    /// Counts a launch attempt. Its events repeat while it runs; only the last one has a verdict.
    fn attempt(&self, plugin: &PluginId, attempt: &LaunchAttempt) {
        let Some(verdict) = &attempt.verdict else {
            return;
        };
        let labels = [
            plugin_label(plugin),
            ("verdict", verdict.kind.word().to_owned()),
        ];
        self.launches.get_or_create(&labels).inc();
        // Failed launches mostly measure a deadline, so they are left out.
        if let (Some(ms), VerdictKind::Ready) = (attempt.took_ms, &verdict.kind) {
            let launched = self.launched.get_or_create(&[plugin_label(plugin)]);
            launched.observe(seconds(ms));
        }
    }

    fn record_finished_call(&self, call: &CallFinished) {
        let (plugin, method) = (
            plugin_label(&call.plugin),
            ("method", call.method.to_string()),
        );
        let outcome = ("outcome", call.outcome.word().to_owned());
        let labels = [plugin.clone(), method.clone(), outcome];
        self.calls.get_or_create(&labels).inc();
        // Counted at the failure: the retry is a call of its own.
        if call.again.is_some() {
            let labels = [plugin.clone(), method.clone()];
            self.retries.get_or_create(&labels).inc();
        }
        // The duration of a cancelled call says nothing about others.
        if call.outcome != CallOutcome::Cancelled {
            let took = self.call_durations.get_or_create(&[plugin, method]);
            took.observe(seconds(call.took_ms));
        }
    }

    /// Counts an operation once, at its end; its events repeat with the full record.
    fn operation(&self, operation: &Operation) {
        use OperationState::{Running, Waiting};
        let key = (operation.deploy, operation.index);
        if matches!(operation.state, Waiting | Running)
            // The map is cleared when the next deploy starts.
            || lock(&self.counted_operations).insert(key, operation.state).is_some()
        {
            return;
        }
        let action = ("action", operation.action.operation_word().to_owned());
        let outcome = ("outcome", operation.state.label().replace(' ', "_"));
        self.operations
            .get_or_create(&[action.clone(), outcome])
            .inc();
        if let Some(ms) = operation.took_ms.filter(|_| operation.began.is_some()) {
            self.operated.get_or_create(&[action]).observe(seconds(ms));
        }
    }
}

/// Returns the label of a plugin.
pub(super) fn plugin_label(plugin: &PluginId) -> (&'static str, String) {
    ("plugin", plugin.to_string())
}

impl Listener for Measures {
    fn on_event(&self, event: &Event) {
        let outcome = |word: &str| [("outcome", word.to_owned())];
        match &event.kind {
            EventKind::Plugin(event) => self.plugin(event),
            // Calls without a slot do not wait for one.
            EventKind::CallStarted(call) if call.slot > 0 => {
                let waited = self
                    .wait_durations
                    .get_or_create(&[plugin_label(&call.plugin)]);
                waited.observe(seconds(call.queued_ms));
                let slots = self.slots.get_or_create(&[plugin_label(&call.plugin)]);
                slots.set(i64::from(call.slots));
            }
            // A covering request is not counted, because its own calls are.
            EventKind::CallFinished(call) if !call.covers => self.record_finished_call(call),
            EventKind::Staged(_) => {
                self.stages.get_or_create(&outcome("staged")).inc();
            }
            EventKind::StageFailed { .. } => {
                self.stages.get_or_create(&outcome("failed")).inc();
            }
            EventKind::Reconcile(run) => {
                let word = run.outcome.label().replace(' ', "_");
                self.reconcile_runs.get_or_create(&outcome(&word)).inc();
            }
            EventKind::DeployStarted(_) => lock(&self.counted_operations).clear(),
            EventKind::Operation(operation) => self.operation(operation),
            EventKind::DeployFinished(summary) => {
                let word = outcome(summary.outcome.label());
                self.deploys.get_or_create(&word).inc();
            }
            _ => {}
        }
    }
}
