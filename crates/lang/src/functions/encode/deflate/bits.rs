//! A stream of bits, of which the first is the lowest of the first byte.

/// Bytes that are filled bit by bit.
#[derive(Default)]
pub(super) struct Bits {
    bytes: Vec<u8>,
    /// What fills no byte yet; the first bit is the lowest.
    rest: u64,
    /// How many bits of `rest` count: fewer than 8 between two calls.
    filled: u32,
}

impl Bits {
    /// A stream that goes on behind `bytes`.
    pub(super) fn after(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            ..Self::default()
        }
    }

    /// Adds the lowest `count` bits of `value`, at most 32; the others are zero.
    pub(super) fn put(&mut self, value: u32, count: u32) {
        self.rest |= u64::from(value) << self.filled;
        self.filled += count;
        while self.filled >= 8 {
            self.bytes.push(self.rest as u8);
            self.rest >>= 8;
            self.filled -= 8;
        }
    }

    /// Fills the last byte with zeros, where it is not full.
    pub(super) fn align(&mut self) {
        if self.filled > 0 {
            self.put(0, 8 - self.filled);
        }
    }

    /// Adds whole bytes to a stream that has no byte half full.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        debug_assert_eq!(self.filled, 0, "bytes follow a full byte");
        self.bytes.extend_from_slice(bytes);
    }

    /// All bytes; the last is filled with zeros.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.align();
        self.bytes
    }
}
