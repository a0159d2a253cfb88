//! A type as JSON on the first line, then any bytes as msgpack of that type. A decoded value has
//! the type and round-trips.

use cty::{Number, Type, Value, msgpack};

pub fn run(data: &[u8]) {
    let Some((ty, body)) = super::typed(data) else {
        return;
    };
    if let Ok(value) = msgpack::decode(body, &ty) {
        comes_back(&value, &ty.without_optional());
    }
    if let Ok(value) = msgpack::decode(body, &Type::Dynamic) {
        comes_back(&value, &Type::Dynamic);
    }
}

fn comes_back(value: &Value, ty: &Type) {
    assert!(value.ty().conforms_to(ty), "{value:?} is no {ty:?}");
    let bytes = msgpack::encode(value, ty).expect("what was read is written");
    let again = msgpack::decode(&bytes, ty).expect("what was written is read");
    // Bytes are compared first, because values with inexact numbers can differ.
    assert_eq!(msgpack::encode(&again, ty).as_ref(), Ok(&bytes));
    if exact(value) {
        assert_eq!(&again, value, "{ty:?}");
    }
    // A conversion without a change of the type must not change the value.
    if cty::convert(value, ty).is_ok_and(|same| same.ty() == value.ty() && same != *value) {
        panic!("{value:?} becomes another value of its own type");
    }
    let _ = format!("{value} {value:?}");
    assert!(value.raw_equals(value));
    assert_ne!(value.equals(value).as_bool(), Some(false), "{value:?}");
}

/// Returns true if the text of all numbers parses back to the same number. That of huge floats does
/// not, as in go-cty.
fn exact(value: &Value) -> bool {
    let mut exact = true;
    let mut number =
        |n: &Number| exact &= Number::parse(&n.to_text()).is_ok_and(|again| again == *n);
    value.walk(&mut |_, v| {
        v.as_number().into_iter().for_each(&mut number);
        let bounds = v.refinement().map(|_| v.range());
        if let Some(range) = bounds {
            range
                .number_min()
                .into_iter()
                .chain(range.number_max())
                .for_each(|(n, _)| number(n));
        }
        true
    });
    exact
}
