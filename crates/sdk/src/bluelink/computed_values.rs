//! Collects the values of an object that the provider has set, by the field paths of the host:
//! `spec.id`, `spec.subnet[0].id`, `spec["odd.name"]`.

use std::collections::HashMap;

use cty::{Type, Value};
use proto::bluelink::schema::MappingNode;

use super::value::{encode, is_null_node, ordered_elements};
use crate::schema::{Attr, AttrType, Block, Nested, Nesting};

/// Root of all paths.
const ROOT: &str = "spec";

type Found = HashMap<String, MappingNode>;

/// Returns the values of an object that the provider set: computed attributes, and those that the
/// host's spec left to the provider.
pub(super) fn by_provider(of: &Block, object: &Value, spec: &MappingNode) -> Found {
    let mut found = Found::new();
    block(of, object, Some(spec), ROOT, &mut found);
    found
}

fn member(at: &str, name: &str) -> String {
    let mut chars = name.chars();
    let begins = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    // Other names need the quoted form of the host's path syntax.
    if begins && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        format!("{at}.{name}")
    } else {
        format!("{at}[{}]", serde_json::Value::from(name))
    }
}

fn field<'n>(spec: Option<&'n MappingNode>, name: &str) -> Option<&'n MappingNode> {
    spec.and_then(|spec| spec.fields.get(name))
}

fn part(object: &Value, name: &str) -> Value {
    let none = || Value::null(Type::Dynamic);
    object.get_attr(name).unwrap_or_else(none)
}

fn block(of: &Block, object: &Value, spec: Option<&MappingNode>, at: &str, found: &mut Found) {
    attributes(&of.attributes, object, spec, at, found);
    for Nested {
        name,
        nesting,
        block: inner,
        ..
    } in &of.blocks
    {
        let place = (part(object, name), field(spec, name), member(at, name));
        let go = |object: &Value, spec: Option<&MappingNode>, at: &str, found: &mut Found| {
            block(inner, object, spec, at, found);
        };
        each(*nesting, place, found, go);
    }
}

fn attributes(
    attrs: &[Attr],
    object: &Value,
    spec: Option<&MappingNode>,
    at: &str,
    found: &mut Found,
) {
    for attr in attrs.iter().filter(|attr| !attr.write_only) {
        let value = part(object, &attr.name);
        let said = field(spec, &attr.name);
        let at = member(at, &attr.name);
        // Other values come from the host's own spec, so they are not reported.
        let left_open = !attr.optional || said.is_none_or(is_null_node);
        if attr.computed && attr.default.is_none() && left_open {
            found.extend(encode(&value, &attr.ty(), None).map(|node| (at, node)));
        } else if let AttrType::Nested(nesting, inner) = &attr.ty {
            let go = |object: &Value, spec: Option<&MappingNode>, at: &str, found: &mut Found| {
                attributes(inner, object, spec, at, found);
            };
            each(*nesting, (value, said, at), found, go);
        }
    }
}

/// Calls `go` for each object of a block or nested attribute, with its part of the host's spec.
fn each(
    nesting: Nesting,
    (value, spec, at): (Value, Option<&MappingNode>, String),
    found: &mut Found,
    go: impl Fn(&Value, Option<&MappingNode>, &str, &mut Found),
) {
    if !value.is_given() {
        return;
    }
    match nesting {
        Nesting::Single | Nesting::Group => go(&value, spec, &at, found),
        Nesting::List | Nesting::Set => {
            // The host addresses elements by its own order, which a set does not keep.
            for (index, object) in ordered_elements(&value, spec).iter().enumerate() {
                let spec = spec.and_then(|spec| spec.items.get(index));
                go(object, spec, &format!("{at}[{index}]"), found);
            }
        }
        Nesting::Map => {
            for (key, object) in value.elements() {
                let key = key.as_str().unwrap_or_default();
                go(object, field(spec, key), &member(&at, key), found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;

    #[test]
    fn computed_values_are_reported_by_their_path() {
        let port = [
            Attr::number("number").required(),
            Attr::string("mark").computed(),
            Attr::string("protocol").default("tcp".into()),
        ];
        let schema = Schema::new()
            .attr(Attr::string("id").computed())
            .attr(Attr::string("zone").optional_computed())
            .attr(Attr::string("rack").optional_computed())
            .attr(Attr::nested("port", Nesting::Set, port.clone()))
            .attr(Attr::nested("named", Nesting::Map, port));
        let of = |number: i64, mark: Option<&str>| {
            let mark = mark.map_or_else(|| Value::null(Type::String), Value::string);
            let number = Value::int(number);
            Value::object([
                ("number", number),
                ("mark", mark),
                ("protocol", "tcp".into()),
            ])
        };
        let whole = |id: Option<&str>, zone: Option<&str>, marks: [Option<&str>; 2]| {
            let text =
                |text: Option<&str>| text.map_or_else(|| Value::null(Type::String), Value::string);
            let ports = vec![of(2, marks[0]), of(1, marks[1])];
            let element = ports[0].ty().clone();
            Value::object([
                ("id", text(id)),
                ("zone", text(zone)),
                ("rack", Value::string("said")),
                ("port", Value::list(element.clone(), ports)),
                ("named", Value::map(element, [("a.b", of(3, marks[0]))])),
            ])
        };
        let sent = whole(None, None, [None, None]);
        let spec = encode(&sent, sent.ty(), None).unwrap();
        // The provider has a set, in an order of its own.
        let made = whole(Some("i-1"), Some("north"), [Some("two"), Some("one")]);
        let made = made.convert(&schema.implied_type()).unwrap();
        let found = by_provider(&schema.block, &made, &spec);
        let mut told: Vec<(&str, String)> = found
            .iter()
            .map(|(path, node)| {
                let text = super::super::value::decode(Some(node), &Type::String).unwrap();
                (path.as_str(), text.as_str().unwrap().to_owned())
            })
            .collect();
        told.sort();
        let wanted = [
            ("spec.id", "i-1"),
            ("spec.named[\"a.b\"].mark", "two"),
            ("spec.port[0].mark", "two"),
            ("spec.port[1].mark", "one"),
            ("spec.zone", "north"),
        ];
        assert_eq!(told, wanted.map(|(path, text)| (path, text.to_owned())));
    }
}
