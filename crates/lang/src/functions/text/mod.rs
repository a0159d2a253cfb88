//! Functions on text. Lengths and positions count what a reader sees as one character (grapheme
//! clusters).

pub(super) mod chars;
pub(super) mod digits;
pub(super) mod format;
pub(super) mod pattern;
pub(super) mod plain;
pub(super) mod regex;
pub(super) mod verbs;
