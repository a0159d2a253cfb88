//! Splits a text into literals and copies, in parts of one block each.

use super::chains::{Chains, KEY, WINDOW};
use super::symbols::{Copied, MAX_COPY, Piece};

/// Maximum number of pieces in a part.
const PART: usize = 1 << 14;
/// A copy of this length is used without trying the next position.
const GOOD_LENGTH: usize = 16;
/// The reference compressor reads through a buffer of two windows. When fewer bytes than this are
/// left and more follow, it drops the older half.
const LOOKAHEAD: usize = KEY + MAX_COPY;

/// State of the byte before the current position.
#[derive(Clone, Copy)]
enum Before {
    /// Part of an emitted piece.
    Done,
    /// Not emitted, and no copy starts there.
    Byte,
    /// Not emitted; this copy starts here unless a longer one starts at the next byte.
    Copy(Copied),
}

/// Calls `each` with every part of a text: its pieces and its bytes.
pub(super) fn each_part(bytes: &[u8], each: impl FnMut(&[Piece], &[u8])) {
    let mut parts = Parts {
        bytes,
        pieces: Vec::with_capacity(PART.min(bytes.len())),
        start: 0,
        floor: 0,
        each,
    };
    let mut chains = Chains::new(bytes);
    let mut before = Before::Done;
    let mut at = 0;
    while at < bytes.len() {
        parts.forget(at);
        let place = chains.insert(at);
        // A new copy must be longer than the one held back.
        let held = match before {
            Before::Copy(held) => held.length,
            Before::Byte | Before::Done => KEY - 1,
        };
        let found = (held < GOOD_LENGTH && bytes.len() - at > held)
            .then(|| chains.longest(at, place, parts.floor))
            .flatten();
        match before {
            Before::Copy(copy) if found.is_none_or(|found| found.length <= held) => {
                // The held copy began one byte before `at`.
                let end = at - 1 + copy.length;
                // Positions inside the copy are recorded, so that later copies can start there.
                for place in at + 1..end {
                    chains.insert(place);
                }
                parts.add(Piece::Copy(copy), end);
                (at, before) = (end, Before::Done);
                continue;
            }
            Before::Copy(_) | Before::Byte => parts.add(Piece::Byte(bytes[at - 1]), at),
            Before::Done => {}
        }
        before = found.map_or(Before::Byte, Before::Copy);
        at += 1;
    }
    // Only a single byte can be left, because a copy has at least `KEY` bytes.
    if !matches!(before, Before::Done) {
        parts.add(Piece::Byte(bytes[at - 1]), at);
    }
    parts.end(at);
}

struct Parts<'b, F> {
    bytes: &'b [u8],
    /// Pieces of the current part.
    pieces: Vec<Piece>,
    /// Start of that part.
    start: usize,
    /// First byte that is still in the buffer.
    floor: usize,
    each: F,
}

impl<F: FnMut(&[Piece], &[u8])> Parts<'_, F> {
    /// Moves the buffer forward if the bytes from `at` on need it.
    fn forget(&mut self, at: usize) {
        let end = self.floor + 2 * WINDOW;
        if end < self.bytes.len() && end - at < LOOKAHEAD {
            self.floor += WINDOW;
        }
    }

    /// Adds a piece that ends before `end`.
    fn add(&mut self, piece: Piece, end: usize) {
        self.pieces.push(piece);
        if self.pieces.len() == PART {
            self.end(end);
        }
    }

    /// Ends the part before `end`.
    fn end(&mut self, end: usize) {
        if self.pieces.is_empty() {
            return;
        }
        // The reference compressor no longer has the bytes of a part whose start it dropped, and
        // cannot store it. Such a part has at least two bytes per piece, so stored form is never
        // the shortest.
        (self.each)(&self.pieces, &self.bytes[self.start..end]);
        self.pieces.clear();
        self.start = end;
    }
}
