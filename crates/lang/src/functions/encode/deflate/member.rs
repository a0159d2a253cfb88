//! A text between the head of a gzip file and its checksum.

use super::bits::Bits;
use super::{block, pieces};

/// Deflate; no name, no time, no hint at the effort, an unknown system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// The gzip file of `bytes`: byte for byte what the reference engine makes of them.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Bits::after(HEAD.to_vec());
    pieces::each_part(bytes, |pieces, part| block::put(pieces, part, &mut out));
    // The engine flushes its compressor before it closes it, and each leaves an empty block.
    block::put_plain(&[], false, &mut out);
    block::put_plain(&[], true, &mut out);
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    out.extend(&sum.sum().to_le_bytes());
    // Of a length past 4 GiB the lower half is written.
    out.extend(&(bytes.len() as u32).to_le_bytes());
    out.finish()
}
