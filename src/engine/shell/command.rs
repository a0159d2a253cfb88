//! The command of a `local-exec`: a process group of its own behind a guard, its output read to the
//! end in bounded lines, ended with the deploy. Knows nothing of configuration.

use super::guard::guarded;
use super::output::{LEFT_OPEN, Lines, Output};
use crate::engine::plugin::Group;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::process::Child;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long a killed group may take to be gone.
const REAP: Duration = Duration::from_secs(5);

/// What is run, where.
pub(in crate::engine) struct LocalCommand {
    /// Program and arguments.
    pub(in crate::engine) words: Vec<String>,
    pub(in crate::engine) dir: PathBuf,
    pub(in crate::engine) environment: BTreeMap<String, String>,
}

/// How it ended.
pub(in crate::engine) enum Ended {
    /// By itself.
    Status(ExitStatus),
    /// It was killed with all that it had started.
    Killed,
}

impl LocalCommand {
    /// Runs it to its end, or until `cancel`. What it has left running in the background after a
    /// good end stays; where that keeps the output open, the rest of it is read and dropped.
    ///
    /// # Errors
    /// It cannot be started or waited for.
    pub(in crate::engine) async fn run(
        &self,
        output: &Output<'_>,
        cancel: &CancellationToken,
    ) -> std::io::Result<Ended> {
        let words = guarded(&self.words);
        let has_guard = words.len() > self.words.len();
        let mut command = tokio::process::Command::new(&words[0]);
        command
            .args(&words[1..])
            .envs(lang::config::environment::variables())
            .envs(&self.environment)
            .current_dir(&self.dir);
        // The guard's life line: it is closed when we are gone.
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // A guard kills more than its group, and so must not be killed before it has done that.
        let mut child = command.process_group(0).kill_on_drop(!has_guard).spawn()?;
        let mut group = Group::of(child.id().filter(|_| !has_guard));
        let line_of_life = child.stdin.take();
        let ended = run_to_end(&mut child, output, cancel).await;
        drop(line_of_life);
        let Some(status) = ended else {
            let pid = child.id();
            let ended = has_guard && tokio::time::timeout(REAP, child.wait()).await.is_ok();
            if !ended {
                Group::of(pid).kill();
                tokio::time::timeout(REAP, child.wait()).await.ok();
            }
            return Ok(Ended::Killed);
        };
        group.let_go();
        Ok(Ended::Status(status?))
    }
}

/// Reads the output of a command until it has ended, and a little longer where the output stays
/// open. `None` where `cancel` came before its end.
async fn run_to_end(
    child: &mut Child,
    output: &Output<'_>,
    cancel: &CancellationToken,
) -> Option<std::io::Result<ExitStatus>> {
    let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
        return Some(child.wait().await);
    };
    let (mut out, mut err) = (Lines::of(out), Lines::of(err));
    let (status, is_read) = {
        let mut reading = pin!(async { tokio::join!(out.pass_on(output), err.pass_on(output)) });
        let mut is_read = false;
        // A command that floods its output must still be stoppable, one that has closed it too, and
        // one that leaves a flood behind must be seen to end: the output comes last.
        let status = loop {
            tokio::select! { biased;
                () = cancel.cancelled() => break None,
                status = child.wait() => break Some(status),
                _ = &mut reading, if !is_read => is_read = true,
            }
        };
        if status.is_some() && !is_read {
            is_read = tokio::select! { biased;
                () = cancel.cancelled() => false,
                read = tokio::time::timeout(LEFT_OPEN, reading) => read.is_ok(),
            };
        }
        (status, is_read)
    };
    if status.is_some() && !is_read {
        output.leave_open();
        let (mut out, mut err) = (out.given_up(output), err.given_up(output));
        // With its pipes closed, what was left in the background (a tunnel that later steps need)
        // would end with its next line. This ends when those processes do, or with this one.
        TaskTracker::new().spawn(async move {
            let (mut nowhere, mut neither) = (tokio::io::sink(), tokio::io::sink());
            let out = tokio::io::copy_buf(&mut out, &mut nowhere);
            tokio::join!(out, tokio::io::copy_buf(&mut err, &mut neither))
        });
    }
    status
}
