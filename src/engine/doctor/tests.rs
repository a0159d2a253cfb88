#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use super::processes::findings_of;
use super::{Fix, mend};
use model::process::ProcessIdentity;
use model::{LaunchAttempt, PluginId, PluginRow, now_ms};
use std::process::{Command, Stdio};

/// Recorded launch of a process.
fn launch(process: &ProcessIdentity, began: i64) -> PluginRow {
    let attempt = serde_json::json!({
        "number": 1, "limit": 5, "began": began, "phases": [], "pid": process.pid,
        "start_time": process.start_time, "deadline_ms": 1000, "exit_code": null, "signal": null,
        "last_lines": [], "verdict": null, "took_ms": null,
    });
    let attempt: LaunchAttempt = serde_json::from_value(attempt).unwrap();
    PluginRow {
        id: PluginId("lab".into()),
        found: None,
        attempts: vec![attempt],
    }
}

/// A process whose parent has ended, in its own group, that ignores SIGTERM.
fn orphan() -> ProcessIdentity {
    let mut parent = Command::new("sh")
        .args([
            "-c",
            "setsid sh -c 'trap \"\" TERM; echo $$; exec >&-; while :; do sleep 1; done' & exit 0",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = std::io::read_to_string(parent.stdout.take().unwrap()).unwrap();
    parent.wait().unwrap();
    ProcessIdentity::of(out.trim().parse().unwrap()).unwrap()
}

/// Ends the process at the end of the test.
struct Ended(ProcessIdentity);

impl Drop for Ended {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_raw(i32::try_from(self.0.pid).unwrap()).unwrap();
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
    }
}

#[tokio::test]
async fn orphaned_plugin_process_is_reported_with_evidence_and_killed() {
    let process = orphan();
    let _at_the_end = Ended(process.clone());
    let found = findings_of(&launch(&process, now_ms()));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].text.contains(&process.pid.to_string()),
        "{found:?}"
    );
    // A process with the same pid but another start time does not count, and neither does a launch
    // before the last boot.
    let other = ProcessIdentity {
        start_time: process.start_time + 1,
        ..process.clone()
    };
    assert_eq!(findings_of(&launch(&other, now_ms())), []);
    assert_eq!(findings_of(&launch(&process, 1_000)), []);
    let what = found[0].fix.clone().unwrap();
    let done = mend(&what).await.unwrap();
    assert!(done.contains("was killed"), "{done}");
    assert!(!process.is_running());
    assert!(mend(&what).await.is_err(), "there is nobody to end");
    assert!(matches!(what, Fix::Stop { .. }));
}
