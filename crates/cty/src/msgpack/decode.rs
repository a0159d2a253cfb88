//! Decoding of values from msgpack.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::read::{Bytes, Token};
use super::{MAX_REFINEMENTS, REFINED, key};
use crate::codec::{CodecError, Place, Step, collect_elements, collect_members};
use crate::{Number, ObjectType, RefinementBuilder, Type, Value};

/// Decodes a value of `ty`. Never panics on malformed bytes; the error names the failing path
/// inside the value.
pub fn decode(bytes: &[u8], ty: &Type) -> Result<Value, CodecError> {
    let ty = ty.without_optional();
    value(&mut Bytes::new(bytes), &ty, &Place::default())
}

type Decoded = Result<Value, CodecError>;

fn value(bytes: &mut Bytes<'_>, ty: &Type, at: &Place<'_>) -> Decoded {
    let token = bytes.next().map_err(|e| at.error(e))?;
    match (token, ty) {
        (Token::Extension(code, body), _) => unknown(code, body, ty, at),
        (Token::Nil, _) => Ok(Value::null(ty.clone())),
        (Token::Array(2), Type::Dynamic) => dynamic(bytes, at),
        (_, Type::Dynamic) => at.fail("dynamic value array must have exactly two elements"),
        (token, Type::String) => Ok(Value::string(text(token, at, "string is required")?)),
        (Token::Bool(b), Type::Bool) => Ok(Value::bool(b)),
        (_, Type::Bool) => at.fail("bool is required"),
        (token, Type::Number) => Ok(Value::number(number(token, at)?)),
        (Token::Array(n), Type::List(element)) => {
            let elements = sequence(bytes, n, at, |_| Some(element))?;
            collect_elements(false, element, elements, at)
        }
        (Token::Array(n), Type::Set(element)) => {
            let elements = sequence(bytes, n, at, |_| Some(element))?;
            collect_elements(true, element, elements, at)
        }
        (Token::Array(n), Type::Tuple(types)) => {
            if n != types.len() {
                return at.fail(format!("a tuple of length {} is required", types.len()));
            }
            Ok(Value::tuple(sequence(bytes, n, at, |i| types.get(i))?))
        }
        (Token::Map(n), Type::Map(element)) => map(bytes, n, element, at),
        (Token::Map(n), Type::Object(o)) => object(bytes, n, o, at),
        (_, Type::List(_)) => at.fail("a list is required"),
        (_, Type::Set(_)) => at.fail("a set is required"),
        (_, Type::Tuple(_)) => at.fail("a tuple is required"),
        (_, Type::Map(_)) => at.fail("a map is required"),
        (_, Type::Object(_)) => at.fail("an object is required"),
    }
}

fn text<'b>(token: Token<'b>, at: &Place<'_>, wanted: &str) -> Result<&'b str, CodecError> {
    // Encoders differ in their use of the text and binary types, so both are accepted.
    match token {
        Token::Text(raw) | Token::Binary(raw) => match std::str::from_utf8(raw) {
            Ok(text) => Ok(text),
            Err(_) => at.fail(format!("{wanted}: the text is not valid UTF-8")),
        },
        _ => at.fail(wanted),
    }
}

fn number(token: Token<'_>, at: &Place<'_>) -> Result<Number, CodecError> {
    match token {
        Token::Int(i) => Ok(Number::from(i)),
        Token::Uint(u) => Ok(Number::from(u)),
        Token::Float(f) => Number::from_f64(f).map_err(|e| at.error(e.to_string())),
        // Numbers that fit no native type are sent as decimal text.
        Token::Text(_) | Token::Binary(_) => {
            let text = text(token, at, "number is required")?;
            Number::parse(text).map_err(|e| at.error(format!("number is required: {e}")))
        }
        _ => at.fail("number is required"),
    }
}

fn dynamic(bytes: &mut Bytes<'_>, at: &Place<'_>) -> Decoded {
    let ty = match bytes.next() {
        Ok(Token::Binary(raw) | Token::Text(raw)) => {
            Type::from_json(raw).map_err(|e| at.error(e.to_string()))?
        }
        Ok(_) => return at.fail("the type of a dynamic value must be binary"),
        Err(e) => return at.fail(e),
    };
    let ty = ty.without_optional();
    at.one_level_deeper(|at| value(bytes, &ty, at))
}

fn sequence<'t>(
    bytes: &mut Bytes<'_>,
    n: usize,
    at: &Place<'_>,
    ty: impl Fn(usize) -> Option<&'t Type>,
) -> Result<Vec<Value>, CodecError> {
    // The declared length is not trusted: each element takes at least one byte, so the rest of the
    // input limits the allocation.
    let mut elements = Vec::with_capacity(n.min(bytes.remaining()));
    for i in 0..n {
        let Some(ty) = ty(i) else { break };
        elements.push(at.at_step(Step::Nth(i), |at| value(bytes, ty, at))?);
    }
    Ok(elements)
}

fn map(bytes: &mut Bytes<'_>, n: usize, element: &Type, at: &Place<'_>) -> Decoded {
    let mut members = Vec::with_capacity(n.min(bytes.remaining()));
    for _ in 0..n {
        let key = bytes.next().map_err(|e| at.error(e))?;
        let key = text(key, at, "non-string key in map")?;
        let inner = at.at_step(Step::Key(key), |at| value(bytes, element, at))?;
        members.push((key.to_owned(), inner));
    }
    collect_members(element, members, at)
}

fn object(bytes: &mut Bytes<'_>, n: usize, object: &Arc<ObjectType>, at: &Place<'_>) -> Decoded {
    let want = object.attributes.len();
    let mut attributes: BTreeMap<Arc<str>, Value> = BTreeMap::new();
    // An object is encoded with all attributes of its type. With another count the members are not
    // read, because the error needs the count only.
    if n == want {
        for _ in 0..n {
            let key = bytes.next().map_err(|e| at.error(e))?;
            let key = text(key, at, "all keys must be strings")?;
            let Some((name, ty)) = object.attribute(key) else {
                return at.at_step(Step::Attr(key), |at| at.fail("unsupported attribute"));
            };
            attributes.insert(
                name.clone(),
                at.at_step(Step::Attr(name), |at| value(bytes, ty, at))?,
            );
        }
    }
    if attributes.len() != want {
        return at.fail(format!(
            "an object with {want} attributes is required ({} given)",
            if n == want { attributes.len() } else { n }
        ));
    }
    Ok(Value::object_of_type(object, attributes))
}

fn unknown(code: i8, body: &[u8], ty: &Type, at: &Place<'_>) -> Decoded {
    // go-cty reserves other codes for future use: they also mean "unknown", with content that this
    // version cannot read.
    if code != REFINED || body.len() <= 1 {
        return Ok(Value::unknown(ty.clone()));
    }
    if body.len() > MAX_REFINEMENTS {
        return at.fail("oversize unknown value refinement");
    }
    let mut bytes = Bytes::new(body);
    let Ok(Token::Map(n)) = bytes.next() else {
        return at.fail("refinements of an unknown value: not a map");
    };
    // Refinements need a type, and an unknown value of dynamic type has none yet.
    if ty.is_dynamic() {
        return Ok(Value::unknown(Type::Dynamic));
    }
    let mut builder = Value::unknown(ty.clone()).refine();
    for _ in 0..n {
        let key = match bytes.next() {
            Ok(Token::Int(k)) => k,
            Ok(Token::Uint(k)) => i64::try_from(k).unwrap_or(i64::MAX),
            _ => return at.fail("refinements of an unknown value: a key is not an integer"),
        };
        builder = refinement(builder, key, &mut bytes, at)?;
    }
    builder.build().map_err(|e| at.error(e.to_string()))
}

fn refinement(
    b: RefinementBuilder,
    key: i64,
    bytes: &mut Bytes<'_>,
    at: &Place<'_>,
) -> Result<RefinementBuilder, CodecError> {
    let bad = |what: &str| at.error(format!("refinements of an unknown value: {what}"));
    // Keys of later versions are skipped, because a refinement can be ignored safely.
    if !(key::NULLNESS..=key::LENGTH_MAX).contains(&key) {
        bytes.skip().map_err(bad)?;
        return Ok(b);
    }
    let token = bytes.next().map_err(bad)?;
    match (key, token) {
        (key::NULLNESS, Token::Bool(null)) => Ok(if null { b.null() } else { b.not_null() }),
        (key::STRING_PREFIX, token) => Ok(b.string_prefix_full(text(
            token,
            at,
            "refinements of an unknown value: the prefix is not a string",
        )?)),
        (key::NUMBER_MIN | key::NUMBER_MAX, Token::Array(2)) => {
            let bound = number(bytes.next().map_err(bad)?, at)?;
            match (key, bytes.next().map_err(bad)?) {
                (key::NUMBER_MIN, Token::Bool(inclusive)) => Ok(b.number_min(bound, inclusive)),
                (_, Token::Bool(inclusive)) => Ok(b.number_max(bound, inclusive)),
                _ => Err(bad("a bound must be an array of number and bool")),
            }
        }
        (key::LENGTH_MIN | key::LENGTH_MAX, token) => {
            let bound = match token {
                Token::Int(n) => usize::try_from(n).ok(),
                Token::Uint(n) => usize::try_from(n).ok(),
                _ => None,
            };
            let bound = bound.ok_or_else(|| bad("a length must be a whole number"))?;
            Ok(if key == key::LENGTH_MIN {
                b.length_min(bound)
            } else {
                b.length_max(bound)
            })
        }
        _ => Err(bad("a value of the wrong kind")),
    }
}
