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
mod tests;
