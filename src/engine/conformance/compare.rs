//! Compares objects for the evidence of checks. Sensitive values are not shown.

use crate::stage::managed::mark;
use calls::ProviderDiagnostic;
use cty::schema::{Block, Schema};
use cty::{Path, PathStep, Value};
use lang::literal::format_value;
use model::Severity;

/// Maximum length of a shown value, in characters.
const MAX_VALUE: usize = 100;

/// Returns the first difference of two objects, as `.path: was X, but now Y`.
pub(super) fn difference(schema: &Schema, before: &Value, after: &Value) -> Option<String> {
    // Values from calls may have no marks, and a sensitive one must not be shown.
    let [before, after] = [before, after].map(|value| mark(schema, value.clone(), &[]));
    let (path, before, after) = first(&before, &after, Path::root())?;
    Some(format!(
        "{path}: was {}, but now {}",
        shown(&before),
        shown(&after)
    ))
}

/// Returns the deepest path of the first difference with both values.
fn first(before: &Value, after: &Value, path: Path) -> Option<(Path, Value, Value)> {
    if before.raw_equals(after) {
        return None;
    }
    let whole = || (path.clone(), before.clone(), after.clone());
    let is_plain = |value: &Value| value.is_known() && !value.is_null();
    // Null and unknown values have no members, and elements of a set have no paths.
    if !is_plain(before) || !is_plain(after) || before.ty().is_set() {
        return Some(whole());
    }
    if let (Some(a), Some(b)) = (before.as_map(), after.as_map()) {
        let by_attribute = before.ty().is_object();
        for (name, value) in a.iter() {
            let step = match by_attribute {
                true => PathStep::Attr(name.clone()),
                false => PathStep::Index(Value::string(name)),
            };
            let found = b
                .get(name)
                .map(|other| first(value, other, path.with(step)));
            match found {
                // A key on one side only has no counterpart, so that the whole maps are shown.
                None => return Some(whole()),
                Some(Some(found)) => return Some(found),
                Some(None) => {}
            }
        }
        // Only a key of the second map, a type or a mark can be the difference here.
        return Some(whole());
    }
    if let (Some(a), Some(b)) = (before.as_slice(), after.as_slice())
        && a.len() == b.len()
    {
        let mut pairs = a.iter().zip(b).enumerate();
        let found = pairs.find_map(|(i, (a, b))| first(a, b, path.index_int(i)));
        return found.or_else(|| Some(whole()));
    }
    Some(whole())
}

/// Returns a value for evidence, on one line.
pub(crate) fn shown(value: &Value) -> String {
    let text = format_value(value, 0);
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(MAX_VALUE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Returns true if two values differ only as the legacy SDK cannot avoid: it does not tell null
/// from a zero value.
pub(super) fn are_alike_in_legacy(a: &Value, b: &Value) -> bool {
    a.raw_equals(b) || is_zero(a) && is_zero(b)
}

fn is_zero(value: &Value) -> bool {
    value.is_null()
        || value.as_str() == Some("")
        || value.as_bool() == Some(false)
        || value.as_number().is_some_and(|n| n.to_i64() == Some(0))
        || value.is_known() && value.is_empty()
}

/// Returns the arguments that are null in the configuration and not in the object, although the
/// provider must not choose them.
pub(super) fn chosen_arguments(block: &Block, config: &Value, object: &Value) -> Vec<String> {
    let arguments = block.attributes.iter().filter(|(_, a)| !a.computed);
    let changed = arguments.filter(|(name, _)| {
        let is_null = |of: &Value| of.get_attr(name).is_none_or(|value| value.is_null());
        is_null(config) && !is_null(object)
    });
    changed.map(|(name, _)| name.to_string()).collect()
}

/// Returns the first error of diagnostics as text.
pub(super) fn first_error(diagnostics: &[ProviderDiagnostic]) -> Option<String> {
    let error = diagnostics.iter().find(|d| d.severity == Severity::Error)?;
    let place = error.path.as_ref();
    let place = place.map_or_else(String::new, |path| format!("{path}: "));
    // The protocol allows either text to be empty.
    Some(match (&*error.summary, &*error.detail) {
        ("", detail) | (detail, "") => format!("{place}{detail}"),
        (summary, detail) => format!("{place}{summary}: {detail}"),
    })
}
