//! Reports requests of a plugin to its host as calls, in addition to the calls to the plugin. They
//! take no slot and do not count as latency of the plugin. The end is reported exactly once.

use super::Lane;
use crate::engine::words::*;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Open request of a plugin to the host.
pub struct Standing {
    lane: Arc<Lane>,
    number: CallId,
    method: MethodName,
    resource: Arc<str>,
    began: Instant,
    ended: bool,
}

impl Lane {
    /// Reports a request of the plugin for a resource.
    pub fn standing(self: &Arc<Self>, method: &'static str, resource: String) -> Standing {
        Standing {
            lane: self.clone(),
            number: self.shared.number(),
            method: MethodName::known(method),
            resource: resource.into(),
            began: Instant::now(),
            ended: false,
        }
    }
}

impl Standing {
    /// Reports that it waits for something (`waits_for`, as text), at most `within`; `blocker` is
    /// the call that blocks it.
    pub fn waits(&self, waits_for: String, blocker: Option<CallId>, within: Duration) {
        // The text may contain values from the plugin.
        let waits_for = self.lane.secrets().hide(&waits_for).into_owned();
        self.lane.say(EventKind::CallQueued(CallQueued {
            call: self.number,
            plugin: self.lane.plugin.clone(),
            method: self.method.clone(),
            resource: Some(self.resource.clone()),
            waits_for,
            blocker,
            deadline_ms: u64::try_from(within.as_millis()).ok(),
        }));
    }

    /// Reports its answer: success, or an error as text.
    pub fn answered(mut self, error: Option<&str>) {
        let outcome = match error {
            None => CallOutcome::Ok,
            Some(_) => CallOutcome::Error,
        };
        self.end(outcome, error.map(str::to_owned));
    }

    fn end(&mut self, outcome: CallOutcome, error: Option<String>) {
        self.ended = true;
        let error = error.map(|text| self.lane.secrets().hide(&text).into_owned());
        self.lane.say(EventKind::CallFinished(CallFinished {
            call: self.number,
            plugin: self.lane.plugin.clone(),
            method: self.method.clone(),
            resource: Some(self.resource.clone()),
            resource_type: None,
            action: None,
            took_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            outcome,
            error,
            again: None,
            covers: false,
            measured: None,
        }));
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        if !self.ended {
            let gone = "the plugin no longer waits for the answer";
            self.end(CallOutcome::Cancelled, Some(gone.to_owned()));
        }
    }
}
