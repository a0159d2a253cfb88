//! Tests of transformers during waits, during other work, and under orders.

use crate::launches::logs;
use crate::transformers::{ID, UNUSABLE, add, bench, has_ended, tell};
use crate::workspace::TestWorkspace;
use engine::Engine;
use model::settings::{Access, Settings};
use model::view::PluginView;
use model::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Longest wait for an event.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts `plugins --json` with one ready transformer and one that never registers; returns the
/// process and the plugins' pids.
fn start_with_late_transformer(bench: &TestWorkspace) -> (std::process::Child, Vec<u64>) {
    add(bench, "transformers/bluelink/late/1.0.0", "bluelink/late");
    let faults = "transformers/bluelink/late/1.0.0/faults";
    std::fs::write(bench.plugin_path().join(faults), "late\n").unwrap();
    let mut command = bench.command(&["plugins", "--json"]);
    command.stdout(std::process::Stdio::piped());
    let mut host = command.spawn().unwrap();
    let lines = BufReader::new(host.stdout.take().unwrap()).lines();
    let (mut pids, mut up) = (BTreeMap::new(), false);
    // The host's launch deadline ends it, and so this loop.
    for line in lines.map_while(Result::ok) {
        let event: Value = serde_json::from_str(&line).unwrap();
        if let Some(pid) = event["attempt"]["pid"].as_u64() {
            pids.insert(event["plugin"].to_string(), pid);
        }
        up |= event["plugin"] == ID && event["state"]["state"] == "ready";
        if up && pids.len() == 3 {
            break;
        }
    }
    (host, pids.into_values().collect())
}

#[test]
fn no_transformer_survives_a_killed_host() {
    let bench = bench();
    let (mut host, pids) = start_with_late_transformer(&bench);
    host.kill().unwrap();
    host.wait().unwrap();
    let until = Instant::now() + PATIENCE;
    // The kernel kills them, which no event reports.
    while !pids.iter().all(|pid| has_ended(*pid)) && Instant::now() < until {
        std::thread::yield_now();
    }
    assert!(pids.iter().all(|pid| has_ended(*pid)), "{pids:?}");
}

#[test]
fn waiting_for_a_transformer_can_be_cancelled() {
    let bench = bench();
    let (mut host, pids) = start_with_late_transformer(&bench);
    let pid = rustix::process::Pid::from_child(&host);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(host.wait().unwrap().code(), Some(130));
    assert!(pids.iter().all(|pid| has_ended(*pid)), "{pids:?}");
}

async fn engine(bench: &TestWorkspace) -> Engine {
    let mut settings = Settings::new(bench.workspace.path());
    settings.access = Access::ReadWrite;
    settings.plugin_path = Some(bench.plugin_path());
    settings.launch.backoff = vec![Duration::from_millis(5)];
    Engine::start(settings).await.expect("an engine")
}

/// Waits until the transformer matches a condition.
async fn wait_for_transformer(
    engine: &Engine,
    what: &str,
    is_it: impl Fn(&PluginView) -> bool,
) -> PluginView {
    let (view, mut events) = engine.subscribe();
    let mut seen = view.plugins.get(&PluginId(ID.into())).cloned();
    let waited = timeout(PATIENCE, async {
        // Ends after the time limit.
        while !seen.as_ref().is_some_and(&is_it) {
            events.recv().await.expect("the engine goes on");
            let view = engine.subscribe().0;
            seen = view.plugins.get(&PluginId(ID.into())).cloned();
        }
    });
    waited.await.unwrap_or_else(|_| panic!("{what}"));
    seen.unwrap()
}

fn is_ready(plugin: &PluginView) -> bool {
    matches!(plugin.state, PluginState::Ready { .. })
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn crashed_transformer_is_an_incident_and_is_restarted_while_others_work() {
    let bench = bench();
    let engine = engine(&bench).await;
    engine.launch_transformers().await.unwrap();
    let first = wait_for_transformer(&engine, "it comes up", is_ready).await;
    kill(first.pid.unwrap());
    let again = wait_for_transformer(&engine, "it comes up again", |p| {
        is_ready(p) && p.pid != first.pid
    })
    .await;
    assert_eq!((again.restarts, again.crashes.len()), (1, 1));
    assert!(
        again.crashes[0].text.contains("killed by SIGKILL (9)"),
        "{}",
        again.crashes[0].text
    );
    // A running transformer is not launched a second time.
    engine.launch_transformers().await.unwrap();
    engine.stage(StageRequest::default()).await.expect("staged");
    let still = wait_for_transformer(&engine, "it runs", is_ready).await;
    assert_eq!(still.attempts.len(), 2);
    engine.shutdown().await;
    assert!(has_ended(still.pid.unwrap().into()), "it is left behind");
    assert!(logs(&bench).contains("ended when it was asked to"));
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_can_stop_start_and_restart_a_transformer_without_delaying_stages() {
    let bench = bench();
    // It never registers: a waiting caller would wait for a minute.
    tell(&bench, "faults", "late\n");
    let engine = engine(&bench).await;
    let id = PluginId(ID.into());
    engine.launch_transformers().await.unwrap();
    let coming = |p: &PluginView| matches!(p.state, PluginState::Registering { .. });
    let first = wait_for_transformer(&engine, "it is on its way up", coming).await;
    let staged = engine.stage(StageRequest::default()).await;
    staged.expect("staged");
    let still = wait_for_transformer(&engine, "it is there", |_| true).await;
    assert!(coming(&still), "{:?}", still.state);
    engine.plugin(&id, PluginCommand::Stop).await.unwrap();
    assert!(has_ended(first.pid.unwrap().into()));
    engine.plugin(&id, PluginCommand::Start).await.unwrap();
    let up = wait_for_transformer(&engine, "it is started", is_ready).await;
    engine.plugin(&id, PluginCommand::Restart).await.unwrap();
    let again = wait_for_transformer(&engine, "it is restarted", is_ready).await;
    assert_ne!(up.pid, again.pid);
    engine.plugin(&id, PluginCommand::Disable).await.unwrap();
    engine.launch_transformers().await.unwrap();
    let off = wait_for_transformer(&engine, "it is disabled", |_| true).await;
    assert_eq!(off.state, PluginState::Disabled);
    let schema = engine.schema(&id).await.unwrap_err().to_string();
    assert!(schema.contains(UNUSABLE), "{schema}");
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deregistered_transformer_is_launched_again_from_the_newest_version() {
    let bench = bench();
    tell(&bench, "faults", "deregisters\n");
    let engine = engine(&bench).await;
    engine.launch_transformers().await.unwrap();
    let again = wait_for_transformer(&engine, "it comes up again", |p| {
        is_ready(p) && p.attempts.len() == 2
    })
    .await;
    assert_eq!(again.crashes.len(), 1, "{:#?}", again.crashes);
    add(&bench, "transformers/bluelink/run/1.1.0", "bluelink/run");
    engine.launch_transformers().await.unwrap();
    let newer = wait_for_transformer(&engine, "the newer one comes up", |p| {
        is_ready(p) && p.pid != again.pid
    })
    .await;
    let found = newer.found.unwrap();
    assert_eq!(found.version.as_deref(), Some("1.1.0"));
    assert!(
        found.why.starts_with("newest of 2 versions"),
        "{}",
        found.why
    );
    assert!(
        has_ended(again.pid.unwrap().into()),
        "the older one is left"
    );
    engine.shutdown().await;
    assert!(
        logs(&bench).contains("the plugin has deregistered and receives no further calls"),
        "its log says so"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn transformer_may_call_functions_and_nothing_else() {
    let bench = bench();
    tell(&bench, "faults", "asks\n");
    let engine = engine(&bench).await;
    engine.stage(StageRequest::default()).await.expect("staged");
    engine.launch_transformers().await.unwrap();
    let said = |p: &PluginView| {
        let line = p.last_line.as_deref();
        line.is_some_and(|l| l.starts_with("looked up: "))
    };
    let it = wait_for_transformer(&engine, "it is answered", said).await;
    let line = it.last_line.unwrap();
    let words =
        "the transformer bluelink/run has no running call that deploys or destroys a resource";
    assert!(line.contains(words), "{line}");
    engine.shutdown().await;
    let log = logs(&bench);
    assert!(log.contains("a function says Ok(String(\"aa\"))"), "{log}");
}
