//! Field changes of an object in the form of the protocol. Null, an empty list and an empty map are
//! the same to plugins. Pure.

use super::convert::{Unknown, element_of, encode, is_null_or_empty, member_of};
use super::paths::{ROOT, element, member};
use super::schema::Definition;
use cty::Value;
use proto::bluelink::sharedtypesv1::{Changes, FieldChange, ResourceDefinitionsSchema as Node};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Returns the changes from `prior` (null for a create) to `planned`. The provider sets the unknown
/// parts.
pub(super) fn changes(of: &Definition, prior: &Value, planned: &Value) -> Changes {
    let mut all = Changes::default();
    computed(&of.node, ROOT.to_owned(), &mut all.computed_fields);
    let whole = Field {
        node: Some(&of.node),
        must_recreate: false,
        sensitive: false,
    };
    whole.compare(ROOT.to_owned(), prior, planned, &mut all);
    // As in Bluelink's own host: added and removed fields require no replacement.
    all.must_recreate = all.modified_fields.iter().any(|field| field.must_recreate);
    all.computed_fields.sort();
    all.computed_fields.dedup();
    all
}

/// Collects the paths of fields that the schema marks as computed. Elements are written as the
/// first one, map keys as `<key>`.
fn computed(node: &Node, at: String, found: &mut Vec<String>) {
    if node.computed {
        found.push(at);
        return;
    }
    for (name, child) in &node.attributes {
        computed(child, member(&at, name), found);
    }
    if let Some(items) = node.items.as_deref() {
        computed(items, element(&at, 0), found);
    }
    if let Some(values) = node.map_values.as_deref() {
        computed(values, format!("{at}[\"<key>\"]"), found);
    }
}

/// Field during the descent, with the flags inherited from its parents.
#[derive(Clone, Copy)]
struct Field<'n> {
    node: Option<&'n Node>,
    must_recreate: bool,
    sensitive: bool,
}

impl<'n> Field<'n> {
    fn inner(self, node: Option<&'n Node>) -> Self {
        Self {
            node,
            must_recreate: self.must_recreate || node.is_some_and(|n| n.must_recreate),
            sensitive: self.sensitive || node.is_some_and(|n| n.sensitive),
        }
    }

    fn compare(self, at: String, prior: &Value, planned: &Value, all: &mut Changes) {
        // Computed fields are listed from the schema, so their values are not compared.
        if self.node.is_some_and(|n| n.computed) {
            return;
        }
        if !planned.is_known() {
            all.computed_fields.push(at);
            return;
        }
        let is_tree = |value: &Value| value.as_map().is_some() || value.as_slice().is_some();
        let (old, new) = (!is_null_or_empty(prior), !is_null_or_empty(planned));
        if (old && is_tree(prior)) || (new && is_tree(planned)) {
            return self.tree(&at, prior, planned, all);
        }
        match (old, new) {
            (false, false) => {}
            (true, false) => all.removed_fields.push(at),
            (false, true) => all.new_fields.push(self.change(at, prior, planned)),
            (true, true) if prior.raw_equals(planned) => all.unchanged_fields.push(at),
            (true, true) => all.modified_fields.push(self.change(at, prior, planned)),
        }
    }

    fn tree(self, at: &str, prior: &Value, planned: &Value, all: &mut Changes) {
        let names = |value: &Value| -> Vec<Arc<str>> {
            let members = (!value.is_null()).then(|| value.as_map()).flatten();
            members
                .into_iter()
                .flat_map(|m| m.keys().cloned())
                .collect()
        };
        // Sorted, so that the same change always produces the same request.
        let members: BTreeSet<Arc<str>> = names(prior).into_iter().chain(names(planned)).collect();
        for name in members {
            let attribute = self.node.and_then(|n| n.attributes.get(&*name));
            let of = attribute.or_else(|| self.node.and_then(|n| n.map_values.as_deref()));
            let (prior, planned) = (member_of(prior, &name), member_of(planned, &name));
            self.inner(of)
                .compare(member(at, &name), &prior, &planned, all);
        }
        let count = |value: &Value| match value.is_null() {
            true => 0,
            false => value.as_slice().map_or(0, <[Value]>::len),
        };
        // Elements beyond the shorter list are added or removed.
        for index in 0..count(prior).max(count(planned)) {
            let of = self.node.and_then(|n| n.items.as_deref());
            let (prior, planned) = (element_of(prior, index), element_of(planned, index));
            self.inner(of)
                .compare(element(at, index), &prior, &planned, all);
        }
    }

    fn change(self, at: String, prior: &Value, planned: &Value) -> FieldChange {
        FieldChange {
            field_path: at,
            prev_value: encode(prior, self.node, Unknown::Omitted),
            new_value: encode(planned, self.node, Unknown::Omitted),
            must_recreate: self.must_recreate,
            sensitive: self.sensitive,
        }
    }
}
