//! Tests of launch failures: exact counts, retries, and no remaining process. Further failures are
//! rows of `tests/misbehaving`.

use crate::test_plugin::*;
use model::PluginState;
use plugin::{PluginError, PluginSettings, SpawnSpec, Start};
use provider::tfplugin::TfLifecycle;
use std::sync::Arc;
use std::time::Duration;

/// Launches until the plugin gives up or is incompatible; checks verdict, text, count, and that no
/// process is left.
async fn assert_launch_fails(
    settings: PluginSettings,
    bench: &Bench,
    start: Start,
    kind: &str,
    words: &[&str],
    retried: bool,
) {
    let limit = settings.launch.attempts;
    let plugin = bench.plugins.add_with(
        model::PluginId(kind.into()),
        found(),
        start,
        Arc::new(TfLifecycle::default()),
        settings,
    );
    let error = plugin.ready().await.expect_err(kind);
    let attempts = bench.ear.attempts();
    let verdict = attempts
        .last()
        .and_then(|a| a.verdict.clone())
        .expect("verdict");
    assert_eq!(verdict.kind.word(), kind, "{verdict:?}");
    for word in words {
        assert!(
            verdict.text.contains(word),
            "{:?} does not say {word:?}",
            verdict.text
        );
    }
    assert_eq!(verdict.retryable, retried);
    let expected = if retried { limit } else { 1 };
    assert_eq!(attempts.len() as u32, expected, "{attempts:#?}");
    assert_eq!(
        attempts.iter().map(|a| a.number).collect::<Vec<_>>(),
        (1..=expected).collect::<Vec<_>>()
    );
    match (retried, &error, plugin.state()) {
        (true, PluginError::GaveUp { attempts, .. }, PluginState::GaveUp { .. }) => {
            assert_eq!(*attempts, limit)
        }
        (false, PluginError::Incompatible { .. }, PluginState::Incompatible { .. }) => {}
        other => panic!("{other:?}"),
    }
    for pid in attempts.iter().filter_map(|a| a.pid) {
        assert_eq!(
            process_state(pid),
            None,
            "process {pid} is left or was not waited for"
        );
    }
    assert_eq!(
        plugin.ready().await.expect_err("failed for good"),
        error,
        "another demand must not launch again"
    );
    assert_eq!(bench.ear.attempts().len() as u32, expected);
}

async fn script_fails(script: &str, kind: &str, words: &[&str], retried: bool) -> Bench {
    let mut settings = settings();
    settings.launch.attempts = 2;
    let bench = Bench::new(settings.clone());
    assert_launch_fails(
        settings,
        &bench,
        shell_plugin(script, bench.folder.path()),
        kind,
        words,
        retried,
    )
    .await;
    bench
}

#[tokio::test]
async fn missing_executable_is_reported() {
    let bench = Bench::new(settings());
    assert_launch_fails(
        settings(),
        &bench,
        program("/nonexistent/terraform-provider-x"),
        "not_found",
        &["/nonexistent/terraform-provider-x"],
        false,
    )
    .await;
}

#[tokio::test]
async fn directory_is_refused_as_an_executable() {
    let bench = Bench::new(settings());
    assert_launch_fails(
        settings(),
        &bench,
        program(bench.folder.path()),
        "not_executable",
        &["not a regular file"],
        false,
    )
    .await;
}

#[tokio::test]
async fn s0_07_retryable_launch_failure_is_retried_and_then_given_up() {
    let bench = script_fails(
        "echo 'This binary is a plugin.' >&2; exit 1",
        "exited",
        &["exit code 1", "This binary is a plugin."],
        true,
    )
    .await;
    assert_eq!(
        bench.ear.attempts()[1].last_lines,
        ["This binary is a plugin."]
    );
    let bench = script_fails(
        "echo 'hello there'; exec sleep 600",
        "unrecognised_line",
        &["hello there", "the file may not be a plugin"],
        true,
    )
    .await;
    assert_eq!(
        bench.ear.attempts()[0].exit_code,
        None,
        "we ended it, so it did not exit"
    );
}

#[tokio::test]
async fn permanent_launch_failure_is_not_retried() {
    script_fails(
        "echo '1|4|unix|/s|grpc|'; exec sleep 600",
        "protocol_version",
        &["protocol version 4", "5 and 6"],
        false,
    )
    .await;
}

#[tokio::test]
async fn s0_07_launch_deadline_is_recorded() {
    let mut short = settings();
    short.launch.attempts = 2;
    short.launch.deadline = Duration::from_millis(150);
    let bench = Bench::new(short.clone());
    assert_launch_fails(
        short,
        &bench,
        shell_plugin("exec sleep 600", bench.folder.path()),
        "timed_out",
        &["did not complete its handshake within 150 ms"],
        true,
    )
    .await;
    let attempt = &bench.ear.attempts()[0];
    assert_eq!(attempt.deadline_ms, 150);
    assert!(attempt.took_ms.expect("took") >= 150);
}

#[tokio::test]
async fn launches_end_at_the_total_launch_deadline() {
    let mut short = settings();
    short.launch.attempts = 100;
    short.launch.deadline = Duration::from_millis(150);
    short.launch.total = Some(Duration::from_millis(400));
    let bench = Bench::new(short);
    let plugin = bench.shell("exec sleep 600");
    let error = plugin.ready().await.expect_err("gives up");
    let attempts = bench.ear.attempts();
    assert!((1..=3).contains(&attempts.len()), "{attempts:#?}");
    let PluginError::GaveUp {
        attempts: told,
        why,
        ..
    } = error
    else {
        panic!("{error:?}")
    };
    assert_eq!(told as usize, attempts.len());
    assert!(
        why.contains("the time limit for all launches together is 400 ms"),
        "{why}"
    );
    let within = attempts.iter().all(|a| a.deadline_ms <= 150);
    assert!(
        within,
        "no launch may take longer than what is left: {attempts:#?}"
    );
}

#[tokio::test]
async fn launches_are_limited_to_five_by_default() {
    assert_eq!(PluginSettings::default().launch.attempts, 5);
    let bench = Bench::new(settings());
    let plugin = bench.shell("echo x >> \"$1/launched\"; exit 1");
    plugin.ready().await.expect_err("gives up");
    assert_eq!(bench.count("launched"), 5);
    let expected: Vec<&str> = ["discovered"]
        .into_iter()
        .chain(["launching", "handshaking", "backoff"].repeat(5))
        .take(15)
        .chain(["gave up"])
        .collect();
    assert_eq!(bench.ear.states(), expected);
    // An operator's start resets the counter; a call from the pool does not launch at all.
    plugin.ready().await.expect_err("failed for good");
    assert_eq!(bench.count("launched"), 5);
    plugin.start().await.expect_err("gives up again");
    assert_eq!(bench.count("launched"), 10);
}

#[tokio::test]
async fn rejected_plugin_reports_its_reason() {
    let bench = Bench::new(settings());
    let plugin = bench.plugins.add_rejected(
        model::PluginId("x/y".into()),
        found(),
        "no version fits".into(),
    );
    for answer in [
        plugin.ready().await,
        plugin.start().await,
        plugin.restart().await,
    ] {
        assert!(
            matches!(answer, Err(PluginError::Rejected { why, .. }) if why == "no version fits")
        );
    }
    plugin.stop().await;
    assert!(matches!(plugin.state(), PluginState::Rejected { .. }));
}

#[tokio::test]
async fn missing_working_directory_is_reported() {
    let bench = Bench::new(settings());
    let spec = SpawnSpec {
        executable: "/bin/sh".into(),
        directory: Some(bench.folder.path().join("gone")),
        ..SpawnSpec::default()
    };
    assert_launch_fails(
        settings(),
        &bench,
        Start::Spawn(spec),
        "not_executable",
        &["working directory"],
        false,
    )
    .await;
}
