//! Journal of a large lab file: changes that the file does not contain yet, one line of JSON each,
//! so that a change need not write the whole file. The first line identifies the content of the lab
//! file that the journal continues; for another content the journal is ignored. An unterminated
//! last line was never acknowledged and is ignored too. Written only under the lab's lock.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::LabError;
use super::cloud::{Cloud, Entry};

/// Limit of the first line in bytes, longer than any valid one.
const FIRST_LINE: u64 = 256;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct First {
    /// Serial of the lab file that the changes apply to.
    base: u64,
}

/// File of a journal.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    path: PathBuf,
}

/// Complete lines of a journal.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Offset of the first line in the file.
    from: u64,
    bytes: Vec<u8>,
}

impl Lines {
    /// Returns the end offset in the file; 0 if no valid journal exists.
    pub(super) fn end_offset(&self) -> u64 {
        self.from + self.bytes.len() as u64
    }
}

impl Journal {
    pub(super) fn new(path: PathBuf) -> Journal {
        Journal { path }
    }

    /// Reads the lines from an offset on; 0 means from the first change on. `None` if the journal
    /// is shorter than that, because it was replaced.
    ///
    /// # Errors
    /// The journal cannot be read, or its first line is invalid.
    pub(super) fn read(&self, base: u64, from: u64) -> Result<Option<Lines>, LabError> {
        // The length alone decides the usual case, without opening the file.
        match fs::metadata(&self.path) {
            Ok(metadata) if metadata.len() == from => Ok(Some(Lines {
                from,
                bytes: Vec::new(),
            })),
            Ok(metadata) if metadata.len() < from => Ok(None),
            Ok(_) => self.read_from(base, from),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok((from == 0).then(Lines::default))
            }
            Err(source) => Err(self.failed("read", source)),
        }
    }

    fn read_from(&self, base: u64, mut from: u64) -> Result<Option<Lines>, LabError> {
        let failed = |source| self.failed("read", source);
        let mut file = match File::open(&self.path) {
            Ok(file) => BufReader::new(file),
            // Removed after the check of its length.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok((from == 0).then(Lines::default));
            }
            Err(source) => return Err(failed(source)),
        };
        if from == 0 {
            let mut line = Vec::new();
            file.by_ref()
                .take(FIRST_LINE)
                .read_until(b'\n', &mut line)
                .map_err(failed)?;
            // A partial first line belongs to a journal whose first change was never acknowledged.
            if line.last() != Some(&b'\n') && (line.len() as u64) < FIRST_LINE {
                return Ok(Some(Lines::default()));
            }
            let first: First =
                serde_json::from_slice(&line).map_err(|source| self.damaged(1, &source))?;
            // Left by a process that was killed after it replaced the lab file.
            if first.base != base {
                return Ok(Some(Lines::default()));
            }
            from = line.len() as u64;
        } else {
            file.seek(SeekFrom::Start(from)).map_err(failed)?;
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        // Drops a partial last line.
        bytes.truncate(
            bytes
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1),
        );
        Ok(Some(Lines { from, bytes }))
    }

    /// Applies lines to a cloud.
    ///
    /// # Errors
    /// A line is invalid; the cloud must then be discarded.
    pub(super) fn apply(&self, lines: &Lines, cloud: &mut Cloud) -> Result<(), LabError> {
        let mut at = 0;
        for line in lines.bytes.split_inclusive(|byte| *byte == b'\n') {
            let entry: Entry = serde_json::from_slice(line)
                .map_err(|source| self.damaged(self.line_at(lines.from + at as u64), &source))?;
            cloud.apply(entry);
            at += line.len();
        }
        Ok(())
    }

    /// Appends a change at the offset `end`, and returns the new end. With `end` 0 it starts a
    /// journal for the state `base`. Returns `None` and writes nothing if an incomplete line
    /// follows `end`: truncating it could make a concurrent reader see a mixture of lines.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub(super) fn append(
        &self,
        base: u64,
        end: u64,
        entry: &Entry,
    ) -> Result<Option<u64>, LabError> {
        let unwritable = |source: serde_json::Error| self.failed("write", source.into());
        let mut bytes = Vec::new();
        let mut options = OpenOptions::new();
        options.append(true).mode(0o600);
        if end == 0 {
            // An outdated journal is removed, not overwritten: a reader may have it open.
            self.remove()?;
            options.create_new(true);
            serde_json::to_writer(&mut bytes, &First { base }).map_err(unwritable)?;
            bytes.push(b'\n');
        }
        serde_json::to_writer(&mut bytes, entry).map_err(unwritable)?;
        bytes.push(b'\n');
        let write = || -> std::io::Result<bool> {
            let mut file = options.open(&self.path)?;
            // Compared after the open: the check and the write must refer to the same file.
            let free = file.metadata()?.len() == end;
            if free {
                file.write_all(&bytes)?;
            }
            Ok(free)
        };
        let written = write().map_err(|source| self.failed("write", source))?;
        Ok(written.then_some(end + bytes.len() as u64))
    }

    /// Removes the journal if it exists.
    ///
    /// # Errors
    /// The journal cannot be removed.
    pub(super) fn remove(&self) -> Result<(), LabError> {
        match fs::remove_file(&self.path) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(self.failed("remove", source))
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of the line at an offset, from 1.
    fn line_at(&self, offset: u64) -> usize {
        let before = fs::read(&self.path).unwrap_or_default();
        before
            .iter()
            .take(usize::try_from(offset).unwrap_or(usize::MAX))
            .filter(|byte| **byte == b'\n')
            .count()
            + 1
    }

    fn failed(&self, doing: &'static str, source: std::io::Error) -> LabError {
        LabError::Io {
            doing,
            path: self.path.clone(),
            source,
        }
    }

    fn damaged(&self, line: usize, source: &serde_json::Error) -> LabError {
        // `serde_json` counts lines from the start of its input, so the correct number is passed
        // in.
        let said = source.to_string();
        let why = said
            .split(" at line ")
            .next()
            .unwrap_or_default()
            .to_owned();
        LabError::Damaged {
            path: self.path.clone(),
            line,
            column: source.column(),
            why,
        }
    }
}
