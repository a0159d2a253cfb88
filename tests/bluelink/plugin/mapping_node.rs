//! Conversion of values between the protocol and JSON. As in the official framework, empty nodes
//! are omitted, and a scalar without a value is an error.

use proto::bluelink::schema::scalar_value::Value as Scalar;
use proto::bluelink::schema::{MappingNode, ScalarValue};
use serde_json::{Map, Value};

/// # Errors
/// A scalar has no value.
pub fn json(node: &MappingNode) -> Result<Value, String> {
    if let Some(scalar) = &node.scalar {
        return match scalar.value.clone().ok_or("missing scalar value")? {
            Scalar::IntValue(n) => Ok(n.into()),
            Scalar::BoolValue(b) => Ok(b.into()),
            Scalar::FloatValue(f) => Ok(f.into()),
            Scalar::StringValue(s) => Ok(s.into()),
            Scalar::BytesValue(_) | Scalar::NoneValue(_) => Ok(Value::Null),
        };
    }
    if !node.fields.is_empty() {
        let fields = node.fields.iter();
        let fields = fields.map(|(name, node)| Ok((name.clone(), json(node)?)));
        return Ok(Value::Object(
            fields.collect::<Result<Map<_, _>, String>>()?,
        ));
    }
    if !node.items.is_empty() {
        let items = node.items.iter().map(json).collect::<Result<_, _>>()?;
        return Ok(Value::Array(items));
    }
    if node.string_with_substitutions.is_some() {
        return Ok("${unresolved}".into());
    }
    Ok(Value::Null)
}

pub fn node(value: &Value) -> MappingNode {
    let scalar = |scalar| MappingNode {
        scalar: Some(ScalarValue {
            value: Some(scalar),
        }),
        ..MappingNode::default()
    };
    match value {
        Value::Null => MappingNode::default(),
        Value::Bool(b) => scalar(Scalar::BoolValue(*b)),
        Value::String(s) => scalar(Scalar::StringValue(s.clone())),
        Value::Number(n) => match n.as_i64() {
            Some(n) if !n.to_string().contains('.') => scalar(Scalar::IntValue(n)),
            _ => scalar(Scalar::FloatValue(n.as_f64().unwrap())),
        },
        Value::Array(items) => MappingNode {
            items: items.iter().map(node).collect(),
            ..MappingNode::default()
        },
        Value::Object(fields) => MappingNode {
            fields: fields.iter().map(|(k, v)| (k.clone(), node(v))).collect(),
            ..MappingNode::default()
        },
    }
}
