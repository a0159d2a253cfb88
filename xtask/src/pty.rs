//! Runs a program in a pseudo-terminal and reads its screen. Tests and screenshots wait for text,
//! never for a fixed time.

use color_eyre::Result;
use color_eyre::eyre::{ContextCompat, WrapErr, eyre};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Polling interval while waiting for text.
const LOOK: Duration = Duration::from_millis(20);

/// Maximum number of output bytes kept.
const KEPT: usize = 16 << 20;

/// Number of bytes that a terminal shows: all up to a synchronized update that has not ended.
pub fn whole_frames(bytes: &[u8]) -> usize {
    const BEGIN: &[u8] = b"\x1b[?2026h";
    const END: &[u8] = b"\x1b[?2026l";
    let last = |what: &[u8]| bytes.windows(what.len()).rposition(|w| w == what);
    match (last(BEGIN), last(END)) {
        (Some(begin), end) if end.is_none_or(|end| end < begin) => begin,
        // An incomplete sequence may be the start of an update.
        _ => match bytes.iter().rposition(|b| *b == 0x1b) {
            Some(escape) if BEGIN.starts_with(&bytes[escape..]) => escape,
            _ => bytes.len(),
        },
    }
}

/// Gives the program a terminal type and directories of its own: the caller's settings must not
/// change the screen, nor the program the caller's files.
fn isolate(command: &mut CommandBuilder) -> Result<TempDir> {
    command.env("TERM", "xterm-256color");
    command.env("LANG", "C.UTF-8");
    for name in [
        "NO_COLOR",
        "COLORTERM",
        "COLORFGBG",
        "TMUX",
        "FLIGHTDECK_THEME",
    ] {
        command.env_remove(name);
    }
    let home = tempfile::tempdir()?;
    command.env("XDG_CONFIG_HOME", home.path().join("config"));
    command.env("XDG_STATE_HOME", home.path().join("state"));
    Ok(home)
}

/// Output of a program: its screen and its bytes.
struct Seen {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    /// Time of each piece of output since the start, with the number of bytes up to its end.
    times: Vec<(Duration, usize)>,
}

/// Reads the output of a program to its end.
fn read(mut output: impl Read, seen: &Mutex<Seen>) {
    let started = Instant::now();
    let mut bytes = [0; 16_384];
    let mut pending = Vec::new();
    while let Ok(n) = output.read(&mut bytes) {
        if n == 0 {
            break;
        }
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        pending.extend_from_slice(&bytes[..n]);
        let whole = whole_frames(&pending);
        // Incomplete frames wait, so that no test sees half of a screen.
        seen.parser.process(&pending[..whole]);
        pending.drain(..whole);
        // Bytes past the limit are dropped; the screen is still updated.
        let room = KEPT.saturating_sub(seen.bytes.len()).min(n);
        seen.bytes.extend_from_slice(&bytes[..room]);
        let end = seen.bytes.len();
        seen.times.push((started.elapsed(), end));
    }
    seen.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .parser
        .process(&pending);
}

/// Running program with its screen.
pub struct Pty {
    seen: Arc<Mutex<Seen>>,
    child: Box<dyn Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    /// The program's own directories for settings and state, not those of the user.
    _home: TempDir,
    /// Kept open, because closing it sends a hangup to the program.
    master: Box<dyn MasterPty + Send>,
    reader: Option<JoinHandle<()>>,
}

impl Pty {
    /// Starts a program in a terminal with common capabilities.
    #[allow(dead_code, reason = "tests use it, screenshots do not")]
    pub fn start(command: CommandBuilder, columns: u16, rows: u16) -> Result<Self> {
        Self::start_with(command, columns, rows, &[])
    }

    /// Starts a program with additional environment variables.
    pub fn start_with(
        mut command: CommandBuilder,
        columns: u16,
        rows: u16,
        variables: &[(&str, &str)],
    ) -> Result<Self> {
        let pair = native_pty_system()
            .openpty(PtySize {
                rows,
                cols: columns,
                pixel_width: 0,
                pixel_height: 0,
            })
            .map_err(|e| eyre!("cannot open a pseudo-terminal: {e}"))?;
        let home = isolate(&mut command)?;
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair
            .slave
            .spawn_command(command)
            .map_err(|e| eyre!("cannot start the program: {e}"))?;
        // The reader sees the end of output only once no other handle of the slave is open.
        drop(pair.slave);
        let seen = Arc::new(Mutex::new(Seen {
            parser: parser(columns, rows)?,
            bytes: Vec::new(),
            times: Vec::new(),
        }));
        let output = pair
            .master
            .try_clone_reader()
            .map_err(|e| eyre!("cannot read from the terminal: {e}"))?;
        let writer = pair
            .master
            .take_writer()
            .map_err(|e| eyre!("cannot write to the terminal: {e}"))?;
        let to = seen.clone();
        let reader = std::thread::Builder::new()
            .name("pty".to_owned())
            .spawn(move || read(output, &to))?;
        Ok(Self {
            seen,
            child,
            writer,
            _home: home,
            master: pair.master,
            reader: Some(reader),
        })
    }

    /// Types text or control characters.
    pub fn keys(&mut self, text: &str) -> Result<()> {
        self.writer.write_all(text.as_bytes())?;
        self.writer.flush().wrap_err("cannot send keys")
    }

    /// The screen's text.
    pub fn text(&self) -> String {
        self.with_screen(vt100::Screen::contents)
    }

    /// Raw output so far.
    #[allow(dead_code, reason = "tests use it, screenshots do not")]
    pub fn bytes(&self) -> Vec<u8> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .bytes
            .clone()
    }

    /// Output so far in pieces, each with its time since the start.
    #[allow(dead_code, reason = "recordings use it, tests do not")]
    pub fn chunks(&self) -> Vec<(Duration, Vec<u8>)> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut begin = 0;
        let piece = |&(at, end): &(Duration, usize)| {
            let bytes = seen.bytes[begin..end].to_vec();
            begin = end;
            (at, bytes)
        };
        seen.times.iter().map(piece).collect()
    }

    /// Resizes the terminal.
    #[allow(dead_code, reason = "tests use it, screenshots do not")]
    pub fn resize(&self, columns: u16, rows: u16) -> Result<()> {
        let (wide, high) = cells(columns, rows)?;
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .parser
            .set_size(high, wide);
        let size = PtySize {
            rows,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        self.master
            .resize(size)
            .map_err(|e| eyre!("cannot resize the terminal: {e}"))
    }

    /// Passes the current screen to `look`.
    pub fn with_screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(
            self.seen
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .parser
                .screen(),
        )
    }

    /// Waits until the screen contains a text; the error has the actual screen.
    pub fn wait(&self, what: &str, limit: Duration) -> Result<()> {
        self.wait_until(|s| s.contains(what), limit)
            .wrap_err_with(|| format!("timed out waiting for {what:?}"))
    }

    /// Waits until `wanted` accepts the screen.
    pub fn wait_until(&self, wanted: impl Fn(&str) -> bool, limit: Duration) -> Result<()> {
        let end = Instant::now() + limit;
        loop {
            // Looked at before the time, so that a slow machine gets a last look.
            let text = self.text();
            if wanted(&text) {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(eyre!("the screen shows:\n{text}"));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Process id of the program.
    #[allow(dead_code, reason = "tests use it, screenshots do not")]
    pub fn pid(&self) -> Option<u32> {
        self.child.process_id()
    }

    /// Waits for the program to exit; returns its exit code and last screen.
    pub fn end(mut self, limit: Duration) -> Result<(u32, vt100::Screen)> {
        let end = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait()? {
                // Joined, so that the last output is on the returned screen.
                if let Some(reader) = self.reader.take() {
                    drop(self.writer);
                    drop(self.master);
                    reader
                        .join()
                        .map_err(|_| eyre!("the reader of the terminal has panicked"))?;
                }
                let screen = self
                    .seen
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .parser
                    .screen()
                    .clone();
                return Ok((status.exit_code(), screen));
            }
            if Instant::now() > end {
                self.child.kill()?;
                return Err(eyre!(
                    "the program did not end; the screen shows:\n{}",
                    self.text()
                ));
            }
            std::thread::sleep(LOOK);
        }
    }
}

fn cells(columns: u16, rows: u16) -> Result<(NonZeroU16, NonZeroU16)> {
    let size = |n: u16| NonZeroU16::new(n).wrap_err("a terminal has at least one cell");
    Ok((size(columns)?, size(rows)?))
}

/// A terminal of so many columns and rows.
pub fn parser(columns: u16, rows: u16) -> Result<vt100::Parser> {
    let (wide, high) = cells(columns, rows)?;
    Ok(vt100::Parser::new(high, wide, 0))
}
