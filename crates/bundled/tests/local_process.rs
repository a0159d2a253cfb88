//! Tests of `local_process`, through the real provider and with real processes.
#![allow(clippy::unwrap_used)]

mod plugin;

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use cty::Value;
use model::process::ProcessIdentity;
use plugin::Plugin;
use plugin::common::{said, text};
use serde_json::{Value as Json, json};

const TYPE: &str = "local_process";

/// Configuration of a shell script that logs into the directory.
fn script(folder: &Path, script: &str, more: Json) -> Json {
    let mut config = json!({
        "command": ["/bin/sh", "-c", script],
        "log_file": folder.join("log/web.log"),
    });
    let arguments = config.as_object_mut().unwrap();
    arguments.extend(more.as_object().unwrap().clone());
    config
}

fn number(state: &Value, name: &str) -> i64 {
    let value = state.get_attr(name).unwrap();
    value.as_number().unwrap().to_i64().unwrap()
}

fn identity(state: &Value) -> ProcessIdentity {
    ProcessIdentity {
        pid: number(state, "pid").try_into().unwrap(),
        start_time: number(state, "start_time").try_into().unwrap(),
        boot_id: text(state, "boot_id"),
    }
}

fn log(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("log/web.log")).unwrap()
}

/// Waits for a condition, with a deadline for slow machines.
#[track_caller]
fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns a state with another value of a number.
fn with_number(state: &Value, name: &str, value: i64) -> Value {
    let mut object = sdk::Object::of(state).unwrap();
    object.set(name, value);
    object.into_value().unwrap()
}

#[tokio::test]
async fn process_runs_alone_in_its_session_with_a_clean_environment() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::start("local", folder.path()).await;
    let host = &mut plugin.host;
    let more = json!({
        "environment": {"COLOR": "blue"},
        "working_directory": folder.path(),
    });
    let line = "echo $COLOR in $PWD; exec sleep 1000";
    let state = host.made(TYPE, script(folder.path(), line, more)).await;
    let process = identity(&state);
    assert!(process.is_running());
    assert_eq!(host.read(TYPE, &state).await.0, state);
    assert!(state.get_attr("url").unwrap().is_null());
    let wanted = format!("blue in {}\n", folder.path().display());
    until("output in the log", || log(folder.path()) == wanted);

    let proc = |file: &str| format!("/proc/{}/{file}", process.pid);
    until("the program", || {
        std::fs::read(proc("cmdline")).unwrap() == b"sleep\x001000\0"
    });
    let stat = std::fs::read_to_string(proc("stat")).unwrap();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    let pid = process.pid.to_string();
    // Fields 5 and 6: process group and session.
    assert_eq!(fields[2..4], [pid.as_str(), pid.as_str()]);
    let environment = std::fs::read(proc("environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let names: Vec<&str> = environment
        .split('\0')
        .filter_map(|entry| Some(entry.split_once('=')?.0))
        .collect();
    assert!(
        names.contains(&"COLOR") && names.contains(&"PATH"),
        "{names:?}"
    );
    // The plugin itself has this one.
    assert!(!names.contains(&"FLIGHTDECK_LAB_DIR"), "{names:?}");

    assert_eq!(host.delete(TYPE, &state).await.diagnostics, []);
    assert!(!process.is_running());
    assert!(host.read(TYPE, &state).await.0.is_null());
    assert_eq!(host.delete(TYPE, &state).await.diagnostics, []);
}

#[tokio::test]
async fn process_that_ended_outside_is_read_as_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::start("local", folder.path()).await;
    let host = &mut plugin.host;
    let config = script(folder.path(), "exec sleep 1000", json!({}));
    let state = host.made(TYPE, config).await;
    let process = identity(&state);
    let pid = rustix::process::Pid::from_raw(process.pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    until("the end", || !process.is_running());
    assert!(host.read(TYPE, &state).await.0.is_null());
}

#[tokio::test]
async fn reused_pid_is_neither_found_nor_signalled() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::start("local", folder.path()).await;
    let host = &mut plugin.host;
    let config = script(folder.path(), "exec sleep 1000", json!({}));
    let state = host.made(TYPE, config).await;
    let process = identity(&state);
    let start_time = number(&state, "start_time");
    let other = with_number(&state, "start_time", start_time - 1);
    assert!(host.read(TYPE, &other).await.0.is_null());
    assert_eq!(host.delete(TYPE, &other).await.diagnostics, []);
    assert!(process.is_running(), "another process got the signal");
    assert_eq!(host.delete(TYPE, &state).await.diagnostics, []);
    assert!(!process.is_running());
}

#[tokio::test]
async fn destroy_kills_a_process_that_ignores_sigterm_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::start("local", folder.path()).await;
    let host = &mut plugin.host;
    let line = "trap '' TERM; sleep 1000 & echo $!; while :; do sleep 0.1; done";
    let config = script(folder.path(), line, json!({"stop_timeout": 1}));
    let state = host.made(TYPE, config).await;
    until("the child", || !log(folder.path()).is_empty());
    let child = log(folder.path()).trim().parse().unwrap();
    let (process, child) = (identity(&state), ProcessIdentity::of(child).unwrap());
    let began = Instant::now();
    assert_eq!(host.delete(TYPE, &state).await.diagnostics, []);
    assert!(
        began.elapsed() >= Duration::from_secs(1),
        "SIGKILL came too early"
    );
    assert!(!process.is_running());
    until("the end of the child", || !child.is_running());
}

#[tokio::test]
async fn change_replaces_a_process_and_that_of_a_timeout_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::start("local", folder.path()).await;
    let host = &mut plugin.host;
    let config = |line: &str, more| script(folder.path(), line, more);
    let state = host.made(TYPE, config("exec sleep 1000", json!({}))).await;
    let timeout = config("exec sleep 1000", json!({"stop_timeout": 2}));
    let timeout = host.config(TYPE, timeout);
    let updated = host.apply(TYPE, &state, &timeout).await.state;
    assert_eq!(updated, with_number(&state, "stop_timeout", 2));
    let other = [
        (config("exec sleep 2000", json!({})), ".command"),
        (
            config("exec sleep 1000", json!({"environment": {"A": "b"}})),
            ".environment",
        ),
        (
            config("exec sleep 1000", json!({"working_directory": "/"})),
            ".working_directory",
        ),
    ];
    for (config, attribute) in other {
        let config = host.config(TYPE, config);
        let plan = host.plan(TYPE, &state, &config, b"").await;
        assert_eq!(plan.replace, [attribute]);
    }
    assert_eq!(host.delete(TYPE, &state).await.diagnostics, []);
}

#[tokio::test]
async fn url_is_planned_and_the_process_is_created_once_it_listens() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::start("local", folder.path()).await;
    let host = &mut plugin.host;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let more = json!({"port": port, "start_timeout": 1});
    let config = script(folder.path(), "echo waits; exec sleep 1000", more);
    let null = host.null(TYPE);
    let values = host.config(TYPE, config.clone());
    let plan = host.plan(TYPE, &null, &values, b"").await;
    assert_eq!(
        text(&plan.planned, "url"),
        format!("http://127.0.0.1:{port}")
    );

    let failed = host.create(TYPE, config.clone()).await;
    let (summary, attribute) = said(&failed.diagnostics)[0].clone();
    assert_eq!(
        (summary, attribute),
        (format!("port {port} is in use"), ".port".into())
    );
    assert!(!folder.path().join("log").exists(), "nothing was started");

    drop(listener);
    let failed = host.create(TYPE, config).await;
    let summary = &failed.diagnostics[0].summary;
    assert_eq!(
        *summary,
        format!("/bin/sh does not listen on port {port} after 1 s")
    );
    assert!(
        failed.diagnostics[0].detail.ends_with(":\nwaits"),
        "{failed:?}"
    );
    assert!(failed.state.is_null(), "it was ended");
}

#[tokio::test]
async fn failed_start_names_the_cause_and_the_last_lines_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::start("local", folder.path()).await;
    let host = &mut plugin.host;
    let log_file = folder.path().join("log/web.log");
    std::fs::create_dir(folder.path().join("log")).unwrap();
    std::fs::write(&log_file, "of an earlier process\n").unwrap();

    let failed = host
        .create(
            TYPE,
            script(
                folder.path(),
                "seq 20; echo no licence >&2; exit 3",
                json!({}),
            ),
        )
        .await;
    let diagnostic = &failed.diagnostics[0];
    assert_eq!(diagnostic.summary, "/bin/sh ended at once: exit status: 3");
    let lines: Vec<&str> = diagnostic.detail.lines().collect();
    assert_eq!(lines[0], format!("last lines of {}:", log_file.display()));
    assert_eq!(
        lines[1..],
        [
            "12",
            "13",
            "14",
            "15",
            "16",
            "17",
            "18",
            "19",
            "20",
            "no licence"
        ]
    );

    let failed = host
        .create(TYPE, script(folder.path(), "exit 0", json!({})))
        .await;
    let diagnostic = &failed.diagnostics[0];
    assert!(
        diagnostic
            .summary
            .ends_with("it must continue in the foreground")
    );
    assert!(diagnostic.detail.starts_with("it wrote nothing to "));

    let missing = json!({"command": ["no-such-program-here"], "log_file": log_file});
    let failed = host.create(TYPE, missing).await;
    assert_eq!(
        said(&failed.diagnostics),
        [(
            "cannot start no-such-program-here".into(),
            ".command".into()
        )]
    );
    let more = json!({"working_directory": folder.path().join("none")});
    let failed = host.create(TYPE, script(folder.path(), "exit", more)).await;
    assert_eq!(said(&failed.diagnostics)[0].1, ".working_directory");
    let blocked = json!({"command": ["true"], "log_file": folder.path()});
    let failed = host.create(TYPE, blocked).await;
    assert_eq!(said(&failed.diagnostics)[0].1, ".log_file");
}

#[tokio::test]
async fn daemon_that_leaves_its_start_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::start("local", folder.path()).await;
    let host = &mut plugin.host;
    let line = "sleep 1000 & echo $!; exit 1";
    let failed = host
        .create(TYPE, script(folder.path(), line, json!({})))
        .await;
    assert_eq!(failed.diagnostics.len(), 1, "{failed:?}");
    let child: u32 = log(folder.path()).trim().parse().unwrap();
    let is_running = || ProcessIdentity::of(child).is_some_and(|child| child.is_running());
    until("the end of the daemon", || !is_running());
}

#[tokio::test]
async fn arguments_are_checked_before_a_plan() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::start("local", folder.path()).await;
    let host = &mut plugin.host;
    for (arguments, attribute) in [
        (json!({"command": [], "log_file": "x"}), ".command"),
        (
            json!({"command": ["x"], "log_file": "x", "port": 70_000}),
            ".port",
        ),
        (
            json!({"command": ["x"], "log_file": "x", "port": 1.5}),
            ".port",
        ),
        (
            json!({"command": ["x"], "log_file": "x", "stop_timeout": 0}),
            ".stop_timeout",
        ),
    ] {
        let config = host.config(TYPE, arguments);
        assert_eq!(said(&host.validate(TYPE, &config).await)[0].1, attribute);
    }
}

#[tokio::test]
async fn process_is_imported_by_its_pid() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::start("local", folder.path()).await;
    let host = &mut plugin.host;
    let config = json!({"command": ["sleep", "1000"], "log_file": folder.path().join("log")});
    let state = host.made(TYPE, config.clone()).await;
    let process = identity(&state);
    let imported = host.import(TYPE, &process.pid.to_string()).await.unwrap();
    let (imported, _) = host.read(TYPE, &imported).await;
    assert_eq!(identity(&imported), process);
    let config = host.config(TYPE, config);
    let plan = host.plan(TYPE, &imported, &config, b"").await;
    assert_eq!((plan.planned, plan.replace), (state.clone(), vec![]));
    assert_eq!(host.delete(TYPE, &imported).await.diagnostics, []);
    assert!(!process.is_running());

    let own = std::process::id().to_string();
    for (id, why) in [
        (process.pid.to_string(), "no process with this pid runs"),
        ("x".to_owned(), "no process with this pid runs"),
        (own, ""),
    ] {
        let refused = host.import(TYPE, &id).await.unwrap_err();
        assert!(refused[0].detail.contains(why), "{refused:?}");
    }
}
