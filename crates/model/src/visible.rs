//! Escaping of foreign text for display: control, bidirectional and invisible characters become
//! escapes. The only place that lists these characters; all displayed text passes it. Pure.

use std::borrow::Cow;

/// Characters that a terminal interprets or that change or hide other text: control characters,
/// directional codes, zero-width characters, unusual blanks, tags.
pub fn needs_escape(c: char) -> bool {
    match c {
        ' '..='~' => false,
        c if c.is_control() => true,
        '\u{a0}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{1680}'
        | '\u{17b4}'..='\u{17b5}' => true,
        '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}'
        | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}' => true,
        '\u{2800}'
        | '\u{3000}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// Escapes a text into one line.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, needs_escape)
}

/// Escapes a text, but keeps line ends and tabs.
pub fn lines(text: &str) -> Cow<'_, str> {
    // A carriage return before a newline is harmless.
    let text = if text.contains("\r\n") {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    };
    match text {
        Cow::Borrowed(text) => escaped(text, |c| c != '\n' && c != '\t' && needs_escape(c)),
        Cow::Owned(text) => {
            Cow::Owned(escaped(&text, |c| c != '\n' && c != '\t' && needs_escape(c)).into_owned())
        }
    }
}

/// Replaces such characters in a line of JSON by JSON escapes: programs parse the same value, and
/// people see each character.
pub fn json(line: &str) -> Cow<'_, str> {
    if !line.chars().any(needs_escape) {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len() + 16);
    for c in line.chars() {
        if needs_escape(c) {
            // They occur only in strings, because JSON's syntax is ASCII.
            c.encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn escaped(text: &str, bad: impl Fn(char) -> bool + Copy) -> Cow<'_, str> {
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' if bad(c) => out.push_str("\\n"),
            '\r' if bad(c) => out.push_str("\\r"),
            '\t' if bad(c) => out.push_str("\\t"),
            c if bad(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Removes colour codes from a line.
pub fn uncoloured(line: &str) -> Cow<'_, str> {
    if !line.contains("\u{1b}[") {
        return Cow::Borrowed(line);
    }
    let (mut out, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(at) = rest.find("\u{1b}[") {
        let code = &rest[at + 2..];
        let end = code
            .bytes()
            .position(|b| !(b.is_ascii_digit() || b == b';' || b == b':'))
            .unwrap_or(code.len());
        // Other control sequences stay, to be escaped.
        let colour = code.as_bytes().get(end) == Some(&b'm');
        out.push_str(&rest[..if colour { at } else { at + 2 }]);
        rest = if colour { &code[end + 1..] } else { code };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_and_control_characters_are_escaped() {
        for (text, shown) in [
            ("plain – é 漢 🙂", "plain – é 漢 🙂"),
            ("a\u{200b}b", "a\\u{200b}b"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
            ("a\u{e0041}\u{e007f}", "a\\u{e0041}\\u{e007f}"),
            ("a\u{9b}31mb\u{85}", "a\\u{9b}31mb\\u{85}"),
            ("\u{1b}[2J\u{7}\u{7f}", "\\u{1b}[2J\\u{7}\\u{7f}"),
            (
                "a\u{fe0f}\u{ad}\u{a0}\u{feff}\u{3164}",
                "a\\u{fe0f}\\u{ad}\\u{a0}\\u{feff}\\u{3164}",
            ),
            ("a\r\nb\tc\rd", "a\\r\\nb\\tc\\rd"),
        ] {
            assert_eq!(one_line(text), shown);
        }
        assert_eq!(lines("a\r\nb\tc\rd\u{2028}e"), "a\nb\tc\\rd\\u{2028}e");
    }

    #[test]
    fn json_escapes_decode_to_the_original_value() {
        let value = serde_json::json!({"a\u{202e}": "b\u{e0041}\u{9b}\u{7f} é"});
        let line = json(&value.to_string()).into_owned();
        assert_eq!(line, r#"{"a\u202e":"b\udb40\udc41\u009b\u007f é"}"#);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&line).unwrap(),
            value
        );
    }

    #[test]
    fn color_codes_are_removed_and_other_escape_sequences_kept() {
        assert_eq!(
            uncoloured("\u{1b}[1;31mred\u{1b}[0m \u{1b}[2J\u{1b}["),
            "red \u{1b}[2J\u{1b}["
        );
        assert_eq!(uncoloured("plain"), "plain");
    }
}
