//! Text as values hold it: normal form C, and which part of a text stays the same whatever is
//! appended to it.

use std::sync::Arc;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use unicode_segmentation::UnicodeSegmentation;

/// `text` in normal form C. Free for ASCII.
pub fn normal(text: &str) -> Arc<str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Arc::from(text);
    }
    Arc::from(text.nfc().collect::<String>())
}

/// The longest start of `text` which no appended text can change: the last grapheme goes, unless it
/// is a delimiter that never combines. Go-cty cuts a prefix the same way, so providers see the same
/// refinements.
pub fn safe_prefix(text: &str) -> Arc<str> {
    let text = normal(text);
    let Some((last_at, last)) = text.grapheme_indices(true).next_back() else {
        return text;
    };
    let mut chars = last.chars();
    let single = chars.next().filter(|_| chars.next().is_none());
    if single.is_some_and(|c| r#"-_:;/\,.(){}[]|?!~ 	@#$%^&*+"'"#.contains(c)) {
        return text;
    }
    Arc::from(&text[..last_at])
}
