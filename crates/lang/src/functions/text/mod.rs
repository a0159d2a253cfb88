//! String functions. Lengths and positions count grapheme clusters.

pub(super) mod chars;
pub(super) mod digits;
pub(super) mod format;
pub(super) mod pattern;
pub(super) mod plain;
pub(super) mod regex;
pub(super) mod verbs;
