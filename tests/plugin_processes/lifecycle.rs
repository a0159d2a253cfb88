//! Tests of plugins that start: phases, logs, crashes, ends, and their descendants.

use std::time::Duration;

use model::process::ProcessIdentity;
use model::*;
use plugin::{Address, PluginError, Reattach, Start};
use proto::plugin::stdio_data::Channel;
use provider::tfplugin::{Protocol, SchemaReply, TfLifecycle};

use crate::plugin_server::{OBEY, Server, ServerBehaviour, send_order, stdio_message};
use crate::test_plugin::*;

pub(super) fn tls() -> ServerBehaviour {
    ServerBehaviour {
        tls: true,
        ..ServerBehaviour::default()
    }
}

#[tokio::test]
async fn s0_01_plugin_starts_once_is_called_and_ends() {
    let bench = Bench::new(settings());
    let server = Server::start(bench.folder.path(), "socket", tls());
    let plugin = bench.shell(&format!("echo 'up we go' >&2\n{}", server.script()));
    assert_eq!(plugin.state(), PluginState::Discovered);
    let connection = plugin.ready().await.expect("ready");
    assert_eq!(provider_link(&connection).protocol, Protocol::Six);
    assert!(matches!(
        provider_link(&connection).take_schema(),
        Some(SchemaReply::V6(_))
    ));
    assert!(
        provider_link(&connection).take_schema().is_none(),
        "the first who asks gets it"
    );
    assert_eq!(plugin.description().dialect.as_deref(), Some("tfplugin6"));
    let attempt = bench.ear.attempts().pop().expect("attempt");
    let names: Vec<String> = attempt.phases.iter().map(|p| p.name.label()).collect();
    assert_eq!(
        names,
        ["exec", "output", "handshake", "connected", "schema"]
    );
    assert!(attempt.phases.is_sorted_by_key(|p| p.at_ms));
    assert_eq!(
        (
            attempt.number,
            attempt.limit,
            attempt.verdict.expect("verdict").kind.word()
        ),
        (1, 5, "ready")
    );
    let pid = connection.pid.expect("pid");
    let identity = ProcessIdentity::of(pid).expect("identity");
    assert_eq!(
        (attempt.pid, attempt.start_time),
        (Some(pid), Some(identity.start_time))
    );
    assert_eq!(
        plugin.ready().await.expect("still").generation,
        connection.generation,
        "one process for all"
    );
    plugin.stop().await;
    assert_eq!(process_state(pid), None, "gone and waited for");
    assert!(connection.end_token().is_cancelled());
    assert_eq!(
        bench.ear.states(),
        [
            "discovered",
            "launching",
            "handshaking",
            "ready",
            "draining",
            "stopped"
        ]
    );
    let again = plugin.ready().await.expect("a demand starts it again");
    assert!(again.generation > connection.generation);
    bench.plugins.shutdown().await;
    assert_eq!(
        plugin.ready().await.expect_err("over"),
        PluginError::Gone {
            plugin: plugin.id().clone()
        }
    );
}

#[tokio::test]
async fn plugin_starts_at_its_third_launch() {
    let bench = Bench::new(settings());
    let server = Server::start(bench.folder.path(), "socket", tls());
    let script = format!(
        "echo x >> \"$1/launched\"; [ $(wc -l < \"$1/launched\") -ge 3 ] || exit 1\n{}",
        server.script()
    );
    let plugin = bench.shell(&script);
    plugin.ready().await.expect("ready");
    let verdicts: Vec<String> = bench
        .ear
        .attempts()
        .into_iter()
        .map(|a| a.verdict.expect("verdict").kind.word().to_owned())
        .collect();
    assert_eq!(verdicts, ["exited", "exited", "ready"]);
    bench.plugins.shutdown().await;
}

#[tokio::test]
async fn s0_05_plugin_without_tls_uses_a_private_socket() {
    let bench = Bench::new(settings());
    let server = Server::start(bench.folder.path(), "socket", ServerBehaviour::default());
    let script = format!(
        "[ -z \"$PLUGIN_CLIENT_CERT\" ] || exit 9\n{}",
        server.script()
    );
    let plugin = bench.add_attached(
        shell_plugin(&script, bench.folder.path()),
        TfLifecycle { tls: false },
    );
    plugin.ready().await.expect("ready");
    bench.plugins.shutdown().await;
}

#[tokio::test]
async fn environment_follows_the_protocol() {
    let bench = Bench::new(settings());
    let plugin = bench.shell("env > \"$1/env\"; stat -c '%a' \"$PLUGIN_UNIX_SOCKET_DIR\" > \"$1/mode\"; [ -t 0 ] || readlink /proc/self/fd/0 > \"$1/stdin\"; exit 1");
    plugin.ready().await.expect_err("exits");
    let read = |name: &str| std::fs::read_to_string(bench.folder.path().join(name)).expect(name);
    let env = read("env");
    assert!(env.contains(
        "TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2\n"
    ));
    assert!(
        env.contains("PLUGIN_PROTOCOL_VERSIONS=5,6\n")
            && env.contains("PLUGIN_CLIENT_CERT=-----BEGIN CERTIFICATE-----\n")
    );
    assert!(!env.contains("PLUGIN_MULTIPLEX_GRPC"));
    assert_eq!(read("mode").trim(), "700");
    assert_eq!(read("stdin").trim(), "/dev/null");
    let folder = env
        .lines()
        .find_map(|l| l.strip_prefix("PLUGIN_UNIX_SOCKET_DIR="))
        .expect("folder");
    assert!(
        !std::path::Path::new(folder).exists(),
        "the socket's folder goes with the process"
    );
}

#[tokio::test]
async fn s0_11_stubborn_plugins_and_their_descendants_are_killed() {
    let mut short = settings();
    short.launch.grace = Duration::from_millis(100);
    let bench = Bench::new(short);
    let server = Server::start(
        bench.folder.path(),
        "socket",
        ServerBehaviour {
            stubborn: true,
            ..tls()
        },
    );
    let plugin = bench.shell(&format!(
        "sleep 600 & echo $! > \"$1/grandchild\"\n{}",
        server.script()
    ));
    let pid = plugin.ready().await.expect("ready").pid.expect("pid");
    let grandchild = bench.number("grandchild");
    assert!(process_state(grandchild).is_some());
    plugin.stop().await;
    assert_eq!(process_state(pid), None);
    wait_until_ended(grandchild).await;
}

#[tokio::test]
async fn descendants_do_not_outlive_a_plugin_that_exits() {
    let bench = Bench::new(settings());
    let plugin = bench.shell("sleep 600 & echo $! > \"$1/grandchild\"; exit 1");
    plugin.ready().await.expect_err("exits");
    wait_until_ended(bench.number("grandchild")).await;
}

#[tokio::test]
async fn s0_06_output_of_a_chatty_plugin_is_read_without_blocking_it() {
    let bench = Bench::new(settings());
    let lines = [
        stdio_message(Channel::Stdout, "half "),
        stdio_message(Channel::Stdout, "a line\n"),
        stdio_message(Channel::Stderr, "[WARN] by stream\n"),
    ];
    let server = Server::start(
        bench.folder.path(),
        "socket",
        ServerBehaviour {
            stdio: lines.to_vec(),
            ..tls()
        },
    );
    // Writes more than a pipe holds to both streams, with one line of a megabyte.
    let flood = "i=0; while [ $i -lt 3000 ]; do echo \"out $i ........................................\"; echo \"[DEBUG] err $i ....................\" >&2; i=$((i+1)); done; head -c 1000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo '{\"@level\":\"error\",\"@message\":\"done\",\"@module\":\"m\"}' >&2";
    let plugin = bench.shell(&format!("echo '{}'\n{flood}\n{OBEY}", server.handshake));
    plugin.ready().await.expect("ready");
    bench
        .ear
        .until("the last lines", |e| {
            let has = |f: fn(&LogLine) -> bool| {
                e.iter()
                    .any(|e| matches!(e, PluginEvent::Log { line } if f(line)))
            };
            (has(|l| {
                l.text == "done" && l.module.as_deref() == Some("m") && l.level == LogLevel::Error
            }) && has(|l| l.text.starts_with("out 2999") && l.stream == LogStream::Stdout)
                && has(|l| l.text == "half a line" && l.stream == LogStream::Stdio)
                && has(|l| l.text == "by stream" && l.level == LogLevel::Warn))
            .then_some(())
        })
        .await;
    let longest = bench
        .ear
        .lines()
        .iter()
        .map(|l| l.text.len())
        .max()
        .expect("lines");
    assert!(
        (60_000..70_000).contains(&longest),
        "a line of {longest} bytes"
    );
    assert!(plugin.last_lines(10_000).len() <= 400);
    bench.plugins.shutdown().await;
}

#[tokio::test]
async fn written_output_can_be_awaited() {
    let bench = Bench::new(settings());
    let server = Server::start(bench.folder.path(), "socket", tls());
    let talk = "exec 3<>\"$1/orders\"; read word <&3; seq 1 500 >&2; echo 'the last' >&2; touch \"$1/said\"; read word <&3";
    let plugin = bench.shell(&format!("echo '{}'\n{talk}", server.handshake));
    plugin.ready().await.expect("ready");
    send_order(bench.folder.path(), "talk");
    let ends = std::time::Instant::now() + PATIENCE;
    // No await here, so that this thread does not read the pipe meanwhile.
    while !bench.folder.path().join("said").exists() {
        assert!(std::time::Instant::now() < ends, "it said nothing");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(plugin.last_lines(1).iter().all(|l| l.text != "the last"));
    plugin.wait_until_logged(PATIENCE).await;
    assert_eq!(plugin.last_lines(1)[0].text, "the last");
    bench.plugins.shutdown().await;
}

#[tokio::test]
async fn resource_usage_is_reported() {
    let mut quick = settings();
    quick.usage_every = Duration::from_millis(50);
    let bench = Bench::new(quick);
    let server = Server::start(bench.folder.path(), "socket", tls());
    let plugin = bench.shell(&server.script());
    let pid = plugin.ready().await.expect("ready").pid;
    let usage = bench
        .ear
        .until("usage", |e| {
            e.iter().find_map(|e| {
                if let PluginEvent::Usage { usage, .. } = e {
                    Some(*usage)
                } else {
                    None
                }
            })
        })
        .await;
    assert_eq!(Some(usage.pid), pid);
    assert!(usage.rss_bytes > 100_000);
    bench.plugins.shutdown().await;
}

#[tokio::test]
async fn attached_process_is_used_and_not_ended() {
    let bench = Bench::new(settings());
    let server = Server::start(bench.folder.path(), "socket", ServerBehaviour::default());
    let mut other = tokio::process::Command::new("sleep")
        .arg("600")
        .kill_on_drop(true)
        .spawn()
        .expect("spawned");
    let reattach = Reattach {
        protocol: 6,
        pid: other.id(),
        test: true,
        address: Address::Unix(server.socket.clone()),
    };
    let plugin = bench.add(Start::Attach(reattach.clone()));
    let connection = plugin.ready().await.expect("attached");
    plugin.stop().await;
    assert!(connection.end_token().is_cancelled());
    assert!(other.try_wait().expect("status").is_none(), "it still runs");
    let connection = plugin.ready().await.expect("attached again");
    other.kill().await.expect("killed");
    plugin
        .incident(connection.generation, PATIENCE)
        .await
        .expect("its end is noticed");
    bench.plugins.shutdown().await;
}

#[tokio::test]
async fn shutdown_does_not_wait_for_output_of_an_attached_process() {
    let bench = Bench::new(settings());
    let manner = ServerBehaviour {
        open_stdio: true,
        ..ServerBehaviour::default()
    };
    let server = Server::start(bench.folder.path(), "socket", manner);
    let plugin = bench.add(Start::Attach(Reattach {
        protocol: 6,
        pid: Some(std::process::id()),
        test: true,
        address: Address::Unix(server.socket.clone()),
    }));
    plugin.ready().await.expect("attached");
    tokio::time::timeout(PATIENCE, bench.plugins.shutdown())
        .await
        .expect("the process goes on running and its output stays open");
}

#[tokio::test]
async fn plugins_end_with_a_killed_host() {
    let folder = tempfile::tempdir().expect("folder");
    let mut host = tokio::process::Command::new(std::env::current_exe().expect("own path"))
        .args([
            "--exact",
            "lifecycle::killed_host_process",
            "--ignored",
            "--nocapture",
        ])
        .env("FLIGHTDECK_TEST_FOLDER", folder.path())
        .kill_on_drop(true)
        .spawn()
        .expect("spawned");
    let path = folder.path().join("pid");
    let pid: u32 = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Some(pid) = std::fs::read_to_string(&path)
                .ok()
                .and_then(|t| t.strip_suffix('\n').and_then(|t| t.parse().ok()))
            {
                return pid;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the plugin of the other process");
    assert!(process_state(pid).is_some());
    host.kill().await.expect("killed");
    wait_until_ended(pid).await;
}

/// Host process that is killed in the test above; has no effect when run alone.
#[tokio::test]
#[ignore = "is a part of another test"]
async fn killed_host_process() {
    let Some(folder) = std::env::var_os("FLIGHTDECK_TEST_FOLDER") else {
        return;
    };
    let bench = Bench::new(settings());
    let plugin = bench.add(shell_plugin(
        "echo $$ > \"$1/pid\"; exec sleep 600",
        std::path::Path::new(&folder),
    ));
    tokio::time::timeout(PATIENCE, plugin.ready()).await.ok();
}
