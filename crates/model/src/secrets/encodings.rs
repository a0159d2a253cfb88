//! Encodings in which a secret may appear in foreign text, such as logs. The searched text is
//! unescaped, so that the search does not depend on which characters were escaped, or how often.
//! Each pass is linear. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Levels of escapes that are removed: JSON in JSON, logged with `%q`.
const LEVELS: usize = 3;

/// Text with some of its escapes removed, and the origin of each byte.
pub(super) struct Read {
    pub(super) bytes: Vec<u8>,
    /// Start and end in the original text, per byte.
    from: Vec<(u32, u32)>,
}

impl Read {
    fn with_room(room: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(room),
            from: Vec::with_capacity(room),
        }
    }

    fn push(&mut self, byte: u8, from: (u32, u32)) {
        self.bytes.push(byte);
        self.from.push(from);
    }

    /// Returns the range in the original text that the bytes `start..end` come from.
    pub(super) fn original_range(&self, start: usize, end: usize) -> (usize, usize) {
        (self.from[start].0 as usize, self.from[end - 1].1 as usize)
    }
}

/// Input of a pass: the original text, or the result of an earlier pass.
#[derive(Clone, Copy)]
struct Source<'t> {
    bytes: &'t [u8],
    from: Option<&'t [(u32, u32)]>,
}

impl Source<'_> {
    /// Returns the range in the original text of the bytes `at..at + len`.
    fn original_range(&self, at: usize, len: usize) -> (u32, u32) {
        match self.from {
            Some(from) => (from[at].0, from[at + len - 1].1),
            None => (saturating_u32(at), saturating_u32(at + len)),
        }
    }
}

impl<'t> From<&'t Read> for Source<'t> {
    fn from(read: &'t Read) -> Self {
        Source {
            bytes: &read.bytes,
            from: Some(&read.from),
        }
    }
}

fn saturating_u32(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Calls `visit` with every unescaped form of the text that differs from it.
pub(super) fn unescaped_forms(text: &str, visit: &mut dyn FnMut(&Read)) {
    // Positions are 32 bits; longer texts are shortened long before they are displayed.
    if text.len() >= u32::MAX as usize {
        return;
    }
    let plain = Source {
        bytes: text.as_bytes(),
        from: None,
    };
    addresses(plain, visit);
    let mut level: Option<Read> = None;
    for _ in 0..LEVELS {
        let Some(next) = unescaped(level.as_ref().map_or(plain, Source::from)) else {
            break;
        };
        visit(&next);
        addresses(Source::from(&next), visit);
        level = Some(next);
    }
}

/// Decodes percent-encoding, and plus signs as spaces, once and twice: URLs may contain URLs.
fn addresses(source: Source<'_>, visit: &mut dyn FnMut(&Read)) {
    // In a query a plus sign is a space, elsewhere it is itself; both are tried.
    for plus in [false, true] {
        let mut level: Option<Read> = None;
        for _ in 0..2 {
            let Some(next) = decoded(level.as_ref().map_or(source, Source::from), plus) else {
                break;
            };
            visit(&next);
            level = Some(next);
        }
    }
}

/// Removes one level of percent-encoding; `None` if the text has none.
fn decoded(source: Source<'_>, plus: bool) -> Option<Read> {
    let bytes = source.bytes;
    if !bytes.contains(if plus { &b'+' } else { &b'%' }) {
        return None;
    }
    let mut out = Read::with_room(bytes.len());
    let (mut at, mut any) = (0, false);
    while at < bytes.len() {
        let (byte, len) = match bytes[at] {
            b'%' => hex_number(bytes, at + 1, 2)
                .and_then(|n| u8::try_from(n).ok())
                .map_or((b'%', 1), |n| (n, 3)),
            b'+' if plus => (b' ', 1),
            other => (other, 1),
        };
        any |= len > 1 || byte != bytes[at];
        out.push(byte, source.original_range(at, len));
        at += len;
    }
    any.then_some(out)
}

/// Removes one level of backslash escapes of JSON, Go's `%q` and Rust's `{:?}`; `None` if there are
/// none.
fn unescaped(source: Source<'_>) -> Option<Read> {
    let bytes = source.bytes;
    if !bytes.contains(&b'\\') {
        return None;
    }
    let mut out = Read::with_room(bytes.len());
    let (mut at, mut any) = (0, false);
    while at < bytes.len() {
        let Some((len, made)) = (bytes[at] == b'\\').then(|| escape(bytes, at)).flatten() else {
            out.push(bytes[at], source.original_range(at, 1));
            at += 1;
            continue;
        };
        any = true;
        let place = source.original_range(at, len);
        match made {
            Spelling::Byte(byte) => out.push(byte, place),
            Spelling::Char(c) => c
                .encode_utf8(&mut [0; 4])
                .bytes()
                .for_each(|byte| out.push(byte, place)),
        }
        at += len;
    }
    any.then_some(out)
}

enum Spelling {
    Byte(u8),
    Char(char),
}

/// Parses the escape that starts at a backslash: its length and its meaning.
fn escape(bytes: &[u8], at: usize) -> Option<(usize, Spelling)> {
    let char = |len: usize, code: Option<u32>| Some((len, Spelling::Char(char::from_u32(code?)?)));
    let byte = |byte: u8| Some((2, Spelling::Byte(byte)));
    match bytes.get(at + 1)? {
        b'n' => byte(b'\n'),
        b'r' => byte(b'\r'),
        b't' => byte(b'\t'),
        b'b' => byte(8),
        b'f' => byte(12),
        b'a' => byte(7),
        b'v' => byte(11),
        b'0' => byte(0),
        other @ (b'"' | b'\'' | b'\\' | b'/') => byte(*other),
        b'x' => Some((
            4,
            Spelling::Byte(u8::try_from(hex_number(bytes, at + 2, 2)?).ok()?),
        )),
        b'U' => char(10, hex_number(bytes, at + 2, 8)),
        b'u' if bytes.get(at + 2) == Some(&b'{') => {
            let digits = bytes[at + 3..]
                .iter()
                .take(7)
                .position(|b| *b == b'}')
                .filter(|n| *n > 0)?;
            char(digits + 4, hex_number(bytes, at + 3, digits))
        }
        b'u' => {
            let first = hex_number(bytes, at + 2, 4)?;
            // JSON writes characters beyond 16 bits as a surrogate pair of two escapes.
            if !(0xD800..0xDC00).contains(&first) {
                return char(6, Some(first));
            }
            let second = hex_number(bytes, at + 8, 4)
                .filter(|n| (0xDC00..0xE000).contains(n) && bytes[at + 6..].starts_with(b"\\u"))?;
            char(
                12,
                Some(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)),
            )
        }
        _ => None,
    }
}

/// Reads a number of this many hexadecimal digits.
fn hex_number(bytes: &[u8], at: usize, digits: usize) -> Option<u32> {
    bytes
        .get(at..at + digits)?
        .iter()
        .try_fold(0u32, |n, byte| {
            Some(n << 4 | char::from(*byte).to_digit(16)?)
        })
}

/// Returns the encodings that unescaping does not reverse: hexadecimal digits, and base64 at each
/// of the three alignments that a text has within longer encoded data.
pub(super) fn other_encodings(text: &str) -> Vec<String> {
    let mut out = vec![hex::encode_upper(text), hex::encode(text)];
    for shift in 0..3 {
        let bytes: Vec<u8> = std::iter::repeat_n(0, shift).chain(text.bytes()).collect();
        // Only characters that do not depend on neighbouring bytes.
        let (first, last) = ((shift * 8).div_ceil(6), bytes.len() * 8 / 6);
        for encoded in [
            STANDARD_NO_PAD.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
        ] {
            // Shorter fragments occur in unrelated text.
            if last >= first + 8 {
                out.push(encoded[first..last].to_owned());
            }
        }
    }
    out
}
