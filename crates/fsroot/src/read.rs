//! Bounded reads of files by path; links are followed.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum size of a file that is read as a whole, in bytes.
pub const MAX_FILE: u64 = 256 << 20;

/// Reads a regular file of at most [`MAX_FILE`] bytes. Refuses devices and pipes, whose output may
/// never arrive or never end.
///
/// # Errors
/// It cannot be read, is not a regular file, or is larger.
pub fn read_regular(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_at_most(path, MAX_FILE)
}

/// Reads a regular file of at most `max` bytes.
///
/// # Errors
/// As [`read_regular`].
pub fn read_at_most(path: impl AsRef<Path>, max: u64) -> io::Result<Vec<u8>> {
    read_limited(open_regular(path)?, max)
}

/// Opens a regular file for reading, without blocking on a pipe or a device.
///
/// # Errors
/// It is not a regular file, or cannot be opened.
pub fn open_regular(path: impl AsRef<Path>) -> io::Result<File> {
    // The type is checked before as well, because opening a device can have side effects.
    regular(&rustix::fs::stat(path.as_ref())?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(
        CWD,
        path.as_ref(),
        flags,
        Mode::empty(),
    )?);
    // The path may lead to another file than before; this checks the opened one.
    regular(&rustix::fs::fstat(&file)?)?;
    Ok(file)
}

/// Reads a regular file as UTF-8 text; see [`read_regular`].
///
/// # Errors
/// As [`read_regular`], or the text is not UTF-8.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    text(read_regular(path)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.utf8_error()))
}

/// Maximum wait for a pipe that this process inherited.
const INHERITED_PIPE_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum wait for a pipe that the environment or a configuration names.
const NAMED_PIPE_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval at which a wait checks for its end, in nanoseconds.
const POLL_INTERVAL_NS: i64 = 50_000_000;

/// Reads an input named by an operator: a regular file of at most `max` bytes, or an inherited pipe
/// (`/dev/stdin`, `/dev/fd/63` of `<(…)`). `stop` ends the wait for a pipe.
///
/// # Errors
/// It cannot be read, is neither, or is larger.
pub fn read_input(
    path: impl AsRef<Path>,
    max: u64,
    stop: &dyn Fn() -> bool,
) -> io::Result<Vec<u8>> {
    let path = path.as_ref();
    match FileType::from_raw_mode(rustix::fs::stat(path)?.st_mode) {
        FileType::Fifo | FileType::CharacterDevice if is_descriptor(path) => {
            from_pipe(path, max, INHERITED_PIPE_TIMEOUT, stop)
        }
        _ => read_at_most(path, max),
    }
}

/// Reads a file with settings or credentials that the environment or a configuration names: a
/// regular file, a pipe with a short time limit, or `/dev/null`, which is empty.
///
/// # Errors
/// It cannot be read, is neither, or is larger than [`MAX_FILE`].
pub fn read_named(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref();
    let bytes = match FileType::from_raw_mode(rustix::fs::stat(path)?.st_mode) {
        FileType::Fifo => from_pipe(path, MAX_FILE, NAMED_PIPE_TIMEOUT, &|| false)?,
        FileType::CharacterDevice if path == Path::new("/dev/null") => Vec::new(),
        _ => read_regular(path)?,
    };
    text(bytes)
}

/// Runs [`read_named`] on a thread for blocking work.
///
/// # Errors
/// As [`read_named`].
pub async fn read_named_async(path: impl Into<PathBuf>) -> io::Result<String> {
    let path = path.into();
    let read = tokio::task::spawn_blocking(move || read_named(path)).await;
    read.map_err(io::Error::other)?
}

fn from_pipe(
    path: &Path,
    max: u64,
    patience: Duration,
    stop: &dyn Fn() -> bool,
) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?);
    let until = Instant::now() + patience;
    let (mut bytes, mut part) = (Vec::new(), vec![0; 64 << 10]);
    while bytes.len() as u64 <= max {
        if stop() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if Instant::now() > until {
            let why = format!("it did not end within {} s", patience.as_secs());
            return Err(io::Error::other(why));
        }
        // Waits in short intervals, so that `stop` and the time limit are noticed.
        let mut waits = [PollFd::new(&file, PollFlags::IN)];
        let looks = Timespec {
            tv_sec: 0,
            tv_nsec: POLL_INTERVAL_NS,
        };
        match poll(&mut waits, Some(&looks)) {
            Ok(0) | Err(Errno::INTR) => continue,
            polled => polled?,
        };
        match file.read(&mut part) {
            Ok(0) => return Ok(bytes),
            Ok(n) => bytes.extend_from_slice(&part[..n]),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
    Err(too_large(max))
}

/// Returns true if a path names an inherited descriptor.
fn is_descriptor(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
}

/// Reads an open file to its end. Refuses files that are not regular or exceed the limit.
pub(crate) fn read_limited(file: File, max: u64) -> io::Result<Vec<u8>> {
    let found = rustix::fs::fstat(&file)?;
    regular(&found)?;
    let size = u64::try_from(found.st_size).unwrap_or_default();
    if size > max {
        return Err(too_large(max));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    // Files in `/proc` report no size, and other files can grow while they are read.
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(too_large(max));
    }
    Ok(bytes)
}

fn regular(found: &rustix::fs::Stat) -> io::Result<()> {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok(()),
        // The error of the system for the same case.
        FileType::Directory => Err(io::Error::from(rustix::io::Errno::ISDIR)),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

fn too_large(max: u64) -> io::Error {
    let why = match max >> 20 {
        0 => format!("it is larger than {max} bytes"),
        mib => format!("it is larger than {mib} MiB"),
    };
    io::Error::other(why)
}
