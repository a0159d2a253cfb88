//! Signal handling: SIGINT, SIGTERM and SIGHUP advance a command's cancellation. A separate thread
//! receives them, so that busy runtime threads cannot delay them. The third signal ends the process
//! in any case. Repetitions within [`REPEATED`] count once.

use super::escape::safe;
use super::exit::{self, CliError};
use engine::Engine;
use model::CancelRung;
use state;
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Time that a command has to act on a signal before the signal thread does.
const REACTION_TIME: Duration = Duration::from_secs(1);
/// Time limit of the last lines before the process ends.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Maximum number of signals with a running [`follow`]; further ones have no effect.
const MAX_ESCALATED: usize = 16;

/// Interval in which a second signal of the same kind counts as a repetition. One Ctrl-C reaches
/// the process from the terminal and, with a wrapper that forwards signals, from the wrapper too.
const REPEATED: Duration = Duration::from_millis(500);

/// Time in which a command without a terminal ends after its first signal, in seconds; 0 waits for
/// running calls.
pub(super) const SHUTDOWN_TIMEOUT: &str = "FLIGHTDECK_SHUTDOWN_TIMEOUT";
const DEFAULT_SHUTDOWN_TIMEOUT: u64 = 8;

static HEARD: OnceLock<watch::Sender<u32>> = OnceLock::new();
/// Number of signals that the command has acted on.
static SEEN: AtomicU32 = AtomicU32::new(0);
/// Engine to cancel if the command does not react.
static LISTENER: Mutex<Option<Listener>> = Mutex::new(None);

#[derive(Clone)]
struct Listener {
    engine: Engine,
    runtime: Handle,
    /// Number of signals before this listener was set.
    earlier_signals: u32,
}

fn listener() -> std::sync::MutexGuard<'static, Option<Listener>> {
    LISTENER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Turns SIGXFSZ (`ulimit -f`) from the end of the process into a write error. Child processes have
/// the default action.
pub(super) fn ignore_file_size_signal() -> std::io::Result<()> {
    // tokio keeps the handler after the stream is dropped.
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

/// Returns the time in which a cancelled job must end: whoever cancels it kills it soon. `None` at
/// a terminal, where a person decides by further signals.
pub(super) fn shutdown_timeout() -> Option<Duration> {
    let is_terminal = std::io::stdin().is_terminal()
        || std::io::stdout().is_terminal()
        || std::io::stderr().is_terminal();
    let given = std::env::var(SHUTDOWN_TIMEOUT).ok();
    let seconds = given.and_then(|text| text.trim().parse().ok());
    let seconds = seconds.unwrap_or(DEFAULT_SHUTDOWN_TIMEOUT);
    (!is_terminal && seconds > 0).then(|| Duration::from_secs(seconds))
}

/// Returns true after the first signal.
pub(super) fn was_signalled() -> bool {
    HEARD.get().is_some_and(|heard| *heard.borrow() > 0)
}

/// Signals that ask a command to end.
pub(super) struct Signals {
    signal_count: watch::Receiver<u32>,
    handled: u32,
    /// This one has set the listener, and clears it on drop.
    owns_listener: bool,
}

impl Signals {
    pub(super) fn listen() -> Result<Self, CliError> {
        let sender = match HEARD.get() {
            Some(sender) => sender,
            None => {
                start()?;
                HEARD.get_or_init(|| watch::Sender::new(0))
            }
        };
        let heard = sender.subscribe();
        let taken = *heard.borrow();
        Ok(Self {
            signal_count: heard,
            handled: taken,
            owns_listener: false,
        })
    }

    /// Registers the engine that the signal thread cancels if the command does not react.
    pub(super) fn register_engine(&mut self, engine: &Engine) {
        self.owns_listener = true;
        *listener() = Some(Listener {
            engine: engine.clone(),
            runtime: Handle::current(),
            earlier_signals: self.handled,
        });
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) {
        let taken = self.handled;
        // The sender lives in a static, so an error here means that no further signal can come.
        if self
            .signal_count
            .wait_for(|heard| *heard > taken)
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
        self.handled += 1;
        SEEN.fetch_max(self.handled, Ordering::Relaxed);
    }
}

/// Runs a future that is safe to drop, until a signal arrives.
pub(super) async fn interruptible<T>(work: impl Future<Output = T>) -> Result<T, CliError> {
    let mut signals = Signals::listen()?;
    tokio::select! { biased;
        () = signals.next() => Err(CliError::Cancelled),
        done = work => Ok(done),
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        if self.owns_listener {
            *listener() = None;
        }
    }
}

fn start() -> Result<(), CliError> {
    let refused =
        |e: std::io::Error| CliError::internal(format!("cannot install signal handlers: {e}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(refused)?;
    // tokio registers signals with the current runtime.
    let _inside = runtime.enter();
    let mut all = [
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    ]
    .into_iter();
    let mut next = || {
        all.next()
            .unwrap_or_else(|| signal(SignalKind::interrupt()))
            .map_err(refused)
    };
    let (mut interrupt, mut terminate, mut hangup) = (next()?, next()?, next()?);
    drop(_inside);
    let attend = async move {
        let mut followed = JoinSet::new();
        let mut counted: [Option<Instant>; 3] = [None; 3];
        loop {
            let kind = tokio::select! { biased;
                _ = interrupt.recv() => 0,
                _ = terminate.recv() => 1,
                _ = hangup.recv() => 2,
                Some(_) = followed.join_next() => continue,
            };
            if is_repeated(&mut counted[kind], Instant::now()) {
                continue;
            }
            let heard = HEARD.get_or_init(|| watch::Sender::new(0));
            heard.send_modify(|n| *n += 1);
            let number = *heard.borrow();
            if number == 1
                && let Some(time) = shutdown_timeout()
            {
                end_within(time);
            }
            if followed.len() < MAX_ESCALATED {
                followed.spawn(escalate(number));
            }
        }
    };
    let thread = std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || runtime.block_on(attend));
    thread.map(drop).map_err(refused)
}

/// Returns true if a signal repeats the last counted one of its kind; otherwise counts it. The
/// interval starts at the counted signal, so that a steady stream of signals still advances the
/// cancel ladder.
fn is_repeated(counted: &mut Option<Instant>, now: Instant) -> bool {
    let repeated = counted.is_some_and(|at| now.duration_since(at) < REPEATED);
    if !repeated {
        *counted = Some(now);
    }
    repeated
}

/// Ends the process if the command has not ended in time. A thread of its own, so that nothing else
/// delays it.
fn end_within(time: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(time.saturating_sub(LAST_WORDS));
        end_process(&format!("ended {} s after the signal", time.as_secs()));
    });
}

#[allow(
    clippy::disallowed_methods,
    reason = "the return to main may be blocked; plugins end with the thread that started them"
)]
fn end_process(why: &str) -> ! {
    let why = why.to_owned();
    run_within(LAST_WORDS, move || {
        eprintln!("error: {why}; the next start reports unfinished operations");
        for left in state::left_behind_errors() {
            eprintln!("error: {}", safe(&left.to_string()));
        }
        let engine = listener().as_ref().map(|listener| listener.engine.clone());
        let unknown = engine.map(|engine| engine.subscribe().0.unknown.clone());
        for outcome in unknown.iter().flatten() {
            eprintln!("unknown outcome: {}", safe(&outcome.line()));
        }
    });
    std::process::exit(i32::from(exit::CANCELLED));
}

/// Runs work that a reader of stderr which has stopped could block: signals must not wait for it.
fn run_within(time: Duration, work: impl FnOnce() + Send + 'static) {
    let running = std::thread::spawn(work);
    let began = Instant::now();
    while !running.is_finished() && began.elapsed() < time {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Acts on a signal that the command has not acted on within [`REACTION_TIME`].
async fn escalate(number: u32) {
    tokio::time::sleep(REACTION_TIME).await;
    // Cloned, so that the lock is free while the engine is cancelled.
    let told = listener().clone();
    let rung = number - told.as_ref().map_or(0, |t| t.earlier_signals.min(number));
    if rung >= 3 {
        // The command itself ends at the third signal. If it hangs, the process ends here.
        tokio::time::sleep(REACTION_TIME).await;
        end_process("ended at the third signal");
    }
    // The command has acted on this signal itself.
    if SEEN.load(Ordering::Relaxed) >= number {
        return;
    }
    if let Some(Listener {
        engine, runtime, ..
    }) = told
    {
        run_within(LAST_WORDS, move || {
            let _inside = runtime.enter();
            engine.cancel(match rung {
                1 => CancelRung::StopStarting,
                _ => CancelRung::KillPlugins,
            });
            eprintln!("stopping: cancelling the current work");
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_signals_within_half_a_second_count_once() {
        let (began, mut counted) = (Instant::now(), None);
        for (ms, repeated) in [
            (0, false),
            (20, true),
            (499, true),
            (500, false),
            (900, true),
            (1_000, false),
        ] {
            let now = began + Duration::from_millis(ms);
            assert_eq!(is_repeated(&mut counted, now), repeated, "after {ms} ms");
        }
    }
}
