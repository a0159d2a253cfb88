//! Compares two texts that contain JSON or YAML by their structure. Pure.

use super::rows::Rows;
use cty::{Path, PathStep, Value};
use model::AttributeChange;
use std::collections::HashSet;

/// Size limit of a text, in bytes.
const MAX_TEXT: usize = 200_000;

/// Comparison of two documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// `JSON` or `YAML`.
    pub format: &'static str,
    /// One row for each value, and for each added or removed part. Paths name elements of lists by
    /// their identity, if they have one: `Statement[Sid=Read].Effect`.
    pub rows: Vec<AttributeChange>,
}

/// Compares two texts by their structure. Returns `None` unless both contain an object or a list in
/// the same format, and unless the structure expresses every difference of the texts except their
/// layout.
pub fn document(before: &str, after: &str) -> Option<Document> {
    if before.len().max(after.len()) > MAX_TEXT {
        return None;
    }
    let (format, b, a) = match (json(before), json(after)) {
        (Some(b), Some(a)) => ("JSON", b, a),
        (None, None) if comments(before) == comments(after) => {
            let (before, after) = paired(yaml(before)?, yaml(after)?);
            ("YAML", before, after)
        }
        _ => return None,
    };
    let rows = Rows::of_document().of(&b, &a);
    // Such texts differ in their layout only, which the structure does not show.
    rows.iter()
        .any(|r| r.changed)
        .then_some(Document { format, rows })
}

/// Renders a path: names of members with special characters are quoted.
pub(super) fn path_text(path: &Path) -> String {
    let mut out = String::new();
    for step in path.steps() {
        match step {
            PathStep::Attr(name) if name.is_empty() || name.contains(['.', '[', ']', '"', ' ']) => {
                out.push_str(&format!("[{}]", lang::addr::quote(name)));
            }
            PathStep::Attr(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            PathStep::Index(key) => {
                let number = || key.as_number().map(|n| n.to_text());
                let key = key.as_str().map(str::to_owned).or_else(number);
                out.push_str(&format!("[{}]", key.unwrap_or_default()));
            }
        }
    }
    if out.is_empty() {
        super::WHOLE_VALUE.to_owned()
    } else {
        out
    }
}

/// Parses a JSON object or list whose numbers are in their usual form.
fn json(text: &str) -> Option<Value> {
    let parsed: serde_json::Value = serde_json::from_str(text).ok()?;
    let container = parsed.is_object() || parsed.is_array();
    if !container || !has_plain_numbers(&parsed) {
        return None;
    }
    cty::json::decode_implied(text.as_bytes()).ok()
}

/// Returns true if equal numbers have equal texts: `1.0` and `1` are different texts.
fn has_plain_numbers(json: &serde_json::Value) -> bool {
    match json {
        serde_json::Value::Number(n) => is_plain_number(&n.to_string()),
        serde_json::Value::Array(all) => all.iter().all(has_plain_numbers),
        serde_json::Value::Object(all) => all.values().all(has_plain_numbers),
        _ => true,
    }
}

fn is_plain_number(text: &str) -> bool {
    cty::Number::parse(text).is_ok_and(|n| n.to_text() == text)
}

/// Parses the documents of a YAML text: mappings with plain names, or lists of such mappings.
fn yaml(text: &str) -> Option<Vec<Value>> {
    if text.lines().count() < 2 || !text.lines().all(has_plain_scalars) {
        return None;
    }
    documents(text).iter().map(|part| parsed(part)).collect()
}

/// Splits a YAML text at the lines `---`.
fn documents(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in text.lines() {
        if line.trim_end() == "---" {
            all.push(String::new());
        } else if let Some(last) = all.last_mut() {
            last.push_str(line);
            last.push('\n');
        }
    }
    let is_comment = |line: &str| line.trim().is_empty() || line.trim().starts_with('#');
    // The first separator may come before the first document.
    if all.len() > 1 && all[0].lines().all(is_comment) {
        all.remove(0);
    }
    all
}

fn parsed(text: &str) -> Option<Value> {
    let value = lang::functions::read_yaml(text).ok()?;
    // Prose such as `Note: read this` parses as YAML, too.
    let is_mapping = |v: &Value| {
        v.as_map()
            .is_some_and(|m| !m.is_empty() && m.keys().all(|name| !name.contains(' ')))
    };
    let list = |v: &Value| {
        v.as_slice()
            .is_some_and(|all| !all.is_empty() && all.iter().all(is_mapping))
    };
    (is_mapping(&value) || list(&value)).then_some(value)
}

/// Joins the documents of each side: as members with their names if all have one and keep their
/// order, else as a list.
fn paired(before: Vec<Value>, after: Vec<Value>) -> (Value, Value) {
    if let ([b], [a]) = (&*before, &*after) {
        return (b.clone(), a.clone());
    }
    let (b, a) = (names(&before), names(&after));
    if let (Some(b), Some(a)) = (b, a) {
        let common = |all: &[String], other: &[String]| -> Vec<String> {
            let common = all.iter().filter(|name| other.contains(name));
            common.cloned().collect()
        };
        // Members have no order, so that they cannot show a change of it.
        if common(&b, &a) == common(&a, &b) {
            let members = |names: Vec<String>, all| Value::object(names.into_iter().zip(all));
            return (members(b, before), members(a, after));
        }
    }
    (Value::tuple(before), Value::tuple(after))
}

/// Limit of documents with names; more are compared as a list.
const MAX_NAMED: usize = 200;

/// Names of the documents of Kubernetes: kind and name. `None` unless all have a different one.
fn names(all: &[Value]) -> Option<Vec<String>> {
    let text = |v: &Value, name: &str| Some(v.as_map()?.get(name)?.as_str()?.to_owned());
    let name = |v: &Value| {
        let metadata = v.as_map()?.get("metadata")?;
        Some(format!("{}/{}", text(v, "kind")?, text(metadata, "name")?))
    };
    let names: Vec<String> = all.iter().map(name).collect::<Option<_>>()?;
    let different = names.iter().collect::<HashSet<_>>().len() == names.len();
    (different && names.len() <= MAX_NAMED).then_some(names)
}

/// Returns true if each scalar of a line of YAML has one text: no tags, no `yes` for `true`, no
/// `1.10` for `1.1`.
fn has_plain_scalars(line: &str) -> bool {
    let line = line.split(" #").next().unwrap_or_default();
    let value = line.split_once(": ").map_or(line, |(_, value)| value);
    let value = value.trim_start_matches(['-', ' ']).trim_end();
    value
        .split([',', '[', ']', '{', '}'])
        .map(|part| part.rsplit(": ").next().unwrap_or_default().trim())
        .all(|scalar| {
            let number = scalar.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
            let word = scalar.to_ascii_lowercase();
            let radix = scalar.starts_with("0x") || scalar.starts_with("0o");
            let ambiguous = radix
                || ["y", "yes", "n", "no", "on", "off", "~"].contains(&word.as_str())
                || ["true", "false", "null"].contains(&word.as_str()) && word != scalar;
            let is_number = number && cty::Number::parse(&scalar.replace('_', "")).is_ok();
            !ambiguous && !scalar.starts_with('!') && (!is_number || is_plain_number(scalar))
        })
}

/// Returns the comments of a YAML text, which its structure does not contain.
fn comments(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| {
            let line = line.trim();
            let at = line.find(" #").map(|at| at + 1);
            Some(&line[at.or(line.starts_with('#').then_some(0))?..])
        })
        .collect()
}
