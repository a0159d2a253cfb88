//! Renders two values side by side as one row per leaf, with sensitive parts masked. Pure. All
//! displayed values of a stage come from here.

mod align;
mod document;
mod rows;
#[cfg(test)]
mod tests;

pub use document::{Document, document};

use cty::{Path, PathStep, Value};
use model::AttributeChange;
use rows::Rows;

/// Placeholder of a hidden value.
pub const SENSITIVE: &str = "(sensitive value)";
/// Placeholder of a value that only the deploy determines.
pub const UNKNOWN: &str = "(known after apply)";
/// Path of a whole value in its row.
const WHOLE_VALUE: &str = "*";

/// Returns one row for each leaf of either side; nulls are not leaves. A leaf that is sensitive on
/// one side is masked on both. Elements of lists and sets are matched by the attribute that
/// identifies them, or by their likeness, so that an inserted element is one addition. Elements of
/// sets are numbered: those of `before` first, then added ones.
pub fn attributes(before: &Value, after: &Value, forcing: &[Path]) -> Vec<AttributeChange> {
    Rows::new(forcing).of(before, after)
}

/// Returns the same rows as [`attributes`], with sensitive values in clear. Only for an operator
/// who asked for one of them.
pub fn revealed_attributes(
    before: &Value,
    after: &Value,
    forcing: &[Path],
) -> Vec<AttributeChange> {
    Rows::new(forcing).revealing().of(before, after)
}

/// Renders a value as an expression with its hidden parts masked.
pub fn render(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// Renders a path as in the language: `tags["name"]`, `rule[0].port`.
pub fn path_text(path: &Path) -> String {
    let mut out = String::new();
    for step in path.steps() {
        match step {
            PathStep::Attr(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            PathStep::Index(key) => {
                out.push('[');
                match (key.as_str(), key.as_number()) {
                    (Some(text), _) => out.push_str(&lang::addr::quote(text)),
                    (_, Some(n)) => out.push_str(&n.to_text()),
                    // The path step of a set element contains its value, which may be sensitive.
                    _ => out.push('…'),
                }
                out.push(']');
            }
        }
    }
    if out.is_empty() {
        WHOLE_VALUE.to_owned()
    } else {
        out
    }
}

/// Returns true if the value's own marks hide it.
fn has_hiding_marks(value: &Value) -> bool {
    value.marks().is_sensitive() || value.marks().is_ephemeral()
}

/// Returns true if the value has a hidden part.
pub fn has_hidden_part(value: &Value) -> bool {
    value.contains_mark(&cty::Mark::Sensitive) || value.contains_mark(&cty::Mark::Ephemeral)
}

fn write(value: &Value, out: &mut String) {
    if has_hiding_marks(value) {
        out.push_str(SENSITIVE);
        return;
    }
    if !value.is_known() {
        out.push_str(UNKNOWN);
        return;
    }
    if value.is_null() {
        out.push_str("null");
    } else if let Some(text) = value.as_str() {
        out.push_str(&lang::addr::quote(text));
    } else if let Some(n) = value.as_number() {
        out.push_str(&n.to_text());
    } else if let Some(b) = value.as_bool() {
        out.push_str(if b { "true" } else { "false" });
    } else if let Some(members) = value.as_map() {
        if members.is_empty() {
            out.push_str("{}");
            return;
        }
        out.push_str("{ ");
        for (i, (name, inner)) in members.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            if is_name(name) {
                out.push_str(name)
            } else {
                out.push_str(&lang::addr::quote(name))
            }
            out.push_str(" = ");
            write(inner, out);
        }
        out.push_str(" }");
    } else {
        // A hidden part of an element hides the set, because the order of elements depends on it.
        if value.ty().is_set() && has_hidden_part(value) {
            out.push_str(SENSITIVE);
            return;
        }
        out.push('[');
        for (i, inner) in value.children().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            write(inner, out);
        }
        out.push(']');
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}
