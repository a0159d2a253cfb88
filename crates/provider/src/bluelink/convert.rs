//! Converts values between cty and the protocol. The protocol has one empty node for null, an empty
//! list and an empty map; the schema and the previous value decide its meaning. Pure.

use super::decode_error::DecodeError;
use super::schema::{NodeKind, ty};
use cty::{Number, Type, Value};
use proto::bluelink::schema::scalar_value::Value as Scalar;
use proto::bluelink::schema::string_or_substitution::Value as Part;
use proto::bluelink::schema::substitution::Sub;
use proto::bluelink::schema::{
    MappingNode, ScalarValue, StringOrSubstitution, StringOrSubstitutions, Substitution,
    SubstitutionValue,
};
use proto::bluelink::sharedtypesv1::ResourceDefinitionsSchema as Node;

/// Returns true for null and for an empty collection, which are the same to plugins.
pub(super) fn is_null_or_empty(value: &Value) -> bool {
    value.is_null() || (value.is_known() && collection(value) && value.len() == Some(0))
}

fn collection(value: &Value) -> bool {
    value.ty().is_collection() || value.ty().is_tuple()
}

/// Treatment of unknown values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Left out.
    Omitted,
    /// Encoded as unresolved references.
    Unresolved,
}

/// Encodes a value; `None` for null. `node` is its schema, if it has one.
pub(super) fn encode(value: &Value, node: Option<&Node>, unknown: Unknown) -> Option<MappingNode> {
    if !value.is_known() {
        return (unknown == Unknown::Unresolved).then(unknown_node);
    }
    if value.is_null() {
        return None;
    }
    let kind = node.map(NodeKind::of);
    if let Some(text) = value.as_str() {
        return Some(scalar(Scalar::StringValue(text.to_owned())));
    }
    if let Some(bool) = value.as_bool() {
        return Some(scalar(Scalar::BoolValue(bool)));
    }
    if let Some(number) = value.as_number() {
        return Some(scalar(encode_number(number, kind)));
    }
    let mut out = MappingNode::default();
    if let Some(items) = value.as_slice() {
        let of = node.and_then(|n| n.items.as_deref());
        // List elements keep their positions, so null becomes an empty node.
        let item = |v| encode(v, of, unknown).unwrap_or_default();
        out.items = items.iter().map(item).collect();
    } else if let Some(members) = value.as_map() {
        for (name, value) in members.iter() {
            let attribute = node.and_then(|n| n.attributes.get(&**name));
            let of = attribute.or_else(|| node.and_then(|n| n.map_values.as_deref()));
            if let Some(value) = encode(value, of, unknown) {
                out.fields.insert(name.to_string(), value);
            }
        }
    }
    Some(out)
}

fn encode_number(number: &Number, kind: Option<NodeKind>) -> Scalar {
    match number.to_i64() {
        // The schema decides, because cty has one number type and the protocol two.
        Some(whole) if kind != Some(NodeKind::Float) => Scalar::IntValue(whole),
        _ => Scalar::FloatValue(number.to_f64().0),
    }
}

pub(super) fn scalar(value: Scalar) -> MappingNode {
    MappingNode {
        scalar: Some(ScalarValue { value: Some(value) }),
        ..MappingNode::default()
    }
}

/// Returns a placeholder for an unknown value of a configuration.
fn unknown_node() -> MappingNode {
    let value = SubstitutionValue {
        value_name: "known_after_apply".to_owned(),
    };
    let sub = Substitution {
        sub: Some(Sub::Value(value)),
    };
    let part = StringOrSubstitution {
        value: Some(Part::SubstitutionValue(sub)),
    };
    MappingNode {
        string_with_substitutions: Some(StringOrSubstitutions { values: vec![part] }),
        ..MappingNode::default()
    }
}

/// Decodes a scalar; null if it has no value.
pub(super) fn decode_scalar(scalar: &ScalarValue) -> Value {
    match &scalar.value {
        Some(Scalar::IntValue(n)) => Value::int(*n),
        Some(Scalar::BoolValue(b)) => Value::bool(*b),
        Some(Scalar::FloatValue(f)) => {
            Number::from_f64(*f).map_or_else(|_| Value::null(Type::Number), Value::number)
        }
        Some(Scalar::StringValue(s)) => Value::string(s),
        Some(Scalar::BytesValue(_) | Scalar::NoneValue(_)) | None => Value::null(Type::Dynamic),
    }
}

/// Returns true for the node that stands for null, an empty list or an empty map.
pub(super) fn is_empty(node: &MappingNode) -> bool {
    node.scalar.is_none() && node.fields.is_empty() && node.items.is_empty()
}

/// Decodes a node into the type of its schema and drops fields outside of it. `like` is the
/// previous or planned value: if both are empty, the result is `like`, so that null and an empty
/// collection stay apart.
///
/// # Errors
/// A node has another kind than its schema, with its path.
pub(super) fn decode(
    node: Option<&MappingNode>,
    schema: &Node,
    like: &Value,
    at: &str,
) -> Result<Value, DecodeError> {
    let wanted = ty(schema);
    // For an empty node the previous value decides between null and an empty collection.
    let Some(node) = node.filter(|node| !is_empty(node)) else {
        let empty = like.is_known() && !like.is_null() && is_null_or_empty(like);
        return Ok(match empty && *like.ty() == wanted {
            true => like.clone(),
            false => Value::null(wanted),
        });
    };
    match (NodeKind::of(schema), &wanted) {
        (_, Type::Dynamic) => Ok(decode_any(node)),
        (NodeKind::Object, _) => decode_object(node, schema, like, at),
        (NodeKind::Map, Type::Map(of)) => {
            let element = schema.map_values.as_deref().unwrap_or(schema);
            kind(node.scalar.is_none() && node.items.is_empty(), at, "a map")?;
            let one = |(name, value): (&String, &MappingNode)| {
                let at = super::paths::member(at, name);
                let value = decode(Some(value), element, &member_of(like, name), &at)?;
                Ok((name.clone(), value))
            };
            let all = node
                .fields
                .iter()
                .map(one)
                .collect::<Result<Vec<_>, DecodeError>>()?;
            Ok(Value::map((**of).clone(), all))
        }
        (NodeKind::Array, Type::List(of)) => {
            let element = schema.items.as_deref().unwrap_or(schema);
            kind(
                node.scalar.is_none() && node.fields.is_empty(),
                at,
                "a list",
            )?;
            let one = |(index, value): (usize, &MappingNode)| {
                let at = super::paths::element(at, index);
                decode(Some(value), element, &element_of(like, index), &at)
            };
            let all = node.items.iter().enumerate().map(one);
            Ok(Value::list(
                (**of).clone(),
                all.collect::<Result<_, DecodeError>>()?,
            ))
        }
        _ => decode_plain(node, schema, &wanted, at),
    }
}

fn decode_object(
    node: &MappingNode,
    schema: &Node,
    like: &Value,
    at: &str,
) -> Result<Value, DecodeError> {
    kind(
        node.scalar.is_none() && node.items.is_empty(),
        at,
        "an object",
    )?;
    let attribute = |(name, of): (&String, &Node)| {
        let at = super::paths::member(at, name);
        let value = decode(node.fields.get(name), of, &member_of(like, name), &at)?;
        Ok((name.clone(), value))
    };
    let all = schema.attributes.iter().map(attribute);
    Ok(Value::object(all.collect::<Result<Vec<_>, DecodeError>>()?))
}

fn decode_plain(
    node: &MappingNode,
    schema: &Node,
    wanted: &Type,
    at: &str,
) -> Result<Value, DecodeError> {
    let value = node.scalar.as_ref().map(decode_scalar);
    // A structure in place of a scalar is decoded too, so that the conversion reports it.
    let value = value.unwrap_or_else(|| decode_any(node));
    if value.is_null() {
        return Ok(Value::null(wanted.clone()));
    }
    let wrong = |source| DecodeError::Scalar {
        at: at.to_owned(),
        kind: schema.r#type.clone(),
        source,
    };
    cty::convert(&value, wanted).map_err(wrong)
}

fn kind(fits: bool, at: &str, wanted: &'static str) -> Result<(), DecodeError> {
    match fits {
        true => Ok(()),
        false => Err(DecodeError::Kind {
            at: at.to_owned(),
            wanted,
        }),
    }
}

/// Returns the member of a value that may be null or unknown; null if it is missing.
pub(super) fn member_of(like: &Value, name: &str) -> Value {
    let member = || like.as_map()?.get(name).cloned();
    let known = like.is_known() && !like.is_null();
    let found = known.then(member).flatten();
    found.unwrap_or_else(|| Value::null(Type::Dynamic))
}

/// Returns the element of a value that may be null or unknown; null if it is missing.
pub(super) fn element_of(like: &Value, index: usize) -> Value {
    let known = like.is_known() && !like.is_null();
    let found = known
        .then(|| like.as_slice()?.get(index).cloned())
        .flatten();
    found.unwrap_or_else(|| Value::null(Type::Dynamic))
}

/// Decodes a value without a schema.
pub(super) fn decode_any(node: &MappingNode) -> Value {
    if let Some(scalar) = &node.scalar {
        return decode_scalar(scalar);
    }
    if !node.fields.is_empty() {
        return Value::object(node.fields.iter().map(|(k, v)| (k, decode_any(v))));
    }
    if !node.items.is_empty() {
        return Value::tuple(node.items.iter().map(decode_any).collect());
    }
    Value::null(Type::Dynamic)
}
