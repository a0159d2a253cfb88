//! Gauges of the current state, read from the view at each scrape: plugin states, running calls,
//! slots, the newest stage.

use super::counters::{Labels, plugin_label};
use model::view::View;
use model::{DriftKind, OperationState};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use std::sync::atomic::AtomicU64;

type Gauges<const N: usize> = Family<Labels<N>, Gauge>;

/// Gauges of the current state.
pub(super) struct StateGauges {
    states: Gauges<2>,
    draining: Gauges<1>,
    resident_memory: Gauges<1>,
    cpu: Family<Labels<1>, Gauge<f64, AtomicU64>>,
    running: Gauges<1>,
    waiting_calls: Gauges<1>,
    held_slots: Gauges<1>,
    changes: Gauges<1>,
    drift: Gauges<1>,
    unknown: Gauge,
    operations: Gauges<1>,
    missed_events: Gauge,
}

impl StateGauges {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "Version of this flightdeck", Info::new(version));
        let mut gauges = Gauging(registry);
        let sights = Self {
            states: gauges.family("plugin_state", "1 for the current state of a plugin"),
            draining: gauges.family("plugin_processes_draining", "Replaced processes that still have calls"),
            resident_memory: gauges.family("plugin_resident_memory_bytes", "Resident memory of a plugin process"),
            cpu: Family::default(),
            running: gauges.family("calls_running", "Calls sent and not yet answered"),
            waiting_calls: gauges.family("calls_waiting", "Calls that wait for a slot of their plugin"),
            held_slots: gauges.family("pool_slots_held", "Slots of a plugin process held by calls"),
            changes: gauges.family("staged_changes", "Changes of the newest stage, by action"),
            drift: gauges.family("drifted_objects", "Objects with drift in the newest stage"),
            unknown: gauges.gauge("unknown_outcomes", "Operations and side effects without a recorded outcome"),
            operations: gauges.family("operations_open", "Operations of the running deploy that have not ended"),
            missed_events: gauges.gauge("events_missed", "Events skipped by slow readers, which received a snapshot instead, since the start"),
        };
        let help = "CPU cores used by a plugin process";
        registry.register("plugin_cpu_cores", help, sights.cpu.clone());
        sights
    }

    /// Sets all gauges from the view.
    pub(super) fn update(&self, view: &View, missed: u64) {
        self.plugins(view);
        self.calls(view);
        self.stage(view);
        self.unknown.set(number(view.unknown.len()));
        self.missed_events
            .set(i64::try_from(missed).unwrap_or(i64::MAX));
        // Otherwise states without operations would keep their last value.
        self.operations.clear();
        let running = view.deploy.iter().filter(|d| d.summary.is_none());
        for operation in running.flat_map(|d| &d.operations) {
            use OperationState::{Running, Waiting};
            if matches!(operation.state, Waiting | Running) {
                let state = ("state", operation.state.label().to_owned());
                self.operations.get_or_create(&[state]).inc();
            }
        }
    }

    fn plugins(&self, view: &View) {
        // Removes the gauges of plugins that no longer exist.
        self.states.clear();
        self.draining.clear();
        self.resident_memory.clear();
        self.cpu.clear();
        for (id, plugin) in view.plugins.iter().filter(|(id, _)| !id.is_builtin()) {
            let state = ("state", plugin.state.label().replace(' ', "_"));
            self.states.get_or_create(&[plugin_label(id), state]).set(1);
            let leaving = number(plugin.leaving.len());
            self.draining
                .get_or_create(&[plugin_label(id)])
                .set(leaving);
            if let Some(usage) = plugin.usage {
                let bytes = i64::try_from(usage.rss_bytes).unwrap_or(i64::MAX);
                self.resident_memory
                    .get_or_create(&[plugin_label(id)])
                    .set(bytes);
                // sysinfo reports percents of one core.
                let cores = f64::from(usage.cpu_percent) / 100.0;
                self.cpu.get_or_create(&[plugin_label(id)]).set(cores);
            }
        }
    }

    fn calls(&self, view: &View) {
        self.running.clear();
        self.waiting_calls.clear();
        self.held_slots.clear();
        for call in view.calls.values() {
            let waits = call.started_at.is_none();
            let family = if waits {
                &self.waiting_calls
            } else {
                &self.running
            };
            family.get_or_create(&[plugin_label(&call.plugin)]).inc();
            if call.slot.is_some() {
                self.held_slots
                    .get_or_create(&[plugin_label(&call.plugin)])
                    .inc();
            }
        }
    }

    fn stage(&self, view: &View) {
        // Without a stage, there is no value to report, not even zero.
        let Some(stage) = &view.stage else { return };
        let c = &stage.counts;
        for (action, count) in [
            ("create", c.create),
            ("update", c.update),
            ("replace", c.replace),
            ("destroy", c.destroy),
            ("read", c.read),
            ("forget", c.forget),
            ("import", c.import),
            ("no-op", c.no_op),
        ] {
            let action = ("action", action.to_owned());
            self.changes.get_or_create(&[action]).set(i64::from(count));
        }
        for what in [DriftKind::Changed, DriftKind::Gone, DriftKind::Moved] {
            let kind = ("kind", what.label().to_owned());
            let found = number(stage.drifted(what));
            self.drift.get_or_create(&[kind]).set(found);
        }
    }
}

fn number(of: usize) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}

/// Registers gauges.
struct Gauging<'r>(&'r mut Registry);

impl Gauging<'_> {
    fn family<const N: usize>(&mut self, name: &str, help: &str) -> Gauges<N> {
        let family = Gauges::default();
        self.0.register(name, help, family.clone());
        family
    }

    fn gauge(&mut self, name: &str, help: &str) -> Gauge {
        let gauge = Gauge::default();
        self.0.register(name, help, gauge.clone());
        gauge
    }
}
