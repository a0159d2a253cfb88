//! Process during its launch, before it is ready, in the form that the launch code of a dialect
//! uses: with its attempt record and log. Lives for one launch; the launch owns the process.

use super::failure::{Exit, StartFailure, Suspicion};
use super::launch::{EXIT_GRACE, LaunchContext};
use super::logs::{LineAssembler, Logs};
use super::settings::PluginSettings;
use super::spawn::SpawnedProcess;
use super::status::AttemptRecord;
use model::{LogStream, PhaseName, PluginAbout, PluginFound};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Time for which the pipes of an ended process may stay open without output.
const QUIET_TIMEOUT: Duration = Duration::from_millis(200);

pub(super) type FirstOutput = watch::Receiver<Option<Instant>>;
pub(super) type FirstLine = oneshot::Receiver<Option<Vec<u8>>>;

/// Process that is being brought up as a plugin.
pub struct StartingProcess<'l> {
    pub(super) context: &'l LaunchContext,
    pub(super) recorder: &'l mut AttemptRecord,
    /// `None` for a process started by others.
    pub(super) child: Option<Child<'l>>,
    /// Tasks that read further output, besides the standard streams.
    pub(super) readers: Vec<JoinHandle<()>>,
}

/// Process launched by flightdeck.
pub(super) struct Child<'l> {
    pub(super) process: &'l mut SpawnedProcess,
    pub(super) started_at: Instant,
    pub(super) first: FirstOutput,
    /// First line of output, until it is awaited; `None` if all lines go to the log.
    pub(super) line: Option<FirstLine>,
}

impl StartingProcess<'_> {
    /// Returns the limits of the launch.
    pub fn settings(&self) -> &PluginSettings {
        &self.context.settings
    }

    /// Returns the time limit from exec to handshake or registration.
    pub fn deadline(&self) -> Duration {
        self.context.deadline()
    }

    /// Returns the pid; `None` for a process started by others.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(|child| child.process.pid)
    }

    /// Returns the plugin's description from the search.
    pub fn description(&self) -> PluginFound {
        self.context.board.description.borrow().clone()
    }

    /// Returns the log of the plugin.
    pub fn log(&self) -> LogInput {
        LogInput(Arc::clone(&self.context.logs))
    }

    /// Records that a phase is reached now.
    pub fn phase_reached(&mut self, phase: PhaseName) {
        self.recorder.phase_reached(phase);
    }

    /// Records the dialect with its version.
    pub fn set_dialect(&self, dialect: &str) {
        self.context.board.set_dialect(dialect);
    }

    /// Records the name that blueprints use for a transformer.
    pub fn transforms(&self, name: &str) {
        self.context.board.transforms(name);
    }

    /// Records the plugin's self-description.
    pub fn set_description(&self, about: PluginAbout) {
        self.context.board.set_description(about);
    }

    /// Runs a task that reads further output, for the lifetime of the process.
    pub fn run_reader(&mut self, reading: impl Future<Output = ()> + Send + 'static) {
        self.readers.push(self.context.tracker.spawn(reading));
    }

    /// Waits for the first line of standard output, with its line end; `None` if the process closed
    /// the stream without a line and continues to run. For dialects whose
    /// [`Arrival`](super::lifecycle::Arrival) is a handshake.
    ///
    /// # Errors
    /// The process ended or the deadline passed.
    pub async fn first_line(&mut self) -> Result<Option<Vec<u8>>, StartFailure> {
        let Some(line) = self.child.as_mut().and_then(|child| child.line.take()) else {
            return Ok(None);
        };
        let said = async { line.await.ok().flatten() };
        if let Some(line) = self.wait_for_arrival(said).await? {
            return Ok(Some(line));
        }
        // A closed output usually means that the process is exiting; then report the exit.
        match self.exit_within(EXIT_GRACE).await {
            Some(exit) => Err(self.exited(exit)),
            None => Ok(None),
        }
    }

    /// Waits for the arrival of the process (`step`), until it ends or the deadline of the launch
    /// passes.
    ///
    /// # Errors
    /// The process ended or the deadline passed.
    pub async fn wait_for_arrival<T>(
        &mut self,
        step: impl Future<Output = T>,
    ) -> Result<T, StartFailure> {
        let limit = self.deadline();
        let mut step = std::pin::pin!(step);
        let Some(Child {
            process,
            started_at: begun,
            first,
            ..
        }) = &mut self.child
        else {
            let awaited = self.context.lifecycle.arrival().display_name();
            return timeout(limit, step)
                .await
                .map_err(|_| StartFailure::TimedOut {
                    awaited,
                    after: limit,
                    last_line: None,
                });
        };
        let awaited = self.context.lifecycle.arrival().display_name();
        let exited = |exit| StartFailure::Exited {
            awaited,
            exit,
            last_line: None,
        };
        // Counted from exec, so that earlier steps use up the same time limit.
        let mut deadline = std::pin::pin!(tokio::time::sleep_until((*begun + limit).into()));
        let mut watching = true;
        let outcome = loop {
            // Output first, then the step, then the exit, and the deadline last: a process that
            // arrives and exits at once has arrived.
            tokio::select! { biased;
                changed = first.changed(), if watching => {
                    // Only the first output counts; a second poll of a closed channel would loop.
                    watching = false;
                    if let (Ok(()), Some(at)) = (changed, *first.borrow_and_update()) {
                        self.recorder.phase_reached_at(PhaseName::FIRST_OUTPUT, at);
                    }
                }
                done = &mut step => break Ok(done),
                // Biased for the same reason.
                exit = process.wait() => break tokio::select! { biased;
                    // The step's result may still be in the pipe, and is more informative than the
                    // exit.
                    done = &mut step => Ok(done),
                    () = wait_until_drained(&self.context.logs) => Err(exited(exit)),
                },
                () = &mut deadline => break Err(StartFailure::TimedOut { awaited, after: limit, last_line: None }),
            }
        };
        // The step may have finished before the first output was recorded.
        if let Some(at) = *first.borrow() {
            self.recorder.phase_reached_at(PhaseName::FIRST_OUTPUT, at);
        }
        outcome
    }

    /// Returns the deadline of the arrival; `None` for a process started by others.
    pub fn arrival_deadline(&self) -> Option<Instant> {
        let child = self.child.as_ref()?;
        Some(child.started_at + self.deadline())
    }

    /// Waits `within` past the deadline for a late `step`, to distinguish a slow process from one
    /// that never arrives. `None` if it does not come or the process ends.
    pub async fn wait_for_late<T>(
        &mut self,
        within: Duration,
        step: impl Future<Output = T>,
    ) -> Option<T> {
        let Child { process, .. } = self.child.as_mut()?;
        // An arrival is more informative than an exit right after it.
        tokio::select! { biased;
            done = timeout(within, step) => done.ok(),
            _ = process.wait() => None,
        }
    }

    /// Runs one step after the arrival, until the process ends.
    ///
    /// # Errors
    /// The error of the step, or the exit of the process during it.
    pub async fn while_running<T>(
        &mut self,
        step: impl Future<Output = Result<T, StartFailure>>,
    ) -> Result<T, StartFailure> {
        let awaited = self.context.lifecycle.arrival().display_name();
        let Some(Child { process, .. }) = &mut self.child else {
            return step.await;
        };
        let early = |exit| StartFailure::ExitedEarly {
            awaited,
            exit,
            last_line: None,
        };
        // A completed step counts, even if the process has just exited.
        let outcome = tokio::select! { biased;
            outcome = step => outcome,
            exit = process.wait() => return Err(early(exit)),
        };
        match outcome {
            // A lost connection usually means that the process is ending; then report the exit.
            Err(failure) if failure.suspicion() == Suspicion::Exiting => {
                match timeout(EXIT_GRACE, process.wait()).await {
                    Ok(exit) => Err(early(exit)),
                    Err(_) => Err(failure),
                }
            }
            other => other,
        }
    }

    async fn exit_within(&mut self, limit: Duration) -> Option<Exit> {
        timeout(limit, self.child.as_mut()?.process.wait())
            .await
            .ok()
    }

    fn exited(&self, exit: Exit) -> StartFailure {
        StartFailure::Exited {
            awaited: self.context.lifecycle.arrival().display_name(),
            exit,
            last_line: None,
        }
    }
}

/// Waits until the output of an ended process is read, and a short time more for output from other
/// sources.
pub(super) async fn wait_until_drained(logs: &Logs) {
    logs.pipes.wait_until_drained(EXIT_GRACE).await;
    tokio::time::sleep(QUIET_TIMEOUT).await;
}

/// Log input for lines that do not come from the standard streams. Cheap to clone.
#[derive(Clone)]
pub struct LogInput(Arc<Logs>);

impl LogInput {
    /// Adds one line, given without its line end.
    pub fn line(&self, stream: LogStream, line: &[u8]) {
        self.0.add_line(stream, line);
    }

    /// Adds a warning of the engine, which is shown to the operator at once.
    pub fn warn(&self, text: &str) {
        self.0.warn(text);
    }

    /// Waits for `more` of a source of lines. If that takes longer than a pause, a flood of lines
    /// is over and held lines are released.
    pub async fn await_input<T>(&self, more: impl Future<Output = T>) -> T {
        self.0.await_input(more).await
    }

    /// Returns an assembler for a stream that arrives in pieces.
    pub fn line_assembler(&self, stream: LogStream) -> Pieces {
        Pieces {
            feed: self.clone(),
            stream,
            lines: LineAssembler::default(),
        }
    }
}

/// Assembles the pieces of a stream into lines. A rest without a line end becomes a line on drop.
pub struct Pieces {
    feed: LogInput,
    stream: LogStream,
    lines: LineAssembler,
}

impl Pieces {
    /// Adds the next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        let Self {
            feed,
            stream,
            lines,
        } = self;
        lines.feed(piece, |line| feed.line(*stream, line));
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        let Self {
            feed,
            stream,
            lines,
        } = self;
        lines.finish(|line| feed.line(*stream, line));
    }
}
