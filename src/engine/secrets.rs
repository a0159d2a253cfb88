//! What must never be shown: the sensitive values that this engine has met, and the text without
//! them. The bus owns the register; who evaluates or asks teaches it, who lets a text of others out
//! (a plugin's line or error, a diagnostic, the output of a command) hides what it knows. What a
//! plugin says of a secret that nobody but the plugin has seen yet cannot be known.

mod spellings;

use cty::schema::Block;
use cty::{Mark, Value};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

/// What stands for a hidden value.
pub const MASK: &str = "(sensitive)";
/// Shortest text that is hidden, in bytes: anything below is found in words that have nothing to do
/// with it.
const SHORTEST: usize = 6;
/// Shortest line of a longer text that is hidden by itself.
const SHORTEST_LINE: usize = 12;
/// Texts that are kept, spellings counted; more are not hidden.
const KEPT: usize = 200_000;
/// Above this many texts new ones are kept without their spellings in digits and base64.
const SPELLED: usize = 20_000;
/// Bits of the filter that rules out most places of a text.
const FILTER: usize = 1 << 16;

/// The register. Cheap to clone: clones share it.
#[derive(Clone, Default)]
pub struct Secrets {
    known: Arc<RwLock<Known>>,
}

#[derive(Default)]
struct Known {
    /// Texts that were learnt, without their spellings.
    learnt: HashSet<Box<str>>,
    /// By their first bytes, longest first.
    by_beginning: HashMap<[u8; SHORTEST], Vec<Box<str>>>,
    filter: Vec<u64>,
    count: usize,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// Takes in every text and number of `value` that is marked sensitive or ephemeral.
    pub fn learn(&self, value: &Value) {
        if value.contains_mark(&Mark::Sensitive) || value.contains_mark(&Mark::Ephemeral) {
            self.gather(value, false);
        }
    }

    /// Takes in what the schema says is sensitive or write-only in a value of it.
    pub fn learn_by(&self, block: &Block, value: &Value) {
        for path in block.paths_where(value, &|a| a.sensitive || a.write_only) {
            if let Ok(found) = path.apply(value) {
                self.gather(&found, true);
            }
        }
    }

    /// Takes in all of a JSON value.
    pub fn learn_json(&self, value: &serde_json::Value) {
        match value {
            serde_json::Value::String(text) => self.learn_text(text),
            serde_json::Value::Number(number) => self.learn_text(&number.to_string()),
            serde_json::Value::Array(all) => all.iter().for_each(|v| self.learn_json(v)),
            serde_json::Value::Object(all) => all.values().for_each(|v| self.learn_json(v)),
            serde_json::Value::Null | serde_json::Value::Bool(_) => {}
        }
    }

    fn gather(&self, value: &Value, secret: bool) {
        let secret = secret || value.marks().is_sensitive() || value.marks().is_ephemeral();
        if secret && let Some(text) = value.as_str() {
            self.learn_text(text);
        }
        if secret && let Some(number) = value.as_number() {
            self.learn_text(&number.to_string());
        }
        value
            .children()
            .for_each(|inner| self.gather(inner, secret));
    }

    /// Takes in a text with the spellings in which it may come back.
    pub fn learn_text(&self, text: &str) {
        if text.len() < SHORTEST
            || self
                .known
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .learnt
                .contains(text)
        {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.count >= KEPT || !known.learnt.insert(text.into()) {
            return;
        }
        known.add(text);
        // A file's last line end is no part of what its reader says.
        known.add(text.trim());
        // As an expression writes it.
        known.add(&text.replace("${", "$${").replace("%{", "%%{"));
        for line in text
            .lines()
            .map(str::trim)
            .filter(|l| l.len() >= SHORTEST_LINE && l.len() < text.len() && !l.starts_with("-----"))
        {
            known.add(line);
        }
        if known.count < SPELLED {
            spellings::others(text)
                .iter()
                .for_each(|spelling| known.add(spelling));
        }
    }

    /// The text without what is known to be secret in it, in whatever spelling.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if known.count == 0 {
            return Cow::Borrowed(text);
        }
        let mut found: Vec<(usize, usize)> = Vec::new();
        known.all(text.as_bytes(), |start, end| found.push((start, end)));
        spellings::readings(text, &mut |read| {
            known.all(&read.bytes, |start, end| found.push(read.place(start, end)))
        });
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_unstable();
        let (mut out, mut from) = (String::with_capacity(text.len()), 0);
        for (start, end) in found {
            let (start, end) = (
                text.floor_char_boundary(start),
                text.ceil_char_boundary(end),
            );
            // One that overlaps the one before belongs to its mask.
            if start >= from {
                out.push_str(&text[from..start]);
                out.push_str(MASK);
            }
            from = from.max(end);
        }
        out.push_str(&text[from..]);
        Cow::Owned(out)
    }

    /// The same in place.
    pub fn hide_in(&self, text: &mut String) {
        if let Cow::Owned(hidden) = self.hide(text) {
            *text = hidden;
        }
    }
}

impl Known {
    fn add(&mut self, text: &str) {
        let Some(beginning) = text.as_bytes().first_chunk::<SHORTEST>() else {
            return;
        };
        let same = self.by_beginning.entry(*beginning).or_default();
        let at = same.partition_point(|known| known.len() > text.len());
        if same[at..]
            .iter()
            .take_while(|known| known.len() == text.len())
            .any(|known| **known == *text)
        {
            return;
        }
        same.insert(at, text.into());
        self.count += 1;
        self.filter.resize(FILTER / 64, 0);
        let bit = bit(beginning);
        self.filter[bit / 64] |= 1 << (bit % 64);
    }

    /// Tells where each secret begins and ends, none within another.
    fn all(&self, bytes: &[u8], mut tell: impl FnMut(usize, usize)) {
        let mut at = 0;
        while let Some(beginning) = bytes.get(at..).and_then(<[u8]>::first_chunk::<SHORTEST>) {
            let bit = bit(beginning);
            if self.filter[bit / 64] & (1 << (bit % 64)) != 0
                // Of those that begin here the longest.
                && let Some(found) = self.by_beginning.get(beginning).and_then(|all| all.iter().find(|k| bytes[at..].starts_with(k.as_bytes())))
            {
                tell(at, at + found.len());
                at += found.len();
            } else {
                at += 1;
            }
        }
    }
}

fn bit(beginning: &[u8; SHORTEST]) -> usize {
    let number = beginning.iter().fold(0u64, |n, b| n << 8 | u64::from(*b));
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use cty::schema::Attribute;
    use cty::{Marks, Type};

    #[test]
    fn a_learnt_text_is_hidden_in_every_spelling() {
        let secrets = Secrets::default();
        let secret = "pa\"ss\\wörd-93";
        assert_eq!(secrets.hide("nothing is known"), "nothing is known");
        secrets.learn(&Value::string(secret).mark(Mark::Sensitive));
        assert_eq!(
            secrets.hide(&format!("a {secret} b {secret}")),
            "a (sensitive) b (sensitive)"
        );
        let json = |text: &str| serde_json::to_string(text).unwrap();
        assert_eq!(
            secrets.hide(&json(&format!("x{secret}y"))),
            "\"x(sensitive)y\""
        );
        assert_eq!(
            secrets.hide(&json(&json(secret))),
            "\"\\\"(sensitive)\\\"\""
        );
        let encoded = |digits: fn(u8) -> String| {
            let one = |b: u8| {
                if b.is_ascii_alphanumeric() {
                    char::from(b).to_string()
                } else {
                    digits(b)
                }
            };
            secret.bytes().map(one).collect::<String>()
        };
        let query = encoded(|b| format!("%{b:02x}"));
        let spelled = [
            json(&json(&json(secret))),
            format!("{secret:?}"),
            format!("{:?}", format!("{secret:?}")),
            // Go's `%+q`, and what escapes for HTML too.
            r#""pa\"ss\\w\u00f6rd-93""#.to_owned(),
            r#""pa\"ss\\w\xc3\xb6rd\u002d93""#.to_owned(),
            query.clone(),
            encoded(|b| format!("%{b:02X}")),
            query.replace('%', "%25"),
            json(&format!("https://u:{query}@h")),
            secret.bytes().map(|b| format!("{b:02x}")).collect(),
            secret.bytes().map(|b| format!("{b:02X}")).collect(),
        ];
        for text in &spelled {
            let hidden = secrets.hide(text).into_owned();
            assert!(
                hidden.contains(MASK) && !hidden.contains("93"),
                "{text}: {hidden}"
            );
        }
        for prefix in ["", "u:", "user:", "another:"] {
            let encoded =
                base64::engine::general_purpose::STANDARD.encode(format!("{prefix}{secret}:after"));
            let hidden = secrets.hide(&encoded).into_owned();
            assert!(hidden.contains(MASK), "{prefix}: {hidden}");
        }
    }

    #[test]
    fn blanks_may_be_plus_signs_and_what_stands_around_stays() {
        let secrets = Secrets::default();
        secrets.learn_text("two words+100%");
        assert_eq!(
            secrets.hide("q=two+words%2B100%25&n=a+b%20c"),
            "q=(sensitive)&n=a+b%20c"
        );
        assert_eq!(
            secrets.hide("q=two%20words+100%25\\n\\q"),
            "q=(sensitive)\\n\\q"
        );
    }

    #[test]
    fn any_text_is_read_without_a_panic_and_nothing_but_the_secret_goes() {
        let secrets = Secrets::default();
        secrets.learn_text("ß\"secret\\");
        for text in [
            "\\",
            "\\u",
            "\\u{",
            "\\u{}",
            "\\u{1234567}",
            "\\uD83D",
            "\\ud83d\\ude00",
            "\\x",
            "\\xg1",
            "%",
            "%2",
            "%zz",
            "+",
            "\\U0000",
            "\\u{10ffff}é",
        ] {
            assert_eq!(secrets.hide(text), text);
            assert_eq!(
                secrets.hide(&format!("{text}ß\"secret\\")),
                format!("{text}(sensitive)"),
                "{text}"
            );
        }
    }

    /// A flood of escapes costs some passes and no more: what is searched grows with the text
    /// alone.
    #[test]
    fn a_text_of_escapes_is_read_some_times_and_no_more() {
        let text = "\\\\%25+".repeat(1000);
        let (mut readings, mut bytes) = (0, 0);
        spellings::readings(&text, &mut |read| {
            (readings, bytes) = (readings + 1, bytes + read.bytes.len())
        });
        assert!(
            readings <= 20 && bytes <= 20 * text.len(),
            "{readings} readings of {bytes} bytes"
        );
    }

    #[test]
    fn the_longest_of_those_that_begin_alike_is_hidden_whole() {
        let secrets = Secrets::default();
        for text in ["token-1", "token-12345", "token-123"] {
            secrets.learn_text(text);
        }
        assert_eq!(
            secrets.hide("token-12345 token-1234 token-1"),
            "(sensitive) (sensitive)4 (sensitive)"
        );
    }

    #[test]
    fn short_texts_and_what_is_not_sensitive_stay() {
        let secrets = Secrets::default();
        let open = Value::string("open-and-visible");
        let value = Value::object([
            ("open", open),
            ("pin", Value::string("12345").mark(Mark::Sensitive)),
        ]);
        secrets.learn(&value);
        assert_eq!(
            secrets.hide("open-and-visible 12345"),
            "open-and-visible 12345"
        );
    }

    #[test]
    fn numbers_lines_of_longer_texts_and_the_inside_of_what_is_marked_are_hidden() {
        let secrets = Secrets::default();
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n";
        let inner = Value::object([
            ("port", Value::int(54_321_987)),
            ("key", Value::string(key)),
        ]);
        secrets.learn(&inner.mark(Mark::Sensitive));
        assert_eq!(secrets.hide("54321987"), MASK);
        assert_eq!(secrets.hide("line hkiG9w0BAQEFAASC."), "line (sensitive).");
        assert_eq!(secrets.hide("-----BEGIN KEY-----"), "-----BEGIN KEY-----");
    }

    #[test]
    fn a_schema_says_what_is_sensitive_or_write_only() {
        let secrets = Secrets::default();
        let mut block = Block::default();
        block.attributes.insert(
            "password".into(),
            Attribute::optional(Type::String).sensitive(),
        );
        block.attributes.insert(
            "once".into(),
            Attribute {
                write_only: true,
                ..Attribute::optional(Type::String)
            },
        );
        block
            .attributes
            .insert("name".into(), Attribute::optional(Type::String));
        let value = ["password", "once", "name"].map(|n| (n, Value::string(format!("the-{n}"))));
        secrets.learn_by(&block, &Value::object(value).with_marks(&Marks::default()));
        assert_eq!(
            secrets.hide("the-password the-once the-name"),
            "(sensitive) (sensitive) the-name"
        );
    }
}
