//! Waiting and running calls, latencies, and the fold of their events.

use super::{View, push};
use crate::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Waiting or running call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallView {
    pub call: CallId,
    pub plugin: PluginId,
    pub method: MethodName,
    pub resource: Option<Arc<str>>,
    pub queued_at: UnixMs,
    /// `None` while the call waits.
    pub started_at: Option<UnixMs>,
    pub slot: Option<u32>,
    pub slots: u32,
    pub deadline_ms: Option<u64>,
    pub usual: Option<Latency>,
    pub waits_for: Option<String>,
    pub blocker: Option<CallId>,
}

/// Finished call, with the facts of its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedCall {
    pub end: CallFinished,
    pub ended_at: UnixMs,
    /// The call as it was before its end; `None` for a reader that joined later.
    pub open: Option<CallView>,
}

impl FinishedCall {
    /// Returns the usual duration of such a call, if there was any before.
    pub fn usual(&self) -> Option<Latency> {
        self.open.as_ref()?.usual.filter(Latency::is_known)
    }
}

/// Latencies of a plugin's recent calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latencies {
    pub all: Latency,
    pub methods: BTreeMap<MethodName, Latency>,
}

impl View {
    pub(super) fn apply_call(&mut self, event: &Event) {
        match &event.kind {
            EventKind::CallQueued(q) => {
                // A repeated event keeps the first queue time.
                let queued_at = self
                    .calls
                    .get(&q.call)
                    .map_or(event.at, |known| known.queued_at);
                self.calls.insert(
                    q.call,
                    CallView {
                        call: q.call,
                        plugin: q.plugin.clone(),
                        method: q.method.clone(),
                        resource: q.resource.clone(),
                        queued_at,
                        started_at: None,
                        slot: None,
                        slots: 0,
                        deadline_ms: q.deadline_ms,
                        usual: None,
                        waits_for: Some(q.waits_for.clone()),
                        blocker: q.blocker,
                    },
                );
            }
            EventKind::CallStarted(s) => {
                if let Some(deploy) = &mut self.deploy {
                    deploy.add_queue_time(s);
                }
                self.calls.insert(
                    s.call,
                    CallView {
                        call: s.call,
                        plugin: s.plugin.clone(),
                        method: s.method.clone(),
                        resource: s.resource.clone(),
                        // Short waits have no event of their own, so the start of the wait is
                        // computed.
                        queued_at: event.at - i64::try_from(s.queued_ms).unwrap_or(0),
                        started_at: Some(event.at),
                        slot: (s.slot > 0).then_some(s.slot),
                        slots: s.slots,
                        deadline_ms: s.deadline_ms,
                        usual: s.usual,
                        waits_for: None,
                        blocker: None,
                    },
                );
            }
            EventKind::CallFinished(f) => {
                let open = self.calls.remove(&f.call);
                // Its single calls are reported on their own.
                if f.covers {
                    return;
                }
                if let Some(deploy) = &mut self.deploy {
                    deploy.finished(f);
                }
                if let Some(measured) = f.measured {
                    let latencies = self.latencies.entry(f.plugin.clone()).or_default();
                    latencies.all = measured.plugin;
                    latencies.methods.insert(f.method.clone(), measured.method);
                }
                let call = FinishedCall {
                    end: f.clone(),
                    ended_at: event.at,
                    open,
                };
                push(&mut self.finished, call);
            }
            _ => {}
        }
    }

    /// Returns the 95th percentile of a plugin's recent call durations.
    pub fn p95_ms(&self, plugin: &PluginId) -> Option<u64> {
        self.latencies
            .get(plugin)
            .map(|l| l.all)
            .filter(Latency::is_known)
            .map(|l| l.p95_ms)
    }

    /// Returns the running call that has held its slot longest.
    pub fn longest_blocker(&self) -> Option<&CallView> {
        self.calls
            .values()
            .filter(|c| c.started_at.is_some())
            .min_by_key(|c| c.started_at)
    }

    /// Returns the number of held slots, and of all slots of plugins in use.
    pub fn slots(&self) -> (usize, usize) {
        let mut by_plugin: BTreeMap<&PluginId, u32> = BTreeMap::new();
        let running = self.calls.values().filter(|c| c.slot.is_some());
        let held = running.clone().count();
        for call in running {
            by_plugin.insert(&call.plugin, call.slots);
        }
        (held, by_plugin.values().map(|n| *n as usize).sum())
    }
}
