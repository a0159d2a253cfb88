//! The command of a `local-exec`: a process group of its own behind a guard, its output read to the
//! end in bounded lines, ended with the deploy. Knows nothing of configuration.

use super::guard::guarded;
use super::output::Output;
use crate::engine::plugin::Group;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

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
    /// By itself, with the last lines of its output.
    Status(ExitStatus, Vec<String>),
    /// It was killed with all that it had started.
    Killed,
}

impl LocalCommand {
    /// Runs it to its end, or until `cancel`; each line of its output goes to `say`. What it has
    /// left running in the background after a good end stays, if it has let go of the output.
    ///
    /// # Errors
    /// It cannot be started or waited for.
    pub(in crate::engine) async fn run(
        &self,
        say: &(dyn Fn(&str) + Sync),
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
        let output = Output::new(say);
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let ended = async {
            let reading = async { tokio::join!(output.lines(out), output.lines(err)) };
            reading.await;
            child.wait().await
        };
        // Cancellation first: a command that floods its output must still be stoppable, and one
        // that has closed it too.
        let status = tokio::select! { biased;
            () = cancel.cancelled() => None,
            status = ended => Some(status),
        };
        drop(line_of_life);
        let Some(status) = status else {
            let pid = child.id();
            let ended = has_guard && tokio::time::timeout(REAP, child.wait()).await.is_ok();
            if !ended {
                Group::of(pid).kill();
                tokio::time::timeout(REAP, child.wait()).await.ok();
            }
            return Ok(Ended::Killed);
        };
        group.let_go();
        Ok(Ended::Status(status?, output.last()))
    }
}
