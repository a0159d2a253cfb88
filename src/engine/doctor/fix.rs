//! Applies the fixes of findings: restricts a file, removes stale lock info, ends an orphaned
//! process.

use super::finding::Fix;
use model::process::ProcessIdentity;
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

/// Time limit for a process to end on request.
const GRACE: Duration = Duration::from_secs(5);
/// Interval of checks meanwhile.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Reasons why a fix failed.
#[derive(Debug, thiserror::Error)]
pub enum MendError {
    #[error("cannot change {}: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "process {0} has already ended, or its pid now belongs to another process; nothing was killed"
    )]
    Gone(u32),
    #[error("cannot end process {pid}: {source}")]
    Process { pid: u32, source: rustix::io::Errno },
    #[error("process {0} did not end after SIGKILL")]
    Stays(u32),
}

/// Applies a fix and describes it.
///
/// # Errors
/// The fix failed; nothing else was changed.
pub async fn mend(what: &Fix) -> Result<String, MendError> {
    match what {
        Fix::MakePrivate { path } => {
            let done = std::fs::metadata(path).and_then(|meta| {
                // Keeps the owner's permissions.
                let mode = meta.permissions().mode() & 0o700;
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
            });
            done.map(|()| format!("{} is now private to its owner", path.display()))
                .map_err(|source| MendError::File {
                    path: path.clone(),
                    source,
                })
        }
        Fix::Remove { path } => std::fs::remove_file(path)
            .map(|()| format!("{} was removed", path.display()))
            .map_err(|source| MendError::File {
                path: path.clone(),
                source,
            }),
        Fix::Stop { process } => stop(process).await,
    }
}

/// Ends a process group with SIGTERM, then SIGKILL.
async fn stop(process: &ProcessIdentity) -> Result<String, MendError> {
    let pid = process.pid;
    // Checked by identity first, because the pid may belong to another process by now.
    if !process.is_running() {
        return Err(MendError::Gone(pid));
    }
    let group = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let group = group.ok_or(MendError::Gone(pid))?;
    for (signal, how) in [
        (Signal::TERM, "ended after SIGTERM"),
        (Signal::KILL, "was killed with SIGKILL"),
    ] {
        // The whole group, because a plugin may have started other processes.
        kill_process_group(group, signal).map_err(|source| MendError::Process { pid, source })?;
        let end = tokio::time::Instant::now() + GRACE;
        while tokio::time::Instant::now() < end {
            if !process.is_running() {
                return Ok(format!("process {pid} {how}"));
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }
    Err(MendError::Stays(pid))
}
