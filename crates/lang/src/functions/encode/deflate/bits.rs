//! Bit stream, least significant bit of each byte first.

/// Bit writer.
#[derive(Default)]
pub(super) struct Bits {
    bytes: Vec<u8>,
    /// Bits of an incomplete byte, lowest first.
    pending_bits: u64,
    /// Number of bits in `rest`: fewer than 8 between two calls.
    filled: u32,
}

impl Bits {
    /// Starts a stream after `bytes`.
    pub(super) fn after(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            ..Self::default()
        }
    }

    /// Adds the lowest `count` bits of `value`, at most 32; the others are zero.
    pub(super) fn put(&mut self, value: u32, count: u32) {
        // At most seven bits are waiting, so 32 more fit.
        self.pending_bits |= u64::from(value) << self.filled;
        self.filled += count;
        while self.filled >= 8 {
            self.bytes.push(self.pending_bits as u8);
            self.pending_bits >>= 8;
            self.filled -= 8;
        }
    }

    /// Pads the last byte with zeros.
    pub(super) fn align(&mut self) {
        if self.filled > 0 {
            self.put(0, 8 - self.filled);
        }
    }

    /// Adds bytes; the stream must be aligned.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        debug_assert_eq!(self.filled, 0, "the stream must be aligned");
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns all bytes, the last one padded with zeros.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.align();
        self.bytes
    }
}
