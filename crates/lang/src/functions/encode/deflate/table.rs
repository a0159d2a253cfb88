//! The code lengths of a block as they are written before it: runs, in a code of their own.

use super::bits::Bits;
use super::lengths::Code;

/// How many symbols there are for runs of lengths.
const RUNS: usize = 19;
/// The most bits that such a symbol may have.
const LIMIT: usize = 7;
/// The order in which the lengths of these symbols are written: what is rare comes last and is left
/// out.
const ORDER: [usize; RUNS] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];
/// The symbols that stand for several lengths: the last length again; zeros; many zeros.
const AGAIN: usize = 16;
const ZEROS: usize = 17;
const MANY_ZEROS: usize = 18;

/// A symbol, the bits behind it, and how many they are.
type Run = (usize, u32, u32);

/// The lengths of the two codes of a block.
pub(super) struct Table {
    literals: usize,
    distances: usize,
    runs: Vec<Run>,
    code: Code,
    /// How many entries of `ORDER` are written.
    written: usize,
}

impl Table {
    /// Of the first `literals` and `distances` symbols of two codes.
    pub(super) fn new(
        (literal, literals): (&Code, usize),
        (distance, distances): (&Code, usize),
    ) -> Self {
        let lengths: Vec<u8> = (0..literals)
            .map(|symbol| literal.length(symbol))
            .chain((0..distances).map(|symbol| distance.length(symbol)))
            .collect();
        // A run may go on from the one code into the other.
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
            written: last.map_or(0, |last| last + 1).max(4),
        }
    }

    /// How many bits the table takes.
    pub(super) fn cost(&self) -> usize {
        let runs = self
            .runs
            .iter()
            .map(|(symbol, _, bits)| usize::from(self.code.length(*symbol)) + *bits as usize);
        5 + 5 + 4 + 3 * self.written + runs.sum::<usize>()
    }

    pub(super) fn put(&self, out: &mut Bits) {
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
    let mut count = count - 1;
    while count >= 3 {
        let run = count.min(6);
        runs.push((AGAIN, (run - 3) as u32, 2));
        count -= run;
    }
    runs.extend(std::iter::repeat_n(plain, count));
}
