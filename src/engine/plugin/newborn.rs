//! A process on its way up, as its dialect sees it: what it says and does, its record, its log.
//! Lives as long as one launch; the process itself belongs to the launch.

use super::board::AttemptRecord;
use super::failure::{Exit, StartFailure, Suspicion};
use super::launch::{LaunchContext, SETTLE};
use super::logs::{LineAssembler, Logs};
use super::settings::PluginSettings;
use super::spawn::Process;
use crate::engine::words::{LogStream, PhaseName, PluginAbout, PluginFound};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long the streams of a process that has ended may stay open when nothing is in them.
const LAST_MOMENT: Duration = Duration::from_millis(200);

pub(super) type FirstOutput = watch::Receiver<Option<Instant>>;
pub(super) type FirstLine = oneshot::Receiver<Option<Vec<u8>>>;

/// A process that is to become a plugin.
pub struct Newborn<'l> {
    pub(super) context: &'l LaunchContext,
    pub(super) recorder: &'l mut AttemptRecord,
    /// `None` for a process of somebody else.
    pub(super) child: Option<Child<'l>>,
    /// What reads of it beside its standard streams.
    pub(super) followers: Vec<JoinHandle<()>>,
}

/// A process that we have started.
pub(super) struct Child<'l> {
    pub(super) process: &'l mut Process,
    pub(super) begun: Instant,
    pub(super) first: FirstOutput,
    /// Until somebody waits for it; none where all lines are of the log.
    pub(super) line: Option<FirstLine>,
}

impl Newborn<'_> {
    /// The limits of its launch.
    pub fn settings(&self) -> &PluginSettings {
        &self.context.settings
    }

    /// How long it may take from exec to its arrival.
    pub fn deadline(&self) -> Duration {
        self.context.deadline()
    }

    /// Its process; `None` for one of somebody else.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(|child| child.process.pid)
    }

    /// What it was found as.
    pub fn found(&self) -> PluginFound {
        self.context.board.found.borrow().clone()
    }

    /// Its log.
    pub fn log(&self) -> Feed {
        Feed(Arc::clone(&self.context.logs))
    }

    /// A phase is reached now.
    pub fn reached(&mut self, phase: PhaseName) {
        self.recorder.reached(phase);
    }

    /// The dialect with its version, now that it is known.
    pub fn speaks(&self, dialect: &str) {
        self.context.board.speaks(dialect);
    }

    /// What blueprints call a transformer by, now that it is known.
    pub fn transforms(&self, name: &str) {
        self.context.board.transforms(name);
    }

    /// Its self-description, now that it is known.
    pub fn about(&self, about: PluginAbout) {
        self.context.board.about(about);
    }

    /// Reads on beside everything else, for as long as the process lives.
    pub fn follow(&mut self, reading: impl Future<Output = ()> + Send + 'static) {
        self.followers.push(self.context.tracker.spawn(reading));
    }

    /// The first line of its standard output, with its line end; `None` where it closed that
    /// without a line and went on running. For dialects whose [`Arrival`](super::life::Arrival) is
    /// a handshake.
    ///
    /// # Errors
    /// It ended, or took too long.
    pub async fn first_line(&mut self) -> Result<Option<Vec<u8>>, StartFailure> {
        let Some(line) = self.child.as_mut().and_then(|child| child.line.take()) else {
            return Ok(None);
        };
        let said = async { line.await.ok().flatten() };
        if let Some(line) = self.arrives(said).await? {
            return Ok(Some(line));
        }
        match self.ends_within(SETTLE).await {
            Some(exit) => Err(self.exited(exit)),
            None => Ok(None),
        }
    }

    /// Waits for what the process is to do first, for as long as it runs and its launch may take.
    ///
    /// # Errors
    /// It ended, or took too long.
    pub async fn arrives<T>(&mut self, step: impl Future<Output = T>) -> Result<T, StartFailure> {
        let limit = self.deadline();
        let mut step = std::pin::pin!(step);
        let Some(Child {
            process,
            begun,
            first,
            ..
        }) = &mut self.child
        else {
            let awaited = self.context.life.arrival().word();
            return timeout(limit, step)
                .await
                .map_err(|_| StartFailure::TimedOut {
                    awaited,
                    after: limit,
                    last_line: None,
                });
        };
        let awaited = self.context.life.arrival().word();
        let exited = |exit| StartFailure::Exited {
            awaited,
            exit,
            last_line: None,
        };
        let mut deadline = std::pin::pin!(tokio::time::sleep_until((*begun + limit).into()));
        let mut watching = true;
        let outcome = loop {
            tokio::select! { biased; // what was said before what happened after it; the deadline last
                changed = first.changed(), if watching => {
                    watching = false;
                    if let (Ok(()), Some(at)) = (changed, *first.borrow_and_update()) {
                        self.recorder.reached_at(PhaseName::FIRST_OUTPUT, at);
                    }
                }
                done = &mut step => break Ok(done),
                exit = process.wait() => break tokio::select! { biased; // as above
                    // It was on its way: it tells more than the exit does.
                    done = &mut step => Ok(done),
                    () = quiet(&self.context.logs) => Err(exited(exit)),
                },
                () = &mut deadline => break Err(StartFailure::TimedOut { awaited, after: limit, last_line: None }),
            }
        };
        // It may have been done before the note that there was output.
        if let Some(at) = *first.borrow() {
            self.recorder.reached_at(PhaseName::FIRST_OUTPUT, at);
        }
        outcome
    }

    /// When the time for its arrival is over, or was; `None` for one of somebody else.
    pub fn due(&self) -> Option<Instant> {
        let child = self.child.as_ref()?;
        Some(child.begun + self.deadline())
    }

    /// After the time for its arrival is over: waits `within` for what should have come, to tell
    /// one that is late from one that never comes. `None` where it does not, or ends.
    pub async fn comes_late<T>(
        &mut self,
        within: Duration,
        step: impl Future<Output = T>,
    ) -> Option<T> {
        let Child { process, .. } = self.child.as_mut()?;
        tokio::select! { biased; // what came tells more than the end after it
            done = timeout(within, step) => done.ok(),
            _ = process.wait() => None,
        }
    }

    /// Runs one step after the arrival, for as long as the process runs.
    ///
    /// # Errors
    /// The step's, or that the process ended under it.
    pub async fn alive<T>(
        &mut self,
        step: impl Future<Output = Result<T, StartFailure>>,
    ) -> Result<T, StartFailure> {
        let awaited = self.context.life.arrival().word();
        let Some(Child { process, .. }) = &mut self.child else {
            return step.await;
        };
        let early = |exit| StartFailure::ExitedEarly {
            awaited,
            exit,
            last_line: None,
        };
        let outcome = tokio::select! { biased; // a step that is done is done, whatever comes after
            outcome = step => outcome,
            exit = process.wait() => return Err(early(exit)),
        };
        match outcome {
            // A connection that breaks is usually a process that ends; then that is the reason.
            Err(failure) if failure.suspicion() == Suspicion::Dies => {
                match timeout(SETTLE, process.wait()).await {
                    Ok(exit) => Err(early(exit)),
                    Err(_) => Err(failure),
                }
            }
            other => other,
        }
    }

    async fn ends_within(&mut self, limit: Duration) -> Option<Exit> {
        timeout(limit, self.child.as_mut()?.process.wait())
            .await
            .ok()
    }

    fn exited(&self, exit: Exit) -> StartFailure {
        StartFailure::Exited {
            awaited: self.context.life.arrival().word(),
            exit,
            last_line: None,
        }
    }
}

/// Waits until what a process that has ended has written is heard, and a moment more for what came
/// by other ways.
pub(super) async fn quiet(logs: &Logs) {
    logs.hearing.quiet(SETTLE).await;
    tokio::time::sleep(LAST_MOMENT).await;
}

/// Where lines of a plugin go that do not come by its standard streams. Cheap to clone.
#[derive(Clone)]
pub struct Feed(Arc<Logs>);

impl Feed {
    /// Takes one line, without its line end.
    pub fn line(&self, stream: LogStream, line: &[u8]) {
        self.0.take(stream, line);
    }

    /// Adds a warning of the engine, which is shown to the operator at once.
    pub fn warn(&self, text: &str) {
        self.0.warn(text);
    }

    /// Waits for `more` of what brings lines. A flood of them is told as such; where more takes a
    /// while, it is over.
    pub async fn waiting_for<T>(&self, more: impl Future<Output = T>) -> T {
        self.0.waiting_for(more).await
    }

    /// For a stream that comes in pieces.
    pub fn pieces(&self, stream: LogStream) -> Pieces {
        Pieces {
            feed: self.clone(),
            stream,
            lines: LineAssembler::default(),
        }
    }
}

/// Pieces of a stream, put together to lines. What is left without a line end is a line when this
/// is dropped.
pub struct Pieces {
    feed: Feed,
    stream: LogStream,
    lines: LineAssembler,
}

impl Pieces {
    /// Takes the next piece.
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
