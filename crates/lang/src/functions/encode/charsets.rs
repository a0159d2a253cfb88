//! Character sets by IANA name. UTF-16, Latin-1 and ASCII are implemented here, old code pages by
//! table, the others by `encoding_rs`.

use super::charset_names::NAMES;
use encoding_rs::Encoding;

/// A character set.
#[derive(Clone, Copy)]
pub(crate) enum Charset {
    Utf8,
    Utf16 {
        big: bool,
        bom: bool,
    },
    Latin1,
    /// Latin-1 except for six letters.
    Latin5,
    Ascii,
    /// Characters of all bytes, or of those from 128 on if the others are ASCII.
    Table(&'static str),
    Other(&'static Encoding),
}

/// Differences between Latin-5 and Latin-1.
const LATIN5: [(u8, char); 6] = [
    (0xD0, '\u{11E}'),
    (0xDD, '\u{130}'),
    (0xDE, '\u{15E}'),
    (0xF0, '\u{11F}'),
    (0xFD, '\u{131}'),
    (0xFE, '\u{15F}'),
];

/// Characters that the WHATWG decoders use for unassigned bytes of single-byte sets.
fn is_unassigned(c: char) -> bool {
    ('\u{80}'..='\u{9F}').contains(&c)
}

impl Charset {
    /// Finds a set by name or alias, without regard to case.
    pub(crate) fn find(name: &str) -> Option<Charset> {
        let name = name.trim().to_ascii_lowercase();
        NAMES
            .iter()
            .find(|(_, names)| names.contains(&name.as_str()))
            .map(|(set, _)| *set)
    }

    /// Converts a character to its byte in a single-byte set.
    fn encode_char(&self, c: char) -> Option<u8> {
        match self {
            Charset::Ascii => c.is_ascii().then_some(c as u8),
            Charset::Latin1 => u8::try_from(c as u32).ok(),
            Charset::Latin5 => match LATIN5.iter().find(|(_, other)| *other == c) {
                Some((byte, _)) => Some(*byte),
                None => u8::try_from(c as u32)
                    .ok()
                    .filter(|b| LATIN5.iter().all(|(other, _)| other != b)),
            },
            Charset::Table(table) => {
                let first = 256 - table.chars().count();
                if (c as usize) < first {
                    return Some(c as u8);
                }
                table
                    .chars()
                    .position(|t| t == c)
                    .and_then(|at| u8::try_from(first + at).ok())
            }
            _ => None,
        }
    }

    fn char_of(&self, byte: u8) -> Option<char> {
        match self {
            Charset::Ascii => byte.is_ascii().then_some(byte as char),
            Charset::Latin1 => Some(byte as char),
            Charset::Latin5 => Some(
                LATIN5
                    .iter()
                    .find(|(b, _)| *b == byte)
                    .map_or(byte as char, |(_, c)| *c),
            ),
            Charset::Table(table) => {
                let first = 256 - table.chars().count();
                (byte as usize)
                    .checked_sub(first)
                    .map_or(Some(byte as char), |at| table.chars().nth(at))
            }
            _ => None,
        }
    }

    /// Encodes a text; `None` if the set lacks one of its characters.
    pub(crate) fn encode(&self, text: &str) -> Option<Vec<u8>> {
        match self {
            Charset::Utf8 => Some(text.as_bytes().to_vec()),
            Charset::Utf16 { big, bom } => {
                let marker = bom.then_some(0xFEFFu16);
                let units = marker.into_iter().chain(text.encode_utf16());
                Some(
                    units
                        .flat_map(|u| {
                            if *big {
                                u.to_be_bytes()
                            } else {
                                u.to_le_bytes()
                            }
                        })
                        .collect(),
                )
            }
            Charset::Latin1 | Charset::Latin5 | Charset::Ascii | Charset::Table(_) => {
                text.chars().map(|c| self.encode_char(c)).collect()
            }
            // These characters only stand for unassigned bytes, so the set does not have them.
            Charset::Other(encoding)
                if encoding.is_single_byte() && text.contains(is_unassigned) =>
            {
                None
            }
            Charset::Other(encoding) => {
                let (bytes, _, lacking) = encoding.encode(text);
                (!lacking).then(|| bytes.into_owned())
            }
        }
    }

    /// Decodes bytes; `None` if they are invalid in this set.
    pub(crate) fn decode(&self, bytes: &[u8]) -> Option<String> {
        let text = match self {
            Charset::Utf8 => String::from_utf8(bytes.to_vec()).ok()?,
            Charset::Utf16 { big, bom } => {
                if !bytes.len().is_multiple_of(2) {
                    return None;
                }
                let mut units: Vec<u16> = bytes
                    .chunks_exact(2)
                    .map(|pair| {
                        if *big {
                            u16::from_be_bytes([pair[0], pair[1]])
                        } else {
                            u16::from_le_bytes([pair[0], pair[1]])
                        }
                    })
                    .collect();
                if *bom {
                    match units.first() {
                        Some(0xFEFF) => {
                            units.remove(0);
                        }
                        // A swapped byte order mark overrides the order of the name.
                        Some(0xFFFE) => units = units[1..].iter().map(|u| u.swap_bytes()).collect(),
                        _ => {}
                    }
                }
                String::from_utf16(&units).ok()?
            }
            Charset::Latin1 | Charset::Latin5 | Charset::Ascii | Charset::Table(_) => bytes
                .iter()
                .map(|&b| self.char_of(b))
                .collect::<Option<_>>()?,
            // The decoder turns unassigned bytes into control characters instead of failing.
            Charset::Other(encoding) => encoding
                .decode_without_bom_handling_and_without_replacement(bytes)
                .filter(|text| !encoding.is_single_byte() || !text.contains(is_unassigned))?
                .into_owned(),
        };
        (!text.contains('\u{FFFD}')).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_in_each_charset() {
        for (name, text) in [
            ("UTF-16LE", "tést"),
            ("utf-16", "日本"),
            ("ISO-8859-1", "é\u{80}"),
            ("windows-1252", "€"),
            ("Shift_JIS", "日本"),
            ("cp437", "é║"),
            ("IBM1047", "a[é]"),
            ("l5", "ğÿ"),
        ] {
            let set = Charset::find(name).unwrap();
            assert_eq!(
                set.decode(&set.encode(text).unwrap()).as_deref(),
                Some(text),
                "{name}"
            );
        }
        assert!(Charset::find("ISO-8859-1").unwrap().encode("日").is_none());
        assert!(
            Charset::find("windows-1252")
                .unwrap()
                .decode(b"\x81")
                .is_none()
        );
        // Names that IANA does not list are rejected, even if WHATWG knows them.
        for name in ["nothing", "utf8", "TIS-620", ""] {
            assert!(Charset::find(name).is_none(), "{name}");
        }
    }
}
