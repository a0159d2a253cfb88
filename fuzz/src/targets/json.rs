//! A type as JSON on the first line, then any bytes as JSON of that type and of the type that they
//! imply. A decoded value has the type and round-trips. The type round-trips as well.

use cty::{Type, Value, json};

pub fn run(data: &[u8]) {
    let Some((ty, body)) = super::typed(data) else {
        return;
    };
    assert_eq!(Type::from_json(ty.to_json().as_bytes()).as_ref(), Ok(&ty));
    if let Ok(value) = json::decode(body, &ty) {
        comes_back(&value, &ty.without_optional());
    }
    if let Ok(value) = json::decode(body, &Type::Dynamic) {
        comes_back(&value, &Type::Dynamic);
    }
    if let Ok(value) = json::decode_implied(body) {
        comes_back(&value, value.ty());
        // As a configuration converts it.
        if let Ok(converted) = cty::convert(&value, &ty) {
            assert!(
                converted.ty().conforms_to(&ty.without_optional()),
                "{value:?} to {ty:?} gave {converted:?}"
            );
            assert_eq!(cty::convert(&converted, &ty), Ok(converted));
        }
    }
}

fn comes_back(value: &Value, ty: &Type) {
    assert!(value.ty().conforms_to(ty), "{value:?} is no {ty:?}");
    assert!(value.is_wholly_known());
    let text = json::encode(value, ty).expect("what was read is written");
    let again = json::decode(text.as_bytes(), ty).expect("what was written is read");
    assert_eq!(&again, value, "{ty:?}");
    // The text is canonical: the same value always has the same text.
    assert_eq!(json::encode(&again, ty).as_ref(), Ok(&text));
}
