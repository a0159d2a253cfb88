//! Escaping and width of text. All drawn text has passed [`clean`].

use model::visible;
use std::borrow::Cow;
use std::cmp::Ordering;
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

/// Compares in natural order: runs of digits by their number, so that `p[2]` precedes `p[10]`.
pub fn natural_cmp(a: &str, b: &str) -> Ordering {
    let (mut rest_a, mut rest_b) = (a, b);
    loop {
        let (x, y) = (next_run(&mut rest_a), next_run(&mut rest_b));
        if x.is_empty() || y.is_empty() {
            // Equal except for leading zeros: the order must still be total.
            return x.len().cmp(&y.len()).then_with(|| a.cmp(b));
        }
        let is_number = |run: &str| run.starts_with(|c: char| c.is_ascii_digit());
        let order = if is_number(x) && is_number(y) {
            let (x, y) = (x.trim_start_matches('0'), y.trim_start_matches('0'));
            // By length first: numbers in names may exceed every integer type.
            x.len().cmp(&y.len()).then_with(|| x.cmp(y))
        } else {
            x.cmp(y)
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Cuts the leading run of digits, or one other character, off a text.
fn next_run<'t>(text: &mut &'t str) -> &'t str {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let end = match digits {
        0 => text.chars().next().map_or(0, char::len_utf8),
        n => n,
    };
    let (run, rest) = text.split_at(end);
    *text = rest;
    run
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
    fn search_ignores_case() {
        assert!(contains("Hello World", "lo wo"));
        assert!(contains("ÄRGER", "ärg"));
        assert!(!contains("abc", "abcd"));
    }

    #[test]
    fn natural_order_compares_runs_of_digits_by_their_number() {
        for (less, more) in [
            ("p[2]", "p[10]"),
            ("a.p[9].x", "a.p[10].b"),
            ("web-1", "web-1a"),
            ("web", "web-1"),
            ("v1.9.0", "v1.10.0"),
            ("a1", "ab"),
            ("p[007]", "p[8]"),
            // Equal numbers still have one order.
            ("p[01]", "p[1]"),
            ("n18446744073709551615", "n99999999999999999999999"),
            ("", "a"),
            ("ä[2]", "ä[10]"),
        ] {
            assert_eq!(natural_cmp(less, more), Ordering::Less, "{less} {more}");
            assert_eq!(natural_cmp(more, less), Ordering::Greater, "{less} {more}");
            assert_eq!(natural_cmp(less, less), Ordering::Equal, "{less}");
        }
    }
}
