//! Paths of fields in the protocol: `spec.a.b`, `spec.list[0].x`, `spec["odd.name"]`. Pure.

use super::schema::NodeKind;
use proto::bluelink::schema::MappingNode;
use proto::bluelink::sharedtypesv1::ResourceDefinitionsSchema as Node;

/// Step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Name(String),
    Index(usize),
}

/// Root of paths in a spec.
pub(super) const ROOT: &str = "spec";
/// Maximum length of a list created by a path. A larger index comes from a faulty answer and would
/// exhaust memory.
const MAX_NEW_LIST: usize = 10_000;

/// Returns true if a name needs no quotes.
pub(super) fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    let begins = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    begins && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Returns the path of a member.
pub(super) fn member(path: &str, name: &str) -> String {
    match is_identifier(name) {
        true => format!("{path}.{name}"),
        false => format!("{path}[{}]", serde_json::Value::from(name)),
    }
}

/// Returns the path of an element.
pub(super) fn element(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}

/// Parses a path into the steps below the root; `None` for a path that is not in a spec.
pub(super) fn parse(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix(ROOT)?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("[\"") {
            let end = quoted(after)?;
            // The quoted part is JSON, including its quotes.
            let name = serde_json::from_str(&rest[1..end + 3]).ok()?;
            steps.push(Step::Name(name));
            rest = after[end + 1..].strip_prefix(']')?;
        } else if let Some(after) = rest.strip_prefix('[') {
            let (index, after) = after.split_once(']')?;
            steps.push(Step::Index(index.parse().ok()?));
            rest = after;
        } else {
            let after = rest.strip_prefix('.')?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            steps.push(Step::Name(after[..end].to_owned()));
            rest = &after[end..];
        }
    }
    Some(steps)
}

/// Returns the index of the closing quote.
fn quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends.then_some(at)
    })
}

/// Returns true if the provider sets the field at these steps; `None` if the schema has no such
/// field.
pub(super) fn is_computed(node: &Node, steps: &[Step]) -> Option<bool> {
    // A computed parent makes all its members computed.
    if node.computed || node.computed_when_omitted {
        return Some(true);
    }
    let Some((step, rest)) = steps.split_first() else {
        return Some(false);
    };
    let next = match (NodeKind::of(node), step) {
        (NodeKind::Object, Step::Name(name)) => node.attributes.get(name)?,
        (NodeKind::Map, Step::Name(_)) => node.map_values.as_deref()?,
        (NodeKind::Array, Step::Index(_)) => node.items.as_deref()?,
        (NodeKind::Union, _) => return Some(true),
        _ => return None,
    };
    is_computed(next, rest)
}

/// Sets the value at the steps; creates missing parents.
pub(super) fn set_at(node: &mut MappingNode, steps: &[Step], value: MappingNode) {
    let Some((step, rest)) = steps.split_first() else {
        *node = value;
        return;
    };
    // A node is either a scalar or a tree.
    node.scalar = None;
    match step {
        Step::Name(name) => set_at(node.fields.entry(name.clone()).or_default(), rest, value),
        Step::Index(index) if *index < MAX_NEW_LIST => {
            if node.items.len() <= *index {
                node.items.resize(index + 1, MappingNode::default());
            }
            set_at(&mut node.items[*index], rest, value);
        }
        Step::Index(_) => {}
    }
}

/// Removes the value at the steps, and parents that become empty.
pub(super) fn remove_at(node: &mut MappingNode, steps: &[Step]) -> Option<MappingNode> {
    // List elements are not removed, because the indexes of other paths would change.
    let (step, rest) = steps.split_first()?;
    let Step::Name(name) = step else {
        return None;
    };
    if rest.is_empty() {
        return node.fields.remove(name);
    }
    let inner = node.fields.get_mut(name)?;
    let taken = remove_at(inner, rest);
    if *inner == MappingNode::default() {
        node.fields.remove(name);
    }
    taken
}

/// Returns the value at the steps.
pub(super) fn get<'n>(node: &'n MappingNode, steps: &[Step]) -> Option<&'n MappingNode> {
    let next = match steps.split_first() {
        None => return Some(node),
        Some((Step::Name(name), rest)) => (node.fields.get(name)?, rest),
        Some((Step::Index(index), rest)) => (node.items.get(*index)?, rest),
    };
    get(next.0, next.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_paths_round_trip_and_malformed_ones_are_rejected() {
        let path = element(
            &member(&member(&member(ROOT, "a"), "odd.\"name\""), "list"),
            3,
        );
        assert_eq!(path, r#"spec.a["odd.\"name\""].list[3]"#);
        let names = ["a", "odd.\"name\"", "list"].map(|n| Step::Name(n.to_owned()));
        let mut steps = names.to_vec();
        steps.push(Step::Index(3));
        assert_eq!(parse(&path), Some(steps));
        assert_eq!(parse("spec"), Some(Vec::new()));
        for wrong in [
            "metadata.labels",
            "spec[",
            "spec[x]",
            "spec[\"a",
            "specimen",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
