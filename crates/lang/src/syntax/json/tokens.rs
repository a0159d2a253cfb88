//! Tokens of a JSON document, with one token of lookahead.

use super::parser::Json;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tok {
    BraceO,
    BraceC,
    BrackO,
    BrackC,
    Comma,
    Colon,
    Equals,
    Text,
    Number,
    Keyword,
    Invalid,
    Eof,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Tok,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Json<'_> {
    pub(super) fn peek(&self) -> Token {
        let mut start = self.at;
        while matches!(self.bytes.get(start), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            start += 1;
        }
        let single = |kind| Token {
            kind,
            start,
            end: start + 1,
        };
        let run = |kind, fits: fn(u8) -> bool| {
            let len = self.bytes[start..].iter().take_while(|b| fits(**b)).count();
            Token {
                kind,
                start,
                end: start + len,
            }
        };
        match self.bytes.get(start) {
            None => Token {
                kind: Tok::Eof,
                start,
                end: start,
            },
            Some(b'{') => single(Tok::BraceO),
            Some(b'}') => single(Tok::BraceC),
            Some(b'[') => single(Tok::BrackO),
            Some(b']') => single(Tok::BrackC),
            Some(b',') => single(Tok::Comma),
            Some(b':') => single(Tok::Colon),
            Some(b'=') => single(Tok::Equals),
            Some(b'"') => Token {
                kind: Tok::Text,
                start,
                end: self.string_end(start),
            },
            // Takes more characters than a number can have, so that a wrong number is one token.
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => run(Tok::Number, |b| {
                matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
            }),
            Some(b) if b.is_ascii_alphabetic() => {
                run(Tok::Keyword, |b| b.is_ascii_alphabetic() || b == b'_')
            }
            Some(_) => {
                let len = self.text[start..].chars().next().map_or(1, char::len_utf8);
                Token {
                    kind: Tok::Invalid,
                    start,
                    end: start + len,
                }
            }
        }
    }

    fn string_end(&self, start: usize) -> usize {
        let mut at = start + 1;
        let mut escaping = false;
        while let Some(b) = self.bytes.get(at) {
            match b {
                b'\\' => escaping = !escaping,
                b'"' if !escaping => return at + 1,
                // A raw control character is invalid in JSON; the literal then fails to decode.
                b if *b < 32 => return at,
                _ => escaping = false,
            }
            at += 1;
        }
        at
    }

    pub(super) fn read(&mut self) -> Token {
        let token = self.peek();
        // Nothing after an invalid character is read.
        self.at = if token.kind == Tok::Invalid {
            self.bytes.len()
        } else {
            token.end
        };
        token
    }

    /// Skips past the closing bracket of the current value, starting at a token just read.
    pub(super) fn skip(&mut self, mut token: Token, open: Tok, close: Tok) {
        // Like HCL, this also stops at the end of the first nested value.
        let mut depth = 1;
        loop {
            if token.kind == open {
                depth += 1;
            } else if token.kind == close {
                depth -= 1;
                if depth <= 1 {
                    return;
                }
            } else if token.kind == Tok::Eof {
                return;
            }
            token = self.read();
        }
    }
}
