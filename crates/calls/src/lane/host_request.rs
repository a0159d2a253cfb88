//! Reports requests of a plugin to its host as calls, in addition to the calls to the plugin. They
//! take no slot and do not count as latency of the plugin. The end is reported exactly once.

use super::Lane;
use model::*;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Open request of a plugin to the host.
pub struct HostRequest {
    lane: Arc<Lane>,
    number: CallId,
    method: MethodName,
    resource: Arc<str>,
    began: Instant,
    finished: bool,
}

impl Lane {
    /// Reports a request of the plugin for a resource.
    pub fn begin_host_request(
        self: &Arc<Self>,
        method: &'static str,
        resource: String,
    ) -> HostRequest {
        HostRequest {
            lane: self.clone(),
            number: self.shared.number(),
            method: MethodName::from_static(method),
            resource: resource.into(),
            began: Instant::now(),
            finished: false,
        }
    }
}

impl HostRequest {
    /// Reports that it waits for something (`waits_for`, a text), at most `within`; `blocker` is
    /// the call that blocks it.
    pub fn report_wait(&self, waits_for: String, blocker: Option<CallId>, within: Duration) {
        // The text may contain values from the plugin.
        let waits_for = self.lane.secrets().redact(&waits_for).into_owned();
        self.lane.emit(EventKind::CallQueued(CallQueued {
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
    pub fn report_answer(mut self, error: Option<&str>) {
        let outcome = match error {
            None => CallOutcome::Ok,
            Some(_) => CallOutcome::Error,
        };
        self.finish(outcome, error.map(str::to_owned));
    }

    fn finish(&mut self, outcome: CallOutcome, error: Option<String>) {
        self.finished = true;
        let error = error.map(|text| self.lane.secrets().redact(&text).into_owned());
        self.lane.emit(EventKind::CallFinished(CallFinished {
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

impl Drop for HostRequest {
    fn drop(&mut self) {
        if !self.finished {
            let gone = "the plugin no longer waits for the answer";
            self.finish(CallOutcome::Cancelled, Some(gone.to_owned()));
        }
    }
}
