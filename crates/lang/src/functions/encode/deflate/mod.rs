//! Gzip compressor with exactly the output of OpenTofu's.
//!
//! Compressed text is a value that states and plans store and compare. Other bytes would show a
//! change that does not exist; in `user_data`, they would replace the instance. The format leaves
//! choices to the compressor; this one makes those of OpenTofu's compressor at its only setting.
//!
//! - `bits`: bit stream.
//! - `lengths`: code lengths of symbols, and the resulting codes.
//! - `symbols`: pieces of a text as symbols of the format.
//! - `chains`: earlier occurrences of the bytes at a position.
//! - `pieces`: a text as literals and copies, part by part.
//! - `table`: encoding of a block's code lengths.
//! - `block`: one part in the shortest of three encodings.
//! - `member`: the complete file with header and checksum.

mod bits;
mod block;
mod chains;
mod lengths;
mod member;
mod pieces;
mod symbols;
mod table;
#[cfg(test)]
mod tests;

pub use self::member::gzip;
