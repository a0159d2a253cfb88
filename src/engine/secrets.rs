//! What must never be shown: the sensitive values that this engine has met, and the text without them. The bus owns the
//! register; who evaluates or asks teaches it, who lets a text of others out (a plugin's line or error, a diagnostic, the
//! output of a command) hides what it knows. What a plugin says of a secret that nobody but the plugin has seen yet
//! cannot be known.

use super::store::model::State;
use super::store::sensitive::{Paths, Place};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use cty::schema::Block;
use cty::{Mark, Value};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

/// What stands for a hidden value.
pub const MASK: &str = "(sensitive)";
/// Shortest text that is hidden, in bytes: anything below is found in words that have nothing to do with it.
const SHORTEST: usize = 6;
/// Shortest line of a longer text that is hidden by itself.
const SHORTEST_LINE: usize = 12;
/// Texts that are kept, spellings counted; more are not hidden.
const KEPT: usize = 200_000;
/// Above this many texts new ones are kept without their base64 spellings.
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

    /// Takes in what the state says is sensitive.
    pub fn learn_state(&self, state: &State) {
        for object in state.objects.iter().filter(|o| o.sensitive.len() > "[]".len()) {
            if let Ok(attributes) = serde_json::from_str(&object.attributes) {
                self.learn_stored(&Paths::of(object).from(&attributes));
            }
        }
        for output in state.outputs.iter().filter(|o| o.sensitive) {
            if let Ok(value) = serde_json::from_str(&output.value) {
                self.learn_json(&value);
            }
        }
    }

    /// Takes in what the paths lead to in a stored object.
    fn learn_stored(&self, at: &Place<'_>) {
        if at.hidden() {
            self.learn_json(at.value);
        } else {
            at.members().for_each(|(_, inner)| self.learn_stored(&inner));
            at.elements().for_each(|inner| self.learn_stored(&inner));
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
        value.children().for_each(|inner| self.gather(inner, secret));
    }

    /// Takes in a text with the spellings in which it may come back.
    pub fn learn_text(&self, text: &str) {
        if text.len() < SHORTEST || self.known.read().unwrap_or_else(PoisonError::into_inner).learnt.contains(text) {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.count >= KEPT || !known.learnt.insert(text.into()) {
            return;
        }
        known.add(text);
        // A file's last line end is no part of what its reader says.
        known.add(text.trim());
        if let Ok(quoted) = serde_json::to_string(text) {
            let inner = &quoted[1..quoted.len() - 1];
            known.add(inner);
            // As an expression writes it.
            known.add(&inner.replace("${", "$${").replace("%{", "%%{"));
        }
        for line in text.lines().map(str::trim).filter(|l| l.len() >= SHORTEST_LINE && l.len() < text.len() && !l.starts_with("-----")) {
            known.add(line);
        }
        if known.count < SPELLED {
            base64_spellings(text).iter().for_each(|spelling| known.add(spelling));
        }
    }

    /// The text without what is known to be secret in it.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(mut found) = known.next(text, 0) else { return Cow::Borrowed(text) };
        let (mut out, mut from) = (String::with_capacity(text.len()), 0);
        loop {
            out.push_str(&text[from..found.0]);
            out.push_str(MASK);
            from = found.1;
            match known.next(text, from) {
                Some(next) => found = next,
                None => break,
            }
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
        let Some(beginning) = text.as_bytes().first_chunk::<SHORTEST>() else { return };
        let same = self.by_beginning.entry(*beginning).or_default();
        let at = same.partition_point(|known| known.len() > text.len());
        if same[at..].iter().take_while(|known| known.len() == text.len()).any(|known| **known == *text) {
            return;
        }
        same.insert(at, text.into());
        self.count += 1;
        self.filter.resize(FILTER / 64, 0);
        let bit = bit(beginning);
        self.filter[bit / 64] |= 1 << (bit % 64);
    }

    /// Where the next secret begins and ends.
    fn next(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        if self.count == 0 {
            return None;
        }
        let bytes = text.as_bytes();
        let places = bytes.get(from..)?.windows(SHORTEST).enumerate();
        places.filter_map(|(n, w)| Some((from + n, w.first_chunk::<SHORTEST>()?))).find_map(|(at, beginning)| {
            let bit = bit(beginning);
            if self.filter[bit / 64] & (1 << (bit % 64)) == 0 {
                return None;
            }
            // Of those that begin here the longest. Both texts are UTF-8, so that it begins and ends between characters.
            let found = self.by_beginning.get(beginning)?.iter().find(|known| bytes[at..].starts_with(known.as_bytes()))?;
            Some((at, at + found.len()))
        })
    }
}

fn bit(beginning: &[u8; SHORTEST]) -> usize {
    let number = beginning.iter().fold(0u64, |n, b| n << 8 | u64::from(*b));
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize
}

/// The text in base64, also where it stands in the middle of what is encoded: what does not depend on its neighbours.
fn base64_spellings(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for shift in 0..3 {
        let bytes: Vec<u8> = std::iter::repeat_n(0, shift).chain(text.bytes()).collect();
        let (first, last) = ((shift * 8).div_ceil(6), bytes.len() * 8 / 6);
        for encoded in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            // Eight characters at least: fewer are found in any text.
            if last >= first + 8 {
                out.push(encoded[first..last].to_owned());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::schema::Attribute;
    use cty::{Marks, Type};

    #[test]
    fn a_learnt_text_is_hidden_in_every_spelling() {
        let secrets = Secrets::default();
        let secret = "pa\"ss\\wörd-93";
        assert_eq!(secrets.hide("nothing is known"), "nothing is known");
        secrets.learn(&Value::string(secret).mark(Mark::Sensitive));
        assert_eq!(secrets.hide(&format!("a {secret} b {secret}")), "a (sensitive) b (sensitive)");
        let quoted = serde_json::to_string(&format!("x{secret}y")).unwrap();
        assert_eq!(secrets.hide(&quoted), "\"x(sensitive)y\"");
        for prefix in ["", "u:", "user:", "another:"] {
            let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{prefix}{secret}:after"));
            let hidden = secrets.hide(&encoded).into_owned();
            assert!(hidden.contains(MASK), "{prefix}: {hidden}");
        }
    }

    #[test]
    fn the_longest_of_those_that_begin_alike_is_hidden_whole() {
        let secrets = Secrets::default();
        for text in ["token-1", "token-12345", "token-123"] {
            secrets.learn_text(text);
        }
        assert_eq!(secrets.hide("token-12345 token-1234 token-1"), "(sensitive) (sensitive)4 (sensitive)");
    }

    #[test]
    fn short_texts_and_what_is_not_sensitive_stay() {
        let secrets = Secrets::default();
        let open = Value::string("open-and-visible");
        let value = Value::object([("open", open), ("pin", Value::string("12345").mark(Mark::Sensitive))]);
        secrets.learn(&value);
        assert_eq!(secrets.hide("open-and-visible 12345"), "open-and-visible 12345");
    }

    #[test]
    fn numbers_lines_of_longer_texts_and_the_inside_of_what_is_marked_are_hidden() {
        let secrets = Secrets::default();
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n";
        let inner = Value::object([("port", Value::int(54_321_987)), ("key", Value::string(key))]);
        secrets.learn(&inner.mark(Mark::Sensitive));
        assert_eq!(secrets.hide("54321987"), MASK);
        assert_eq!(secrets.hide("line hkiG9w0BAQEFAASC."), "line (sensitive).");
        assert_eq!(secrets.hide("-----BEGIN KEY-----"), "-----BEGIN KEY-----");
    }

    #[test]
    fn what_is_sensitive_in_a_stored_object_is_learnt_also_where_it_is_kept_with_its_type() {
        let secrets = Secrets::default();
        let attributes = r#"{"a": {"list": [{"open": "open-word", "key": "closed-word"}]}, "b": "other-word",
            "input": {"value": {"key": "inner-word", "open": "object"}, "type": ["object", {"key": "string", "open": "string"}]}}"#;
        let list = r#"[{"type":"get_attr","value":"a"},{"type":"get_attr","value":"list"},{"type":"index","value":{"value":0,"type":"number"}},{"type":"get_attr","value":"key"}]"#;
        let input = r#"[{"type":"get_attr","value":"input"},{"type":"get_attr","value":"key"}]"#;
        let nothing = r#"[{"type":"get_attr","value":"nothing"}]"#;
        let object = crate::engine::store::model::StateObject {
            attributes: attributes.into(),
            sensitive: format!("[{list},{input},{nothing}]"),
            ..crate::engine::store::sensitive::tests::object()
        };
        secrets.learn_state(&State { objects: vec![object], ..State::default() });
        let said = secrets.hide("open-word closed-word inner-word other-word object").into_owned();
        assert_eq!(said, "open-word (sensitive) (sensitive) other-word object");
    }

    #[test]
    fn a_schema_says_what_is_sensitive_or_write_only() {
        let secrets = Secrets::default();
        let mut block = Block::default();
        block.attributes.insert("password".into(), Attribute::optional(Type::String).sensitive());
        block.attributes.insert("once".into(), Attribute { write_only: true, ..Attribute::optional(Type::String) });
        block.attributes.insert("name".into(), Attribute::optional(Type::String));
        let value = ["password", "once", "name"].map(|n| (n, Value::string(format!("the-{n}"))));
        secrets.learn_by(&block, &Value::object(value).with_marks(&Marks::default()));
        assert_eq!(secrets.hide("the-password the-once the-name"), "(sensitive) (sensitive) the-name");
    }
}
