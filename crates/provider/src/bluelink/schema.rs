//! Converts a provider's schemas: type names, values and settable attributes. Pure.

use super::paths::is_identifier;
use cty::Type;
use cty::schema::{Attribute, Block, NestedObject, Nesting, Schema};
use proto::bluelink::sharedtypesv1::{
    ConfigDefinition, ResourceDefinitionsSchema as Node, ResourceSpecDefinition, ScalarType,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Attribute with the configuration values that have no attribute of their own.
pub(super) const VARIABLES: &str = "variables";

/// Kind of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    String,
    Integer,
    Float,
    Boolean,
    Object,
    Array,
    Map,
    Union,
    /// Of another version of the protocol.
    Other,
}

impl NodeKind {
    pub(super) fn of(node: &Node) -> Self {
        match node.r#type.as_str() {
            "string" => Self::String,
            "integer" => Self::Integer,
            "float" => Self::Float,
            "boolean" => Self::Boolean,
            "object" => Self::Object,
            "array" => Self::Array,
            "map" => Self::Map,
            "union" => Self::Union,
            _ => Self::Other,
        }
    }
}

/// Resource type.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Definition {
    /// Name in the protocol: `aws/lambda/function`.
    pub(super) wire: String,
    pub(super) node: Node,
    /// Field with the id of an object.
    pub(super) id_field: String,
}

impl Definition {
    pub(super) fn of(wire: String, said: ResourceSpecDefinition) -> Self {
        Self {
            wire,
            node: said.schema.unwrap_or_default(),
            id_field: said.id_field,
        }
    }

    pub(super) fn schema(&self) -> Schema {
        Schema::new(
            0,
            Block {
                attributes: attributes(&self.node),
                description: self.node.description.clone(),
                ..Block::default()
            },
        )
    }
}

/// Converts `aws/lambda/function` to `aws_lambda_function`.
pub(super) fn type_name(wire: &str) -> String {
    wire.replace(['/', '-'], "_")
}

fn attributes(node: &Node) -> BTreeMap<Arc<str>, Attribute> {
    let all = node.attributes.iter();
    all.map(|(name, child)| {
        (
            name.as_str().into(),
            attribute(child, node.required.contains(name)),
        )
    })
    .collect()
}

/// Returns true if a value that the configuration omits is set by default or by the provider.
pub(super) fn is_provider_set(node: &Node) -> bool {
    node.computed_when_omitted || node.default_value.is_some()
}

fn attribute(node: &Node, required: bool) -> Attribute {
    let filled = is_provider_set(node);
    let settable = !node.computed;
    let text = [&node.description, &node.label];
    Attribute {
        ty: ty(node),
        nested: settable.then(|| nested(node)).flatten(),
        required: settable && required && !filled,
        optional: settable && (filled || !required),
        computed: node.computed || filled,
        // A computed object has no nested attributes here, so one sensitive member makes all of it
        // sensitive.
        sensitive: node.sensitive || (node.computed && any(node, &|n| n.sensitive)),
        description: text
            .into_iter()
            .find(|t| !t.is_empty())
            .cloned()
            .unwrap_or_default(),
        ..Attribute::default()
    }
}

/// Returns the nested object of a field, whose attributes have their own schemas.
fn nested(node: &Node) -> Option<NestedObject> {
    let (of, nesting) = match NodeKind::of(node) {
        NodeKind::Object => (node, Nesting::Single),
        NodeKind::Array => (node.items.as_deref()?, Nesting::List),
        NodeKind::Map => (node.map_values.as_deref()?, Nesting::Map),
        _ => return None,
    };
    // cty lists and maps need one element type, so elements of any type become dynamic.
    let uniform = nesting == Nesting::Single || !ty(of).has_dynamic();
    (NodeKind::of(of) == NodeKind::Object && uniform).then(|| NestedObject {
        attributes: attributes(of),
        nesting,
    })
}

/// Returns true if a field or one of its descendants satisfies the condition.
fn any(node: &Node, is: &dyn Fn(&Node) -> bool) -> bool {
    let mut children = node.attributes.values();
    let inner = [&node.items, &node.map_values];
    is(node)
        || children.any(|child| any(child, is))
        || inner.into_iter().flatten().any(|child| any(child, is))
}

/// Returns the type of a field. A union is dynamic, and so is a collection of it.
pub(super) fn ty(node: &Node) -> Type {
    let of = |inner: &Option<Box<Node>>, make: fn(Type) -> Type| match inner.as_deref().map(ty) {
        Some(inner) if !inner.has_dynamic() => make(inner),
        _ => Type::Dynamic,
    };
    match NodeKind::of(node) {
        NodeKind::String => Type::String,
        NodeKind::Integer | NodeKind::Float => Type::Number,
        NodeKind::Boolean => Type::Bool,
        NodeKind::Object => Type::object(node.attributes.iter().map(|(name, n)| (name, ty(n)))),
        NodeKind::Array => of(&node.items, Type::list),
        NodeKind::Map => of(&node.map_values, Type::map),
        NodeKind::Union | NodeKind::Other => Type::Dynamic,
    }
}

/// Returns the schema of a provider configuration. Names that are not identifiers go into one map.
pub(super) fn provider(said: &ConfigDefinition) -> Schema {
    let mut attributes = BTreeMap::new();
    let mut others = Vec::new();
    for (name, field) in &said.fields {
        if !is_identifier(name) {
            others.push(name.as_str());
            continue;
        }
        let attribute = Attribute {
            ty: scalar(field.r#type()),
            required: field.required && field.default_value.is_none(),
            optional: !(field.required && field.default_value.is_none()),
            sensitive: field.secret,
            description: field.description.clone(),
            ..Attribute::default()
        };
        attributes.insert(name.as_str().into(), attribute);
    }
    if !others.is_empty() || said.allow_additional_fields {
        others.sort_unstable();
        // One map has one sensitivity, so a single secret makes all of it sensitive.
        let mut more = Attribute::optional(Type::map(Type::String));
        more.sensitive = said.fields.values().any(|f| f.secret);
        more.description = format!("additional values by name: {}", others.join(", "));
        attributes.entry(VARIABLES.into()).or_insert(more);
    }
    Schema::new(
        0,
        Block {
            attributes,
            ..Block::default()
        },
    )
}

pub(super) fn scalar(kind: ScalarType) -> Type {
    match kind {
        ScalarType::String => Type::String,
        ScalarType::Integer | ScalarType::Float => Type::Number,
        ScalarType::Boolean => Type::Bool,
    }
}
