//! Used addresses of a network, stored as contiguous ranges, so that the lowest free address is
//! found in logarithmic time.

use std::collections::BTreeMap;

/// Addresses as numbers. An address can be used several times, because of edits of the lab file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Addresses {
    /// Number of users of each address.
    users: BTreeMap<u32, usize>,
    /// First and last address of each range.
    ranges: BTreeMap<u32, u32>,
}

impl Addresses {
    pub(super) fn add(&mut self, address: u32) {
        let times = self.users.entry(address).or_default();
        *times += 1;
        if *times > 1 {
            return;
        }
        // Joins the ranges below and above, if the new address closes the gap.
        let before = address.checked_sub(1).and_then(|below| self.run_of(below));
        let after = address
            .checked_add(1)
            .and_then(|above| self.ranges.remove(&above));
        self.ranges.insert(
            before.map_or(address, |(first, _)| first),
            after.unwrap_or(address),
        );
    }

    pub(super) fn remove(&mut self, address: u32) {
        // Unknown addresses are ignored: an edit of the lab file can remove them twice.
        let Some(times) = self.users.get_mut(&address) else {
            return;
        };
        *times -= 1;
        if *times > 0 {
            return;
        }
        self.users.remove(&address);
        let Some((first, last)) = self.run_of(address) else {
            return;
        };
        self.ranges.remove(&first);
        // Splits the range around the removed address.
        if first < address {
            self.ranges.insert(first, address - 1);
        }
        if address < last {
            self.ranges.insert(address + 1, last);
        }
    }

    /// Returns the lowest unused address from `first` on; `None` if all are used.
    pub(super) fn free_from(&self, first: u32) -> Option<u32> {
        self.run_of(first)
            .map_or(Some(first), |(_, last)| last.checked_add(1))
    }

    fn run_of(&self, address: u32) -> Option<(u32, u32)> {
        let (first, last) = self.ranges.range(..=address).next_back()?;
        (*last >= address).then_some((*first, *last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_from_returns_the_lowest_free_address() {
        let mut addresses = Addresses::default();
        let mut plain = Vec::new();
        // A pseudo-random sequence that reuses a few numbers many times, including the highest one.
        let mut draw = 7_u32;
        for _ in 0..4_000 {
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let address = u32::MAX - (draw >> 16) % 24;
            if draw & 0x800 == 0 {
                addresses.add(address);
                plain.push(address);
            } else {
                addresses.remove(address);
                plain
                    .iter()
                    .position(|one| *one == address)
                    .map(|at| plain.swap_remove(at));
            }
            let from = u32::MAX - 20;
            assert_eq!(
                addresses.free_from(from),
                (from..=u32::MAX).find(|one| !plain.contains(one))
            );
        }
        plain
            .into_iter()
            .for_each(|address| addresses.remove(address));
        assert_eq!(addresses, Addresses::default());
    }
}
