//! Where the bytes at a place of a text were seen before.

use super::symbols::{Copied, LONGEST};

/// How far back a copy may reach, in bytes.
pub(super) const WINDOW: usize = 1 << 15;
/// The shortest copy that is looked for: as many bytes as are looked up by.
pub(super) const KEY: usize = 4;
/// How many earlier places are tried.
const TRIES: usize = 128;
/// A copy of so many bytes is good enough not to look further.
const GOOD: usize = 128;
/// A copy of no more than [`KEY`] bytes pays only this near.
const NEAR: usize = 4096;
const KEY_BITS: u32 = 17;

/// The places of a text by the bytes that stand there, the last one first.
pub(super) struct Chains<'b> {
    bytes: &'b [u8],
    /// By key, the last place plus one; zero where there is none.
    last: Vec<usize>,
    /// By place (within a window), the place before with the same key, as in `last`.
    before: Vec<usize>,
}

impl<'b> Chains<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self {
            bytes,
            last: vec![0; 1 << KEY_BITS],
            before: vec![0; WINDOW],
        }
    }

    /// Notes the place `at`; the answer is the last place before it with the same key. The last
    /// bytes of a text, too few for a key, are not noted.
    pub(super) fn note(&mut self, at: usize) -> Option<usize> {
        let key = self.bytes[at..].first_chunk::<KEY>()?;
        // Which different bytes share a key counts too: they use up tries.
        let key = u32::from_be_bytes(*key).wrapping_mul(0x1e35_a7bd) >> (u32::BITS - KEY_BITS);
        let last = std::mem::replace(&mut self.last[key as usize], at + 1);
        self.before[at % WINDOW] = last;
        last.checked_sub(1)
    }

    /// The longest copy for the bytes at `at` among the places from `place` back to `floor`; of
    /// equal ones the nearest.
    pub(super) fn longest(&self, at: usize, place: Option<usize>, floor: usize) -> Option<Copied> {
        let floor = floor.max(at.saturating_sub(WINDOW));
        let most = LONGEST.min(self.bytes.len() - at);
        let mut found: Option<Copied> = None;
        let mut next = place;
        for _ in 0..TRIES {
            let Some(place) = next.filter(|place| *place >= floor) else {
                break;
            };
            let length = self.common(place, at, most);
            let distance = at - place;
            let longer = length > found.map_or(KEY - 1, |found| found.length);
            if longer && (length > KEY || distance <= NEAR) {
                found = Some(Copied { length, distance });
                if length >= GOOD.min(most) {
                    break;
                }
            }
            // A place a whole window back shares its entry with `at`.
            if distance == WINDOW {
                break;
            }
            next = self.before[place % WINDOW].checked_sub(1);
        }
        found
    }

    /// How many bytes are the same at `place` and `at`, at most `most`.
    fn common(&self, place: usize, at: usize, most: usize) -> usize {
        let (old, new) = (&self.bytes[place..], &self.bytes[at..at + most]);
        let same = old.iter().zip(new).take_while(|(old, new)| old == new);
        same.count()
    }
}
