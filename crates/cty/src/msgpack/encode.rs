//! Encoding of values as msgpack.

use rmp::encode as mp;

use super::{REFINED, key};
use crate::codec::{CodecError, Place, Step, conforming};
use crate::{Number, Range, Type, Value};

/// Encodes the value as msgpack of type `ty`. Where `ty` is dynamic, the type of the value is
/// included. A value of another type is converted first. Fails for marked values.
pub fn encode(value: &Value, ty: &Type) -> Result<Vec<u8>, CodecError> {
    let value = conforming(value, ty)?;
    let mut out = Vec::with_capacity(INITIAL_CAPACITY);
    write(&value, ty, &mut out, &Place::default())?;
    Ok(out)
}

/// Initial capacity in bytes, enough for most objects.
const INITIAL_CAPACITY: usize = 512;

/// Unwraps the result of a write to memory, which cannot fail.
fn infallible<T, E: std::fmt::Debug>(written: Result<T, E>) {
    if let Err(e) = written {
        unreachable!("writing to memory failed: {e:?}");
    }
}

fn length(n: usize, at: &Place<'_>) -> Result<u32, CodecError> {
    u32::try_from(n).map_err(|_| at.error("more than 4294967295 elements or bytes"))
}

fn text(s: &str, out: &mut Vec<u8>, at: &Place<'_>) -> Result<(), CodecError> {
    length(s.len(), at)?;
    infallible(mp::write_str(out, s));
    Ok(())
}

fn write(value: &Value, ty: &Type, out: &mut Vec<u8>, at: &Place<'_>) -> Result<(), CodecError> {
    if value.is_marked() {
        return at.fail("value has marks, so it cannot be serialized");
    }
    // The reader cannot know the type of a dynamic part, so it is written before the value.
    if ty.is_dynamic() && !value.ty().is_dynamic() {
        infallible(mp::write_array_len(out, 2));
        infallible(mp::write_bin(
            out,
            crate::json::type_text(value.ty()).as_bytes(),
        ));
        return at.one_level_deeper(|at| write(value, value.ty(), out, at));
    }
    if !value.is_known() {
        return unknown(&value.range(), out, at);
    }
    if value.is_null() {
        infallible(mp::write_nil(out));
        return Ok(());
    }
    match ty {
        Type::String => text(value.as_str().unwrap_or_default(), out, at),
        Type::Bool => {
            infallible(mp::write_bool(out, value.as_bool() == Some(true)));
            Ok(())
        }
        Type::Number => match value.as_number() {
            Some(n) => number(n, out, at),
            None => at.fail("number is required"),
        },
        Type::List(element) | Type::Set(element) => {
            infallible(mp::write_array_len(
                out,
                length(value.len().unwrap_or(0), at)?,
            ));
            for (key, inner) in value.elements() {
                at.at_step(Step::Element(&key), |at| write(inner, element, out, at))?;
            }
            Ok(())
        }
        Type::Tuple(types) => {
            infallible(mp::write_array_len(out, length(types.len(), at)?));
            for ((key, inner), ty) in value.elements().zip(types.iter()) {
                at.at_step(Step::Element(&key), |at| write(inner, ty, out, at))?;
            }
            Ok(())
        }
        Type::Map(element) => {
            infallible(mp::write_map_len(
                out,
                length(value.len().unwrap_or(0), at)?,
            ));
            for (name, inner) in value.as_map().into_iter().flatten() {
                text(name, out, at)?;
                at.at_step(Step::Key(name), |at| write(inner, element, out, at))?;
            }
            Ok(())
        }
        Type::Object(object) => {
            infallible(mp::write_map_len(out, length(object.attributes.len(), at)?));
            // An object of this type has its members in the same order, so the lookup by name is
            // rarely needed.
            let mut members = value.as_map().into_iter().flatten();
            for (name, ty) in &object.attributes {
                text(name, out, at)?;
                let inner = match members.next() {
                    Some((have, inner)) if have == name => Some(inner),
                    _ => value.as_map().and_then(|m| m.get(name)),
                };
                at.at_step(Step::Attr(name), |at| match inner {
                    Some(inner) => write(inner, ty, out, at),
                    None => at.fail("the object has no such attribute"),
                })?;
            }
            Ok(())
        }
        Type::Dynamic => at.fail("cannot serialize a value without a type"),
    }
}

/// Encodes a number: as an integer if it fits 64 bits, else as a float if that is exact, else as
/// decimal text.
fn number(n: &Number, out: &mut Vec<u8>, at: &Place<'_>) -> Result<(), CodecError> {
    if let Some(small) = n.to_i64() {
        infallible(mp::write_sint(out, small));
        return Ok(());
    }
    // Large whole numbers go as text even if a float is exact, as go-cty does.
    let (float, exact) = n.to_f64();
    if n.is_infinite() || exact && !n.is_integer() {
        infallible(mp::write_f64(out, float));
        return Ok(());
    }
    text(&n.to_text(), out, at)
}

fn unknown(range: &Range, out: &mut Vec<u8>, at: &Place<'_>) -> Result<(), CodecError> {
    let mut body = Vec::new();
    let mut entries = 0;
    let mut entry = |body: &mut Vec<u8>, key: i64| {
        entries += 1;
        infallible(mp::write_sint(body, key));
    };
    // A value of dynamic type cannot have refinements.
    if !range.ty().is_dynamic() {
        if range.definitely_not_null() {
            entry(&mut body, key::NULLNESS);
            infallible(mp::write_bool(&mut body, false));
        }
        for (key, bound) in [
            (key::NUMBER_MIN, range.number_min()),
            (key::NUMBER_MAX, range.number_max()),
        ] {
            if let Some((bound, inclusive)) = bound {
                entry(&mut body, key);
                infallible(mp::write_array_len(&mut body, 2));
                number(bound, &mut body, at)?;
                infallible(mp::write_bool(&mut body, *inclusive));
            }
        }
        if !range.string_prefix().is_empty() {
            entry(&mut body, key::STRING_PREFIX);
            text(&short_prefix(range.string_prefix()), &mut body, at)?;
        }
        if range.length_min() > 0 {
            entry(&mut body, key::LENGTH_MIN);
            infallible(mp::write_uint(&mut body, range.length_min() as u64));
        }
        if let Some(max) = range.length_max() {
            entry(&mut body, key::LENGTH_MAX);
            infallible(mp::write_uint(&mut body, max as u64));
        }
    }
    // Unknown without refinements: extension 0 with one byte of content, as go-cty writes it.
    if entries == 0 {
        out.extend_from_slice(&[0xd4, 0, 0]);
        return Ok(());
    }
    // The map header needs the number of entries, which is known only now.
    let mut map = Vec::with_capacity(body.len() + 1);
    infallible(mp::write_map_len(&mut map, entries));
    map.extend_from_slice(&body);
    infallible(mp::write_ext_meta(out, length(map.len(), at)?, REFINED));
    out.extend_from_slice(&map);
    Ok(())
}

/// Cuts a long prefix, so that a complete value cannot be sent as a prefix.
fn short_prefix(prefix: &str) -> std::sync::Arc<str> {
    const MAX_LENGTH: usize = 256;
    if prefix.len() <= MAX_LENGTH {
        return prefix.into();
    }
    let mut end = MAX_LENGTH - 1;
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    crate::text::safe_prefix(&prefix[..end])
}
