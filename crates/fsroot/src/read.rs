//! Bounded reads of regular files that a path leads to, through links too.

use rustix::fs::{CWD, FileType, Mode, OFlags};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Largest file that is read whole, in bytes.
pub const MAX_FILE: u64 = 256 << 20;

/// Reads a regular file of [`MAX_FILE`] bytes at most. The output of a device or a pipe may never
/// come, or never end.
///
/// # Errors
/// It cannot be read, is not a regular file, or is larger.
pub fn read_regular(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_at_most(path, MAX_FILE)
}

/// Reads a regular file of `max` bytes at most.
///
/// # Errors
/// As [`read_regular`].
pub fn read_at_most(path: impl AsRef<Path>, max: u64) -> io::Result<Vec<u8>> {
    // Opening a device can have effects of its own, so its type is checked before, too.
    regular(&rustix::fs::stat(path.as_ref())?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(CWD, path.as_ref(), flags, Mode::empty())?;
    whole(File::from(fd), max)
}

/// Reads a regular file as UTF-8 text; see [`read_regular`].
///
/// # Errors
/// As [`read_regular`], or it is not UTF-8.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let bytes = read_regular(path)?;
    String::from_utf8(bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.utf8_error()))
}

/// Reads an open file to its end, refusing what is not a regular file and what passes the bound.
pub(crate) fn whole(file: File, max: u64) -> io::Result<Vec<u8>> {
    let found = rustix::fs::fstat(&file)?;
    regular(&found)?;
    let size = u64::try_from(found.st_size).unwrap_or_default();
    if size > max {
        return Err(too_large(max));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    // Files of /proc have no size, and others may grow while they are read.
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(too_large(max));
    }
    Ok(bytes)
}

fn regular(found: &rustix::fs::Stat) -> io::Result<()> {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok(()),
        // In the words of the system.
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
