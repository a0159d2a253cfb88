//! Validates `for_each` values of all block types.

use std::sync::Arc;

use cty::{Mark, Value};

use crate::diag::Diagnostic;
use crate::source::Span;

/// Returns the instances of a `for_each` value with their keys; `None` if unknown.
///
/// # Errors
/// The value cannot be used for `for_each`.
pub fn for_each_instances(
    value: Value,
    span: Span,
) -> Result<Option<Vec<(Arc<str>, Value)>>, Diagnostic> {
    let fault = |detail: String| Diagnostic::error("Invalid for_each argument", detail).at(span);
    // Elements of a set become keys, so a mark inside it counts; values of a map do not.
    if value.has_mark(&Mark::Sensitive)
        || (value.ty().is_set() && value.contains_mark(&Mark::Sensitive))
    {
        return Err(fault(
            "Sensitive values, or values derived from sensitive values, cannot be used as for_each arguments. If used, the sensitive value could be exposed as a resource instance key.".to_owned(),
        ));
    }
    if value.has_mark(&Mark::Ephemeral) {
        return Err(fault(
            "The given \"for_each\" value is ephemeral, so it cannot be stored from plan to apply."
                .to_owned(),
        ));
    }
    let (value, _) = value.unmark();
    let ty = value.ty().clone();
    if value.is_known() && value.is_null() {
        return Err(fault(
            "The given \"for_each\" argument value is null. A map, or set of strings is allowed."
                .to_owned(),
        ));
    }
    // An unknown value of unknown type may still become a map or a set.
    if !(ty.is_map() || ty.is_object() || ty.is_set() || ty.is_dynamic()) {
        return Err(fault(format!(
            "The given \"for_each\" argument value is unsuitable: the \"for_each\" argument must be a map, or set of strings, and you have provided a value of type {}.",
            ty.friendly_name()
        )));
    }
    if !value.is_known() {
        return Ok(None);
    }
    if !ty.is_set() {
        return Ok(value
            .as_map()
            .map(|m| m.iter().map(|(k, v)| (k.clone(), v.clone())).collect()));
    }
    let mut items = Vec::new();
    for element in value.as_slice().unwrap_or_default() {
        // An unknown element is an unknown key.
        if !element.is_known() {
            return Ok(None);
        }
        let wrong = |what: String| {
            let detail = format!("The given \"for_each\" argument value is unsuitable: {what}.");
            Diagnostic::error("Invalid for_each set argument", detail).at(span)
        };
        if element.is_null() {
            return Err(wrong(
                "\"for_each\" sets must not contain null values".to_owned(),
            ));
        }
        let Some(text) = element.as_str() else {
            return Err(wrong(format!(
                "\"for_each\" supports maps and sets of strings, but you have provided a set containing type {}",
                element.ty().friendly_name()
            )));
        };
        items.push((text.into(), element.clone()));
    }
    Ok(Some(items))
}
