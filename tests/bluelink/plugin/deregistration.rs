//! Deregistration, and the marker of calls that arrive after it.

use crate::host_requests::service;
use crate::kind;
use proto::bluelink::pluginservicev1::PluginDeregistrationRequest;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static DONE: AtomicBool = AtomicBool::new(false);

/// Time for which a running call continues after the deregistration. No event reports the absence
/// of a call, so the test must wait.
const TIME_FOR_CALLS: Duration = Duration::from_millis(400);

/// Deregisters at the host; returns the host's answer.
pub async fn deregister(host_id: &str) -> bool {
    let request = PluginDeregistrationRequest {
        plugin_type: kind("").into(),
        instance_id: std::process::id().to_string(),
        host_id: host_id.to_owned(),
    };
    let answer = service().await.deregister(request).await;
    DONE.store(true, Ordering::SeqCst);
    answer.is_ok_and(|answer| answer.into_inner().success)
}

/// Deregisters during a call, which continues for a while.
pub async fn within_call(host_id: &str) {
    assert!(deregister(host_id).await, "the host refused it");
    tokio::time::sleep(TIME_FOR_CALLS).await;
}

/// True once this process has deregistered.
pub fn is_done() -> bool {
    DONE.load(Ordering::SeqCst)
}
