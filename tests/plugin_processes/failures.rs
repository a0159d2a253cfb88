//! Every way to fail at the start: told apart, counted exactly, and nothing left of the process.

use crate::kit::*;
use crate::server::{Manner, Server};
use flightdeck::engine::plugin::record::{PhaseName, PluginState};
use flightdeck::engine::plugin::{PluginError, PluginSettings, SpawnSpec, Start};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

/// Launches until the plugin is given up or found incompatible, and checks kind, words, count and cleanliness.
async fn fails(settings: PluginSettings, bench: &Bench, start: Start, kind: &str, words: &[&str], retried: bool) {
    let limit = settings.launch.attempts;
    let plugin = bench.plugins.add_with(flightdeck::engine::plugin::record::PluginId(kind.into()), found(), start, settings);
    let error = plugin.ready().await.expect_err(kind);
    let attempts = bench.ear.attempts();
    let verdict = attempts.last().and_then(|a| a.verdict.clone()).expect("verdict");
    assert_eq!(verdict.kind, kind, "{verdict:?}");
    for word in words {
        assert!(verdict.text.contains(word), "{:?} does not say {word:?}", verdict.text);
    }
    assert_eq!(verdict.retryable, retried);
    let expected = if retried { limit } else { 1 };
    assert_eq!(attempts.len() as u32, expected, "{attempts:#?}");
    assert_eq!(attempts.iter().map(|a| a.number).collect::<Vec<_>>(), (1..=expected).collect::<Vec<_>>());
    match (retried, &error, plugin.state()) {
        (true, PluginError::GaveUp { attempts, .. }, PluginState::GaveUp { .. }) => assert_eq!(*attempts, limit),
        (false, PluginError::Incompatible { .. }, PluginState::Incompatible { .. }) => {}
        other => panic!("{other:?}"),
    }
    for pid in attempts.iter().filter_map(|a| a.pid) {
        assert_eq!(process_state(pid), None, "process {pid} is left or was not waited for");
    }
    assert_eq!(plugin.ready().await.expect_err("failed for good"), error, "another demand must not launch again");
    assert_eq!(bench.ear.attempts().len() as u32, expected);
}

async fn script_fails(script: &str, kind: &str, words: &[&str], retried: bool) -> Bench {
    let mut settings = settings();
    settings.launch.attempts = 2;
    let bench = Bench::new(settings.clone());
    fails(settings, &bench, shell(script, bench.folder.path()), kind, words, retried).await;
    bench
}

async fn file_fails(name: &str, content: &[u8], mode: u32, kind: &str, words: &[&str]) {
    let bench = Bench::new(settings());
    let path = bench.folder.path().join(name);
    std::fs::write(&path, content).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("mode");
    fails(settings(), &bench, program(&path), kind, words, false).await;
}

#[tokio::test]
async fn an_executable_that_is_not_there() {
    let bench = Bench::new(settings());
    fails(settings(), &bench, program("/nonexistent/terraform-provider-x"), "not_found", &["/nonexistent/terraform-provider-x"], false)
        .await;
}

#[tokio::test]
async fn files_that_cannot_be_executed() {
    if rustix::process::geteuid().is_root() {
        // The owner of everything still needs one executable bit.
        file_fails("plain", b"#!/bin/sh\n", 0o644, "not_executable", &["chmod +x"]).await;
    }
    file_fails("text", b"hello", 0o755, "not_executable", &["neither a program nor a script"]).await;
    file_fails("empty", b"", 0o755, "not_executable", &["empty"]).await;
    file_fails("loader", b"#!/nonexistent/interpreter\n", 0o755, "not_executable", &["interpreter"]).await;
    let bench = Bench::new(settings());
    fails(settings(), &bench, program(bench.folder.path()), "not_executable", &["not a file"], false).await;
}

#[tokio::test]
async fn a_program_for_another_machine() {
    let mut head = vec![0u8; 64];
    head[..8].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0]);
    let (number, name) = if cfg!(target_arch = "s390x") { (62u16, "x86_64") } else { (22u16, "s390x") };
    head[18..20].copy_from_slice(&number.to_le_bytes());
    file_fails("foreign", &head, 0o755, "wrong_architecture", &["built for linux", name, std::env::consts::ARCH]).await;
    file_fails("mac", b"\xcf\xfa\xed\xfe\x07\0\0\x01", 0o755, "wrong_architecture", &["macos"]).await;
}

#[tokio::test]
async fn a_process_that_ends_before_its_handshake() {
    let bench = script_fails("exit 0", "exited", &["before its handshake", "exit code 0"], true).await;
    assert_eq!(bench.ear.attempts()[0].exit_code, Some(0));
    let bench =
        script_fails("echo 'This binary is a plugin.' >&2; exit 1", "exited", &["exit code 1", "This binary is a plugin."], true).await;
    assert_eq!(bench.ear.attempts()[1].last_lines, ["This binary is a plugin."]);
    let bench = script_fails("kill -SEGV $$", "exited", &["SIGSEGV (11)"], true).await;
    assert_eq!((bench.ear.attempts()[0].exit_code, bench.ear.attempts()[0].signal), (None, Some(11)));
    let panic = "echo starting >&2; echo 'panic: nil map' >&2; echo 'goroutine 1' >&2; exit 2";
    script_fails(panic, "exited", &["exit code 2", "panic: nil map"], true).await;
}

#[tokio::test]
async fn a_process_that_prints_something_else() {
    let bench = script_fails("echo 'hello there'; exec sleep 600", "unrecognised_line", &["hello there", "is it a plugin?"], true).await;
    assert_eq!(bench.ear.attempts()[0].exit_code, None, "we ended it, so it did not exit");
    let bench = script_fails("echo usage; exit 3", "unrecognised_line", &["usage"], true).await;
    assert_eq!(bench.ear.attempts()[0].exit_code, Some(3));
    script_fails("head -c 100000 /dev/zero | tr '\\0' x; exec sleep 600", "unrecognised_line", &["longer than"], true).await;
    script_fails("exec 1>&-; exec sleep 600", "unrecognised_line", &["closed its standard output"], true).await;
}

#[tokio::test]
async fn a_process_that_stays_silent() {
    let mut short = settings();
    short.launch.attempts = 2;
    short.launch.deadline = Duration::from_millis(150);
    let bench = Bench::new(short.clone());
    let script = "echo 'still thinking' >&2; exec sleep 600";
    fails(short, &bench, shell(script, bench.folder.path()), "timed_out", &["no handshake within 150 ms"], true).await;
    let attempt = &bench.ear.attempts()[0];
    assert_eq!(attempt.deadline_ms, 150);
    assert!(attempt.took_ms.expect("took") >= 150);
    assert_eq!(attempt.phases.iter().map(|p| p.name).collect::<Vec<_>>(), [PhaseName::Exec, PhaseName::FirstOutput]);
    assert_eq!(attempt.last_lines, ["still thinking"]);
}

#[tokio::test]
async fn handshakes_that_another_launch_cannot_change() {
    script_fails("echo '1|4|unix|/s|grpc|'; exec sleep 600", "protocol_version", &["protocol 4", "5 and 6"], false).await;
    script_fails("echo '2|5|unix|/s|grpc|'; exec sleep 600", "core_version", &["version 2"], false).await;
    script_fails("echo '1|5|unix|/s|netrpc|'; exec sleep 600", "net_rpc", &["net/rpc"], false).await;
    script_fails("echo '1|5|unix|/s'; exec sleep 600", "net_rpc", &["net/rpc"], false).await;
}

#[tokio::test]
async fn certificates_that_are_none() {
    let not_base64 = format!("echo '1|6|unix|/s|grpc|{}'; exec sleep 600", "*".repeat(80));
    script_fails(&not_base64, "certificate", &["base64"], true).await;
    let not_der = format!("echo '1|6|unix|/s|grpc|{}'; exec sleep 600", "AAAA".repeat(40));
    script_fails(&not_der, "certificate", &["certificate"], true).await;
    script_fails("echo '1|6|tcp|127.0.0.1:1|grpc|'; exec sleep 600", "certificate", &["announced none"], true).await;
}

#[tokio::test]
async fn a_socket_where_nobody_listens() {
    script_fails("echo \"1|6|unix|$1/none|grpc|\"; exec sleep 600", "connect", &["/none"], true).await;
    script_fails("echo \"1|6|unix|$1/none|grpc|\"; exit 7", "exited", &["after its handshake", "exit code 7"], true).await;
}

async fn server_fails(manner: Manner, kind: &str, words: &[&str]) {
    let mut settings = settings();
    settings.launch.attempts = 2;
    let bench = Bench::new(settings.clone());
    let server = Server::start(bench.folder.path(), "socket", manner);
    fails(settings, &bench, shell(&server.script(), bench.folder.path()), kind, words, true).await;
}

#[tokio::test]
async fn a_server_behind_another_certificate() {
    server_fails(Manner { tls: true, impostor: true, ..Manner::default() }, "certificate", &["not the one it announced"]).await;
}

#[tokio::test]
async fn a_server_without_the_tls_that_it_announced() {
    server_fails(Manner { plain_behind_certificate: true, ..Manner::default() }, "tls", &["no encrypted connection"]).await;
}

#[tokio::test]
async fn a_server_that_gives_no_schema() {
    let broken = Manner { tls: true, schema_error: Some("internal validation failed".into()), ..Manner::default() };
    server_fails(broken, "schema", &["internal validation failed"]).await;
    server_fails(Manner { tls: true, no_schema: true, ..Manner::default() }, "schema", &["Unimplemented"]).await;
}

#[tokio::test]
async fn a_socket_that_never_answers() {
    let mut short = settings();
    short.launch.attempts = 2;
    short.connect_deadline = Duration::from_millis(150);
    let bench = Bench::new(short.clone());
    let socket = bench.folder.path().join("deaf");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("bind");
    let script = format!("echo '1|6|unix|{}|grpc|'; exec sleep 600", socket.display());
    fails(short, &bench, shell(&script, bench.folder.path()), "connect", &["no answer within 150 ms"], true).await;
}

#[tokio::test]
async fn five_launches_by_default_and_not_one_more() {
    assert_eq!(PluginSettings::default().launch.attempts, 5);
    let bench = Bench::new(settings());
    let plugin = bench.shell("echo x >> \"$1/launched\"; exit 1");
    plugin.ready().await.expect_err("gives up");
    assert_eq!(bench.count("launched"), 5);
    let expected: Vec<&str> =
        ["discovered"].into_iter().chain(["launching", "handshaking", "backoff"].repeat(5)).take(15).chain(["gave up"]).collect();
    assert_eq!(bench.ear.states(), expected);
    // An operator's start counts afresh; a demand does not try at all.
    plugin.ready().await.expect_err("failed for good");
    assert_eq!(bench.count("launched"), 5);
    plugin.start().await.expect_err("gives up again");
    assert_eq!(bench.count("launched"), 10);
}

#[tokio::test]
async fn a_plugin_that_cannot_be_had_says_why() {
    let bench = Bench::new(settings());
    let plugin = bench.plugins.add_rejected(flightdeck::engine::plugin::record::PluginId("x/y".into()), found(), "no version fits".into());
    for answer in [plugin.ready().await, plugin.start().await, plugin.restart().await] {
        assert!(matches!(answer, Err(PluginError::Rejected { why, .. }) if why == "no version fits"));
    }
    plugin.stop().await;
    assert!(matches!(plugin.state(), PluginState::Rejected { .. }));
}

#[tokio::test]
async fn a_folder_that_is_gone_is_no_place_to_run() {
    let bench = Bench::new(settings());
    let spec = SpawnSpec { executable: "/bin/sh".into(), directory: Some("/nonexistent".into()), ..SpawnSpec::default() };
    fails(settings(), &bench, Start::Spawn(spec), "not_executable", &["working directory"], false).await;
}
