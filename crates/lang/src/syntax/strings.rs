//! Literal text: escapes, and quoted strings without template sequences.

use super::parser::{Parser, normal};
use super::token::{Kind, Token};
use crate::diag::Message;
use crate::source::Span;

impl Parser<'_> {
    /// The text of a literal token with its escapes resolved.
    pub(crate) fn unescape(&mut self, token: Token) -> String {
        let raw = self.bytes(token);
        // The lexer emits an escaped start of a sequence as a token of its own.
        if raw == "$${" || raw == "%%{" {
            return raw[1..].to_owned();
        }
        // Heredocs and template files have no backslash escapes.
        if token.kind == Kind::StringLit || !raw.contains('\\') {
            return normal(raw);
        }
        let span = self.span(token);
        let mut out = String::with_capacity(raw.len());
        let mut at = 0;
        while let Some(found) = raw[at..].find('\\') {
            out.push_str(&raw[at..at + found]);
            at += found;
            let rest = &raw[at + 1..];
            let Some(selector) = rest.chars().next() else {
                self.bad_escape(
                    span,
                    at,
                    1,
                    "Backslash must be followed by an escape sequence selector character.",
                );
                at += 1;
                break;
            };
            at += 1 + selector.len_utf8();
            match selector {
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                't' => out.push('\t'),
                '"' => out.push('"'),
                '\\' => out.push('\\'),
                'u' | 'U' => {
                    let want = if selector == 'u' { 4 } else { 8 };
                    let digits = raw[at..]
                        .bytes()
                        .take(want)
                        .take_while(u8::is_ascii_hexdigit)
                        .count();
                    let hex = &raw[at..at + digits];
                    let decoded = u32::from_str_radix(hex, 16)
                        .ok()
                        .filter(|_| digits == want)
                        .map(char::from_u32);
                    match decoded {
                        Some(Some(c)) => out.push(c),
                        // A surrogate, or a number past the last character of Unicode.
                        Some(None) => self.bad_escape(
                            span,
                            at - 2,
                            2 + digits,
                            "The escape sequence is not a valid Unicode character.",
                        ),
                        None if want == 4 => {
                            self.bad_escape(
                                span,
                                at - 2,
                                2 + digits,
                                "The \\u escape sequence must be followed by four hexadecimal digits.",
                            );
                        }
                        None => {
                            self.bad_escape(
                                span,
                                at - 2,
                                2 + digits,
                                "The \\U escape sequence must be followed by eight hexadecimal digits.",
                            );
                        }
                    }
                    at += digits;
                }
                other => {
                    let detail =
                        format!("The symbol \"{other}\" is not a valid escape sequence selector.");
                    self.bad_escape(
                        span,
                        at - 1 - other.len_utf8(),
                        1 + other.len_utf8(),
                        detail,
                    );
                    // The character is kept, so that the rest of the text stays usable.
                    out.push(other);
                }
            }
        }
        out.push_str(&raw[at..]);
        // Strings are values, and values are in normalization form C.
        normal(&out)
    }

    fn bad_escape(&mut self, token: Span, at: usize, len: usize, detail: impl Into<Message>) {
        let span = Span {
            file: token.file,
            start: token.start + at as u32,
            end: token.start + (at + len) as u32,
        };
        self.error(span, "Invalid escape sequence", detail);
    }

    /// Parses a quoted string without template sequences (a block label), from its opening quote.
    pub(crate) fn quoted_literal(&mut self) -> (String, Span) {
        let open = self.read();
        let open_span = self.span(open);
        let mut text = String::new();
        loop {
            let token = self.read();
            let span = self.span(token);
            match token.kind {
                Kind::CQuote => return (normal(&text), open_span.to(span)),
                Kind::QuotedLit => text.push_str(&self.unescape(token)),
                Kind::TemplateInterp | Kind::TemplateControl => {
                    let sigil = if token.kind == Kind::TemplateControl {
                        '%'
                    } else {
                        '$'
                    };
                    self.error_within(
                        span,
                        open_span.to(span),
                        "Invalid string literal",
                        format!("Template sequences are not allowed in this string. To write a literal \"{sigil}\", double it (\"{sigil}{sigil}\")."),
                    );
                    text.push(sigil);
                    // A readable stand-in for the invalid sequence in later messages.
                    text.push_str("{ ... }");
                    self.recover(Kind::TemplateSeqEnd);
                }
                Kind::Eof => {
                    self.error_within(
                        span,
                        open_span.to(span),
                        "Unterminated string literal",
                        "There is no closing quote before the end of the file.",
                    );
                    return (text, open_span.to(span));
                }
                _ => {
                    self.error_within(
                        span,
                        open_span.to(span),
                        "Invalid string literal",
                        "This item is not valid in a string literal.",
                    );
                    self.recover(Kind::CQuote);
                    return (text, open_span.to(span));
                }
            }
        }
    }
}

/// Escapes text for a quoted string, so that parsing returns the text.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // Only a sigil before a brace starts a sequence, so no other one is doubled.
            '$' | '%' if rest.peek() == Some(&'{') => out.extend([c, c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}
