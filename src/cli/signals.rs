//! Ctrl-C, SIGTERM and SIGHUP: all ask for the end, in steps. They are heard by a thread of their
//! own, so that work that gives nobody else a turn does not keep them from being heard; the third
//! one ends the process whatever it does. Repetitions of one signal within moments count as one.

use super::exit::{self, CliError};
use super::safe::safe;
use crate::engine::Engine;
use crate::engine::state;
use crate::engine::words::CancelRung;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long a command has to act on a signal before the thread does.
const REACTION: Duration = Duration::from_secs(1);
/// Signals that are followed at the same time; more of them change nothing.
const FOLLOWED: usize = 16;

/// A signal that follows one of its kind within this time repeats it: one Ctrl-C reaches the
/// process from the terminal and, under a wrapper that forwards signals, from the wrapper too.
const REPEATED: Duration = Duration::from_millis(500);

static HEARD: OnceLock<watch::Sender<u32>> = OnceLock::new();
/// How many signals the command has acted on.
static SEEN: AtomicU32 = AtomicU32::new(0);
/// Whom to tell where the command does not.
static LISTENER: Mutex<Option<Listener>> = Mutex::new(None);

#[derive(Clone)]
struct Listener {
    engine: Engine,
    runtime: Handle,
    /// Signals that came before it.
    before: u32,
}

fn listener() -> std::sync::MutexGuard<'static, Option<Listener>> {
    LISTENER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that must not grow any more (`ulimit -f`) is an error in words from here on, and not the
/// end of the process. What we start has the signal as it was.
pub(super) fn files_may_be_too_large() -> std::io::Result<()> {
    // Listened to once, it stays so.
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

/// Whether a signal has asked for the end.
pub(super) fn asked() -> bool {
    HEARD.get().is_some_and(|heard| *heard.borrow() > 0)
}

/// The signals that ask a command to end.
pub(super) struct Signals {
    heard: watch::Receiver<u32>,
    taken: u32,
    /// Whether the listener is its own.
    tells: bool,
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
            heard,
            taken,
            tells: false,
        })
    }

    /// From now on this engine is told where the command cannot.
    pub(super) fn tell(&mut self, engine: &Engine) {
        self.tells = true;
        *listener() = Some(Listener {
            engine: engine.clone(),
            runtime: Handle::current(),
            before: self.taken,
        });
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        let taken = self.taken;
        if self.heard.wait_for(|heard| *heard > taken).await.is_err() {
            std::future::pending::<()>().await;
        }
        self.taken += 1;
        SEEN.fetch_max(self.taken, Ordering::Relaxed);
    }
}

/// Waits for something that may be dropped at any moment; the first signal drops it.
pub(super) async fn interruptible<T>(work: impl Future<Output = T>) -> Result<T, CliError> {
    let mut signals = Signals::listen()?;
    tokio::select! { biased;
        () = signals.next() => Err(CliError::Cancelled),
        done = work => Ok(done),
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        if self.tells {
            *listener() = None;
        }
    }
}

fn start() -> Result<(), CliError> {
    let refused =
        |e: std::io::Error| CliError::Refused(format!("signals cannot be listened to: {e}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(refused)?;
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
            if followed.len() < FOLLOWED {
                followed.spawn(follow(number));
            }
        }
    };
    let thread = std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || runtime.block_on(attend));
    thread.map(drop).map_err(refused)
}

/// Whether a signal repeats the last one of its kind that counted; if not, it counts from now on.
/// Measured from that one, so that a steady stream of signals still goes down the ladder.
fn is_repeated(counted: &mut Option<Instant>, now: Instant) -> bool {
    let repeated = counted.is_some_and(|at| now.duration_since(at) < REPEATED);
    if !repeated {
        *counted = Some(now);
    }
    repeated
}

/// Does what a signal asks for where the command has not done it by itself.
#[allow(
    clippy::disallowed_methods,
    reason = "the way to main may be what does not end; plugins die with the thread that started them"
)]
async fn follow(number: u32) {
    tokio::time::sleep(REACTION).await;
    let told = listener().clone();
    let rung = number - told.as_ref().map_or(0, |t| t.before.min(number));
    if rung >= 3 {
        // The command ends at the third; where it does not, it ends here.
        tokio::time::sleep(REACTION).await;
        eprintln!(
            "error: ended at the third signal; what was going on then is told by the next start"
        );
        for left in state::left_behind() {
            eprintln!("error: {}", safe(&left.to_string()));
        }
        std::process::exit(i32::from(exit::CANCELLED));
    }
    if SEEN.load(Ordering::Relaxed) >= number {
        return;
    }
    if let Some(Listener {
        engine, runtime, ..
    }) = told
    {
        let _inside = runtime.enter();
        eprintln!("stopping: what is being worked out is given up");
        engine.cancel(if rung == 1 {
            CancelRung::StopStarting
        } else {
            CancelRung::KillPlugins
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_of_one_kind_within_half_a_second_of_a_counted_one_count_once() {
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
