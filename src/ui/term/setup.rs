//! Sets the terminal up and restores it in every case, such as a panic.

use std::io;
use std::io::{Write, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange, EnableMouseCapture,
};
use crossterm::terminal::{EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, terminal};

/// True while the console has the terminal. A static, because the panic hook gets no arguments.
pub(super) static TAKEN: AtomicBool = AtomicBool::new(false);

/// Thread of the event loop; a panic in another thread must not touch the terminal.
static DRAWING: Mutex<Option<ThreadId>> = Mutex::new(None);

/// Records the current thread as that of the loop, because the runtime moves the loop between
/// threads.
pub(super) fn set_loop_thread() {
    *DRAWING.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current().id());
}

/// Maximum number of records of the engine's own log.
const LOG_DEPTH: usize = 20_000;

/// Writes the sequences that set the terminal up.
pub(super) fn write_enter(out: &mut impl Write, mouse: bool) -> io::Result<()> {
    execute!(
        out,
        EnterAlternateScreen,
        EnableBracketedPaste,
        EnableFocusChange,
        cursor::Hide
    )?;
    if mouse {
        execute!(out, EnableMouseCapture)?;
    }
    Ok(())
}

/// Writes the sequences that restore the terminal. They are harmless if it was not set up.
pub(super) fn write_leave(out: &mut impl Write) -> io::Result<()> {
    execute!(
        out,
        // A panic may interrupt a frame, and the terminal would wait for the end of it.
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableFocusChange,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    )
}

/// Restores the terminal once.
pub(super) fn restore_once() {
    // Swapped, because drop, the panic hook and the memory limit may all restore the terminal.
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Without a terminal an error has no place to be reported.
        write_leave(&mut stdout()).ok();
        terminal::disable_raw_mode().ok();
    }
}

/// Installs a panic hook before the present one. A panic in the drawing thread restores the
/// terminal and is then reported as usual. A panic in another thread is logged, and the code that
/// awaits the task handles it.
pub fn install_panic_hook() {
    // Tests and reopened consoles must not stack hooks.
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let drawing = *DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
            // Without the console, a panic is reported on the normal terminal.
            if !TAKEN.load(Ordering::SeqCst) {
                before(info);
            } else if drawing == Some(std::thread::current().id()) {
                restore_once();
                before(info);
            } else {
                tracing::error!(panic = %info, "a task has panicked");
            }
        }));
    });
}

/// Sends the engine's own log, from `level` on, to tui-logger while the console has the terminal.
/// `RUST_LOG` overrides the filter. `also` is an additional layer.
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
        tracing_subscriber::registry()
            .with(also)
            .with(tui_logger::TuiTracingSubscriberLayer.with_filter(filter))
            .try_init()
            // Fails if a test has installed a subscriber, which then stays.
            .ok();
    }
}

/// Returns true if the terminal reports a light background, such as `COLORFGBG=15;default;15`: 7
/// and all values above 8 are light.
pub fn background_is_light(colorfgbg: Option<&str>) -> Option<bool> {
    let ground: u8 = colorfgbg?.rsplit(';').next()?.parse().ok()?;
    Some(ground == 7 || ground > 8)
}
