//! Text from plugins made safe for a terminal, and its width: everything that is drawn has passed [`clean`].

use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Characters that change how others are shown: bidirectional controls, zero-width ones, the byte order mark.
fn invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{61c}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// One line of text without escape sequences, control and direction characters; a tab becomes spaces, a line end a blank.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c.is_control() || invisible(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_csi(&mut chars),
            '\t' => out.push_str("    "),
            '\n' => out.push(' '),
            c if c.is_control() || invisible(c) => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => skip_csi(chars),
        // OSC, DCS, SOS, PM, APC: up to BEL or the string terminator.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' || c == '\u{9c}' {
                    break;
                }
                if c == '\u{1b}' {
                    chars.next_if_eq(&'\\');
                    break;
                }
            }
        }
        // Charset selections and the like take one more character.
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => {
            chars.next();
        }
        _ => {}
    }
}

fn skip_csi(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(c) = chars.next_if(|c| ('\u{20}'..='\u{7e}').contains(c)) {
        if ('\u{40}'..='\u{7e}').contains(&c) {
            break;
        }
    }
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

/// The text cut to so many cells at its beginning, with `…` there: of an address, the end says most.
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
        return text.as_bytes().windows(part.len()).any(|w| w.eq_ignore_ascii_case(part.as_bytes()));
    }
    text.to_lowercase().contains(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_taken_out() {
        assert_eq!(clean("plain é 漢"), "plain é 漢");
        assert_eq!(clean("\u{1b}[31mred\u{1b}[0m"), "red");
        assert_eq!(clean("a\u{1b}]0;title\u{7}b\u{1b}]52;c;aGk=\u{1b}\\c"), "abc");
        assert_eq!(clean("a\tb\r\nc\u{8}\u{7f}"), "a    b c");
        assert_eq!(clean("x\u{202e}gpj.exe\u{200b}"), "xgpj.exe");
        assert_eq!(clean("\u{9b}2Jz\u{1b}(Bq"), "zq");
        assert_eq!(clean("cut\u{1b}["), "cut");
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
