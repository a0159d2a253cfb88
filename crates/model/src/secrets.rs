//! Redaction: register of known sensitive values, and texts without them. Owned by the bus.
//! Evaluation and calls add values; code that forwards foreign text (plugin lines and errors,
//! diagnostics, command output) redacts them. A secret that only the plugin has seen cannot be
//! redacted.

mod encodings;

use cty::schema::Block;
use cty::{Mark, Value};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

/// Replacement of a redacted value.
pub const MASK: &str = "(sensitive)";
/// Minimum length of a redacted text, in bytes; shorter ones occur in unrelated words.
const MIN_LENGTH: usize = 6;
/// Minimum length of a single line of a longer text that is redacted.
const MIN_LINE_LENGTH: usize = 12;
/// Maximum number of registered texts, including their encodings.
const MAX_TEXTS: usize = 200_000;
/// Above this number, texts are registered without numeric and base64 encodings.
const MAX_WITH_ENCODINGS: usize = 20_000;
/// Bits of the filter that skips most positions of a text.
const FILTER: usize = 1 << 16;

/// Register of sensitive values. Clones share it.
#[derive(Clone, Default)]
pub struct Secrets {
    known: Arc<RwLock<Known>>,
}

#[derive(Default)]
struct Known {
    /// Registered texts, without their encodings.
    learnt: HashSet<Box<str>>,
    /// All texts by their first bytes, longest first.
    by_prefix: HashMap<[u8; MIN_LENGTH], Vec<Box<str>>>,
    filter: Vec<u64>,
    count: usize,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// Registers every text and number of `value` that is marked sensitive or ephemeral.
    pub fn register(&self, value: &Value) {
        if value.contains_mark(&Mark::Sensitive) || value.contains_mark(&Mark::Ephemeral) {
            self.collect(value, false);
        }
    }

    /// Registers the attributes of `value` that its schema marks sensitive or write-only.
    pub fn register_by_schema(&self, block: &Block, value: &Value) {
        for path in block.paths_where(value, &|a| a.sensitive || a.write_only) {
            if let Ok(found) = path.apply(value) {
                self.collect(&found, true);
            }
        }
    }

    /// Registers all of a JSON value.
    pub fn register_json(&self, value: &serde_json::Value) {
        match value {
            serde_json::Value::String(text) => self.register_text(text),
            serde_json::Value::Number(number) => self.register_text(&number.to_string()),
            serde_json::Value::Array(all) => all.iter().for_each(|v| self.register_json(v)),
            serde_json::Value::Object(all) => all.values().for_each(|v| self.register_json(v)),
            serde_json::Value::Null | serde_json::Value::Bool(_) => {}
        }
    }

    fn collect(&self, value: &Value, secret: bool) {
        let secret = secret || value.marks().is_sensitive() || value.marks().is_ephemeral();
        if secret && let Some(text) = value.as_str() {
            self.register_text(text);
        }
        if secret && let Some(number) = value.as_number() {
            self.register_text(&number.to_string());
        }
        value
            .children()
            .for_each(|inner| self.collect(inner, secret));
    }

    /// Registers a text and its likely encodings.
    pub fn register_text(&self, text: &str) {
        // The read lock suffices for most texts, which are already known.
        if text.len() < MIN_LENGTH
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
        // Another thread may have registered the text meanwhile.
        if known.count >= MAX_TEXTS || !known.learnt.insert(text.into()) {
            return;
        }
        known.add(text);
        // Programs often drop the final newline of a file.
        known.add(text.trim());
        // Escaped for an expression.
        known.add(&text.replace("${", "$${").replace("%{", "%%{"));
        // Lines that frame a PEM block are not secret.
        for line in text.lines().map(str::trim).filter(|l| {
            l.len() >= MIN_LINE_LENGTH && l.len() < text.len() && !l.starts_with("-----")
        }) {
            known.add(line);
        }
        if known.count < MAX_WITH_ENCODINGS {
            encodings::other_encodings(text)
                .iter()
                .for_each(|spelling| known.add(spelling));
        }
    }

    /// Returns the text with known secrets redacted, in any encoding.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if known.count == 0 {
            return Cow::Borrowed(text);
        }
        let mut found: Vec<(usize, usize)> = Vec::new();
        known.all(text.as_bytes(), |start, end| found.push((start, end)));
        encodings::unescaped_forms(text, &mut |read| {
            known.all(&read.bytes, |start, end| {
                found.push(read.original_range(start, end))
            })
        });
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_unstable();
        let (mut out, mut from) = (String::with_capacity(text.len()), 0);
        for (start, end) in found {
            // A match in decoded text may begin or end inside a character.
            let (start, end) = (
                text.floor_char_boundary(start),
                text.ceil_char_boundary(end),
            );
            // An overlapping secret is covered by the same mask.
            if start >= from {
                out.push_str(&text[from..start]);
                out.push_str(MASK);
            }
            from = from.max(end);
        }
        out.push_str(&text[from..]);
        Cow::Owned(out)
    }

    /// Redacts in place.
    pub fn redact_in_place(&self, text: &mut String) {
        if let Cow::Owned(hidden) = self.redact(text) {
            *text = hidden;
        }
    }
}

impl Known {
    fn add(&mut self, text: &str) {
        let Some(beginning) = text.as_bytes().first_chunk::<MIN_LENGTH>() else {
            return;
        };
        let same = self.by_prefix.entry(*beginning).or_default();
        // Sorted by length, so that a search finds the longest match first.
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
        // Allocated with the first secret.
        self.filter.resize(FILTER / 64, 0);
        let bit = bit(beginning);
        self.filter[bit / 64] |= 1 << (bit % 64);
    }

    /// Reports the position of each secret, without nested ones.
    fn all(&self, bytes: &[u8], mut tell: impl FnMut(usize, usize)) {
        let mut at = 0;
        while let Some(beginning) = bytes.get(at..).and_then(<[u8]>::first_chunk::<MIN_LENGTH>) {
            // The filter skips most positions that start no secret.
            let bit = bit(beginning);
            if self.filter[bit / 64] & (1 << (bit % 64)) != 0
                // The longest of those that start here.
                && let Some(found) = self.by_prefix.get(beginning).and_then(|all| all.iter().find(|k| bytes[at..].starts_with(k.as_bytes())))
            {
                tell(at, at + found.len());
                at += found.len();
            } else {
                at += 1;
            }
        }
    }
}

fn bit(beginning: &[u8; MIN_LENGTH]) -> usize {
    let number = beginning.iter().fold(0u64, |n, b| n << 8 | u64::from(*b));
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize
}

#[cfg(test)]
mod tests;
