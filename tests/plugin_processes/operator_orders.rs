//! Tests of orders to a plugin, and of pauses between its launches.

use std::time::Duration;

use model::*;
use plugin::PluginError;

use super::lifecycle::tls;
use crate::plugin_server::{Server, send_order};
use crate::test_plugin::*;

#[tokio::test]
async fn crash_is_one_incident_and_the_plugin_is_restarted() {
    let bench = Bench::new(settings());
    let server = Server::start(bench.folder.path(), "socket", tls());
    let plugin = bench.shell(&format!("echo '[INFO] serving' >&2\n{}", server.script()));
    let connection = plugin.ready().await.expect("ready");
    send_order(bench.folder.path(), "panic");
    let incident = plugin
        .incident(connection.generation, PATIENCE)
        .await
        .expect("incident");
    assert_eq!(incident.exit.code, Some(2));
    assert!(
        incident
            .text
            .contains("exit code 2: panic: assignment to entry in nil map"),
        "{}",
        incident.text
    );
    assert_eq!(
        incident.trace,
        [
            "panic: assignment to entry in nil map",
            "",
            "goroutine 1 [running]:"
        ]
    );
    assert!(incident.last_lines.iter().any(|l| l.text == "serving"
        && l.level == LogLevel::Info
        && l.stream == LogStream::Stderr));
    connection.end_token().cancelled().await;
    let again = plugin.ready().await.expect("launched again");
    assert!(again.generation > connection.generation);
    assert_eq!(
        bench.ear.attempts().last().map(|a| a.number),
        Some(1),
        "a crash counts launches afresh"
    );
    let crashes = bench
        .ear
        .all()
        .into_iter()
        .filter(|e| matches!(e, PluginEvent::Crash { .. }))
        .count();
    assert_eq!(crashes, 1);
    assert!(
        bench
            .ear
            .states()
            .windows(2)
            .any(|w| w == ["crashed", "backoff"])
    );
    bench.plugins.shutdown().await;
}

#[tokio::test]
async fn plugin_that_crashes_repeatedly_is_given_up() {
    let mut few = settings();
    few.crashes.limit = 2;
    let bench = Bench::new(few);
    let server = Server::start(bench.folder.path(), "socket", tls());
    let plugin = bench.shell(&server.script());
    for _ in 0..2 {
        let connection = plugin.ready().await.expect("ready");
        send_order(bench.folder.path(), "segv");
        let incident = plugin
            .incident(connection.generation, PATIENCE)
            .await
            .expect("incident");
        assert_eq!(incident.exit.signal, Some(11));
    }
    let error = plugin.ready().await.expect_err("given up");
    assert!(error.to_string().contains("crashed 2 times"), "{error}");
    plugin.restart().await.expect("an operator may try again");
    bench.plugins.shutdown().await;
}

#[tokio::test]
async fn orders_are_obeyed_in_every_state() {
    let bench = Bench::new(settings());
    let plugin = bench.shell("exec sleep 600");
    let waiting = tokio_util::task::TaskTracker::new();
    let demand = {
        let plugin = plugin.clone();
        waiting.spawn(async move { plugin.ready().await })
    };
    bench
        .ear
        .until("handshaking", |e| {
            e.iter()
                .any(|e| {
                    matches!(
                        e,
                        PluginEvent::State {
                            state: PluginState::Handshaking { .. },
                            ..
                        }
                    )
                })
                .then_some(())
        })
        .await;
    plugin.stop().await;
    assert_eq!(plugin.state(), PluginState::Stopped);
    let answer = demand.await.expect("task").map(|c| c.generation);
    assert_eq!(
        answer,
        Err(PluginError::Stopped {
            plugin: plugin.id().clone()
        })
    );
    let attempt = bench.ear.attempts().pop().expect("attempt");
    assert_eq!(attempt.verdict.expect("verdict").kind.word(), "stopped");
    assert_eq!(process_state(attempt.pid.expect("pid")), None);
    plugin.disable().await;
    assert_eq!(
        plugin.ready().await.expect_err("disabled"),
        PluginError::Disabled {
            plugin: plugin.id().clone()
        }
    );
    assert_eq!(
        plugin.start().await.expect_err("disabled"),
        PluginError::Disabled {
            plugin: plugin.id().clone()
        }
    );
    plugin.enable().await;
    assert_eq!(plugin.state(), PluginState::Discovered);
}

#[tokio::test]
async fn pause_between_launches_can_be_cancelled() {
    let mut long = settings();
    long.launch.backoff = vec![Duration::from_secs(3_600)];
    let bench = Bench::new(long);
    let server = Server::start(bench.folder.path(), "socket", tls());
    let script = format!(
        "echo x >> \"$1/launched\"; [ $(wc -l < \"$1/launched\") -ge 3 ] || exit 1\n{}",
        server.script()
    );
    let plugin = bench.shell(&script);
    let tracker = tokio_util::task::TaskTracker::new();
    let demand = {
        let plugin = plugin.clone();
        tracker.spawn(async move { plugin.ready().await.map(|c| c.generation) })
    };
    let pauses = |n: usize| {
        move |e: &[PluginEvent]| {
            (e.iter()
                .filter(|e| {
                    matches!(
                        e,
                        PluginEvent::State {
                            state: PluginState::Backoff { .. },
                            ..
                        }
                    )
                })
                .count()
                >= n)
                .then_some(())
        }
    };
    bench.ear.until("the first pause", pauses(1)).await;
    let start = {
        let plugin = plugin.clone();
        tracker.spawn(async move { plugin.start().await.map(|c| c.generation) })
    };
    bench.ear.until("the second pause", pauses(2)).await;
    let generation = plugin.restart().await.expect("ready").generation;
    assert_eq!(generation, 3);
    assert_eq!(demand.await.expect("task"), Ok(3));
    assert_eq!(start.await.expect("task"), Ok(3));
    plugin.restart().await.expect("a new process");
    plugin.kill().await;
    assert_eq!(plugin.state(), PluginState::Stopped);
    bench.plugins.shutdown().await;
}
