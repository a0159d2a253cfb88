//! Writing values as msgpack.

use rmp::encode as mp;

use super::{REFINED, key};
use crate::codec::{CodecError, Place, Step, conforming};
use crate::{Number, Range, Type, Value};

/// The value as msgpack, as a value of `ty`: where `ty` is dynamic, the value's own type goes
/// along. A value of another type is converted first. Marked values are refused.
pub fn encode(value: &Value, ty: &Type) -> Result<Vec<u8>, CodecError> {
    let value = conforming(value, ty)?;
    let mut out = Vec::with_capacity(USUAL);
    write(&value, ty, &mut out, &Place::default())?;
    Ok(out)
}

/// Room for most objects, in bytes: more is made where one needs it.
const USUAL: usize = 512;

/// Writing into memory cannot fail.
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
    if ty.is_dynamic() && !value.ty().is_dynamic() {
        infallible(mp::write_array_len(out, 2));
        infallible(mp::write_bin(
            out,
            crate::json::type_text(value.ty()).as_bytes(),
        ));
        return at.deeper(|at| write(value, value.ty(), out, at));
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
                at.within(Step::Element(&key), |at| write(inner, element, out, at))?;
            }
            Ok(())
        }
        Type::Tuple(types) => {
            infallible(mp::write_array_len(out, length(types.len(), at)?));
            for ((key, inner), ty) in value.elements().zip(types.iter()) {
                at.within(Step::Element(&key), |at| write(inner, ty, out, at))?;
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
                at.within(Step::Key(name), |at| write(inner, element, out, at))?;
            }
            Ok(())
        }
        Type::Object(object) => {
            infallible(mp::write_map_len(out, length(object.attributes.len(), at)?));
            // An object of this very type has them in the same order.
            let mut members = value.as_map().into_iter().flatten();
            for (name, ty) in &object.attributes {
                text(name, out, at)?;
                let inner = match members.next() {
                    Some((have, inner)) if have == name => Some(inner),
                    _ => value.as_map().and_then(|m| m.get(name)),
                };
                at.within(Step::Attr(name), |at| match inner {
                    Some(inner) => write(inner, ty, out, at),
                    None => at.fail("the object has no such attribute"),
                })?;
            }
            Ok(())
        }
        Type::Dynamic => at.fail("cannot serialize a value without a type"),
    }
}

/// Whole numbers of 64 bits, else floats where they are exact, else decimal text.
fn number(n: &Number, out: &mut Vec<u8>, at: &Place<'_>) -> Result<(), CodecError> {
    if let Some(small) = n.to_i64() {
        infallible(mp::write_sint(out, small));
        return Ok(());
    }
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
    if entries == 0 {
        out.extend_from_slice(&[0xd4, 0, 0]);
        return Ok(());
    }
    let mut map = Vec::with_capacity(body.len() + 1);
    infallible(mp::write_map_len(&mut map, entries));
    map.extend_from_slice(&body);
    infallible(mp::write_ext_meta(out, length(map.len(), at)?, REFINED));
    out.extend_from_slice(&map);
    Ok(())
}

/// A long prefix is cut, so that a value that merely looks like a prefix does not travel as one.
fn short_prefix(prefix: &str) -> std::sync::Arc<str> {
    const LONGEST: usize = 256;
    if prefix.len() <= LONGEST {
        return prefix.into();
    }
    let mut end = LONGEST - 1;
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    crate::text::safe_prefix(&prefix[..end])
}
