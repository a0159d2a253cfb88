//! Conversion between values and Bluelink's wire format. On the wire null, empty list and empty map
//! are the same node, sets do not exist, and a whole number can be an integer or a float.

use cty::{ConvertError, Number, Type, Value};
use proto::bluelink::schema::scalar_value::Value as Scalar;
use proto::bluelink::schema::string_or_substitution::Value as Part;
use proto::bluelink::schema::{MappingNode, ScalarValue, StringOrSubstitutions};

/// Reason why a node from the host is not a value of its type.
#[derive(Debug, thiserror::Error)]
pub(super) enum DecodeError {
    /// Error inside a member: an attribute, a key, or `[0]`.
    #[error("{at}: {source}")]
    Member {
        at: String,
        source: Box<DecodeError>,
    },
    #[error("its elements have different types, but must all have the same type")]
    Several,
    /// The friendly name of the required type.
    #[error("{0} is required")]
    Wanted(String),
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// Number of values found.
    #[error("exactly one value is required, but the filter has {0}")]
    NotOne(usize),
    #[error("not valid JSON: {0}")]
    NoJson(#[from] serde_json::Error),
    /// Messages about JSON that does not fit the type.
    #[error("{0}")]
    Json(String),
}

impl DecodeError {
    /// Wraps an error with the member that it is in.
    fn at(at: impl ToString) -> impl FnOnce(Self) -> Self {
        let at = at.to_string();
        move |unfit| Self::Member {
            at,
            source: Box::new(unfit),
        }
    }
}

pub(super) fn is_null_node(node: &MappingNode) -> bool {
    node.scalar.is_none()
        && node.fields.is_empty()
        && node.items.is_empty()
        && node.string_with_substitutions.is_none()
}

/// Converts a node from the host. Unresolved parts are unknown, and missing ones are null.
///
/// # Errors
/// A part does not have the required type.
pub(super) fn decode(node: Option<&MappingNode>, ty: &Type) -> Result<Value, DecodeError> {
    // An empty list or map has the same form; it is null here, too.
    let Some(node) = node.filter(|node| !is_null_node(node)) else {
        return Ok(Value::null(ty.clone()));
    };
    // Substitutions are resolved by the host; until then the value can be anything of its type.
    if let Some(text) = &node.string_with_substitutions {
        return Ok(match resolved(text) {
            Some(text) => Value::string(text).convert(ty)?,
            None => Value::unknown(ty.clone()),
        });
    }
    let several = |_| DecodeError::Several;
    match ty {
        Type::Dynamic => Ok(any(node)),
        Type::List(of) => {
            let items = items(node, ty, |_| of)?;
            Value::try_list((**of).clone(), items).map_err(several)
        }
        Type::Set(of) => {
            let items = items(node, ty, |_| of)?;
            Value::try_set((**of).clone(), items).map_err(several)
        }
        // A tuple of another length falls through to the error below.
        Type::Tuple(types) if types.len() == node.items.len() => {
            Ok(Value::tuple(items(node, ty, |index| &types[index])?))
        }
        Type::Map(of) => {
            require_type(node.scalar.is_none() && node.items.is_empty(), ty)?;
            let one = |(name, node): (&String, &MappingNode)| {
                let value = decode(Some(node), of).map_err(DecodeError::at(name))?;
                Ok((name.clone(), value))
            };
            let members = node.fields.iter().map(one);
            let members = members.collect::<Result<Vec<_>, DecodeError>>()?;
            Value::try_map((**of).clone(), members).map_err(several)
        }
        Type::Object(object) => {
            require_type(node.scalar.is_none() && node.items.is_empty(), ty)?;
            let one = |(name, ty): (&std::sync::Arc<str>, &Type)| {
                let node = node.fields.get(&**name);
                let value = decode(node, ty).map_err(DecodeError::at(name))?;
                Ok((name.clone(), value))
            };
            let members = object.attributes.iter().map(one);
            Ok(Value::object_from_map(
                members.collect::<Result<Vec<_>, DecodeError>>()?,
            ))
        }
        _ => match &node.scalar {
            Some(scalar) => Ok(decode_scalar(scalar).convert(ty)?),
            None => Err(wrong_type(ty)),
        },
    }
}

/// Returns the text if it has no unresolved substitutions.
fn resolved(text: &StringOrSubstitutions) -> Option<String> {
    let parts = text.values.iter().map(|part| match &part.value {
        Some(Part::StringValue(text)) => Some(text.as_str()),
        _ => None,
    });
    parts.collect()
}

fn items<'t>(
    node: &MappingNode,
    ty: &Type,
    of: impl Fn(usize) -> &'t Type,
) -> Result<Vec<Value>, DecodeError> {
    require_type(node.scalar.is_none() && node.fields.is_empty(), ty)?;
    let one = |(index, node): (usize, &MappingNode)| {
        decode(Some(node), of(index)).map_err(DecodeError::at(format!("[{index}]")))
    };
    node.items.iter().enumerate().map(one).collect()
}

fn wrong_type(ty: &Type) -> DecodeError {
    DecodeError::Wanted(ty.friendly_name())
}

fn require_type(fits: bool, ty: &Type) -> Result<(), DecodeError> {
    if fits { Ok(()) } else { Err(wrong_type(ty)) }
}

/// Converts a scalar; null if it is empty.
pub(super) fn decode_scalar(scalar: &ScalarValue) -> Value {
    match &scalar.value {
        Some(Scalar::IntValue(number)) => Value::int(*number),
        Some(Scalar::BoolValue(truth)) => Value::bool(*truth),
        // Parsed from its shortest text, so that 0.1 becomes the decimal 0.1.
        Some(Scalar::FloatValue(number)) => Number::parse(&number.to_string())
            .map_or_else(|_| Value::null(Type::Number), Value::number),
        Some(Scalar::StringValue(text)) => Value::string(text),
        Some(Scalar::BytesValue(_) | Scalar::NoneValue(_)) | None => Value::null(Type::Dynamic),
    }
}

/// Converts a node of unknown type.
fn any(node: &MappingNode) -> Value {
    match &node.scalar {
        Some(scalar) => decode_scalar(scalar),
        None if node.string_with_substitutions.is_some() => Value::dynamic(),
        None if !node.fields.is_empty() => {
            Value::object(node.fields.iter().map(|(name, node)| (name, any(node))))
        }
        None if !node.items.is_empty() => Value::tuple(node.items.iter().map(any).collect()),
        None => Value::null(Type::Dynamic),
    }
}

pub(super) fn scalar(value: Scalar) -> MappingNode {
    MappingNode {
        scalar: Some(ScalarValue { value: Some(value) }),
        ..MappingNode::default()
    }
}

/// Converts a value for the host; `None` for null and unknown values. `like` is the host's current
/// node: elements of a set are sent in its order, because the host only has lists.
pub(super) fn encode(value: &Value, ty: &Type, like: Option<&MappingNode>) -> Option<MappingNode> {
    if !value.is_given() {
        return None;
    }
    if let Some(number) = value.as_number() {
        return Some(scalar(match number.to_i64() {
            // Declared numbers are floats; only a dynamic number keeps its kind.
            Some(whole) if ty.is_dynamic() => Scalar::IntValue(whole),
            _ => Scalar::FloatValue(number.to_f64().0),
        }));
    }
    if let Some(text) = value.as_str() {
        return Some(scalar(Scalar::StringValue(text.to_owned())));
    }
    if let Some(truth) = value.as_bool() {
        return Some(scalar(Scalar::BoolValue(truth)));
    }
    let mut node = MappingNode::default();
    if value.as_map().is_some() {
        for (key, member) in value.elements() {
            let name = key.as_str().unwrap_or_default();
            let like = like.and_then(|like| like.fields.get(name));
            if let Some(member) = encode(member, inner(ty, Some(name), 0), like) {
                node.fields.insert(name.to_owned(), member);
            }
        }
        return Some(node);
    }
    let all = ordered_elements(value, like);
    let item = |(index, element): (usize, &Value)| {
        let like = like.and_then(|like| like.items.get(index));
        // Null inside a list stays as an empty node, because the indices must not move.
        encode(element, inner(ty, None, index), like).unwrap_or_default()
    };
    node.items = all.iter().enumerate().map(item).collect();
    Some(node)
}

/// Returns the type of a member or an element.
fn inner<'t>(ty: &'t Type, name: Option<&str>, index: usize) -> &'t Type {
    match (ty, name) {
        (Type::Object(object), Some(name)) => object.attributes.get(name).unwrap_or(&Type::Dynamic),
        (Type::List(of) | Type::Set(of) | Type::Map(of), _) => of,
        (Type::Tuple(types), None) => types.get(index).unwrap_or(&Type::Dynamic),
        _ => &Type::Dynamic,
    }
}

/// Returns the elements of a list or set. Elements of a set are in the order of the host's node,
/// with new ones at the end.
pub(super) fn ordered_elements(value: &Value, like: Option<&MappingNode>) -> Vec<Value> {
    let mut left: Vec<Value> = value.as_slice().unwrap_or_default().to_vec();
    let (Type::Set(of), Some(like)) = (value.ty(), like) else {
        return left;
    };
    let mut all = Vec::with_capacity(left.len());
    for item in &like.items {
        let Ok(item) = decode(Some(item), of) else {
            continue;
        };
        // An exact match has priority, so that a similar element is left for its own item.
        let exact = left.iter().position(|element| *element == item);
        let found = exact.or_else(|| {
            left.iter()
                .position(|element| corresponds_to(&item, element))
        });
        if let Some(index) = found {
            all.push(left.remove(index));
        }
    }
    // Elements that the host does not know yet.
    all.append(&mut left);
    all
}

/// Returns true if `element` corresponds to the host's `item`, which can lack values that the
/// provider sets.
fn corresponds_to(item: &Value, element: &Value) -> bool {
    if item.is_null() || item == element {
        return true;
    }
    match (item.as_map(), element.as_map()) {
        (Some(item), Some(element)) => item.iter().all(|(name, item)| {
            element
                .get(name)
                .is_some_and(|value| corresponds_to(item, value))
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(value: &Value) -> Value {
        decode(encode(value, value.ty(), None).as_ref(), value.ty()).unwrap()
    }

    #[test]
    fn values_round_trip_through_mapping_nodes() {
        let ports = Value::list(Type::Number, vec![Value::int(1), Value::int(80)]);
        let names = Value::set(Type::String, vec!["b".into(), "a".into()]);
        let tags = Value::map(Type::String, [("odd.name", Value::string("x"))]);
        let tenth = Value::number(Number::parse("0.1").unwrap());
        let pair = Value::tuple(vec![Value::bool(false), Value::string("")]);
        for value in [ports, names, tags, tenth, pair, Value::int(1 << 40)] {
            assert_eq!(back(&value), value);
            let object = Value::object([("inside", value), ("null", Value::null(Type::Bool))]);
            assert_eq!(back(&object), object);
        }
    }

    #[test]
    fn dynamic_value_keeps_the_kind_of_its_numbers() {
        let payload = Value::object([
            ("n", Value::int(3)),
            (
                "list",
                Value::tuple(vec![Value::int(1), Value::string("x")]),
            ),
        ]);
        let node = encode(&payload, &Type::Dynamic, None).unwrap();
        let scalar = node.fields["n"].scalar.clone().unwrap();
        assert_eq!(scalar.value, Some(Scalar::IntValue(3)));
        assert_eq!(decode(Some(&node), &Type::Dynamic).unwrap(), payload);
    }

    #[test]
    fn set_is_encoded_in_the_order_of_the_host() {
        let list = |texts: &[&str]| {
            let texts = texts.iter().map(|text| Value::string(*text)).collect();
            Value::list(Type::String, texts)
        };
        let like = encode(&list(&["c", "gone", "a"]), &Type::list(Type::String), None);
        let set = Value::set(Type::String, vec!["a".into(), "b".into(), "c".into()]);
        let node = encode(&set, set.ty(), like.as_ref());
        let told = decode(node.as_ref(), &Type::list(Type::String)).unwrap();
        assert_eq!(told, list(&["c", "a", "b"]));
    }

    #[test]
    fn decode_errors_name_the_path() {
        let ty = Type::object([("ports", Type::list(Type::Number))]);
        let wrong = Value::object([("ports", Value::tuple(vec!["many".into()]))]);
        let node = encode(&wrong, &Type::Dynamic, None);
        let why = decode(node.as_ref(), &ty).unwrap_err().to_string();
        assert!(why.starts_with("ports: [0]: "), "{why}");
    }
}
