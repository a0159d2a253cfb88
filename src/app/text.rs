//! Escaping and width of text. All drawn text has passed [`clean`].

use model::visible;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Escapes text to one line without control and invisible characters. Tabs become four spaces, line
/// breaks a space.
pub fn clean(text: &str) -> Cow<'_, str> {
    // Most texts need no escapes and are not copied.
    if !text.contains(visible::needs_escape) {
        return Cow::Borrowed(text);
    }
    let text = visible::lines(text);
    if !text.contains(['\t', '\n']) {
        return text;
    }
    Cow::Owned(text.replace('\t', "    ").replace('\n', " "))
}

/// Width of a text in cells.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Cuts a text to a width, and marks the cut with `…`.
pub fn truncate_end(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut used = 0;
    // By grapheme, so that no combined character is cut.
    for g in text.graphemes(true) {
        let w = width(g);
        // One cell is reserved for the `…`.
        if used + w + 1 > cells {
            break;
        }
        used += w;
        out.push_str(g);
    }
    if cells > 0 {
        out.push('…');
    }
    Cow::Owned(out)
}

/// Cuts the begin of a text to a width, and marks the cut with `…`. A path begins with a name.
pub fn truncate_start(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    let fits = |at: &usize| width(&text[*at..]) < cells;
    let starts = || text.grapheme_indices(true).map(|(at, _)| at);
    let slash = starts()
        .filter(|at| text[*at..].starts_with('/'))
        .find(fits);
    let at = slash.or_else(|| starts().find(fits));
    Cow::Owned(format!("…{}", at.map_or("", |at| &text[at..])))
}

/// Returns true if `text` contains `part`, ignoring case. `part` must be lower case.
pub fn contains(text: &str, part: &str) -> bool {
    if part.is_empty() {
        return true;
    }
    // Fast path without an allocation: filters run over all rows of each frame.
    if text.is_ascii() && part.is_ascii() {
        return text
            .as_bytes()
            .windows(part.len())
            .any(|w| w.eq_ignore_ascii_case(part.as_bytes()));
    }
    text.to_lowercase().contains(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        assert_eq!(clean("plain é 漢"), "plain é 漢");
        assert_eq!(clean("\u{1b}[31mred"), "\\u{1b}[31mred");
        assert_eq!(clean("a\tb\r\nc\u{8}"), "a    b c\\u{8}");
        assert_ne!(clean("x\u{200b}"), clean("x"));
        assert_ne!(clean("x\u{e0061}"), clean("x"));
    }

    #[test]
    fn truncation_counts_cells_not_bytes() {
        assert_eq!(truncate_end("hello", 5), "hello");
        assert_eq!(truncate_end("hello", 4), "hel…");
        assert_eq!(truncate_end("漢字漢字", 5), "漢字…");
        assert_eq!(truncate_end("hello", 0), "");
    }

    #[test]
    fn cut_path_begins_with_a_name() {
        assert_eq!(truncate_start("/a/bc/def", 9), "/a/bc/def");
        assert_eq!(truncate_start("/a/bc/def", 8), "…/bc/def");
        assert_eq!(truncate_start("/a/bc/def", 7), "…/def");
        assert_eq!(truncate_start("/a/bc/def", 4), "…def");
        assert_eq!(truncate_start("漢字漢字", 5), "…漢字");
    }

    #[test]
    fn search_ignores_case() {
        assert!(contains("Hello World", "lo wo"));
        assert!(contains("ÄRGER", "ärg"));
        assert!(!contains("abc", "abcd"));
    }
}
