//! A deploy of 5,000 operations with 200 plugins, beside a plugin that floods its log.

use crate::console::console;
use crate::{Flood, KEY, rows};
use calls::{CallContext, Calls, Checked, Deadlines, Lane, Method};
use flightdeck::app::msg::Answer;
use model::bus::Bus;
use model::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio_util::task::TaskTracker;

const OPERATIONS: usize = 5_000;
const PLUGINS: usize = 200;
/// Operations at a time, and the duration of each.
const PARALLELISM: usize = 10;
const CALL: Duration = Duration::from_millis(50);
/// Rows of the History screen, which loads the newest ones of all deploys.
const DEPLOYS: DeployId = 500;

/// Screens with their keys.
pub const SCREENS: [(char, &str); 8] = [
    ('1', "Plugins"),
    ('2', "Calls"),
    ('3', "Stage"),
    ('4', "Deploy"),
    ('5', "History"),
    ('6', "State"),
    ('7', "Logs"),
    ('8', "Groups"),
];

/// Measures keys on a screen while the deploy runs.
pub async fn large(screen: char, title: &str) {
    let bus = Bus::default();
    for i in 0..PLUGINS {
        let (plugin, since) = (rows::plugin(i), now_ms());
        let state = PluginState::Ready { since };
        bus.emit(EventKind::Plugin(PluginEvent::State { plugin, state }));
    }
    bus.emit(rows::staged(OPERATIONS));
    let operations = (0..OPERATIONS).map(|i| operation(i, OperationState::Waiting));
    bus.emit(rows::deploy_started(operations.collect()));
    let calls = Calls::new(Arc::new(bus.clone()), Deadlines::default(), Vec::new());
    let lanes = (0..PLUGINS).map(|i| calls.lane(&rows::plugin(i), 10));
    let lanes: Arc<Vec<Arc<Lane>>> = Arc::new(lanes.collect());
    let (next, tasks) = (Arc::new(AtomicUsize::new(0)), TaskTracker::new());
    for _ in 0..PARALLELISM {
        let (bus, lanes, next) = (bus.clone(), lanes.clone(), next.clone());
        tasks.spawn(async move {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                // The console ends long before the last operation.
                if i >= OPERATIONS {
                    return;
                }
                bus.emit(EventKind::Operation(operation(i, OperationState::Running)));
                let ctx = CallContext {
                    resource: Some(rows::address(i).into()),
                    ..CallContext::default()
                };
                let answer = async {
                    tokio::time::sleep(CALL).await;
                    Ok(Checked::default())
                };
                let called = lanes[i % PLUGINS].run(Method::Apply, &ctx, answer).await;
                called.unwrap();
                bus.emit(EventKind::Operation(operation(i, OperationState::Done)));
            }
        });
    }
    let flood = Flood::start(&bus);
    let state = Answer::State((0..OPERATIONS).map(rows::row).collect());
    let history = Answer::History((0..DEPLOYS).rev().map(summary).collect());
    let seen = console(bus.subscribe(), screen, vec![state, history]).await;
    next.store(OPERATIONS, Ordering::Relaxed);
    let lines = flood.end().await;
    seen.print(
        &format!("5,000 operations, {lines:.0} lines/s, {title}"),
        KEY,
    );
    tasks.close();
    tasks.wait().await;
}

fn operation(i: usize, state: OperationState) -> Operation {
    rows::operation(i, rows::plugin(i % PLUGINS), state)
}

fn summary(deploy: DeployId) -> DeploySummary {
    DeploySummary {
        deploy,
        stage: deploy,
        mode: StageMode::Normal,
        began: rows::NOW,
        ended: Some(rows::NOW + 60_000),
        who: "ana".to_owned(),
        host: "deck".to_owned(),
        outcome: DeployOutcome::Succeeded,
        operations: OperationCounts::default(),
        counts: Counts::default(),
        config_digest: String::new(),
    }
}
