//! Rejects ephemeral values in attributes that are stored.

use cty::schema::Block;
use cty::{Mark, Path, Value};

use super::place_of;
use crate::body::Body;
use crate::diag::{Diagnostic, Diagnostics};

/// Reports ephemeral values outside of write-only arguments. Not used for provider configurations
/// and ephemeral resources, which may contain them anywhere.
pub fn refuse_ephemeral(value: &Value, schema: &Block, body: &Body) -> Diagnostics {
    let mut diags = Diagnostics::new();
    // Most values have no such mark, and the search for paths visits all of a value.
    if !value.contains_mark(&Mark::Ephemeral) {
        return diags;
    }
    let (_, marks) = value.clone().unmark_deep_with_paths();
    for (path, _) in marks.into_iter().filter(|(_, marks)| marks.is_ephemeral()) {
        let (write_only, owner) = owner(schema, &path);
        if write_only {
            continue;
        }
        let detail = format!(
            "Attribute \"{owner}\" is referencing an ephemeral value but ephemeral values can be referenced only by other ephemeral \
             attributes or by write-only ones."
        );
        let diag = Diagnostic::error("Ephemeral value used in non-ephemeral context", detail);
        diags.push(diag.at(place_of(body, &owner)));
    }
    diags
}

/// Returns the path of the nearest enclosing attribute, and true if it is write-only.
fn owner(schema: &Block, path: &Path) -> (bool, Path) {
    let mut at = path.clone();
    loop {
        // Marks may lie deeper than the schema goes, inside the value of one attribute.
        if let Some(attribute) = schema.attribute_at(&at) {
            return (attribute.write_only, at);
        }
        if at.pop().is_none() {
            return (false, path.clone());
        }
    }
}
