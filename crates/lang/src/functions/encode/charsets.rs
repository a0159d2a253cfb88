//! Character sets by their IANA names, for text carried as bytes. UTF-16, Latin-1 and ASCII are done here; the rest by `encoding_rs`.

use encoding_rs::Encoding;

/// A character set.
pub(crate) enum Charset {
    Utf8,
    Utf16 { big: bool, bom: bool },
    Latin1,
    Ascii,
    Other(&'static Encoding),
}

impl Charset {
    /// Finds a set by name or alias, without regard to case.
    pub(crate) fn find(name: &str) -> Option<Charset> {
        let upper = name.to_ascii_uppercase();
        Some(match upper.as_str() {
            "UTF-8" | "CSUTF8" => Charset::Utf8,
            "UTF-16" | "CSUTF16" => Charset::Utf16 { big: true, bom: true },
            "UTF-16BE" | "CSUTF16BE" => Charset::Utf16 { big: true, bom: false },
            "UTF-16LE" | "CSUTF16LE" => Charset::Utf16 { big: false, bom: false },
            "ISO-8859-1" | "ISO_8859-1" | "ISO_8859-1:1987" | "ISO-IR-100" | "LATIN1" | "L1" | "IBM819" | "CP819" | "CSISOLATIN1" => {
                Charset::Latin1
            }
            "US-ASCII" | "ASCII" | "ANSI_X3.4-1968" | "ANSI_X3.4-1986" | "ISO_646.IRV:1991" | "ISO646-US" | "US" | "IBM367" | "CP367"
            | "CSASCII" | "ISO-IR-6" => Charset::Ascii,
            // Labels of the web that no registry of character sets knows.
            "UTF8" | "UNICODE" | "UCS-2" | "UNICODE-1-1-UTF-8" | "X-USER-DEFINED" | "REPLACEMENT" => return None,
            _ => {
                let found = Encoding::for_label_no_replacement(name.as_bytes())?;
                if found == encoding_rs::UTF_8 || found == encoding_rs::UTF_16LE || found == encoding_rs::UTF_16BE {
                    return None;
                }
                Charset::Other(found)
            }
        })
    }

    /// The bytes of a text; nothing when it holds a character that the set lacks.
    pub(crate) fn encode(&self, text: &str) -> Option<Vec<u8>> {
        match self {
            Charset::Utf8 => Some(text.as_bytes().to_vec()),
            Charset::Utf16 { big, bom } => {
                let marker = bom.then_some(0xFEFFu16);
                let units = marker.into_iter().chain(text.encode_utf16());
                Some(units.flat_map(|u| if *big { u.to_be_bytes() } else { u.to_le_bytes() }).collect())
            }
            Charset::Latin1 => text.chars().map(|c| u8::try_from(c as u32).ok()).collect(),
            Charset::Ascii => text.is_ascii().then(|| text.as_bytes().to_vec()),
            Charset::Other(encoding) => {
                let (bytes, _, lacking) = encoding.encode(text);
                (!lacking).then(|| bytes.into_owned())
            }
        }
    }

    /// The text of bytes; nothing when they do not stand for text of this set.
    pub(crate) fn decode(&self, bytes: &[u8]) -> Option<String> {
        let text = match self {
            Charset::Utf8 => String::from_utf8(bytes.to_vec()).ok()?,
            Charset::Utf16 { big, bom } => {
                if !bytes.len().is_multiple_of(2) {
                    return None;
                }
                let mut units: Vec<u16> = bytes
                    .chunks_exact(2)
                    .map(|pair| if *big { u16::from_be_bytes([pair[0], pair[1]]) } else { u16::from_le_bytes([pair[0], pair[1]]) })
                    .collect();
                if *bom {
                    match units.first() {
                        Some(0xFEFF) => {
                            units.remove(0);
                        }
                        Some(0xFFFE) => units = units[1..].iter().map(|u| u.swap_bytes()).collect(),
                        _ => {}
                    }
                }
                String::from_utf16(&units).ok()?
            }
            Charset::Latin1 => bytes.iter().map(|&b| b as char).collect(),
            Charset::Ascii => bytes.is_ascii().then(|| bytes.iter().map(|&b| b as char).collect())?,
            Charset::Other(encoding) => encoding.decode_without_bom_handling_and_without_replacement(bytes)?.into_owned(),
        };
        (!text.contains('\u{FFFD}')).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_back_in_every_set() {
        for (name, text) in
            [("UTF-16LE", "tést"), ("utf-16", "日本"), ("ISO-8859-1", "é\u{80}"), ("windows-1252", "€"), ("Shift_JIS", "日本")]
        {
            let set = Charset::find(name).unwrap();
            assert_eq!(set.decode(&set.encode(text).unwrap()).as_deref(), Some(text), "{name}");
        }
        assert!(Charset::find("ISO-8859-1").unwrap().encode("日").is_none());
        assert!(Charset::find("nothing").is_none());
    }
}
