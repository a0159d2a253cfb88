//! Text of others (plugins, providers, configuration) made safe for a terminal: no escape sequence gets through.

use std::borrow::Cow;

/// Control characters but line feed and tab become their pictures; so do the codes that turn text around.
pub(super) fn safe(text: &str) -> Cow<'_, str> {
    let bad = |c: char| (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let picture = |c: char| match u32::from(c) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        _ => '\u{fffd}',
    };
    Cow::Owned(text.chars().filter(|c| *c != '\r').map(|c| if bad(c) { picture(c) } else { c }).collect())
}

#[cfg(test)]
mod tests {
    use super::safe;

    #[test]
    fn an_escape_sequence_is_shown_not_obeyed() {
        assert_eq!(safe("a\x1b[2Jb\r\n\tc\u{202e}"), "a\u{241b}[2Jb\n\tc\u{fffd}");
        assert_eq!(safe("plain – text"), "plain – text");
    }
}
