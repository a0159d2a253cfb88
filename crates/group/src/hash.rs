//! Hash of a member's configuration. It is independent of key order and of the group's size, so a
//! resize never rolls.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha1::{Digest, Sha1};

/// Hash of the configuration that a member was created from. Equal to InfraKit's for the same
/// specification, so that its groups are adopted without a rolling update.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConfigHash(String);

/// Value of the tag on a member that was created before its group. It gets the committed hash at
/// the first pass.
const BOOTSTRAP: &str = "bootstrap";

/// Length of the short form.
const SHORT: usize = 7;

impl ConfigHash {
    /// SHA-1 of the sections as canonical JSON, in base32 without padding. Sections are those that
    /// decide about a member: instance and flavor, without the allocation.
    pub fn of(sections: &[&Value]) -> ConfigHash {
        let mut hasher = Sha1::new();
        for section in sections {
            let mut text = String::new();
            write_canonical(section, 1, &mut text);
            hasher.update(text.as_bytes());
        }
        ConfigHash(base32(&hasher.finalize()))
    }

    /// A hash read from a tag or the store.
    pub fn from_text(text: &str) -> ConfigHash {
        ConfigHash(text.to_owned())
    }

    /// The first characters, for tables.
    pub fn short(&self) -> &str {
        self.0.get(..SHORT).unwrap_or(&self.0)
    }

    /// Returns true for a member that waits for its first label.
    pub fn needs_label(&self) -> bool {
        self.0 == BOOTSTRAP
    }

    /// The hash as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConfigHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Encodes bytes by RFC 4648 in lower case, without padding.
fn base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let bits = bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1));
    let bits: Vec<u8> = bits.collect();
    let digit = |five: &[u8]| (0..5).fold(0, |sum, at| sum << 1 | five.get(at).unwrap_or(&0));
    bits.chunks(5)
        .map(|five| char::from(ALPHABET[usize::from(digit(five))]))
        .collect()
}

/// Writes JSON as Go's `MarshalIndent(value, "  ", "  ")` does: sorted keys, two spaces.
fn write_canonical(value: &Value, depth: usize, out: &mut String) {
    let line = |depth: usize, out: &mut String| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| name.as_str());
            out.push('{');
            for (at, (name, field)) in fields.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                line(depth + 1, out);
                cty::json::write_string(name, out);
                out.push_str(": ");
                write_canonical(field, depth + 1, out);
            }
            line(depth, out);
            out.push('}');
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                line(depth + 1, out);
                write_canonical(item, depth + 1, out);
            }
            line(depth, out);
            out.push(']');
        }
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::String(text) => cty::json::write_string(text, out),
        other => out.push_str(&other.to_string()),
    }
}

/// Shortest text of a number as a 64-bit float, so that `1.50` and `1.5` are equal.
fn number_text(number: &serde_json::Number) -> String {
    let Some(float) = number.as_f64().filter(|float| float.is_finite()) else {
        return number.to_string();
    };
    let size = float.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{float:e}");
        return match text.contains("e-") {
            true => text,
            false => text.replace('e', "e+"),
        };
    }
    float.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    /// Hashes computed by InfraKit's own code (`InstanceHash`).
    #[test]
    fn hash_is_that_of_infrakit() {
        let instance = parsed(
            r#"{"Plugin":"instance-terraform","Properties":{"resource":{"aws_instance":{"host":{"ami":"ami-1","n":3,"f":1.50,"big":1e21,"small":0.0000001,"e":[],"o":{},"t":"a<b>&\u2028\u0001\t\"é","z":null,"neg":-0.5,"i":12345678901234567890, "l":[1,{"b":true,"a":false}]}}}}}"#,
        );
        let flavor = parsed(
            r#"{"Plugin":"flavor-vanilla","Properties":{"Init":["echo hi"],"Tags":{"b":"2","a":"1"}}}"#,
        );
        let hash = ConfigHash::of(&[&instance, &flavor]);
        assert_eq!(hash.as_str(), "ey2zt6xc2q6ogz3y6ymx6fozyglejvr4");
        assert_eq!(hash.short(), "ey2zt6x");
        let bare = |name: &str| json!({"Plugin": name, "Properties": null});
        let hash = ConfigHash::of(&[&bare("a"), &bare("b")]);
        assert_eq!(hash.as_str(), "5d2lmp6h76mjweqn7hujcvusmhjr2kui");
    }

    /// InfraKit: InstanceHash.
    #[test]
    fn hash_ignores_the_order_of_keys_and_the_notation_of_numbers() {
        let of = |text: &str| ConfigHash::of(&[&parsed(text)]);
        let one = of(r#"{"a":1,"b":{"c":2,"d":[1,2]}}"#);
        assert_eq!(of(r#"{"b":{"d":[1.0,2],"c":2e0},"a":1}"#), one);
        for other in [
            r#"{"a":2,"b":{"c":2,"d":[1,2]}}"#,
            r#"{"a":1,"b":{"c":2,"d":[2,1]}}"#,
            r#"{"a":"1","b":{"c":2,"d":[1,2]}}"#,
        ] {
            assert_ne!(of(other), one, "{other}");
        }
    }

    #[test]
    fn sections_are_hashed_one_by_one() {
        let (a, b) = (json!({"a": 1}), json!({"b": 1}));
        assert_ne!(ConfigHash::of(&[&a, &b]), ConfigHash::of(&[&b, &a]));
    }

    /// InfraKit: Label.
    #[test]
    fn member_created_before_its_group_needs_a_label() {
        assert!(ConfigHash::from_text("bootstrap").needs_label());
        assert!(!ConfigHash::of(&[&json!({})]).needs_label());
    }
}
