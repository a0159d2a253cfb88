//! The two formats of a JSON document: compact, and indented by two spaces. Strings are escaped as
//! by Go's encoder, because the output must equal that of OpenTofu byte for byte.

/// Formats JSON text on one line, without a newline at the end.
///
/// The text must be valid JSON; for other text the result is unspecified, but it does not panic.
#[must_use]
pub fn compact(json: &str) -> String {
    reformat(json, None)
}

/// Formats JSON text indented by two spaces, without a newline at the end. Empty objects and arrays
/// stay on one line.
///
/// The text must be valid JSON; for other text the result is unspecified, but it does not panic.
#[must_use]
pub fn indented(json: &str) -> String {
    reformat(json, Some(2))
}

/// Indentation, copied in pieces.
const SPACES: &str = "                                                                ";

/// JSON whitespace.
const BLANK: [u8; 4] = [b' ', b'\t', b'\r', b'\n'];

/// Formats the text token by token. The order of members, the digits of numbers and duplicate
/// members are preserved. Works on bytes and copies whole pieces, because files can have tens of
/// megabytes.
fn reformat(json: &str, indent: Option<usize>) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 4);
    let bytes = json.as_bytes();
    let mut depth = 0_usize;
    let line = |out: &mut String, depth: usize| {
        let Some(indent) = indent else { return };
        out.push('\n');
        let mut left = depth * indent;
        while left > 0 {
            let now = left.min(SPACES.len());
            out.push_str(&SPACES[..now]);
            left -= now;
        }
    };
    let after_blanks = |mut at: usize| {
        while bytes.get(at).is_some_and(|b| BLANK.contains(b)) {
            at += 1;
        }
        at
    };
    let mut at = after_blanks(0);
    while let Some(&token) = bytes.get(at) {
        match token {
            b'{' | b'[' => {
                out.push(char::from(token));
                let close = if token == b'{' { b'}' } else { b']' };
                // Go writes empty containers without a line break.
                let inside = after_blanks(at + 1);
                if bytes.get(inside) == Some(&close) {
                    out.push(char::from(close));
                    at = inside + 1;
                } else {
                    depth += 1;
                    line(&mut out, depth);
                    at = inside;
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(char::from(token));
                at += 1;
            }
            b',' => {
                out.push(',');
                line(&mut out, depth);
                at += 1;
            }
            b':' => {
                out.push_str(if indent.is_some() { ": " } else { ":" });
                at += 1;
            }
            b'"' => at += string(&json[at..], &mut out),
            // A number, `true`, `false` or `null`.
            _ => {
                let rest = &bytes[at..];
                let ends = |b: &u8| BLANK.contains(b) || b"{}[],:\"".contains(b);
                let width = rest.iter().position(ends).unwrap_or(rest.len());
                out.push_str(&json[at..at + width]);
                at += width;
            }
        }
        at = after_blanks(at);
    }
    out
}

/// Returns true if this byte in a string can start a sequence that Go escapes.
const fn is_special(byte: u8) -> bool {
    // U+2028 and U+2029 start with 0xe2.
    matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&' | 0xe2)
}

/// Lookup table of [`is_special`].
const SPECIAL: [bool; 256] = {
    let mut all = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        all[byte] = is_special(byte as u8);
        byte += 1;
    }
    all
};

/// Writes the string at the start of the text, and returns its length there.
fn string(text: &str, out: &mut String) -> usize {
    out.push('"');
    let bytes = text.as_bytes();
    // End of the text that is already written.
    let mut done = 1;
    let mut at = 1;
    while let Some(found) = bytes[at..].iter().position(|b| SPECIAL[usize::from(*b)]) {
        at += found;
        let tail = &text[at..];
        let Some(next) = tail.chars().next() else {
            break;
        };
        // Most characters that start with 0xe2 are not escaped.
        if bytes[at] == 0xe2 && !matches!(next, '\u{2028}' | '\u{2029}') {
            at += next.len_utf8();
            continue;
        }
        out.push_str(&text[done..at]);
        match next {
            '"' => {
                out.push('"');
                return at + 1;
            }
            '\\' => at += escape(tail, out),
            other => {
                character(other, out);
                at += other.len_utf8();
            }
        }
        done = at;
    }
    out.push_str(&text[done..]);
    text.len()
}

/// Writes the character of the escape at the start of the text, and returns the length of the
/// escape.
fn escape(text: &str, out: &mut String) -> usize {
    let unit = |from: usize| {
        let digits = text.get(from..from + 4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let short = match text[1..].chars().next() {
        Some('u') => None,
        Some('b') => Some('\u{8}'),
        Some('f') => Some('\u{c}'),
        Some('n') => Some('\n'),
        Some('r') => Some('\r'),
        Some('t') => Some('\t'),
        other => other,
    };
    // Escapes are normalized: a character is escaped only if Go does so.
    if let Some(c) = short {
        character(c, out);
        return 1 + c.len_utf8();
    }
    let Some(high) = unit(2) else {
        // Only invalid JSON gets here.
        out.push('\\');
        return 1;
    };
    if let Some(c) = char::from_u32(high) {
        character(c, out);
        return 6;
    }
    // Characters beyond U+FFFF are two escapes, a surrogate pair; half of a pair becomes U+FFFD, as
    // in Go.
    let low = (text.get(6..8) == Some("\\u")).then(|| unit(8)).flatten();
    let pair = low.and_then(|low| char::decode_utf16([high as u16, low as u16]).next()?.ok());
    character(pair.unwrap_or(char::REPLACEMENT_CHARACTER), out);
    if pair.is_some() { 12 } else { 6 }
}

/// Writes one character of a string with Go's escapes.
fn character(c: char, out: &mut String) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        }
        other => out.push(other),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;

    #[test]
    fn indent_keeps_empty_containers_on_one_line() {
        let text = r#" { "a" : [ ] , "b":{},"c":[1, {"d":null}], "e": "x: [y, {z}]" } "#;
        let expected = "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": null\n    }\n  ],\n  \"e\": \"x: [y, {z}]\"\n}";
        assert_eq!(indented(text), expected);
        let line = r#"{"a":[],"b":{},"c":[1,{"d":null}],"e":"x: [y, {z}]"}"#;
        assert_eq!(compact(text), line);
        assert_eq!(compact(expected), line);
    }

    #[test]
    fn json_strings_use_the_escapes_of_go() {
        let given = r#"["<a>&b", "\u003ca\u003E", "\/\u0041\ud83d\ude00\ud83d", "\u0008\f\n\u000d\t\u0001", "\u2028é\u00e9\u007f", "q\"\\", "\u003c":"\u003c"]"#;
        let out = compact(given);
        let expected = concat!(
            r#"["\u003ca\u003e\u0026b","\u003ca\u003e","/A😀"#,
            "\u{fffd}",
            r#"","\b\f\n\r\t\u0001","\u2028éé"#,
            "\u{7f}",
            r#"","q\"\\","\u003c":"\u003c"]"#
        );
        assert_eq!(out, expected);
    }

    #[test]
    fn json_numbers_and_member_order_are_preserved() {
        let text = r#"{"b":1000000000000000000000000000000,"a":0.10,"b":-1.5e9}"#;
        assert_eq!(compact(text), text);
    }

    #[test]
    fn malformed_json_does_not_panic() {
        for text in [
            "\"",
            "\"\\",
            "\"\\u",
            "\"\\u12",
            "}}]]",
            "{",
            "[\"a",
            "\"\\ud800\\u",
        ] {
            let _ = (compact(text), indented(text));
        }
    }
}
