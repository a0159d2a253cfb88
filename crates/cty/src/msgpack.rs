//! The msgpack encoding of values, as it goes to providers and comes from them; byte for byte the
//! reference engine's. Unknown is extension 0, unknown with refinements extension 12; anything
//! dynamic is an array of type and value.

mod decode;
mod encode;
mod read;

pub use decode::decode;
pub use encode::encode;

/// Extension code of unknown values with refinements.
const REFINED: i8 = 0x0c;

/// The largest block of refinements that is read.
const MAX_REFINEMENTS: usize = 1024;

/// Keys inside a block of refinements.
mod key {
    pub(super) const NULLNESS: i64 = 1;
    pub(super) const STRING_PREFIX: i64 = 2;
    pub(super) const NUMBER_MIN: i64 = 3;
    pub(super) const NUMBER_MAX: i64 = 4;
    pub(super) const LENGTH_MIN: i64 = 5;
    pub(super) const LENGTH_MAX: i64 = 6;
}
