//! Prefix codes with a longest length: how many bits a symbol has by how often it occurs.

use super::bits::Bits;

/// The code of an alphabet: for each symbol its bits, the first one lowest, and their number.
pub(super) struct Code(Vec<(u16, u8)>);

impl Code {
    /// The shortest code for symbols that occur as often as `counts` says, with at most `limit`
    /// bits a symbol. A symbol that does not occur has none.
    pub(super) fn of(counts: &[u32], limit: usize) -> Self {
        Self::with(&lengths(counts, limit))
    }

    /// The code that follows from lengths alone: shorter codes first, then smaller symbols.
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

    /// How many bits `symbol` has.
    pub(super) fn length(&self, symbol: usize) -> u8 {
        self.0[symbol].1
    }

    /// How many bits a text has in which symbols occur as often as `counts` says.
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

/// How many bits each symbol has.
fn lengths(counts: &[u32], limit: usize) -> Vec<u8> {
    let mut lengths = vec![0; counts.len()];
    // The rare ones first, and of equal ones the smaller.
    let mut leaves: Vec<(u32, usize)> = counts
        .iter()
        .enumerate()
        .filter_map(|(symbol, count)| (*count > 0).then_some((*count, symbol)))
        .collect();
    leaves.sort_unstable();
    if leaves.len() <= 2 {
        for (_, symbol) in leaves {
            lengths[symbol] = 1;
        }
        return lengths;
    }
    let limit = limit.min(leaves.len() - 1);
    for used in leaves_per_level(&leaves, limit) {
        for (_, symbol) in &leaves[..used] {
            lengths[*symbol] += 1;
        }
    }
    lengths
}

/// One item of a level: its weight, and whether it is a leaf of its own or two items of the level
/// below.
type Item = (u32, bool);

/// Package-merge: on each of `limit` levels, the first of the leaves that are used there. A symbol
/// has one bit for each level that uses it.
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

/// The leaves and the pairs of the level below, by weight; of equals, the pair comes first.
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
