//! Text from outside as it is drawn, and its width: everything that is drawn has passed [`clean`].

use crate::engine::visible;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// One line of text in which everything can be seen and nothing is obeyed; a tab becomes spaces, a
/// line end a blank.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(visible::deceives) {
        return Cow::Borrowed(text);
    }
    let text = visible::lines(text);
    if !text.contains(['\t', '\n']) {
        return text;
    }
    Cow::Owned(text.replace('\t', "    ").replace('\n', " "))
}

/// Cells that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text cut to so many cells, with `…` where something was cut.
pub fn fit(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut used = 0;
    for g in text.graphemes(true) {
        let w = width(g);
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

/// The text cut to so many cells at its beginning, with `…` there: of an address, the end says
/// most.
pub fn fit_end(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut used = 0;
    for g in text.graphemes(true).rev() {
        let w = width(g);
        if used + w + 1 > cells {
            break;
        }
        used += w;
        kept.push(g);
    }
    if cells > 0 {
        kept.push("…");
    }
    kept.reverse();
    Cow::Owned(kept.concat())
}

/// Whether `text` has `part` in it, whatever the case. `part` must be lower case already.
pub fn contains(text: &str, part: &str) -> bool {
    if part.is_empty() {
        return true;
    }
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
    fn what_a_terminal_would_obey_or_nobody_would_see_is_shown() {
        assert_eq!(clean("plain é 漢"), "plain é 漢");
        assert_eq!(clean("\u{1b}[31mred"), "\\u{1b}[31mred");
        assert_eq!(clean("a\tb\r\nc\u{8}"), "a    b c\\u{8}");
        assert_ne!(clean("x\u{200b}"), clean("x"));
        assert_ne!(clean("x\u{e0061}"), clean("x"));
    }

    #[test]
    fn cutting_counts_cells_not_bytes() {
        assert_eq!(fit("hello", 5), "hello");
        assert_eq!(fit("hello", 4), "hel…");
        assert_eq!(fit("漢字漢字", 5), "漢字…");
        assert_eq!(fit("hello", 0), "");
        assert_eq!(fit_end("hello", 5), "hello");
        assert_eq!(fit_end("hello", 3), "…lo");
        assert_eq!(fit_end("漢字漢字", 5), "…漢字");
        assert_eq!(fit_end("hello", 0), "");
    }

    #[test]
    fn searching_ignores_case() {
        assert!(contains("Hello World", "lo wo"));
        assert!(contains("ÄRGER", "ärg"));
        assert!(!contains("abc", "abcd"));
    }
}
