//! One launch attempt: from exec to a working connection. After a failed attempt the process is
//! killed and reaped. The supervisor calls it and owns the result.

use super::connection::Connection;
use super::executable;
use super::failure::{Exit, StartFailure, Suspicion};
use super::find::HashCache;
use super::lifecycle::{Arrival, Lifecycle, Link, Prepared, Startup};
use super::logs::{Logs, drain};
use super::pipe_drain::DrainedPipe;
use super::programs::PinnedExecutables;
use super::settings::{PluginSettings, Reattach, SpawnSpec, Start, deadline_of};
use super::spawn::{SocketFolder, SpawnedProcess, spawn};
use super::starting::{Child, FirstLine, FirstOutput, StartingProcess, wait_until_drained};
use super::status::{AttemptRecord, PluginStatus};
use model::process::ProcessIdentity;
use model::{LogStream, PhaseName};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Time for an incipient end to become visible, such as after a closed output or connection.
pub(super) const EXIT_GRACE: Duration = Duration::from_secs(2);
/// Maximum length of the first line in bytes; no handshake line is as long.
const FIRST_LINE: u64 = 16 * 1024 + 1;
/// Time for an executable that is not a plugin to exit on its own.
const NOT_A_PLUGIN_GRACE: Duration = Duration::from_millis(300);

/// Inputs of a launch.
#[derive(Clone)]
pub(super) struct LaunchContext {
    pub(super) lifecycle: Arc<dyn Lifecycle>,
    pub(super) board: Arc<PluginStatus>,
    pub(super) settings: PluginSettings,
    pub(super) start: Start,
    pub(super) tracker: TaskTracker,
    pub(super) logs: Arc<Logs>,
    pub(super) programs: PinnedExecutables,
    pub(super) hashes: Arc<HashCache>,
    /// True if another process of the plugin serves at the same time.
    pub(super) is_additional: bool,
}

impl LaunchContext {
    /// Returns the time limit from exec to handshake or registration.
    pub(super) fn deadline(&self) -> Duration {
        deadline_of(&self.settings.launch, self.lifecycle.arrival())
    }
}

/// Plugin that has started successfully.
pub(super) struct Running {
    pub(super) body: Body,
    pub(super) connection: Connection,
    pub(super) number: u32,
    pub(super) logs: Arc<Logs>,
}

/// Process behind a connection: launched here, or started by others.
pub(super) enum Body {
    Own {
        process: Box<SpawnedProcess>,
        readers: Vec<JoinHandle<()>>,
    },
    /// Process started by others (`TF_REATTACH_PROVIDERS`).
    Attached {
        identity: Option<ProcessIdentity>,
        pid: Option<u32>,
        readers: Vec<JoinHandle<()>>,
    },
}

impl Body {
    fn pid(&self) -> Option<u32> {
        match self {
            Self::Own { process, .. } => Some(process.pid),
            Self::Attached { pid, .. } => *pid,
        }
    }

    /// Ends a launched process whose start failed; returns its exit status if it ended on its own.
    async fn end(&mut self, failure: &StartFailure) -> Option<Exit> {
        let Self::Own { process, .. } = self else {
            return None;
        };
        process
            .end(if failure.suspicion() == Suspicion::NotAPlugin {
                NOT_A_PLUGIN_GRACE
            } else {
                Duration::ZERO
            })
            .await
    }

    /// Waits until the process has ended on its own. Cancel-safe.
    pub(super) async fn wait_for_exit(&mut self) -> Exit {
        match self {
            Self::Own { process, .. } => process.wait().await,
            Self::Attached { identity, .. } => {
                let mut tick = tokio::time::interval(Duration::from_secs(1));
                // Not a child process, so its exit can only be polled.
                while identity.as_ref().is_none_or(ProcessIdentity::is_running) {
                    tick.tick().await;
                }
                Exit::default()
            }
        }
    }

    /// Reads the remaining output of an ended process. Grandchildren that left the group may hold a
    /// pipe open, so reading also stops once the pipes are quiet. The readers of an attached
    /// process stop at once, because its output has no end.
    pub(super) async fn read_remaining(&mut self, logs: &Logs) {
        match self {
            Self::Own { readers, .. } => {
                let all = async {
                    for reader in readers.iter_mut() {
                        reader.await.ok();
                    }
                };
                // The end of the streams is conclusive; quiet pipes are a fallback.
                tokio::select! { biased;
                    () = all => {}
                    () = wait_until_drained(logs) => readers.iter().for_each(JoinHandle::abort),
                }
                readers.clear();
            }
            Self::Attached { readers, .. } => {
                readers.drain(..).for_each(|reader| reader.abort());
            }
        }
    }
}

/// Makes one launch attempt. `stop` ends it early.
pub(super) async fn launch(
    context: Arc<LaunchContext>,
    number: u32,
    generation: u64,
    stop: CancellationToken,
) -> Result<Running, StartFailure> {
    let recorder = AttemptRecord::begin(
        &context.board,
        &context.logs,
        &*context.lifecycle,
        (number, context.is_additional),
        &context.settings.launch,
    );
    let launched = match &context.start {
        Start::Spawn(spec) => launch_own(&context, spec, recorder, &stop).await,
        Start::Attach(other) => attach_to_process(&context, other, recorder, &stop).await,
    };
    let (body, link) = launched?;
    let connection = Connection::new(link, generation, body.pid());
    Ok(Running {
        body,
        connection,
        number,
        logs: Arc::clone(&context.logs),
    })
}

type Launched = Result<(Body, Box<dyn Link>), StartFailure>;

async fn launch_own(
    context: &LaunchContext,
    spec: &SpawnSpec,
    mut recorder: AttemptRecord,
    stop: &CancellationToken,
) -> Launched {
    // The deadline includes exec, which may block on a slow file system.
    let begun = Instant::now();
    let limit = context.deadline();
    let awaited = context.lifecycle.arrival().display_name();
    let made = async {
        // A stop order makes the result useless, so check it first.
        tokio::select! { biased;
            () = stop.cancelled() => Err(StartFailure::Stopped),
            made = timeout(limit, exec(context, spec)) => {
                made.unwrap_or(Err(StartFailure::TimedOut { awaited, after: limit, last_line: None }))
            }
        }
    };
    let (mut process, birth) = match made.await {
        Ok(made) => made,
        Err(failure) => {
            recorder.end(Err(&failure), None);
            return Err(failure);
        }
    };
    recorder.spawned(
        process.pid,
        process.identity.as_ref(),
        context.lifecycle.arrival(),
    );
    let logs = &context.logs;
    let (first, line, mut readers) = read_streams(context, &mut process);
    let said = first.clone();
    let child = Some(Child {
        process: &mut process,
        started_at: begun,
        first,
        line,
    });
    let mut newborn = StartingProcess {
        context,
        recorder: &mut recorder,
        child,
        readers: Vec::new(),
    };
    // Biased for the same reason.
    let outcome = tokio::select! { biased;
        () = stop.cancelled() => Err(StartFailure::Stopped),
        outcome = birth.become_ready(&mut newborn) => outcome,
    };
    readers.append(&mut newborn.readers);
    let mut body = Body::Own {
        process: Box::new(process),
        readers,
    };
    match outcome {
        Ok(link) => {
            recorder.end(Ok(()), None);
            Ok((body, link))
        }
        Err(failure) => {
            let exit = body.end(&failure).await;
            // After the end of the process, so that its last lines are in the record.
            body.read_remaining(logs).await;
            // The exit may have been noticed before the output was read.
            if let Some(at) = *said.borrow() {
                recorder.phase_reached_at(PhaseName::FIRST_OUTPUT, at);
            }
            let failure = with_last_output(&*context.lifecycle, failure, logs);
            recorder.end(Err(&failure), exit);
            Err(failure)
        }
    }
}

/// Completes the failure with the last output, which is known only after the process has ended and
/// its streams are read.
fn with_last_output(lifecycle: &dyn Lifecycle, failure: StartFailure, logs: &Logs) -> StartFailure {
    let failure = match failure {
        StartFailure::Exited { awaited, exit, .. } => StartFailure::Exited {
            awaited,
            exit,
            last_line: logs.last_output(),
        },
        StartFailure::ExitedEarly { awaited, exit, .. } => StartFailure::ExitedEarly {
            awaited,
            exit,
            last_line: logs.last_output(),
        },
        StartFailure::TimedOut { awaited, after, .. } => StartFailure::TimedOut {
            awaited,
            after,
            last_line: logs.last_output(),
        },
        other => other,
    };
    lifecycle.explain(failure, &logs.tail())
}

/// Checks the file, prepares the dialect's resources, then executes.
async fn exec(
    context: &LaunchContext,
    spec: &SpawnSpec,
) -> Result<(SpawnedProcess, Box<dyn Startup>), StartFailure> {
    let path = spec.executable.clone();
    let (lifecycle, approved) = (Arc::clone(&context.lifecycle), spec.approved.clone());
    let expected = context.programs.expected(&path);
    let hashes = Arc::clone(&context.hashes);
    let prepare = move || {
        executable::check(&path)?;
        // The digest is checked right before exec, to keep the window for a changed file small.
        if approved.is_some_and(|(files, digest)| !hashes.matches_digest(&files, &digest)) {
            return Err(StartFailure::NotApproved(path));
        }
        if expected.is_some_and(|it| !hashes.matches_digest(&it.files, &it.digest)) {
            return Err(StartFailure::Replaced(path));
        }
        // Created last: nothing has to be removed if a check fails.
        let folder = SocketFolder::new().map_err(StartFailure::NoSocketFolder)?;
        Ok((lifecycle.prepare(folder.path())?, folder))
    };
    let (
        Prepared {
            environment,
            startup: birth,
        },
        folder,
    ) = tokio::task::spawn_blocking(prepare)
        .await
        .unwrap_or_else(|e| {
            Err(StartFailure::Spawn {
                path: spec.executable.clone(),
                source: std::io::Error::other(e),
            })
        })?;
    let process = spawn(spec, environment, folder)
        .await
        .map_err(|e| executable::explain(&spec.executable, e))?;
    Ok((process, birth))
}

/// Starts to read the standard streams. A handshake line is not added to the log.
fn read_streams(
    context: &LaunchContext,
    process: &mut SpawnedProcess,
) -> (FirstOutput, Option<FirstLine>, Vec<JoinHandle<()>>) {
    let (tracker, logs) = (&context.tracker, &context.logs);
    let (first, seen) = watch::channel(None);
    let (line, handshake) = oneshot::channel();
    let handshakes = context.lifecycle.arrival() == Arrival::Handshake;
    // Without a handshake, all of stdout is log output.
    let (line, handshake) = (handshakes.then_some(line), handshakes.then_some(handshake));
    let Some((stdout, stderr)) = process.streams() else {
        return (seen, handshake, Vec::new());
    };
    let readers = vec![
        tracker.spawn(read_stdout(
            logs.pipes.track(stdout),
            first.clone(),
            line,
            Arc::clone(logs),
        )),
        tracker.spawn(read_stderr(
            logs.pipes.track(stderr),
            first,
            Arc::clone(logs),
        )),
    ];
    (seen, handshake, readers)
}

fn mark(first: &watch::Sender<Option<Instant>>) {
    first.send_if_modified(|seen| {
        let is_first = seen.is_none();
        seen.get_or_insert_with(Instant::now);
        is_first
    });
}

/// Sends the first line to the launch if it awaits a handshake; all others go to the log.
async fn read_stdout(
    stdout: DrainedPipe<ChildStdout>,
    first: watch::Sender<Option<Instant>>,
    line: Option<oneshot::Sender<Option<Vec<u8>>>>,
    logs: Arc<Logs>,
) {
    let mut reader = BufReader::new(stdout);
    let Some(line) = line else {
        return drain(reader, LogStream::Stdout, logs, || mark(&first)).await;
    };
    if matches!(reader.fill_buf().await, Ok(bytes) if !bytes.is_empty()) {
        mark(&first);
    }
    let mut bytes = Vec::new();
    // The line may never end, so its length is limited.
    let read = (&mut reader)
        .take(FIRST_LINE)
        .read_until(b'\n', &mut bytes)
        .await;
    // The receiver is gone if the launch was stopped in the meantime.
    line.send(matches!(read, Ok(1..)).then_some(bytes)).ok();
    drain(reader, LogStream::Stdout, logs, || ()).await;
}

async fn read_stderr(
    stderr: DrainedPipe<ChildStderr>,
    first: watch::Sender<Option<Instant>>,
    logs: Arc<Logs>,
) {
    drain(BufReader::new(stderr), LogStream::Stderr, logs, || {
        mark(&first)
    })
    .await;
}

async fn attach_to_process(
    context: &LaunchContext,
    other: &Reattach,
    mut recorder: AttemptRecord,
    stop: &CancellationToken,
) -> Launched {
    let identity = other.pid.and_then(ProcessIdentity::of);
    let mut newborn = StartingProcess {
        context,
        recorder: &mut recorder,
        child: None,
        readers: Vec::new(),
    };
    let steps = async {
        // A stale TF_REATTACH_PROVIDERS is common, so report it clearly.
        if let (Some(pid), None) = (other.pid, &identity) {
            let reason = format!(
                "its process {pid} is not running; start it again and update TF_REATTACH_PROVIDERS"
            );
            return Err(StartFailure::Connect {
                address: other.address.to_string(),
                reason,
            });
        }
        context.lifecycle.attach(other, &mut newborn).await
    };
    // A stop order makes the result useless, so check it first.
    let outcome = tokio::select! { biased;
        () = stop.cancelled() => Err(StartFailure::Stopped),
        outcome = steps => outcome,
    };
    let mut body = Body::Attached {
        identity,
        pid: other.pid,
        readers: newborn.readers,
    };
    recorder.end(outcome.as_ref().map(|_| ()), None);
    match outcome {
        Ok(link) => Ok((body, link)),
        Err(failure) => {
            body.read_remaining(&context.logs).await;
            Err(failure)
        }
    }
}
