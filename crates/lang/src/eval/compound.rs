//! Evaluates object constructors: `{…}`.

use std::collections::BTreeMap;

use cty::{Marks, Type, Value};

use super::env::{Env, Outcome};
use crate::diag::{Diagnostic, Diagnostics, Message};
use crate::syntax::{ExprKind, ObjectItem};

impl Env<'_> {
    pub(super) fn object(&self, items: &[ObjectItem]) -> Outcome {
        let mut diags = Diagnostics::new();
        let mut members = BTreeMap::new();
        let mut marks = Marks::none();
        let mut known = true;
        for item in items {
            let key = self.key(item, &mut diags);
            // Evaluated even after an error of the key, to report both.
            let (value, value_diags) = self.value(&item.value);
            diags.append(value_diags);
            match key {
                Some(key) => {
                    // Names of attributes have no marks, so the whole object gets those of its
                    // keys.
                    marks.extend(key.marks());
                    match key.as_arc_str() {
                        Some(name) => {
                            members.insert(name, value);
                        }
                        None => known = false,
                    }
                }
                None => known = false,
            }
        }
        if !known {
            return (Value::dynamic(), diags);
        }
        (Value::object_from_map(members).with_marks(&marks), diags)
    }

    /// Key of an item as a string, possibly unknown; `None` after an error.
    fn key(&self, item: &ObjectItem, diags: &mut Diagnostics) -> Option<Value> {
        if let Some(name) = &item.name {
            return Some(Value::string(name));
        }
        // The text may be meant as a reference or as a name with dots, so HCL rejects it.
        if let ExprKind::Traversal(traversal) = &item.key.kind
            && !traversal.steps.is_empty()
        {
            let detail = "If this expression is intended to be a reference, wrap it in parentheses. If it's instead intended as a \
                          literal name containing periods, wrap it in quotes to create a string literal.";
            diags.push(Diagnostic::error("Ambiguous attribute key", detail).at(item.key.span));
            return None;
        }
        let (key, key_diags) = self.value(&item.key);
        let bad = key_diags.has_errors();
        diags.append(key_diags);
        if bad {
            return None;
        }
        if key.is_null() {
            diags.push(
                Diagnostic::error("Null value as key", "Can't use a null value as a key.")
                    .at(item.value.span),
            );
            return None;
        }
        match cty::convert(&key, &Type::String) {
            Ok(key) => Some(key),
            Err(error) => {
                let detail = Message::from(&error)
                    .wrap(|error| format!("Can't use this value as a key: {error}."));
                diags.push(Diagnostic::error("Incorrect key type", detail).at(item.key.span));
                None
            }
        }
    }
}
