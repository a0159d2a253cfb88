//! A text as bytes and copies, in parts that become one block each.

use super::chains::{Chains, KEY, WINDOW};
use super::symbols::{Copied, LONGEST, Piece};

/// How many pieces a part has at most.
const PART: usize = 1 << 14;
/// A copy of so many bytes is taken without a look at what the next place has to offer.
const LONG: usize = 16;
/// The text is seen through a buffer of two windows. When fewer bytes than these are left in it,
/// and there are more to come, its older half is forgotten.
const AHEAD: usize = KEY + LONGEST;

/// What is known of the byte before the place that is looked at.
#[derive(Clone, Copy)]
enum Before {
    /// It stands in a piece.
    Done,
    /// It is in no piece, and no copy begins there.
    Byte,
    /// It is in no piece; this copy may begin there, if none begins here that is longer.
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
        let place = chains.note(at);
        let held = match before {
            Before::Copy(held) => held.length,
            Before::Byte | Before::Done => KEY - 1,
        };
        let found = (held < LONG && bytes.len() - at > held)
            .then(|| chains.longest(at, place, parts.floor))
            .flatten();
        match before {
            Before::Copy(copy) if found.is_none_or(|found| found.length <= held) => {
                let end = at - 1 + copy.length;
                for place in at + 1..end {
                    chains.note(place);
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
    if !matches!(before, Before::Done) {
        parts.add(Piece::Byte(bytes[at - 1]), at);
    }
    parts.end(at);
}

struct Parts<'b, F> {
    bytes: &'b [u8],
    /// Of the part that is being made.
    pieces: Vec<Piece>,
    /// Where that part begins.
    start: usize,
    /// The first byte that is not forgotten.
    floor: usize,
    each: F,
}

impl<F: FnMut(&[Piece], &[u8])> Parts<'_, F> {
    /// Moves the buffer on, where the bytes from `at` on ask for it.
    fn forget(&mut self, at: usize) {
        let end = self.floor + 2 * WINDOW;
        if end < self.bytes.len() && end - at < AHEAD {
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
        // The engine no longer has the bytes of a part whose beginning it has forgotten. Such a
        // part has two bytes a piece at least: it would not be written as it is anyway.
        (self.each)(&self.pieces, &self.bytes[self.start..end]);
        self.pieces.clear();
        self.start = end;
    }
}
