//! Samples for the charts of the Calls and the Plugins screen, one per second, newest last.

use model::view::View;
use model::{EventKind, PluginId};
use std::collections::{BTreeMap, VecDeque};

/// Number of samples of a chart.
const MAX_SAMPLES: usize = 240;

/// Samples of all plugins, and those of each. Those of waiting and running calls are the maximum
/// of their second, because many calls take less than that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    pub waiting: VecDeque<u64>,
    pub running: VecDeque<u64>,
    pub finished: VecDeque<u64>,
    /// 95th percentile of the durations of the calls that finished in each second; 0 without any.
    pub p95_ms: VecDeque<u64>,
    pub by_plugin: BTreeMap<PluginId, PluginSamples>,
    /// Most calls that waited, and that ran at a time, since the last sample.
    most_now: (u64, u64),
}

/// Samples of a plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginSamples {
    pub finished: VecDeque<u64>,
    /// As [`Samples::p95_ms`].
    pub p95_ms: VecDeque<u64>,
    /// Resident memory of the process in bytes; 0 without a process.
    pub memory: VecDeque<u64>,
    /// Durations of the calls that finished since the last sample, in milliseconds.
    took_now: Vec<u64>,
}

fn push(queue: &mut VecDeque<u64>, value: u64) {
    if queue.len() == MAX_SAMPLES {
        queue.pop_front();
    }
    queue.push_back(value);
}

/// Adds the samples of calls that took these times.
fn push_calls(finished: &mut VecDeque<u64>, p95_ms: &mut VecDeque<u64>, mut took: Vec<u64>) {
    took.sort_unstable();
    push(finished, took.len() as u64);
    let p95 = took.get((took.len() * 95).div_ceil(100).saturating_sub(1));
    push(p95_ms, p95.copied().unwrap_or(0));
}

impl Samples {
    /// Takes over an event of a call, which the view has already.
    pub fn apply(&mut self, view: &View, event: &EventKind) {
        match event {
            EventKind::CallQueued(_) | EventKind::CallStarted(_) => self.count_calls(view),
            EventKind::CallFinished(f) if !f.covers => self.finish_call(&f.plugin, f.took_ms),
            _ => {}
        }
    }

    /// Raises the numbers of the next sample to those of the present calls.
    fn count_calls(&mut self, view: &View) {
        let running = view.calls.values().filter(|c| c.started_at.is_some());
        let running = running.count();
        let waiting = view.calls.len() - running;
        let (most_waiting, most_running) = &mut self.most_now;
        *most_waiting = (*most_waiting).max(waiting as u64);
        *most_running = (*most_running).max(running as u64);
    }

    /// Records a call to a plugin that has finished.
    pub fn finish_call(&mut self, plugin: &PluginId, took_ms: u64) {
        let samples = self.by_plugin.entry(plugin.clone()).or_default();
        samples.took_now.push(took_ms);
    }

    /// Adds the samples of a second.
    pub fn end_second(&mut self, view: &View) {
        self.count_calls(view);
        let (waiting, running) = std::mem::take(&mut self.most_now);
        push(&mut self.running, running);
        push(&mut self.waiting, waiting);
        // The next second begins with the present calls.
        self.count_calls(view);
        let measured = view.plugins.values().filter(|p| p.usage.is_some());
        for plugin in measured {
            self.by_plugin.entry(plugin.id.clone()).or_default();
        }
        let mut took = Vec::new();
        for (id, samples) in &mut self.by_plugin {
            let usage = view.plugins.get(id).and_then(|p| p.usage);
            push(&mut samples.memory, usage.map_or(0, |u| u.rss_bytes));
            let its = std::mem::take(&mut samples.took_now);
            took.extend_from_slice(&its);
            push_calls(&mut samples.finished, &mut samples.p95_ms, its);
        }
        push_calls(&mut self.finished, &mut self.p95_ms, took);
    }
}
