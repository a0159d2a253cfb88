//! One launch: a process from exec to its first answers, or the reason why not. Whatever the reason, the process is
//! gone and waited for when the launch is over. The supervisor calls it and owns what comes out.

use super::board::{Board, Recorder};
use super::connection::Connection;
use super::executable;
use super::failure::{Exit, StartFailure, seconds};
use super::find::h1;
use super::hearing::Heard;
use super::identity::ProcessIdentity;
use super::logs::{Logs, drain};
use super::record::{LogStream, PhaseName};
use super::schema::fetch_schema;
use super::settings::{PluginSettings, Reattach, SpawnSpec, Start};
use super::spawn::{Process, SocketFolder, spawn};
use super::stdio;
use super::transport::connect;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wire::{Address, Handshake, Identity};

/// How long an end that has begun may take to show: a process that closed its output, a broken connection.
pub(super) const SETTLE: Duration = Duration::from_secs(1);
/// How long the streams of a process that has ended may stay open when nothing is in them.
const LAST_MOMENT: Duration = Duration::from_millis(200);
/// How long a process that printed something else than a handshake may take to end by itself.
const WRONG_LINE_GRACE: Duration = Duration::from_millis(300);

/// What a launch needs to know.
pub(super) struct LaunchContext {
    pub(super) board: Arc<Board>,
    pub(super) settings: PluginSettings,
    pub(super) start: Start,
    pub(super) tracker: TaskTracker,
}

/// A plugin that came up.
pub(super) struct Running {
    pub(super) body: Body,
    pub(super) connection: Connection,
    pub(super) number: u32,
}

/// The process behind a connection.
pub(super) enum Body {
    Own {
        process: Box<Process>,
        readers: Vec<JoinHandle<()>>,
    },
    /// Somebody else's.
    Attached(Option<ProcessIdentity>),
}

impl Body {
    /// Waits until the process has ended by itself, and with it what it had to say. May be dropped and called again.
    pub(super) async fn ended(&mut self) -> Exit {
        match self {
            Self::Own { process, .. } => process.wait().await,
            Self::Attached(identity) => {
                let mut tick = tokio::time::interval(Duration::from_secs(1));
                // Not a child of ours, so nobody tells.
                while identity.as_ref().is_none_or(ProcessIdentity::is_running) {
                    tick.tick().await;
                }
                Exit::default()
            }
        }
    }

    /// Lets the readers come to the end of what was written. Grandchildren that left the group may hold a pipe open;
    /// what the process itself wrote is heard all the same.
    pub(super) async fn hear_out(&mut self, logs: &Logs) {
        if let Self::Own { readers, .. } = self {
            let all = async {
                for reader in readers.iter_mut() {
                    reader.await.ok();
                }
            };
            tokio::select! { biased; // the end of the streams says most
                () = all => {}
                () = quiet(logs) => readers.iter().for_each(JoinHandle::abort),
            }
            readers.clear();
        }
    }
}

/// Waits until what a process that has ended has written is heard, and a moment more for what came by other ways.
async fn quiet(logs: &Logs) {
    logs.hearing.quiet(SETTLE).await;
    tokio::time::sleep(LAST_MOMENT).await;
}

/// Launches once. `stop` ends it early.
pub(super) async fn launch(
    context: Arc<LaunchContext>,
    number: u32,
    generation: u64,
    stop: CancellationToken,
) -> Result<Running, StartFailure> {
    let settings = &context.settings;
    let recorder = Recorder::begin(&context.board, number, settings.launch.attempts, settings.launch.deadline);
    match &context.start {
        Start::Spawn(spec) => own(&context, spec, recorder, number, generation, &stop).await,
        Start::Attach(reattach) => attach(&context, reattach, recorder, number, generation, &stop).await,
    }
}

async fn own(
    context: &LaunchContext,
    spec: &SpawnSpec,
    mut recorder: Recorder<'_>,
    number: u32,
    generation: u64,
    stop: &CancellationToken,
) -> Result<Running, StartFailure> {
    let begun = Instant::now();
    let identity = async {
        tokio::select! { biased; // an order to stop goes before what it makes useless
            () = stop.cancelled() => Err(StartFailure::Stopped),
            made = timeout(context.settings.launch.deadline, exec(context, spec)) => {
                made.unwrap_or(Err(StartFailure::TimedOut { after: context.settings.launch.deadline, last_line: None }))
            }
        }
    };
    let (mut process, identity) = match identity.await {
        Ok(made) => made,
        Err(failure) => {
            recorder.end(Err(&failure), None);
            return Err(failure);
        }
    };
    recorder.spawned(process.pid, process.identity.as_ref());
    let logs = &context.board.logs;
    let (first, line, readers) = read_streams(&context.tracker, &mut process, logs);
    let said = first.clone();
    let steps = Steps { context, generation, begun, identity, first };
    let outcome = tokio::select! { biased; // as above
        () = stop.cancelled() => Err(StartFailure::Stopped),
        outcome = steps.run(&mut process, &mut recorder, line) => outcome,
    };
    let mut body = Body::Own { process: Box::new(process), readers };
    match outcome {
        Ok((connection, follower)) => {
            if let Body::Own { readers, .. } = &mut body {
                readers.push(follower);
            }
            recorder.end(Ok(()), None);
            Ok(Running { body, connection, number })
        }
        Err(failure) => {
            let exit = match &mut body {
                Body::Own { process, .. } => {
                    let grace = if matches!(failure, StartFailure::UnrecognisedLine(_)) { WRONG_LINE_GRACE } else { Duration::ZERO };
                    process.end(grace).await
                }
                Body::Attached(_) => None,
            };
            body.hear_out(logs).await;
            // It may have been seen to end before it was heard.
            if let Some(at) = *said.borrow() {
                recorder.reached_at(PhaseName::FirstOutput, at);
            }
            let failure = with_last_words(failure, logs);
            recorder.end(Err(&failure), exit);
            Err(failure)
        }
    }
}

/// The last words are complete only when the process is gone and its streams are read to their end.
fn with_last_words(failure: StartFailure, logs: &Logs) -> StartFailure {
    match failure {
        StartFailure::Exited { exit, .. } => StartFailure::Exited { exit, last_line: logs.last_words() },
        StartFailure::ExitedEarly { exit, .. } => StartFailure::ExitedEarly { exit, last_line: logs.last_words() },
        StartFailure::TimedOut { after, .. } => StartFailure::TimedOut { after, last_line: logs.last_words() },
        other => other,
    }
}

/// Checks the file, makes what the environment needs, executes.
async fn exec(context: &LaunchContext, spec: &SpawnSpec) -> Result<(Process, Option<Arc<Identity>>), StartFailure> {
    let path = spec.executable.clone();
    let (tls, approved) = (context.settings.tls, spec.approved.clone());
    let prepare = move || {
        executable::check(&path)?;
        if approved.is_some_and(|(package, hash)| h1(&package).ok() != Some(hash)) {
            return Err(StartFailure::NotApproved(path));
        }
        let identity = if tls { Some(Identity::session()?) } else { None };
        let sockets = SocketFolder::new().map_err(|source| StartFailure::Spawn { path, source })?;
        Ok::<_, StartFailure>((identity, sockets))
    };
    let (identity, sockets) = tokio::task::spawn_blocking(prepare)
        .await
        .unwrap_or_else(|e| Err(StartFailure::Spawn { path: spec.executable.clone(), source: std::io::Error::other(e) }))?;
    let versions: Vec<String> = context.settings.protocols.iter().map(u32::to_string).collect();
    let mut env: Vec<(&'static str, OsString)> = vec![
        (wire::env::MAGIC_COOKIE_KEY, wire::env::MAGIC_COOKIE_VALUE.into()),
        (wire::env::PROTOCOL_VERSIONS, versions.join(",").into()),
        (wire::env::MIN_PORT, "10000".into()),
        (wire::env::MAX_PORT, "25000".into()),
    ];
    if let Some(identity) = &identity {
        env.push((wire::env::CLIENT_CERT, identity.pem().into()));
    }
    let process = spawn(spec, env, sockets).await.map_err(|e| executable::explain(&spec.executable, e))?;
    Ok((process, identity))
}

type FirstOutput = watch::Receiver<Option<Instant>>;
type FirstLine = oneshot::Receiver<Option<Vec<u8>>>;

fn read_streams(tracker: &TaskTracker, process: &mut Process, logs: &Arc<Logs>) -> (FirstOutput, FirstLine, Vec<JoinHandle<()>>) {
    let (first, seen) = watch::channel(None);
    let (line, handshake) = oneshot::channel();
    let Some((stdout, stderr)) = process.streams() else { return (seen, handshake, Vec::new()) };
    let readers = vec![
        tracker.spawn(read_stdout(logs.hearing.of(stdout), first.clone(), line, Arc::clone(logs))),
        tracker.spawn(read_stderr(logs.hearing.of(stderr), first, Arc::clone(logs))),
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

/// The first line goes to whoever launches, all others to the log.
async fn read_stdout(
    stdout: Heard<ChildStdout>,
    first: watch::Sender<Option<Instant>>,
    line: oneshot::Sender<Option<Vec<u8>>>,
    logs: Arc<Logs>,
) {
    let mut reader = BufReader::new(stdout);
    if matches!(reader.fill_buf().await, Ok(bytes) if !bytes.is_empty()) {
        mark(&first);
    }
    let mut bytes = Vec::new();
    // At most one byte more than a handshake may have: what never ends is not waited for to end.
    let most = wire::handshake::MAX_LINE as u64 + 1;
    let read = (&mut reader).take(most).read_until(b'\n', &mut bytes).await;
    // A launch that was stopped meanwhile does not listen any more.
    line.send(matches!(read, Ok(1..)).then_some(bytes)).ok();
    drain(reader, LogStream::Stdout, logs, || ()).await;
}

async fn read_stderr(stderr: Heard<ChildStderr>, first: watch::Sender<Option<Instant>>, logs: Arc<Logs>) {
    drain(BufReader::new(stderr), LogStream::Stderr, logs, || mark(&first)).await;
}

/// The way of a process from exec to ready.
struct Steps<'a> {
    context: &'a LaunchContext,
    generation: u64,
    begun: Instant,
    identity: Option<Arc<Identity>>,
    first: FirstOutput,
}

impl Steps<'_> {
    async fn run(
        mut self,
        process: &mut Process,
        recorder: &mut Recorder<'_>,
        line: FirstLine,
    ) -> Result<(Connection, JoinHandle<()>), StartFailure> {
        let line = self.first_line(process, recorder, line).await?;
        // The line may have been seen before the note that there was output.
        if let Some(at) = *self.first.borrow() {
            recorder.reached_at(PhaseName::FirstOutput, at);
        }
        let handshake = match self.read_handshake(&line) {
            Ok(handshake) => handshake,
            Err(failure) => {
                self.context.board.logs.take(LogStream::Stdout, line.strip_suffix(b"\n").unwrap_or(&line));
                return Err(failure);
            }
        };
        recorder.reached(PhaseName::Handshake);
        self.context.board.speaks(handshake.protocol);
        let tls = self.tls(&handshake)?;
        let settings = &self.context.settings;
        let (limit, lost) = (settings.launch.connect_deadline, CancellationToken::new());
        let reach = timeout(limit, connect(&handshake.address, tls, lost.clone()));
        let channel = alive(process, async { reach.await.unwrap_or_else(|_| Err(no_answer(&handshake.address, limit))) }).await?;
        recorder.reached(PhaseName::Connected);
        let follower = self.context.tracker.spawn(stdio::follow(channel.clone(), Arc::clone(&self.context.board.logs)));
        let schema = alive(process, fetch_schema(settings, &channel, handshake.protocol)).await?;
        if schema.is_some() {
            recorder.reached(PhaseName::Schema);
        }
        Ok((Connection::new(channel, lost, handshake.protocol, self.generation, Some(process.pid), schema), follower))
    }

    async fn first_line(
        &mut self,
        process: &mut Process,
        recorder: &mut Recorder<'_>,
        mut line: FirstLine,
    ) -> Result<Vec<u8>, StartFailure> {
        let limit = self.context.settings.launch.deadline;
        let deadline = tokio::time::sleep_until((self.begun + limit).into());
        tokio::pin!(deadline);
        let mut watching = true;
        loop {
            tokio::select! { biased; // what was said before what happened after it; the deadline last
                changed = self.first.changed(), if watching => {
                    watching = false;
                    if let (Ok(()), Some(at)) = (changed, *self.first.borrow_and_update()) {
                        recorder.reached_at(PhaseName::FirstOutput, at);
                    }
                }
                said = &mut line => return match said.ok().flatten() {
                    Some(bytes) => Ok(bytes),
                    None => Err(match timeout(SETTLE, process.wait()).await {
                        Ok(exit) => StartFailure::Exited { exit, last_line: None },
                        Err(_) => StartFailure::SilentOutput,
                    }),
                },
                exit = process.wait() => return tokio::select! { biased; // as above
                    // A line was on its way: it tells more than the exit does.
                    said = &mut line => said.ok().flatten().ok_or(StartFailure::Exited { exit, last_line: None }),
                    () = quiet(&self.context.board.logs) => Err(StartFailure::Exited { exit, last_line: None }),
                },
                () = &mut deadline => return Err(StartFailure::TimedOut { after: limit, last_line: None }),
            }
        }
    }

    fn read_handshake(&self, line: &[u8]) -> Result<Handshake, StartFailure> {
        let handshake = Handshake::parse(line)?;
        handshake.expect_protocol(&self.context.settings.protocols)?;
        Ok(handshake)
    }

    fn tls(&self, handshake: &Handshake) -> Result<Option<Arc<rustls::ClientConfig>>, StartFailure> {
        match (&self.identity, &handshake.certificate) {
            (Some(identity), Some(der)) => Ok(Some(wire::tls::client_config(identity, der)?)),
            // In a folder that only we can enter, a plugin that knows no TLS harms nobody; on a port it would.
            (Some(_), None) if matches!(handshake.address, Address::Tcp(_)) => Err(StartFailure::NoCertificate),
            _ => Ok(None),
        }
    }
}

/// Runs one step of a launch as long as the process does.
async fn alive<T>(process: &mut Process, step: impl Future<Output = Result<T, StartFailure>>) -> Result<T, StartFailure> {
    let outcome = tokio::select! { biased; // a step that is done is done, whatever comes after
        outcome = step => outcome,
        exit = process.wait() => return Err(StartFailure::ExitedEarly { exit, last_line: None }),
    };
    match outcome {
        // A connection that breaks is usually a process that ends; then that is the reason.
        Err(failure @ (StartFailure::Schema(_) | StartFailure::Connect { .. } | StartFailure::Tls(_))) => {
            match timeout(SETTLE / 4, process.wait()).await {
                Ok(exit) => Err(StartFailure::ExitedEarly { exit, last_line: None }),
                Err(_) => Err(failure),
            }
        }
        other => other,
    }
}

async fn attach(
    context: &LaunchContext,
    reattach: &Reattach,
    mut recorder: Recorder<'_>,
    number: u32,
    generation: u64,
    stop: &CancellationToken,
) -> Result<Running, StartFailure> {
    let settings = &context.settings;
    let identity = reattach.pid.and_then(ProcessIdentity::of);
    let address = reattach.address.to_string();
    let steps = async {
        if !settings.protocols.contains(&reattach.protocol) {
            let error = wire::HandshakeError::Protocol { found: reattach.protocol, offered: settings.protocols.clone() };
            return Err(StartFailure::ProtocolVersion(error));
        }
        if let (Some(pid), None) = (reattach.pid, &identity) {
            let reason = format!("its process {pid} does not run; start it again and export TF_REATTACH_PROVIDERS anew");
            return Err(StartFailure::Connect { address: address.clone(), reason });
        }
        let (limit, lost) = (settings.launch.connect_deadline, CancellationToken::new());
        let channel = timeout(limit, connect(&reattach.address, None, lost.clone()));
        let channel = channel.await.map_err(|_| no_answer(&reattach.address, limit))??;
        recorder.reached(PhaseName::Connected);
        context.board.speaks(reattach.protocol);
        context.tracker.spawn(stdio::follow(channel.clone(), Arc::clone(&context.board.logs)));
        let schema = fetch_schema(settings, &channel, reattach.protocol).await?;
        if schema.is_some() {
            recorder.reached(PhaseName::Schema);
        }
        Ok(Connection::new(channel, lost, reattach.protocol, generation, reattach.pid, schema))
    };
    let outcome = tokio::select! { biased; // an order to stop goes before what it makes useless
        () = stop.cancelled() => Err(StartFailure::Stopped),
        outcome = steps => outcome,
    };
    recorder.end(outcome.as_ref().map(|_| ()), None);
    Ok(Running { body: Body::Attached(identity), connection: outcome?, number })
}

fn no_answer(address: &Address, limit: Duration) -> StartFailure {
    let reason = format!("no answer within {}; raise FLIGHTDECK_CONNECT_DEADLINE_MS if it needs longer", seconds(&limit));
    StartFailure::Connect { address: address.to_string(), reason }
}
