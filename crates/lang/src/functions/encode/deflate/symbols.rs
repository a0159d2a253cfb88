//! Symbols of the format: literals, end of block, lengths and distances.

/// A piece of a text.
#[derive(Clone, Copy)]
pub(super) enum Piece {
    /// Literal byte.
    Byte(u8),
    Copy(Copied),
}

/// Copy of the `length` bytes at `distance` bytes before.
#[derive(Clone, Copy)]
pub(super) struct Copied {
    /// 3 to 258.
    pub(super) length: usize,
    /// 1 to 32768.
    pub(super) distance: usize,
}

/// End-of-block symbol.
pub(super) const END: usize = 256;
/// Number of symbols for literals, end of block, and lengths.
pub(super) const LITERALS: usize = 286;
/// Number of symbols for distances.
pub(super) const DISTANCES: usize = 30;
/// Minimum length of a copy.
const MIN_COPY: usize = 3;
/// Maximum length of a copy.
pub(super) const MAX_COPY: usize = 258;

/// Symbol for a range of values, with extra bits that select one.
#[derive(Clone, Copy)]
pub(super) struct Symbol {
    pub(super) symbol: usize,
    pub(super) extra_bits: u32,
    /// Number of bits in `more`.
    pub(super) bits: u32,
}

impl Symbol {
    /// Small values have their own symbols; above, each power of two is divided among `1 << kept`
    /// symbols.
    fn of(value: usize, kept: u32) -> Self {
        let bits = value.checked_ilog2().unwrap_or(0).saturating_sub(kept);
        Self {
            symbol: ((bits as usize) << kept) + (value >> bits),
            extra_bits: (value & ((1 << bits) - 1)) as u32,
            bits,
        }
    }
}

impl Copied {
    pub(super) fn length_symbol(self) -> Symbol {
        // The maximum length has its own symbol instead of being the last of a range.
        if self.length == MAX_COPY {
            return Symbol {
                symbol: LITERALS - 1,
                extra_bits: 0,
                bits: 0,
            };
        }
        let group = Symbol::of(self.length - MIN_COPY, 2);
        Symbol {
            symbol: END + 1 + group.symbol,
            ..group
        }
    }

    pub(super) fn distance_symbol(self) -> Symbol {
        Symbol::of(self.distance - 1, 1)
    }
}
