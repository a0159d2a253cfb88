//! Source texts and positions in them: byte spans, and the lines and columns shown to operators.
//! The `SourceMap` owns all texts; it only grows, and clones share it.

use std::sync::{Arc, RwLock};

use crate::stored::StoredConfiguration;
use unicode_segmentation::UnicodeSegmentation;

/// Id of a text in a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// Half-open byte range in one text. Offsets count from the start of the file on disk, including a
/// byte order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The text.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A span from byte offsets.
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        Span {
            file,
            start: start as u32,
            end: end.max(start) as u32,
        }
    }

    /// The smallest span that holds both (of the same file; otherwise `self`).
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span {
            file: self.file,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// The empty span at this span's start.
    pub fn at_start(self) -> Span {
        Span {
            end: self.start,
            ..self
        }
    }

    /// The empty span at this span's end.
    pub fn at_end(self) -> Span {
        Span {
            start: self.end,
            ..self
        }
    }

    /// Returns true if `other` lies fully inside.
    pub fn contains(self, other: Span) -> bool {
        self.file == other.file && self.start <= other.start && other.end <= self.end
    }
}

/// Source position shown to operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// From 1.
    pub line: u32,
    /// From 1, in grapheme clusters.
    pub column: u32,
    /// Offset from the start of the file, in bytes.
    pub byte: u32,
}

/// Source text.
#[derive(Debug)]
pub struct SourceFile {
    /// Name shown to the operator: relative to the root directory, or `<value for var.x>`.
    pub name: String,
    /// Text as read (invalid UTF-8 replaced).
    pub text: Arc<str>,
    /// Byte offset at which each line starts.
    lines: Vec<u32>,
    /// Length of the byte order mark, 0 or 3, which does not count as a column.
    bom: u32,
    /// True if the text may hold secrets. Diagnostics do not quote its lines.
    pub private: bool,
}

impl SourceFile {
    fn new(name: String, text: Arc<str>) -> Self {
        let bom = if text.starts_with('\u{feff}') { 3 } else { 0 };
        // The first line starts after the byte order mark.
        let mut lines = vec![bom];
        lines.extend(
            text.bytes()
                .enumerate()
                .filter(|(_, b)| *b == b'\n')
                .map(|(i, _)| i as u32 + 1),
        );
        SourceFile {
            name,
            text,
            lines,
            bom,
            private: false,
        }
    }

    /// Line and column of a byte offset; offsets past the end are the end.
    pub fn position(&self, byte: u32) -> Position {
        let byte = byte.min(self.text.len() as u32).max(self.bom);
        let line = self.lines.partition_point(|start| *start <= byte).max(1) - 1;
        let start = self.lines[line] as usize;
        let before = self
            .text
            // A span may end inside a character, because places in JSON strings shift after
            // escapes.
            .get(start..floor_boundary(&self.text, byte as usize))
            .unwrap_or("");
        // Avoids grapheme segmentation of long ASCII lines, where each byte is one column.
        let plain = before.is_ascii() && !before.contains('\r');
        let columns = if plain {
            before.len()
        } else {
            before.graphemes(true).count()
        };
        Position {
            line: line as u32 + 1,
            column: columns as u32 + 1,
            byte,
        }
    }

    /// The text of a line (from 1) without its line ending.
    pub fn line(&self, line: u32) -> &str {
        let index = (line as usize).saturating_sub(1);
        let Some(start) = self.lines.get(index) else {
            return "";
        };
        let end = self
            .lines
            .get(index + 1)
            .map_or(self.text.len(), |e| *e as usize);
        self.text
            .get(*start as usize..end)
            .unwrap_or("")
            .trim_end_matches(['\n', '\r'])
    }
}

fn floor_boundary(text: &str, mut index: usize) -> usize {
    while index > 0 && !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// Span shown to operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// File name relative to the root directory.
    pub filename: String,
    /// First character.
    pub start: Position,
    /// One past the last character.
    pub end: Position,
}

/// All texts that were read: append-only; clones share one store.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Arc<RwLock<Vec<Arc<SourceFile>>>>,
    /// Configuration to read instead of the files on disk.
    stored: Option<Arc<StoredConfiguration>>,
}

impl SourceMap {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store for a stored configuration, which is read instead of the files on disk.
    pub fn of_stored(stored: Option<Arc<StoredConfiguration>>) -> Self {
        Self {
            stored,
            ..Self::default()
        }
    }

    /// Configuration to read instead of the files on disk.
    pub fn stored(&self) -> Option<&Arc<StoredConfiguration>> {
        self.stored.as_ref()
    }

    /// Adds a text under the name that operators see.
    pub fn add(&self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        self.put(SourceFile::new(name.into(), text.into()))
    }

    /// Adds a text that may hold secrets; diagnostics do not show its lines.
    pub fn add_private(&self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        self.put(SourceFile {
            private: true,
            ..SourceFile::new(name.into(), text.into())
        })
    }

    fn put(&self, file: SourceFile) -> FileId {
        let file = Arc::new(file);
        // The list only grows, so a panic of another thread cannot leave it half changed.
        let mut files = self
            .files
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        files.push(file);
        FileId(files.len() as u32 - 1)
    }

    /// The text behind an id.
    pub fn get(&self, id: FileId) -> Option<Arc<SourceFile>> {
        self.files
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .get(id.0 as usize)
            .cloned()
    }

    /// The text with this name, if it was read.
    pub fn find(&self, name: &str) -> Option<FileId> {
        let files = self
            .files
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        files
            .iter()
            .position(|f| f.name == name)
            .map(|i| FileId(i as u32))
    }

    /// The name of the file of a span, or an empty text.
    pub fn name(&self, id: FileId) -> String {
        self.get(id).map(|f| f.name.clone()).unwrap_or_default()
    }

    /// File name, lines and columns of a span.
    pub fn range(&self, span: Span) -> Option<Range> {
        let file = self.get(span.file)?;
        Some(Range {
            filename: file.name.clone(),
            start: file.position(span.start),
            end: file.position(span.end),
        })
    }

    /// The source text of a span.
    pub fn snippet(&self, span: Span) -> String {
        self.get(span.file)
            .and_then(|f| {
                f.text
                    .get(span.start as usize..span.end as usize)
                    .map(str::to_owned)
            })
            .unwrap_or_default()
    }

    /// The whole line on which a span starts.
    pub fn source_line(&self, span: Span) -> String {
        self.get(span.file)
            .map(|f| f.line(f.position(span.start).line).to_owned())
            .unwrap_or_default()
    }
}
