//! Finds earlier occurrences of the bytes at a position.

use super::symbols::{Copied, MAX_COPY};

/// Maximum distance of a copy, in bytes.
pub(super) const WINDOW: usize = 1 << 15;
/// Bytes of a lookup key, which is also the minimum length of a copy to search for.
pub(super) const KEY: usize = 4;
/// Maximum number of earlier positions tried.
const MAX_TRIES: usize = 128;
/// A copy of this length ends the search.
const NICE_LENGTH: usize = 128;
/// Maximum distance at which a copy of [`KEY`] bytes is smaller than literals.
const MAX_SHORT_DISTANCE: usize = 4096;
const KEY_BITS: u32 = 17;

/// Earlier positions of each 4-byte key, newest first.
pub(super) struct Chains<'b> {
    bytes: &'b [u8],
    /// By key: the last position plus one; zero means no position.
    last: Vec<usize>,
    /// By position in the window: the previous position with the same key, encoded as in `last`.
    previous: Vec<usize>,
}

impl<'b> Chains<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self {
            bytes,
            last: vec![0; 1 << KEY_BITS],
            previous: vec![0; WINDOW],
        }
    }

    /// Records position `at` and returns the previous one with the same key. The last bytes, too
    /// few for a key, are not recorded.
    pub(super) fn insert(&mut self, at: usize) -> Option<usize> {
        let key = self.bytes[at..].first_chunk::<KEY>()?;
        // The hash function must be that of the reference: collisions use up tries and so change
        // the output.
        let key = u32::from_be_bytes(*key).wrapping_mul(0x1e35_a7bd) >> (u32::BITS - KEY_BITS);
        let last = std::mem::replace(&mut self.last[key as usize], at + 1);
        self.previous[at % WINDOW] = last;
        last.checked_sub(1)
    }

    /// Longest copy for the bytes at `at` from `place` back to `floor`; on equal length the
    /// nearest.
    pub(super) fn longest(&self, at: usize, place: Option<usize>, floor: usize) -> Option<Copied> {
        let floor = floor.max(at.saturating_sub(WINDOW));
        let most = MAX_COPY.min(self.bytes.len() - at);
        let mut found: Option<Copied> = None;
        let mut next = place;
        for _ in 0..MAX_TRIES {
            let Some(place) = next.filter(|place| *place >= floor) else {
                break;
            };
            let length = self.common(place, at, most);
            let distance = at - place;
            let longer = length > found.map_or(KEY - 1, |found| found.length);
            if longer && (length > KEY || distance <= MAX_SHORT_DISTANCE) {
                found = Some(Copied { length, distance });
                if length >= NICE_LENGTH.min(most) {
                    break;
                }
            }
            // The position one window back has the same slot as `at`, so its chain is already
            // overwritten.
            if distance == WINDOW {
                break;
            }
            next = self.previous[place % WINDOW].checked_sub(1);
        }
        found
    }

    /// Length of the common prefix at `place` and `at`, at most `most`.
    fn common(&self, place: usize, at: usize, most: usize) -> usize {
        let (old, new) = (&self.bytes[place..], &self.bytes[at..at + most]);
        let same = old.iter().zip(new).take_while(|(old, new)| old == new);
        same.count()
    }
}
