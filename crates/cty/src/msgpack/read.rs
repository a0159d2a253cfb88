//! Tokenizer for msgpack. It accepts any bytes and never panics.

/// Unread rest of the input.
pub(super) struct Bytes<'a> {
    rest: &'a [u8],
}

/// msgpack token. A container is followed by as many members as it declares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    Nil,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(&'a [u8]),
    Binary(&'a [u8]),
    Array(usize),
    Map(usize),
    Extension(i8, &'a [u8]),
}

impl<'a> Bytes<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Bytes<'a> {
        Bytes { rest }
    }

    /// Returns the number of unread bytes, which limits the number of members of a container.
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], &'static str> {
        if n > self.rest.len() {
            return Err("unexpected end of data");
        }
        let (taken, rest) = self.rest.split_at(n);
        self.rest = rest;
        Ok(taken)
    }

    fn unsigned(&mut self, bytes: usize) -> Result<u64, &'static str> {
        Ok(self
            .take(bytes)?
            .iter()
            .fold(0, |n, b| n << 8 | u64::from(*b)))
    }

    fn length(&mut self, bytes: usize) -> Result<usize, &'static str> {
        usize::try_from(self.unsigned(bytes)?).map_err(|_| "length out of range")
    }

    fn extension(&mut self, length: usize) -> Result<Token<'a>, &'static str> {
        let code = self.take(1)?[0] as i8;
        Ok(Token::Extension(code, self.take(length)?))
    }

    pub(super) fn next(&mut self) -> Result<Token<'a>, &'static str> {
        let code = self.take(1)?[0];
        Ok(match code {
            0x00..=0x7f => Token::Int(i64::from(code)),
            0xe0..=0xff => Token::Int(i64::from(code as i8)),
            0x80..=0x8f => Token::Map(usize::from(code & 0x0f)),
            0x90..=0x9f => Token::Array(usize::from(code & 0x0f)),
            0xa0..=0xbf => Token::Text(self.take(usize::from(code & 0x1f))?),
            0xc0 => Token::Nil,
            0xc1 => return Err("invalid msgpack code 0xc1"),
            0xc2 => Token::Bool(false),
            0xc3 => Token::Bool(true),
            // Codes of one family differ by the size of the length field: 1, 2, 4 or 8 bytes.
            0xc4..=0xc6 => {
                let length = self.length(1 << (code - 0xc4))?;
                Token::Binary(self.take(length)?)
            }
            0xc7..=0xc9 => {
                let length = self.length(1 << (code - 0xc7))?;
                self.extension(length)?
            }
            0xca => Token::Float(f64::from(f32::from_bits(self.unsigned(4)? as u32))),
            0xcb => Token::Float(f64::from_bits(self.unsigned(8)?)),
            0xcc..=0xcf => Token::Uint(self.unsigned(1 << (code - 0xcc))?),
            0xd0 => Token::Int(i64::from(self.unsigned(1)? as i8)),
            0xd1 => Token::Int(i64::from(self.unsigned(2)? as i16)),
            0xd2 => Token::Int(i64::from(self.unsigned(4)? as i32)),
            0xd3 => Token::Int(self.unsigned(8)? as i64),
            0xd4..=0xd8 => self.extension(1 << (code - 0xd4))?,
            0xd9..=0xdb => {
                let length = self.length(1 << (code - 0xd9))?;
                Token::Text(self.take(length)?)
            }
            0xdc | 0xdd => Token::Array(self.length(if code == 0xdc { 2 } else { 4 })?),
            0xde | 0xdf => Token::Map(self.length(if code == 0xde { 2 } else { 4 })?),
        })
    }

    /// Skips one complete value.
    pub(super) fn skip(&mut self) -> Result<(), &'static str> {
        // Iterative, because the nesting of skipped data is not limited.
        let mut open: usize = 1;
        while open > 0 {
            open -= 1;
            let inside = match self.next()? {
                Token::Array(n) => n,
                Token::Map(n) => n.saturating_mul(2),
                _ => 0,
            };
            // Each member takes at least one byte, so larger declared lengths are false.
            if inside > self.remaining() {
                return Err("unexpected end of data");
            }
            open = open.saturating_add(inside);
        }
        Ok(())
    }
}
