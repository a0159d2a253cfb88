//! Command of a `local-exec` provisioner: runs in its own process group behind a guard process,
//! reads the output in bounded lines, and ends with the deploy. Independent of the configuration.

use super::guard::guarded_command;
use super::output::{LEFT_OPEN_TIMEOUT, Lines, Output};
use plugin::Group;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::process::Child;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Maximum time for a killed group to end.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Command with its directory and environment.
pub struct LocalCommand {
    /// Program and arguments.
    pub words: Vec<String>,
    pub dir: PathBuf,
    pub environment: BTreeMap<String, String>,
}

/// End of a command.
pub enum CommandExit {
    /// It exited on its own.
    Status(ExitStatus),
    /// It was killed with all its descendants.
    Killed,
}

impl LocalCommand {
    /// Runs the command until it ends or `cancel`. Background processes that remain after an exit
    /// on its own are kept; if they keep the output open, the rest of it is read and dropped.
    ///
    /// # Errors
    /// The command cannot be started or waited for.
    pub async fn run(
        &self,
        output: &Output<'_>,
        cancel: &CancellationToken,
    ) -> std::io::Result<CommandExit> {
        let words = guarded_command(&self.words);
        // Without a guard, as in tests, the command runs directly.
        let has_guard = words.len() > self.words.len();
        let mut command = tokio::process::Command::new(&words[0]);
        command
            .args(&words[1..])
            .envs(lang::config::environment::variables())
            .envs(&self.environment)
            .current_dir(&self.dir);
        // The guard's lifeline: it is closed when this process ends.
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // The guard must kill descendants outside its group first, so it must not be killed before.
        let mut child = command.process_group(0).kill_on_drop(!has_guard).spawn()?;
        let mut group = Group::of(child.id().filter(|_| !has_guard));
        let line_of_life = child.stdin.take();
        let ended = run_to_end(&mut child, output, cancel).await;
        // Closing the lifeline makes the guard kill everything, if it still runs.
        drop(line_of_life);
        let Some(status) = ended else {
            let pid = child.id();
            // Wait for the guard to kill everything; only then kill the guard itself.
            let ended = has_guard
                && tokio::time::timeout(KILL_TIMEOUT, child.wait())
                    .await
                    .is_ok();
            if !ended {
                Group::of(pid).kill();
                tokio::time::timeout(KILL_TIMEOUT, child.wait()).await.ok();
            }
            return Ok(CommandExit::Killed);
        };
        // The command ended on its own, so its background processes may continue.
        group.release();
        Ok(CommandExit::Status(status?))
    }
}

/// Passes on the output of a command until it has ended, and a little longer if the output stays
/// open. `None` if `cancel` came first.
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
        let mut reading = pin!(async { tokio::join!(out.forward(output), err.forward(output)) });
        let mut is_read = false;
        // Output is polled last: a command that floods its output must be cancellable, and the end
        // of one that leaves a flood behind must be noticed.
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
                read = tokio::time::timeout(LEFT_OPEN_TIMEOUT, reading) => read.is_ok(),
            };
        }
        (status, is_read)
    };
    if status.is_some() && !is_read {
        output.set_left_open();
        let (mut out, mut err) = (out.into_cancelled(output), err.into_cancelled(output));
        // If its pipes were closed, a background process (such as a tunnel for later steps) would
        // die at its next write. This task ends with those processes, or with flightdeck.
        TaskTracker::new().spawn(async move {
            let (mut nowhere, mut neither) = (tokio::io::sink(), tokio::io::sink());
            let out = tokio::io::copy_buf(&mut out, &mut nowhere);
            tokio::join!(out, tokio::io::copy_buf(&mut err, &mut neither))
        });
    }
    status
}
