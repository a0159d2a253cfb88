//! The symbols of the format: bytes, the end of a block, lengths and distances of copies.

/// A piece of a text.
#[derive(Clone, Copy)]
pub(super) enum Piece {
    /// This byte.
    Byte(u8),
    Copy(Copied),
}

/// The `length` bytes that stand `distance` bytes before.
#[derive(Clone, Copy)]
pub(super) struct Copied {
    /// 3 to 258.
    pub(super) length: usize,
    /// 1 to 32768.
    pub(super) distance: usize,
}

/// The symbol that ends a block.
pub(super) const END: usize = 256;
/// How many symbols there are for bytes, the end, and lengths.
pub(super) const LITERALS: usize = 286;
/// How many symbols there are for distances.
pub(super) const DISTANCES: usize = 30;
/// The shortest copy that the format knows.
const SHORTEST: usize = 3;
/// The longest copy that the format knows.
pub(super) const LONGEST: usize = 258;

/// A symbol for several values, and bits behind it that say which one.
#[derive(Clone, Copy)]
pub(super) struct Symbol {
    pub(super) symbol: usize,
    pub(super) more: u32,
    /// How many bits `more` has.
    pub(super) bits: u32,
}

impl Symbol {
    /// Small values have symbols of their own; from there on, each power of two is divided evenly
    /// among `1 << kept` symbols.
    fn of(value: usize, kept: u32) -> Self {
        let bits = value.checked_ilog2().unwrap_or(0).saturating_sub(kept);
        Self {
            symbol: ((bits as usize) << kept) + (value >> bits),
            more: (value & ((1 << bits) - 1)) as u32,
            bits,
        }
    }
}

impl Copied {
    pub(super) fn length_symbol(self) -> Symbol {
        // The longest one would be the last of a group, and has a symbol of its own.
        if self.length == LONGEST {
            return Symbol {
                symbol: LITERALS - 1,
                more: 0,
                bits: 0,
            };
        }
        let group = Symbol::of(self.length - SHORTEST, 2);
        Symbol {
            symbol: END + 1 + group.symbol,
            ..group
        }
    }

    pub(super) fn distance_symbol(self) -> Symbol {
        Symbol::of(self.distance - 1, 1)
    }
}
