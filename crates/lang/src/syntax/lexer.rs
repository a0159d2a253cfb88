//! Lexer of native syntax: one pass over one text, without errors. Invalid input becomes a token
//! that `check_tokens` or the parser reports.

use super::token::{Kind, Token};

/// Initial mode of the lexer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Configuration or expression.
    Normal,
    /// Inside of a template.
    Template,
}

enum Mode<'a> {
    /// Expressions and bodies. In a template sequence, has the brace depth at which it ends.
    Main {
        sequence_end: Option<usize>,
    },
    Quoted,
    Heredoc {
        marker: &'a str,
        at_line_start: bool,
    },
    Bare,
}

/// Returns true if the whole text is one identifier.
pub fn is_identifier(text: &str) -> bool {
    !text.is_empty() && identifier_len(text) == text.len()
}

fn identifier_len(text: &str) -> usize {
    let mut len = 0;
    for c in text.chars() {
        let fits = if len == 0 {
            c == '_' || unicode_ident::is_xid_start(c)
        } else {
            c == '_' || c == '-' || unicode_ident::is_xid_continue(c)
        };
        if !fits {
            break;
        }
        len += c.len_utf8();
    }
    len
}

/// Length of a number: digits with dots and exponents, never ending in a dot.
fn number_len(bytes: &[u8]) -> usize {
    let mut len = 1;
    let mut last_good = 1;
    while let Some(b) = bytes.get(len) {
        match b {
            b'0'..=b'9' => {
                len += 1;
                last_good = len;
            }
            // A dot counts only if a digit follows, which then moves `last_good`.
            b'.' => len += 1,
            b'e' | b'E' => {
                let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
                if !bytes.get(len + 1 + sign).is_some_and(u8::is_ascii_digit) {
                    break;
                }
                len += 2 + sign;
                last_good = len;
            }
            _ => break,
        }
    }
    last_good
}

/// All tokens of the text, ending in exactly one `Eof`.
pub(crate) fn scan(text: &str, start: Start) -> Vec<Token> {
    // A byte order mark is skipped, but offsets still count it.
    let offset = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let first = match start {
        Start::Normal => Mode::Main { sequence_end: None },
        Start::Template => Mode::Bare,
    };
    let mut lexer = Lexer {
        text,
        at: offset,
        braces: 0,
        modes: vec![first],
        tokens: Vec::with_capacity(text.len() / 4 + 2),
    };
    while lexer.at < text.len() {
        match lexer.modes.last() {
            Some(Mode::Quoted) => lexer.quoted(),
            Some(Mode::Heredoc {
                marker,
                at_line_start,
            }) => {
                let (marker, at_line_start) = (*marker, *at_line_start);
                lexer.heredoc(marker, at_line_start);
            }
            Some(Mode::Bare) => lexer.bare(),
            _ => lexer.main(),
        }
    }
    let end = text.len();
    lexer.emit_to(Kind::Eof, end);
    lexer.tokens
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    braces: usize,
    modes: Vec<Mode<'a>>,
    tokens: Vec<Token>,
}

impl<'a> Lexer<'a> {
    fn remaining(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn emit(&mut self, kind: Kind, len: usize) {
        self.emit_to(kind, self.at + len);
    }

    fn emit_to(&mut self, kind: Kind, end: usize) {
        self.tokens.push(Token {
            kind,
            start: self.at as u32,
            end: end as u32,
        });
        self.at = end;
    }

    fn main(&mut self) {
        let rest = self.remaining();
        let bytes = rest.as_bytes();
        let second = bytes.get(1).copied().unwrap_or(0);
        match bytes[0] {
            b' ' | b'\t' => self.at += 1,
            b'\n' => self.emit(Kind::Newline, 1),
            b'\r' if second == b'\n' => self.emit(Kind::Newline, 2),
            b'0'..=b'9' => self.emit(Kind::Number, number_len(bytes)),
            b'#' => self.line_comment(),
            b'/' if second == b'/' => self.line_comment(),
            b'/' if second == b'*' => match rest[2..].find("*/") {
                Some(end) => self.emit(Kind::Comment, end + 4),
                // Without an end it is not a comment, and the parser reports the slash.
                None => self.emit(Kind::Slash, 1),
            },
            b'"' => {
                self.emit(Kind::OQuote, 1);
                self.modes.push(Mode::Quoted);
            }
            b'<' if second == b'<' => self.heredoc_start(),
            b'{' => {
                self.emit(Kind::OBrace, 1);
                self.braces += 1;
            }
            b'}' => self.close_brace(Kind::CBrace, 1),
            // A strip marker is part of the token that ends a sequence.
            b'~' if second == b'}' => self.close_brace(Kind::TemplateSeqEnd, 2),
            _ => self.symbol(rest, bytes),
        }
    }

    fn symbol(&mut self, rest: &str, bytes: &[u8]) {
        let ident = identifier_len(rest);
        if ident > 0 {
            return self.emit(Kind::Ident, ident);
        }
        debug_assert!(!bytes.is_empty());
        // Longer operators first, because shorter ones are their prefixes.
        let (kind, len) = match bytes {
            [b'.', b'.', b'.', ..] => (Kind::Ellipsis, 3),
            [b'=', b'=', ..] => (Kind::EqualEqual, 2),
            [b'=', b'>', ..] => (Kind::FatArrow, 2),
            [b'!', b'=', ..] => (Kind::NotEqual, 2),
            [b'>', b'=', ..] => (Kind::GreaterEqual, 2),
            [b'<', b'=', ..] => (Kind::LessEqual, 2),
            [b'&', b'&', ..] => (Kind::And, 2),
            [b'|', b'|', ..] => (Kind::Or, 2),
            [b':', b':', ..] => (Kind::DoubleColon, 2),
            [b'[', ..] => (Kind::OBrack, 1),
            [b']', ..] => (Kind::CBrack, 1),
            [b'(', ..] => (Kind::OParen, 1),
            [b')', ..] => (Kind::CParen, 1),
            [b'.', ..] => (Kind::Dot, 1),
            [b',', ..] => (Kind::Comma, 1),
            [b'*', ..] => (Kind::Star, 1),
            [b'/', ..] => (Kind::Slash, 1),
            [b'%', ..] => (Kind::Percent, 1),
            [b'+', ..] => (Kind::Plus, 1),
            [b'-', ..] => (Kind::Minus, 1),
            [b'=', ..] => (Kind::Equal, 1),
            [b'<', ..] => (Kind::Less, 1),
            [b'>', ..] => (Kind::Greater, 1),
            [b'!', ..] => (Kind::Bang, 1),
            [b'?', ..] => (Kind::Question, 1),
            [b':', ..] => (Kind::Colon, 1),
            [b'&', ..] => (Kind::BitAnd, 1),
            [b'|', ..] => (Kind::BitOr, 1),
            [b'~', ..] => (Kind::BitNot, 1),
            [b'^', ..] => (Kind::BitXor, 1),
            [b';', ..] => (Kind::Semicolon, 1),
            [b'`', ..] => (Kind::Backtick, 1),
            [b'\'', ..] => (Kind::Apostrophe, 1),
            _ => (Kind::Invalid, rest.chars().next().map_or(1, char::len_utf8)),
        };
        self.emit(kind, len);
    }

    fn line_comment(&mut self) {
        let len = self
            .remaining()
            .find('\n')
            .map_or(self.remaining().len(), |i| i + 1);
        self.emit(Kind::Comment, len);
    }

    fn close_brace(&mut self, plain: Kind, len: usize) {
        // A brace ends the sequence only at the depth where the sequence began.
        let ends_sequence = matches!(self.modes.last(), Some(Mode::Main { sequence_end: Some(level) }) if *level == self.braces);
        if ends_sequence {
            self.emit(Kind::TemplateSeqEnd, len);
            self.modes.pop();
        } else {
            self.emit(plain, len);
        }
        // A surplus closing brace must not wrap around; the parser reports it.
        self.braces = self.braces.saturating_sub(1);
    }

    fn heredoc_start(&mut self) {
        let rest = self.remaining();
        let dash = usize::from(rest[2..].starts_with('-'));
        let name = identifier_len(&rest[2 + dash..]);
        let after = &rest[2 + dash + name..];
        let newline = if after.starts_with("\r\n") {
            2
        } else {
            usize::from(after.starts_with('\n'))
        };
        if name == 0 || newline == 0 {
            // Not a heredoc: the marker must be an identifier at the end of its line.
            return self.emit(Kind::Less, 1);
        }
        let marker = &rest[2 + dash..2 + dash + name];
        self.emit(Kind::OHeredoc, 2 + dash + name + newline);
        self.modes.push(Mode::Heredoc {
            marker,
            at_line_start: true,
        });
    }

    fn sequence_start(&mut self, kind: Kind) {
        let len = if self.remaining()[2..].starts_with('~') {
            3
        } else {
            2
        };
        self.emit(kind, len);
        // A sequence counts as a brace, so that its end is found at the same depth.
        self.braces += 1;
        // The line has begun with a sequence, so it can no longer be the end marker.
        if let Some(Mode::Heredoc { at_line_start, .. }) = self.modes.last_mut() {
            *at_line_start = false;
        }
        self.modes.push(Mode::Main {
            sequence_end: Some(self.braces),
        });
    }

    /// Reads `$` or `%`: a sequence, its escape, or a plain character. Returns the literal's
    /// length.
    fn read_sigil(&mut self) -> Option<usize> {
        let rest = self.remaining();
        let kind = match rest.as_bytes()[0] {
            b'$' => Kind::TemplateInterp,
            b'%' => Kind::TemplateControl,
            _ => return None,
        };
        if rest[1..].starts_with('{') {
            self.sequence_start(kind);
            return Some(0);
        }
        let escape = if kind == Kind::TemplateInterp {
            "$${"
        } else {
            "%%{"
        };
        // An escaped start is one literal of three characters, whose first the parser drops.
        Some(if rest.starts_with(escape) { 3 } else { 1 })
    }

    fn quoted(&mut self) {
        let bytes = self.remaining().as_bytes();
        match bytes[0] {
            b'"' => {
                self.emit(Kind::CQuote, 1);
                self.modes.pop();
            }
            // Newlines become tokens, which `check_tokens` reports: a quoted string is one line.
            b'\r' | b'\n' => {
                let len = bytes
                    .iter()
                    .take_while(|b| matches!(b, b'\r' | b'\n'))
                    .count();
                self.emit(Kind::QuotedNewline, len);
            }
            b'$' | b'%' => match self.read_sigil() {
                Some(len) if len > 0 => self.emit(Kind::QuotedLit, len),
                _ => {}
            },
            _ => {
                let mut len = 0;
                // A backslash keeps an escaped quote in the literal, but never a newline.
                while let Some(b) = bytes.get(len) {
                    match b {
                        b'$' | b'%' | b'"' | b'\r' | b'\n' => break,
                        b'\\'
                            if bytes
                                .get(len + 1)
                                .is_some_and(|b| !matches!(b, b'\r' | b'\n')) =>
                        {
                            len += 2
                        }
                        _ => len += 1,
                    }
                }
                // A backslash skips one byte, which may be the first of a longer character.
                while !self.remaining().is_char_boundary(len.min(bytes.len())) {
                    len += 1;
                }
                self.emit(Kind::QuotedLit, len.min(bytes.len()));
            }
        }
    }

    fn heredoc(&mut self, marker: &str, at_line_start: bool) {
        match self.read_sigil() {
            Some(0) => return,
            Some(len) => {
                // An escaped or plain sigil is a literal of its own; the rest of the line follows.
                self.emit(Kind::StringLit, len);
                return self.set_line_start(false);
            }
            None => {}
        }
        let rest = self.remaining();
        let len = rest.find(['\n', '$', '%']).unwrap_or(rest.len());
        // As in HCL, an end marker without a newline does not close the heredoc.
        if !rest[len..].starts_with('\n') {
            self.emit(Kind::StringLit, len);
            return self.set_line_start(false);
        }
        let line = &rest[..len];
        // The marker may be indented, also without `<<-`.
        if at_line_start && line.trim() == marker {
            // The carriage return belongs to the newline token.
            let body = line.strip_suffix('\r').unwrap_or(line);
            self.emit(Kind::CHeredoc, body.len());
            self.emit(Kind::Newline, len + 1 - body.len());
            self.modes.pop();
            return;
        }
        self.emit(Kind::StringLit, len + 1);
        self.set_line_start(true);
    }

    fn set_line_start(&mut self, value: bool) {
        if let Some(Mode::Heredoc { at_line_start, .. }) = self.modes.last_mut() {
            *at_line_start = value;
        }
    }

    fn bare(&mut self) {
        match self.read_sigil() {
            Some(0) => return,
            Some(len) => return self.emit(Kind::StringLit, len),
            None => {}
        }
        let rest = self.remaining();
        let len = match rest.find(['\n', '$', '%']) {
            Some(i) if rest[i..].starts_with('\n') => i + 1,
            Some(i) => i,
            None => rest.len(),
        };
        self.emit(Kind::StringLit, len);
    }
}
