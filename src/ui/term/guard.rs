//! The terminal taken and given back, whatever happens: a panic, a log, another program in front.

use std::io;
use std::io::{Write, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, terminal};

/// Whether the terminal is ours at the moment: the panic hook must know, and cannot be given
/// anything.
pub(super) static TAKEN: AtomicBool = AtomicBool::new(false);

/// The thread that the loop runs on; a panic elsewhere must leave the terminal alone.
static DRAWING: Mutex<Option<ThreadId>> = Mutex::new(None);

/// The loop runs here now: a runtime moves it from thread to thread.
pub(super) fn on_this_thread() {
    *DRAWING.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current().id());
}

/// Records of the engine's own log that are held.
const LOG_DEPTH: usize = 20_000;

/// What takes the terminal, as bytes.
pub(super) fn write_enter(out: &mut impl Write, mouse: bool) -> io::Result<()> {
    execute!(
        out,
        EnterAlternateScreen,
        EnableBracketedPaste,
        cursor::Hide
    )?;
    if mouse {
        execute!(out, EnableMouseCapture)?;
    }
    Ok(())
}

/// What gives it back, as bytes. Undoing what was not done does no harm.
pub(super) fn write_leave(out: &mut impl Write) -> io::Result<()> {
    execute!(
        out,
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    )
}

/// Gives the terminal back, once.
pub(super) fn leave() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // There is nobody left to tell.
        write_leave(&mut stdout()).ok();
        terminal::disable_raw_mode().ok();
    }
}

/// Puts a hook before the one that is there: a panic of the drawing thread gives the terminal back
/// and is then reported as usual; a panic of any other is logged, and met by whoever waits for that
/// task.
pub fn install_panic_hook() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let drawing = *DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
            if !TAKEN.load(Ordering::SeqCst) {
                before(info);
            } else if drawing == Some(std::thread::current().id()) {
                leave();
                before(info);
            } else {
                tracing::error!(panic = %info, "a task has panicked");
            }
        }));
    });
}

/// The engine's own log goes to tui-logger while the console has the terminal, from a level up;
/// `RUST_LOG` says more exactly what is wanted. `also` gets its own part of the log.
pub fn start_log(
    level: &str,
    also: Option<Box<dyn tracing_subscriber::Layer<tracing_subscriber::Registry> + Send + Sync>>,
) {
    use tracing_subscriber::Layer as _;
    use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| {
        EnvFilter::new(format!("warn,flightdeck={level},engine=off,provider=off"))
    });
    tui_logger::set_default_level(tui_logger::LevelFilter::Trace);
    tui_logger::set_buffer_depth(LOG_DEPTH);
    if tui_logger::init_logger(tui_logger::LevelFilter::Trace).is_ok() {
        // Somebody set a log up before us (a test): theirs stays.
        tracing_subscriber::registry()
            .with(also)
            .with(tui_logger::TuiTracingSubscriberLayer.with_filter(filter))
            .try_init()
            .ok();
    }
}

/// Whether the terminal says that its background is light (`COLORFGBG=15;default;15` and the like:
/// 7 and above but 8 are light).
pub fn background_is_light(colorfgbg: Option<&str>) -> Option<bool> {
    let ground: u8 = colorfgbg?.rsplit(';').next()?.parse().ok()?;
    Some(ground == 7 || ground > 8)
}
