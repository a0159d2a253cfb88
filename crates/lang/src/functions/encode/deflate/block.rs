//! Encodes one part of a text in the shortest of three forms: stored, fixed code, or dynamic code.

use super::bits::Bits;
use super::lengths::Code;
use super::symbols::{DISTANCES, END, LITERALS, Piece};
use super::table::Table;

/// Maximum code length, in bits.
const LIMIT: usize = 15;
/// Maximum size of a stored block, in bytes.
const PLAIN: usize = 65_535;

/// Symbol frequencies of a block.
struct Counts {
    literals: [u32; LITERALS],
    distances: [u32; DISTANCES],
    /// Total number of extra bits after the symbols.
    extra_bits: usize,
}

impl Counts {
    fn of(pieces: &[Piece]) -> Self {
        let mut counts = Self {
            literals: [0; LITERALS],
            distances: [0; DISTANCES],
            extra_bits: 0,
        };
        for piece in pieces {
            match piece {
                Piece::Byte(byte) => counts.literals[usize::from(*byte)] += 1,
                Piece::Copy(copy) => {
                    let (length, distance) = (copy.length_symbol(), copy.distance_symbol());
                    counts.literals[length.symbol] += 1;
                    counts.distances[distance.symbol] += 1;
                    counts.extra_bits += (length.bits + distance.bits) as usize;
                }
            }
        }
        // Each block ends with this symbol exactly once.
        counts.literals[END] = 1;
        // A code without symbols cannot be encoded, so a block without copies gets one distance. It
        // counts in the sizes of both codes, like in the reference compressor.
        if counts.distances.iter().all(|count| *count == 0) {
            counts.distances[0] = 1;
        }
        counts
    }
}

/// Literal and distance codes of a block.
struct Codes {
    literal: Code,
    distance: Code,
}

impl Codes {
    /// The fixed codes of the format.
    fn fixed() -> Self {
        let mut literal = [8; 288];
        literal[144..256].fill(9);
        literal[256..280].fill(7);
        Self {
            literal: Code::with(&literal),
            distance: Code::with(&[5; DISTANCES]),
        }
    }

    /// Optimal codes for this block.
    fn optimal(counts: &Counts) -> Self {
        Self {
            literal: Code::of(&counts.literals, LIMIT),
            distance: Code::of(&counts.distances, LIMIT),
        }
    }

    /// Size in bits, including the three bits of the header.
    fn cost(&self, counts: &Counts) -> usize {
        3 + self.literal.cost(&counts.literals)
            + self.distance.cost(&counts.distances)
            + counts.extra_bits
    }

    fn put(&self, pieces: &[Piece], out: &mut Bits) {
        for piece in pieces {
            match piece {
                Piece::Byte(byte) => self.literal.put(usize::from(*byte), out),
                Piece::Copy(copy) => {
                    let (length, distance) = (copy.length_symbol(), copy.distance_symbol());
                    self.literal.put(length.symbol, out);
                    out.put(length.extra_bits, length.bits);
                    self.distance.put(distance.symbol, out);
                    out.put(distance.extra_bits, distance.bits);
                }
            }
        }
        self.literal.put(END, out);
    }
}

/// Number of symbols up to the last one in use.
fn used_symbols(counts: &[u32]) -> usize {
    counts
        .iter()
        .rposition(|count| *count > 0)
        .map_or(0, |last| last + 1)
}

/// Writes a block that is not the last one. On equal size, the fixed code wins over the dynamic
/// one, and both over a stored block.
pub(super) fn put(pieces: &[Piece], bytes: &[u8], out: &mut Bits) {
    let counts = Counts::of(pieces);
    let (known, own) = (Codes::fixed(), Codes::optimal(&counts));
    let table = Table::new(
        (&own.literal, used_symbols(&counts.literals)),
        (&own.distance, used_symbols(&counts.distances)),
    );
    let (known_cost, own_cost) = (known.cost(&counts), own.cost(&counts) + table.cost());
    // Five bytes: the padded header, and the length twice.
    if bytes.len() <= PLAIN && (bytes.len() + 5) * 8 < known_cost.min(own_cost) {
        put_plain(bytes, false, out);
    } else if own_cost < known_cost {
        // Header: not the last block, then the type, lowest bit first.
        out.put(0b100, 3);
        table.put(out);
        own.put(pieces, out);
    } else {
        out.put(0b010, 3);
        known.put(pieces, out);
    }
}

/// Writes a stored block of at most 65535 bytes; `last` marks the last block.
pub(super) fn put_plain(bytes: &[u8], last: bool, out: &mut Bits) {
    let length = bytes.len() as u16;
    out.put(u32::from(last), 3);
    out.align();
    out.extend(&length.to_le_bytes());
    // The format repeats the length as its complement.
    out.extend(&(!length).to_le_bytes());
    out.extend(bytes);
}
