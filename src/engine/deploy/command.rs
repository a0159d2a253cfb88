//! The command of a `local-exec`: a process group of its own behind a guard, its output read to the end in bounded lines,
//! ended with the deploy. Knows nothing of configuration.

use super::guard::guarded;
use crate::engine::plugin::{Group, read_line};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use tokio::io::{AsyncRead, BufReader};
use tokio_util::sync::CancellationToken;

/// Lines of output that are told of one command.
const TOLD_LINES: usize = 10_000;
/// The last of them that an error repeats.
const LAST_LINES: usize = 20;
/// Bytes of one line that are kept; the rest of it is counted.
const LINE: usize = 64 * 1024;
/// How long a killed group may take to be gone.
const REAP: Duration = Duration::from_secs(5);

/// What is run, where.
pub(super) struct Command {
    /// Program and arguments.
    pub(super) words: Vec<String>,
    pub(super) dir: PathBuf,
    pub(super) environment: BTreeMap<String, String>,
}

/// How it ended.
pub(super) enum Ended {
    /// By itself, with the last lines of its output.
    Status(ExitStatus, Vec<String>),
    /// It was killed with all that it had started.
    Killed,
}

impl Command {
    /// Runs it to its end, or until `cancel`; each line of its output goes to `say`. What it has left running in the
    /// background after a good end stays, if it has let go of the output.
    ///
    /// # Errors
    /// It cannot be started or waited for.
    pub(super) async fn run(&self, say: impl Fn(&str), cancel: &CancellationToken) -> std::io::Result<Ended> {
        let words = guarded(&self.words);
        let mut command = tokio::process::Command::new(&words[0]);
        command.args(&words[1..]).envs(&self.environment).current_dir(&self.dir);
        // The guard's life line: it is closed when we are gone.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
        let mut group = Group::of(child.id());
        let line_of_life = child.stdin.take();
        let last = Mutex::new((0, VecDeque::new()));
        let hear = |line: &[u8]| {
            let line = String::from_utf8_lossy(line);
            let mut last = crate::engine::calls::lock(&last);
            last.0 += 1;
            if last.0 <= TOLD_LINES {
                say(&line);
            }
            if last.1.len() == LAST_LINES {
                last.1.pop_front();
            }
            last.1.push_back(line.into_owned());
        };
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let ended = async {
            let reading = async { tokio::join!(lines(out, &hear), lines(err, &hear)) };
            reading.await;
            child.wait().await
        };
        // Cancellation first: a command that floods its output must still be stoppable, and one that has closed it too.
        let status = tokio::select! { biased;
            () = cancel.cancelled() => None,
            status = ended => Some(status),
        };
        drop(line_of_life);
        let Some(status) = status else {
            group.kill();
            tokio::time::timeout(REAP, child.wait()).await.ok();
            return Ok(Ended::Killed);
        };
        group.let_go();
        let (_, last) = last.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(Ended::Status(status?, last.into()))
    }
}

/// All lines of a stream, to its end; bytes that are no UTF-8 are replaced.
async fn lines<R: AsyncRead + Unpin>(stream: Option<R>, hear: &impl Fn(&[u8])) {
    let Some(stream) = stream else { return };
    let (mut reader, mut line) = (BufReader::new(stream), Vec::new());
    // Bounded by the life of the process, which closes the stream.
    while let Ok(1..) = read_line(&mut reader, &mut line, LINE).await {
        hear(line.strip_suffix(b"\r").unwrap_or(&line));
    }
}
