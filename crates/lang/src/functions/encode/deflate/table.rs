//! Code lengths of a block as encoded before it: run-length symbols with their own code.

use super::bits::Bits;
use super::lengths::Code;

/// Number of symbols for runs of lengths.
const RUNS: usize = 19;
/// Maximum code length of these symbols, in bits.
const LIMIT: usize = 7;
/// Order of these symbols' lengths; rare ones come last, so that they can be omitted.
const ORDER: [usize; RUNS] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];
/// Symbols for runs: repeat the last length, zeros, many zeros.
const REPEAT_LAST: usize = 16;
const ZEROS: usize = 17;
const MANY_ZEROS: usize = 18;

/// Symbol, its extra bits, and their number.
type Run = (usize, u32, u32);

/// Code lengths of both codes of a block.
pub(super) struct Table {
    literals: usize,
    distances: usize,
    runs: Vec<Run>,
    code: Code,
    /// Number of entries of `ORDER` to write.
    written: usize,
}

impl Table {
    /// Table of the first `literals` and `distances` symbols.
    pub(super) fn new(
        (literal, literals): (&Code, usize),
        (distance, distances): (&Code, usize),
    ) -> Self {
        let lengths: Vec<u8> = (0..literals)
            .map(|symbol| literal.length(symbol))
            .chain((0..distances).map(|symbol| distance.length(symbol)))
            .collect();
        // A run may cross from the first code to the second.
        let mut runs = Vec::new();
        for same in lengths.chunk_by(|one, next| one == next) {
            match same[0] {
                0 => zeros(same.len(), &mut runs),
                length => repeated(length, same.len(), &mut runs),
            }
        }
        let mut counts = [0; RUNS];
        for (symbol, _, _) in &runs {
            counts[*symbol] += 1;
        }
        let last = ORDER.iter().rposition(|symbol| counts[*symbol] > 0);
        Self {
            literals,
            distances,
            runs,
            code: Code::of(&counts, LIMIT),
            // The format always has the first four.
            written: last.map_or(0, |last| last + 1).max(4),
        }
    }

    /// Size of the table, in bits.
    pub(super) fn cost(&self) -> usize {
        let runs = self
            .runs
            .iter()
            .map(|(symbol, _, bits)| usize::from(self.code.length(*symbol)) + *bits as usize);
        5 + 5 + 4 + 3 * self.written + runs.sum::<usize>()
    }

    pub(super) fn put(&self, out: &mut Bits) {
        // The format stores these numbers minus their minimum.
        out.put((self.literals - 257) as u32, 5);
        out.put((self.distances - 1) as u32, 5);
        out.put((self.written - 4) as u32, 4);
        for symbol in &ORDER[..self.written] {
            out.put(u32::from(self.code.length(*symbol)), 3);
        }
        for (symbol, more, bits) in &self.runs {
            self.code.put(*symbol, out);
            out.put(*more, *bits);
        }
    }
}

fn zeros(mut count: usize, runs: &mut Vec<Run>) {
    while count >= 11 {
        let run = count.min(138);
        runs.push((MANY_ZEROS, (run - 11) as u32, 7));
        count -= run;
    }
    if count >= 3 {
        runs.push((ZEROS, (count - 3) as u32, 3));
        count = 0;
    }
    runs.extend(std::iter::repeat_n((0, 0, 0), count));
}

fn repeated(length: u8, count: usize, runs: &mut Vec<Run>) {
    let plain = (usize::from(length), 0, 0);
    runs.push(plain);
    // The first length is written as such; only its repetitions form runs.
    let mut count = count - 1;
    while count >= 3 {
        let run = count.min(6);
        runs.push((REPEAT_LAST, (run - 3) as u32, 2));
        count -= run;
    }
    runs.extend(std::iter::repeat_n(plain, count));
}
