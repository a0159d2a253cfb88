//! Converts schemas to Bluelink's definitions of resource types, by which a host plans.

use cty::Type;
use proto::bluelink::schema::MappingNode;
use proto::bluelink::sharedtypesv1::{ResourceDefinitionsSchema as Node, ResourceSpecDefinition};

use super::value::encode;
use crate::schema::{Attr, AttrType, Block, Nesting, Schema};

/// Returns the definition of a resource type.
pub(super) fn definition(schema: &Schema) -> ResourceSpecDefinition {
    ResourceSpecDefinition {
        schema: Some(Node {
            description: schema.block.description.clone(),
            formatted_description: schema.block.description.clone(),
            ..block(&schema.block)
        }),
        id_field: id_field(schema).to_owned(),
        destroy_before_create: true,
        tagging_support: 0,
    }
}

/// Returns the attribute that identifies an object: a stable `id`, else a required attribute whose
/// change replaces the object, else a required attribute.
pub(super) fn id_field(schema: &Schema) -> &str {
    let attrs = &schema.block.attributes;
    let text = |attr: &&Attr| matches!(attr.ty, AttrType::Plain(Type::String));
    // An id that changes with an update could not identify the object afterwards.
    let stays = |attr: &&Attr| attr.name == "id" && attr.computed && attr.stable;
    let makes = |attr: &&Attr| attr.required && attr.replaces;
    let found = attrs.iter().filter(text).find(stays);
    let found = found.or_else(|| attrs.iter().filter(text).find(makes));
    let found = found.or_else(|| attrs.iter().filter(text).find(|attr| attr.required));
    found.map_or("id", |attr| attr.name.as_str())
}

fn of(kind: &str) -> Node {
    Node {
        r#type: kind.to_owned(),
        ..Node::default()
    }
}

fn block(from: &Block) -> Node {
    let mut node = object(&from.attributes);
    for nested in &from.blocks {
        // Length limits apply to arrays and maps only; a single block is an object.
        let single = matches!(nested.nesting, Nesting::Single | Nesting::Group);
        if nested.min > 0 {
            node.required.push(nested.name.clone());
        }
        let limit = |limit: i64| i32::try_from(limit).unwrap_or(i32::MAX);
        let inner = nest(nested.nesting, block(&nested.block));
        let inner = Node {
            min_length: if single { 0 } else { limit(nested.min) },
            max_length: if single { 0 } else { limit(nested.max) },
            nullable: nested.min == 0,
            description: nested.block.description.clone(),
            ..inner
        };
        node.attributes.insert(nested.name.clone(), inner);
    }
    node
}

/// Write-only attributes are omitted, because a Bluelink host would store them.
fn object(attrs: &[Attr]) -> Node {
    let kept = || attrs.iter().filter(|attr| !attr.write_only);
    Node {
        attributes: kept().map(|a| (a.name.clone(), attribute(a))).collect(),
        required: kept()
            .filter(|attr| attr.required)
            .map(|attr| attr.name.clone())
            .collect(),
        ..of("object")
    }
}

fn attribute(attr: &Attr) -> Node {
    let node = match &attr.ty {
        AttrType::Plain(ty) => plain_node(ty),
        AttrType::Nested(nesting, attrs) => nest(*nesting, object(attrs)),
    };
    // "Computed" means "by the provider only" here; an optional attribute is
    // `computed_when_omitted`.
    let computed = attr.computed && !attr.optional;
    let description = match attr.deprecated.is_empty() {
        true => attr.description.clone(),
        false => format!("{} Deprecated: {}", attr.description, attr.deprecated),
    };
    Node {
        // The wire has no field for deprecations, so they are part of the description.
        description: description.clone(),
        formatted_description: description,
        nullable: !attr.required && !computed,
        default_value: default(attr),
        computed,
        // The provider's value is always compared, as over protocol 6.
        track_drift: computed,
        computed_when_omitted: attr.computed && attr.optional && attr.default.is_none(),
        must_recreate: attr.replaces && !computed,
        sensitive: attr.sensitive,
        ..node
    }
}

fn default(attr: &Attr) -> Option<MappingNode> {
    encode(attr.default.as_ref()?, &attr.ty(), None)
}

fn nest(nesting: Nesting, object: Node) -> Node {
    match nesting {
        Nesting::Single | Nesting::Group => object,
        Nesting::List | Nesting::Set => array(object),
        Nesting::Map => map(object),
    }
}

fn array(items: Node) -> Node {
    Node {
        items: Some(Box::new(items)),
        ..of("array")
    }
}

fn map(values: Node) -> Node {
    Node {
        map_values: Some(Box::new(values)),
        ..of("map")
    }
}

/// Converts a plain type. Numbers are floats, because they can have a fraction; a dynamic type is a
/// union of the supported ones.
fn plain_node(ty: &Type) -> Node {
    let nullable = |ty: &Type| Node {
        nullable: true,
        ..plain_node(ty)
    };
    match ty {
        Type::String => of("string"),
        Type::Number => of("float"),
        Type::Bool => of("boolean"),
        Type::List(inner) | Type::Set(inner) => array(nullable(inner)),
        Type::Map(inner) => map(nullable(inner)),
        Type::Object(inner) => Node {
            attributes: inner
                .attributes
                .iter()
                .map(|(name, ty)| (name.to_string(), nullable(ty)))
                .collect(),
            ..of("object")
        },
        Type::Tuple(_) => array(plain_node(&Type::Dynamic)),
        Type::Dynamic => Node {
            one_of: vec![
                of("string"),
                of("boolean"),
                of("integer"),
                of("float"),
                array(of("string")),
                map(of("string")),
            ],
            ..of("union")
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Nested;
    use cty::Value;

    #[test]
    fn attribute_flags_are_mapped_to_the_host_schema() {
        let rule = Block::new().attr(Attr::string("prefix").required());
        let schema = Schema::new()
            .attr(Attr::string("name").required().replaces())
            .attr(Attr::number("size").default(Value::int(3)))
            .attr(Attr::string("zone").optional_computed())
            .attr(Attr::string("password").sensitive())
            .attr(Attr::string("token").write_only())
            .attr(Attr::string("id").computed().stable())
            .block(Nested::new("rule", Nesting::Set, rule).min(1).max(4));
        let said = definition(&schema);
        let node = said.schema.unwrap();
        assert_eq!(said.id_field, "id");
        assert_eq!(node.required, ["name", "rule"]);
        let at = |name: &str| &node.attributes[name];
        assert!(at("name").must_recreate && !at("name").nullable);
        assert_eq!(
            (at("size").r#type.as_str(), at("size").computed),
            ("float", false)
        );
        assert!(at("size").default_value.is_some() && !at("size").computed_when_omitted);
        assert!(at("zone").computed_when_omitted && !at("zone").computed);
        assert!(at("password").sensitive);
        assert!(at("id").computed && at("id").track_drift && !at("id").nullable);
        assert!(
            !node.attributes.contains_key("token"),
            "a host would keep it"
        );
        let rule = at("rule");
        assert_eq!(
            (rule.r#type.as_str(), rule.min_length, rule.max_length),
            ("array", 1, 4)
        );
        assert_eq!(rule.items.as_ref().unwrap().required, ["prefix"]);
    }

    #[test]
    fn unstable_id_is_not_used_as_the_id_field() {
        let schema = Schema::new()
            .attr(Attr::string("filename").required().replaces())
            .attr(Attr::string("id").computed());
        assert_eq!(id_field(&schema), "filename");
    }
}
