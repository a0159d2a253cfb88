//! msgpack encoding of values, as exchanged with providers. The output is byte for byte that of
//! go-cty. Unknown values are extension 0, or extension 12 with refinements; a dynamic value is an
//! array of its type and the value.

mod decode;
mod encode;
mod read;

pub use decode::decode;
pub use encode::encode;

/// Extension code of unknown values with refinements.
const REFINED: i8 = 0x0c;

/// Largest accepted block of refinements, in bytes.
const MAX_REFINEMENTS: usize = 1024;

/// Keys of a block of refinements.
mod key {
    pub(super) const NULLNESS: i64 = 1;
    pub(super) const STRING_PREFIX: i64 = 2;
    pub(super) const NUMBER_MIN: i64 = 3;
    pub(super) const NUMBER_MAX: i64 = 4;
    pub(super) const LENGTH_MIN: i64 = 5;
    pub(super) const LENGTH_MAX: i64 = 6;
}
