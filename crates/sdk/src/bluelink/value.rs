//! Values between the author's model and the wire. On the wire null, an empty list and an empty map
//! are the same node, there are no sets, and a whole number may come as either kind. Pure.

use cty::{ConvertError, Number, Type, Value};
use proto::bluelink::schema::scalar_value::Value as Scalar;
use proto::bluelink::schema::string_or_substitution::Value as Part;
use proto::bluelink::schema::{MappingNode, ScalarValue, StringOrSubstitutions};

/// Why what a host says is no value of its type.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    /// A member of it: an attribute, a key, `[0]`.
    #[error("{at}: {source}")]
    Member { at: String, source: Box<Unfit> },
    #[error("its elements are of several types")]
    Several,
    /// A type by its friendly name.
    #[error("{0} is needed here")]
    Wanted(String),
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// So many are there.
    #[error("one value is needed, and there are {0}")]
    NotOne(usize),
    #[error("no JSON: {0}")]
    NoJson(#[from] serde_json::Error),
    /// JSON of something else, in the words of who reads it.
    #[error("{0}")]
    Json(String),
}

impl Unfit {
    /// Of a member of what is looked at.
    fn at(at: impl ToString) -> impl FnOnce(Self) -> Self {
        let at = at.to_string();
        move |unfit| Self::Member {
            at,
            source: Box::new(unfit),
        }
    }
}

pub(super) fn is_nothing(node: &MappingNode) -> bool {
    node.scalar.is_none()
        && node.fields.is_empty()
        && node.items.is_empty()
        && node.string_with_substitutions.is_none()
}

/// A value of the host; what is not resolved yet is unknown, what is missing is null.
///
/// # Errors
/// Something is of another kind than its type.
pub(super) fn decode(node: Option<&MappingNode>, ty: &Type) -> Result<Value, Unfit> {
    let Some(node) = node.filter(|node| !is_nothing(node)) else {
        return Ok(Value::null(ty.clone()));
    };
    if let Some(text) = &node.string_with_substitutions {
        return Ok(match resolved(text) {
            Some(text) => Value::string(text).convert(ty)?,
            None => Value::unknown(ty.clone()),
        });
    }
    let several = |_| Unfit::Several;
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
        Type::Tuple(types) if types.len() == node.items.len() => {
            Ok(Value::tuple(items(node, ty, |index| &types[index])?))
        }
        Type::Map(of) => {
            fits(node.scalar.is_none() && node.items.is_empty(), ty)?;
            let one = |(name, node): (&String, &MappingNode)| {
                let value = decode(Some(node), of).map_err(Unfit::at(name))?;
                Ok((name.clone(), value))
            };
            let members = node.fields.iter().map(one);
            let members = members.collect::<Result<Vec<_>, Unfit>>()?;
            Value::try_map((**of).clone(), members).map_err(several)
        }
        Type::Object(object) => {
            fits(node.scalar.is_none() && node.items.is_empty(), ty)?;
            let one = |(name, ty): (&std::sync::Arc<str>, &Type)| {
                let node = node.fields.get(&**name);
                let value = decode(node, ty).map_err(Unfit::at(name))?;
                Ok((name.clone(), value))
            };
            let members = object.attributes.iter().map(one);
            Ok(Value::object_from_map(
                members.collect::<Result<Vec<_>, Unfit>>()?,
            ))
        }
        _ => match &node.scalar {
            Some(scalar) => Ok(decode_scalar(scalar).convert(ty)?),
            None => Err(wanted(ty)),
        },
    }
}

/// The text of one that has nothing in it that is still to be worked out.
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
) -> Result<Vec<Value>, Unfit> {
    fits(node.scalar.is_none() && node.fields.is_empty(), ty)?;
    let one = |(index, node): (usize, &MappingNode)| {
        decode(Some(node), of(index)).map_err(Unfit::at(format!("[{index}]")))
    };
    node.items.iter().enumerate().map(one).collect()
}

fn wanted(ty: &Type) -> Unfit {
    Unfit::Wanted(ty.friendly_name())
}

fn fits(fits: bool, ty: &Type) -> Result<(), Unfit> {
    if fits { Ok(()) } else { Err(wanted(ty)) }
}

/// A scalar; null where it says nothing.
pub(super) fn decode_scalar(scalar: &ScalarValue) -> Value {
    match &scalar.value {
        Some(Scalar::IntValue(number)) => Value::int(*number),
        Some(Scalar::BoolValue(truth)) => Value::bool(*truth),
        // By its shortest text: 0.1 is the 0.1 that was written.
        Some(Scalar::FloatValue(number)) => Number::parse(&number.to_string())
            .map_or_else(|_| Value::null(Type::Number), Value::number),
        Some(Scalar::StringValue(text)) => Value::string(text),
        Some(Scalar::BytesValue(_) | Scalar::NoneValue(_)) | None => Value::null(Type::Dynamic),
    }
}

/// A value whose type nobody has said.
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

/// A value for the host; `None` for null and what is not known. `like` is what the host has there:
/// elements of a set are in its order, since the host has lists alone.
pub(super) fn encode(value: &Value, ty: &Type, like: Option<&MappingNode>) -> Option<MappingNode> {
    if !value.is_given() {
        return None;
    }
    if let Some(number) = value.as_number() {
        return Some(scalar(match number.to_i64() {
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
    let all = in_order(value, like);
    let item = |(index, element): (usize, &Value)| {
        let like = like.and_then(|like| like.items.get(index));
        encode(element, inner(ty, None, index), like).unwrap_or_default()
    };
    node.items = all.iter().enumerate().map(item).collect();
    Some(node)
}

/// The type of a member or an element.
fn inner<'t>(ty: &'t Type, name: Option<&str>, index: usize) -> &'t Type {
    match (ty, name) {
        (Type::Object(object), Some(name)) => object.attributes.get(name).unwrap_or(&Type::Dynamic),
        (Type::List(of) | Type::Set(of) | Type::Map(of), _) => of,
        (Type::Tuple(types), None) => types.get(index).unwrap_or(&Type::Dynamic),
        _ => &Type::Dynamic,
    }
}

/// The elements of a list or set; those of a set in the order that the host has them in, new ones
/// at the end.
pub(super) fn in_order(value: &Value, like: Option<&MappingNode>) -> Vec<Value> {
    let mut left: Vec<Value> = value.as_slice().unwrap_or_default().to_vec();
    let (Type::Set(of), Some(like)) = (value.ty(), like) else {
        return left;
    };
    let mut all = Vec::with_capacity(left.len());
    for item in &like.items {
        let Ok(item) = decode(Some(item), of) else {
            continue;
        };
        let exact = left.iter().position(|element| *element == item);
        let found = exact.or_else(|| left.iter().position(|element| is_meant(&item, element)));
        if let Some(index) = found {
            all.push(left.remove(index));
        }
    }
    all.append(&mut left);
    all
}

/// Whether an element is the one that the host has, which may have less in it: what the provider
/// sets.
fn is_meant(item: &Value, element: &Value) -> bool {
    if item.is_null() || item == element {
        return true;
    }
    match (item.as_map(), element.as_map()) {
        (Some(item), Some(element)) => item
            .iter()
            .all(|(name, item)| element.get(name).is_some_and(|value| is_meant(item, value))),
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
    fn values_come_back_as_they_were() {
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
    fn what_has_no_type_of_its_own_keeps_the_kinds_of_its_numbers() {
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
    fn a_set_is_told_in_the_order_that_the_host_has_it_in() {
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
    fn what_does_not_fit_is_said_with_its_place() {
        let ty = Type::object([("ports", Type::list(Type::Number))]);
        let wrong = Value::object([("ports", Value::tuple(vec!["many".into()]))]);
        let node = encode(&wrong, &Type::Dynamic, None);
        let why = decode(node.as_ref(), &ty).unwrap_err().to_string();
        assert!(why.starts_with("ports: [0]: "), "{why}");
    }
}
