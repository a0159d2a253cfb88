//! Gzip with the very bytes that the reference engine writes.
//!
//! A packed text is a value like any other: it stands in states and plans and is compared there, so
//! that a compressor which chooses otherwise, however well, shows a change where there is none (and
//! where the text is the `user_data` of an instance, replaces the instance). The format leaves the
//! choices to the compressor; the ones made here are those of OpenTofu's, at its only setting.
//!
//! - `bits`: a stream of bits.
//! - `lengths`: how many bits each symbol has, and the codes that follow from it.
//! - `symbols`: pieces of a text as symbols of the format.
//! - `chains`: where the bytes at a place were seen before.
//! - `pieces`: a text as bytes and copies, part by part.
//! - `table`: the code lengths of a block as they are written before it.
//! - `block`: one part in the shortest of three ways.
//! - `member`: the whole, between a head and a checksum.

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
