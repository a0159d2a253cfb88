//! Plugin process without its flightdeck, for tests.

use serde_json::Value;
use std::path::Path;

/// Starts an orphan in its own process group; returns its pid and start time.
pub(crate) fn start_orphan() -> (u32, u64) {
    let line = "setsid sh -c 'echo $$; exec >&-; while :; do sleep 1; done' & exit 0";
    let mut parent = std::process::Command::new("sh")
        .args(["-c", line])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pid = std::io::read_to_string(parent.stdout.take().unwrap()).unwrap();
    parent.wait().unwrap();
    let pid: u32 = pid.trim().parse().unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let mut fields = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace();
    // The iterator starts at field 3 of `stat`; the start time is field 22.
    (pid, fields.nth(19).unwrap().parse().unwrap())
}

/// Kills a process group when dropped.
pub(crate) struct KillGroupOnDrop(pub(crate) u32);

impl Drop for KillGroupOnDrop {
    fn drop(&mut self) {
        let group = i32::try_from(self.0).ok();
        if let Some(group) = group.and_then(rustix::process::Pid::from_raw) {
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        }
    }
}

/// Records the process as the newest launch of a flightdeck that was killed at once.
pub(crate) fn record_as_newest_launch(store: &Path, pid: u32, start_time: u64) {
    let store = rusqlite::Connection::open(store).unwrap();
    let newest = "SELECT data FROM launch_attempt ORDER BY began DESC LIMIT 1";
    let data: String = store.query_row(newest, [], |r| r.get(0)).unwrap();
    let mut attempt: Value = serde_json::from_str(&data).unwrap();
    attempt["pid"] = pid.into();
    attempt["start_time"] = start_time.into();
    let changed = store.execute(
        "UPDATE launch_attempt SET data = ?1 WHERE data = ?2",
        rusqlite::params![attempt.to_string(), data],
    );
    assert_eq!(changed.unwrap(), 1);
}
