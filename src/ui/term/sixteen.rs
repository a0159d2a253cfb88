//! Writes the first 16 colours in the form that terminals without more colours know: crossterm
//! writes `38;5;9` also for red.

use std::io::{self, Write};

/// Maximum length of a sequence with colours; others pass unchanged.
const LONGEST: usize = 64;

/// Output that replaces `38;5;N` and `48;5;N` if `active` and N is below 16.
pub(super) struct SixteenColors<W> {
    inner: W,
    active: bool,
    /// Sequence whose end has not been written yet.
    sequence: Vec<u8>,
}

impl<W: Write> SixteenColors<W> {
    pub(super) fn new(inner: W, active: bool) -> Self {
        Self {
            inner,
            active,
            sequence: Vec::with_capacity(LONGEST),
        }
    }

    /// Writes the sequence as it is, or with replaced colours if it is complete.
    fn flush_sequence(&mut self) -> io::Result<()> {
        let replaced = replace(&self.sequence);
        self.inner
            .write_all(replaced.as_deref().unwrap_or(&self.sequence))?;
        self.sequence.clear();
        Ok(())
    }
}

impl<W: Write> Write for SixteenColors<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.active {
            return self.inner.write(bytes);
        }
        // A sequence arrives in several pieces.
        for &b in bytes {
            let is_start = b == 0x1b;
            if is_start && !self.sequence.is_empty() {
                self.flush_sequence()?;
            }
            if self.sequence.is_empty() && !is_start {
                self.inner.write_all(&[b])?;
                continue;
            }
            self.sequence.push(b);
            let is_parameter = b.is_ascii_digit() || b == b';' || b == b'[';
            if !is_start && !is_parameter || self.sequence.len() >= LONGEST {
                self.flush_sequence()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.sequence.is_empty() {
            self.flush_sequence()?;
        }
        self.inner.flush()
    }
}

/// Replaces the colours of an SGR sequence; `None` for other sequences.
fn replace(sequence: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(sequence).ok()?;
    let parameters = text.strip_prefix("\x1b[")?.strip_suffix('m')?;
    let mut rest: &[&str] = &parameters.split(';').collect::<Vec<_>>();
    let mut out: Vec<String> = Vec::new();
    while let [first, tail @ ..] = rest {
        let color = match rest {
            [ground @ ("38" | "48"), "5", n, ..] => {
                let base: u8 = if *ground == "38" { 30 } else { 40 };
                let n: u8 = n.parse().ok()?;
                Some(match n {
                    0..8 => base + n,
                    8..16 => base + 60 + (n - 8),
                    _ => return None,
                })
            }
            _ => None,
        };
        match color {
            Some(color) => {
                out.push(color.to_string());
                rest = &rest[3..];
            }
            None => {
                out.push((*first).to_owned());
                rest = tail;
            }
        }
    }
    Some(format!("\x1b[{}m", out.join(";")).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(active: bool, text: &str) -> String {
        let mut out = Vec::new();
        let mut to = SixteenColors::new(&mut out, active);
        // Byte by byte, the worst case of pieces.
        for b in text.as_bytes() {
            to.write_all(&[*b]).unwrap();
        }
        to.flush().unwrap();
        drop(to);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn colors_below_16_are_written_without_the_256_color_form() {
        let table = [
            ("\x1b[38;5;1m", "\x1b[31m"),
            ("\x1b[38;5;9;48;5;15mx", "\x1b[91;107mx"),
            ("\x1b[1;48;5;7mä\x1b[0m", "\x1b[1;47mä\x1b[0m"),
            ("\x1b[38;5;200m", "\x1b[38;5;200m"),
            ("\x1b[38;2;5;5;5m", "\x1b[38;2;5;5;5m"),
            ("\x1b[3;8H\x1b[?2026h", "\x1b[3;8H\x1b[?2026h"),
            ("\x1b]52;c;38;5;1m\x07", "\x1b]52;c;38;5;1m\x07"),
            ("\x1b\x1b[38;5;4m", "\x1b\x1b[34m"),
            ("a 38;5;1m b", "a 38;5;1m b"),
        ];
        for (from, to) in table {
            assert_eq!(written(true, from), to);
            assert_eq!(written(false, from), from);
        }
    }
}
