//! Gzip file: header, compressed text, checksum.

use super::bits::Bits;
use super::{block, pieces};

/// Header: deflate, no name, no time, no effort hint, unknown system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Compresses `bytes` to a gzip file, byte for byte like OpenTofu.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Bits::after(HEAD.to_vec());
    pieces::each_part(bytes, |pieces, part| block::put(pieces, part, &mut out));
    // The reference flushes and then closes the compressor; each writes an empty block.
    block::put_plain(&[], false, &mut out);
    block::put_plain(&[], true, &mut out);
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    out.extend(&sum.sum().to_le_bytes());
    // The format stores the length modulo 4 GiB.
    out.extend(&(bytes.len() as u32).to_le_bytes());
    out.finish()
}
