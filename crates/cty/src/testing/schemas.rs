//! Parses the schemas in recorded test vectors.

use crate::Type;

/// Parses a schema of a recording.
pub fn schema(json: &serde_json::Value) -> crate::schema::Block {
    use crate::schema::{Block, NestedBlock};
    let members = |name: &str| json[name].as_object().into_iter().flatten();
    Block {
        attributes: members("attributes")
            .map(|(n, a)| (n.as_str().into(), attribute(a)))
            .collect(),
        blocks: members("blocks")
            .map(|(n, b)| {
                let nested = NestedBlock {
                    block: schema(&b["block"]),
                    nesting: nesting(&b["nesting"]),
                    min_items: b["min"].as_u64().unwrap_or(0),
                    max_items: b["max"].as_u64().unwrap_or(0),
                };
                (n.as_str().into(), nested)
            })
            .collect(),
        ..Block::default()
    }
}

fn nesting(json: &serde_json::Value) -> crate::schema::Nesting {
    use crate::schema::Nesting;
    match json.as_str() {
        Some("NestingSingle") => Nesting::Single,
        Some("NestingGroup") => Nesting::Group,
        Some("NestingList") => Nesting::List,
        Some("NestingSet") => Nesting::Set,
        Some("NestingMap") => Nesting::Map,
        other => panic!("unknown nesting {other:?}"),
    }
}

fn attribute(json: &serde_json::Value) -> crate::schema::Attribute {
    use crate::schema::{Attribute, NestedObject};
    let yes = |name: &str| json[name].as_bool() == Some(true);
    let nested = json
        .get("nested")
        .filter(|n| !n.is_null())
        .map(|n| NestedObject {
            attributes: n["attributes"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(k, a)| (k.as_str().into(), attribute(a)))
                .collect(),
            nesting: nesting(&n["nesting"]),
        });
    Attribute {
        ty: match json.get("type").filter(|t| !t.is_null()) {
            Some(t) => Type::from_json_value(t).unwrap_or_else(|e| panic!("{e}: {t}")),
            None => Type::Dynamic,
        },
        nested,
        required: yes("required"),
        optional: yes("optional"),
        computed: yes("computed"),
        sensitive: yes("sensitive"),
        write_only: yes("write_only"),
        ..Attribute::default()
    }
}
