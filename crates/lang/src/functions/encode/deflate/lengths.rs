//! Length-limited prefix codes from symbol frequencies.

use super::bits::Bits;

/// Code of an alphabet: bits of each symbol, first bit lowest, and their number.
pub(super) struct Code(Vec<(u16, u8)>);

impl Code {
    /// Optimal code for symbols with these frequencies, with at most `limit` bits per symbol.
    /// Unused symbols get none.
    pub(super) fn of(counts: &[u32], limit: usize) -> Self {
        Self::with(&lengths(counts, limit))
    }

    /// Canonical code of these lengths: shorter codes first, then smaller symbols.
    pub(super) fn with(lengths: &[u8]) -> Self {
        let mut codes: Vec<(u16, u8)> = lengths.iter().map(|length| (0, *length)).collect();
        let longest = lengths.iter().max().copied().unwrap_or_default();
        let mut next = 0_u16;
        for length in 1..=longest {
            next <<= 1;
            for (code, _) in codes.iter_mut().filter(|(_, own)| *own == length) {
                *code = next.reverse_bits() >> (16 - u32::from(length));
                next += 1;
            }
        }
        Self(codes)
    }

    /// Code length of `symbol`, in bits.
    pub(super) fn length(&self, symbol: usize) -> u8 {
        self.0[symbol].1
    }

    /// Total number of bits of symbols with these frequencies.
    pub(super) fn cost(&self, counts: &[u32]) -> usize {
        let each = counts.iter().zip(&self.0);
        each.map(|(count, (_, length))| *count as usize * usize::from(*length))
            .sum()
    }

    pub(super) fn put(&self, symbol: usize, out: &mut Bits) {
        let (code, length) = self.0[symbol];
        out.put(u32::from(code), u32::from(length));
    }
}

/// Code lengths of all symbols, in bits.
fn lengths(counts: &[u32], limit: usize) -> Vec<u8> {
    let mut lengths = vec![0; counts.len()];
    // Rare symbols first, on equal frequency the smaller one.
    let mut leaves: Vec<(u32, usize)> = counts
        .iter()
        .enumerate()
        .filter_map(|(symbol, count)| (*count > 0).then_some((*count, symbol)))
        .collect();
    leaves.sort_unstable();
    // One or two symbols need one bit each.
    if leaves.len() <= 2 {
        for (_, symbol) in leaves {
            lengths[symbol] = 1;
        }
        return lengths;
    }
    // A code of n symbols never needs more than n - 1 bits.
    let limit = limit.min(leaves.len() - 1);
    for used in leaves_per_level(&leaves, limit) {
        for (_, symbol) in &leaves[..used] {
            lengths[*symbol] += 1;
        }
    }
    lengths
}

/// Item of a level: its weight, and true for a leaf, false for a pair of items of the level below.
type Item = (u32, bool);

/// Package-merge: number of leaves used on each of `limit` levels, rarest first. A symbol gets one
/// bit per level that uses it.
fn leaves_per_level(leaves: &[(u32, usize)], limit: usize) -> Vec<usize> {
    let mut levels: Vec<Vec<Item>> = Vec::with_capacity(limit);
    for _ in 0..limit {
        let below = levels.last().map_or(&[][..], Vec::as_slice);
        levels.push(level(leaves, below));
    }
    // A tree of n leaves has 2n - 2 items below its root.
    let mut taken = 2 * leaves.len() - 2;
    let mut used = Vec::with_capacity(limit);
    for level in levels.iter().rev() {
        let own = level.iter().take(taken).filter(|(_, leaf)| *leaf).count();
        used.push(own);
        taken = 2 * (taken - own);
    }
    used
}

/// Merges the leaves with pairs of the level below, by weight; on equal weight, the pair comes
/// first.
fn level(leaves: &[(u32, usize)], below: &[Item]) -> Vec<Item> {
    let mut pairs = below
        .chunks_exact(2)
        .map(|pair| pair[0].0 + pair[1].0)
        .peekable();
    let mut items = Vec::with_capacity(leaves.len() + below.len() / 2);
    for (weight, _) in leaves {
        while let Some(pair) = pairs.next_if(|pair| pair <= weight) {
            items.push((pair, false));
        }
        items.push((*weight, true));
    }
    items.extend(pairs.map(|pair| (pair, false)));
    items
}
