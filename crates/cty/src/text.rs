//! Text of values: normalization to NFC, stable prefixes, and quoting.

use std::fmt::Write as _;
use std::sync::Arc;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use unicode_segmentation::UnicodeSegmentation;

/// Normalizes `text` to NFC; ASCII text is only copied.
pub fn normal(text: &str) -> Arc<str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Arc::from(text);
    }
    Arc::from(text.nfc().collect::<String>())
}

/// Returns the longest prefix of `text` that no appended text can change. The last grapheme is
/// removed, unless it is a delimiter that never combines. go-cty cuts prefixes in the same way, so
/// providers receive the same refinements.
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

/// Quotes text as Go's `%q` does.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c if c.is_ascii() || printable(c) => out.push(c),
            c if (c as u32) < 0x10000 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => {
                let _ = write!(out, "\\U{:08x}", c as u32);
            }
        }
    }
    out.push('"');
}

/// Returns true for letters, marks, numbers, punctuation and symbols; false for spaces other than
/// U+0020, controls and format characters. `escape_debug` escapes the same classes, and also
/// combining marks, which are printable here.
fn printable(c: char) -> bool {
    if c.is_whitespace() {
        return false;
    }
    let mut escaped = c.escape_debug();
    escaped.next() != Some('\\') || unicode_normalization::char::is_combining_mark(c)
}
