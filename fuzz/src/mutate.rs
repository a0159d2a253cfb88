//! Deterministic mutations of seeds, which replace a fuzzer in the smoke tests of CI.

/// Random number generator (SplitMix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Creates a generator; the same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 {
            0
        } else {
            (self.next() % n as u64) as usize
        }
    }
}

/// Bytes that are difficult for parsers.
const EDGES: &[&[u8]] = &[
    b"\0",
    b"\n",
    b"\r\n",
    b"\xff",
    b"\xc0",
    b"\xc7",
    b"\xdf\xff\xff\xff\xff",
    b"\xef\xbb\xbf",
    b"${",
    b"%{",
    b"\"",
    b"\\",
    b"\\u",
    b"<<E\n",
    b"[[",
    b"{{",
    b"((",
    b"e9999",
    b"-",
    b".",
    b"|",
    b"1e-400",
    b"\xcc\x81",
    "👨‍👩‍👧".as_bytes(),
    b"[*]",
    b"...",
    b"/*",
    b"null",
    b"9223372036854775808",
];
/// Maximum length of a mutation.
const MAX: usize = 4096;

/// Mutates a seed, with parts of a second one.
pub fn mutate(dice: &mut Dice, seed: &[u8], other: &[u8]) -> Vec<u8> {
    let mut out = seed.to_vec();
    // Several small mutations reach states that a single one cannot.
    for _ in 0..=dice.below(4) {
        let at = dice.below(out.len() + 1);
        match dice.below(8) {
            0 if at < out.len() => out[at] = dice.below(256) as u8,
            1 if at < out.len() => out[at] ^= 1 << dice.below(8),
            2 => out.insert(at, dice.below(256) as u8),
            3 => {
                let end = (at + 1 + dice.below(8)).min(out.len());
                out.drain(at..end);
            }
            4 => {
                let edge = EDGES[dice.below(EDGES.len())];
                out.splice(at..at, edge.iter().copied());
            }
            5 => {
                // Repeats a piece.
                let end = (at + 1 + dice.below(16)).min(out.len());
                let piece = out[at..end].to_vec();
                let times = 1 + dice.below(8);
                out.splice(at..at, piece.repeat(times));
            }
            6 => {
                // Replaces the end by that of the other seed.
                let from = dice.below(other.len() + 1);
                out.truncate(at);
                out.extend_from_slice(&other[from..]);
            }
            _ => {
                let from = dice.below(other.len() + 1);
                let end = (from + 1 + dice.below(24)).min(other.len());
                out.splice(at..at, other[from..end].iter().copied());
            }
        }
    }
    // Repeated pieces can make the input grow quickly.
    out.truncate(MAX);
    out
}
