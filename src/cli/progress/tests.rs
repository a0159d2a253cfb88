//! Tests of the progress display for plugins and operations.

use super::*;
use model::{CallQueued, CallStarted, DeployStarted, StageMode};

fn operation(index: u32, address: &str, state: OperationState) -> Operation {
    Operation {
        deploy: 1,
        index,
        address: address.into(),
        plugin: None,
        action: Action::Create,
        state,
        step: "creating".into(),
        attempt: 1,
        retry: None,
        waits_until_ready: None,
        began: None,
        took_ms: None,
        waits_for: Vec::new(),
        waits_for_more: 0,
        waits_for_all_of: Vec::new(),
        usual_ms: None,
        failure: None,
        warnings: Vec::new(),
        beside: Vec::new(),
        half_done: false,
    }
}

#[test]
fn progress_counts_queued_calls_separately_from_running_ones() {
    let mut out = Output::new(true, false);
    let mut progress = Progress::new(&out);
    let mut hear = |kind| {
        progress.event(
            &mut out,
            &Event {
                seq: 0,
                at: 0,
                kind,
            },
        );
        progress.live_text()
    };
    let names = ["a.a", "a.b", "a.c"];
    let operations = (0..)
        .zip(names)
        .map(|(n, a)| operation(n, a, OperationState::Waiting))
        .collect();
    let (who, host) = ("kim".to_owned(), "here".to_owned());
    hear(EventKind::DeployStarted(DeployStarted {
        deploy: 1,
        stage: 1,
        mode: StageMode::Normal,
        who,
        host,
        parallelism: 10,
        operations,
    }));
    for (n, address) in (0..).zip(names) {
        hear(EventKind::Operation(operation(
            n,
            address,
            OperationState::Running,
        )));
    }
    let plugin = PluginId("p".into());
    let queued = |call, resource: &str| {
        let (method, resource) = ("ApplyResourceChange".into(), Some(resource.into()));
        EventKind::CallQueued(CallQueued {
            call,
            plugin: plugin.clone(),
            method,
            resource,
            waits_for: "a slot".into(),
            blocker: None,
            deadline_ms: None,
        })
    };
    hear(queued(1, "a.a"));
    let words = hear(queued(2, "a.b"));
    assert!(
        words.starts_with("0 of 3 done; a.c creating for ") && words.ends_with(", 2 queued"),
        "{words}"
    );
    let (method, resource) = ("ApplyResourceChange".into(), Some("a.a".into()));
    let started = CallStarted {
        call: 1,
        plugin,
        slot: 1,
        slots: 1,
        method,
        resource,
        deadline_ms: None,
        usual: None,
        queued_ms: 5,
    };
    let words = hear(EventKind::CallStarted(started));
    assert!(words.ends_with(", 1 more running, 1 queued"), "{words}");
}
