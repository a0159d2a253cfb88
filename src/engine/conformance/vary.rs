//! Varies values of arguments, for updates.

use cty::{Type, Value};

/// Returns another value of an argument; `None` if its type has no obvious variation.
pub(super) fn variation(ty: &Type, value: &Value, placeholder: &str) -> Option<Value> {
    match ty {
        Type::String => Some(match value.as_str() {
            // An appended number fits more formats of names than an unrelated text.
            Some(text) => Value::string(format!("{text}-2")),
            None => Value::string(placeholder),
        }),
        Type::Number => Some(match value.as_number().and_then(|n| n.to_i64()) {
            Some(number) => Value::int(number.saturating_add(1)),
            None => Value::int(1),
        }),
        Type::Bool => Some(Value::bool(value.as_bool() != Some(true))),
        Type::List(element) | Type::Set(element) => {
            let mut elements: Vec<Value> = elements_of(value);
            let first = elements.first().cloned();
            let first = first.unwrap_or_else(|| Value::null((**element).clone()));
            let varied = variation(element, &first, placeholder)?;
            // Replacing an element keeps their number, which a provider may limit.
            match elements.first_mut() {
                Some(first) => *first = varied,
                None => elements.push(varied),
            }
            let element = (**element).clone();
            match ty {
                Type::List(_) => Value::try_list(element, elements).ok(),
                _ => Value::try_set(element, elements).ok(),
            }
        }
        Type::Map(element) => {
            let first = value.as_map().and_then(|all| all.iter().next());
            let (key, first) = match first {
                Some((key, value)) => (key.to_string(), value.clone()),
                None => ("key".to_owned(), Value::null((**element).clone())),
            };
            let varied = variation(element, &first, placeholder)?;
            let mut all = value.as_map().map(cty::Members::to_map).unwrap_or_default();
            all.insert(key.into(), varied);
            Value::try_map((**element).clone(), all).ok()
        }
        // Members of an object are arguments of their own.
        Type::Object(_) | Type::Tuple(_) | Type::Dynamic => None,
    }
}

/// Returns the elements of a list or a set.
fn elements_of(value: &Value) -> Vec<Value> {
    match value.is_null() || !value.is_known() {
        true => Vec::new(),
        false => value.elements().map(|(_, one)| one.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variation_differs_and_has_the_same_type() {
        let texts = || vec![Value::string("a"), Value::string("b")];
        for (ty, value) in [
            (Type::String, Value::string("a")),
            (Type::String, Value::null(Type::String)),
            (Type::Number, Value::int(3)),
            (Type::Number, Value::null(Type::Number)),
            (Type::Bool, Value::bool(true)),
            (Type::Bool, Value::null(Type::Bool)),
            (Type::list(Type::String), Value::list(Type::String, texts())),
            (Type::set(Type::String), Value::set(Type::String, texts())),
            (
                Type::list(Type::Number),
                Value::null(Type::list(Type::Number)),
            ),
            (
                Type::map(Type::Bool),
                Value::map(Type::Bool, [("x", Value::bool(false))]),
            ),
            (
                Type::map(Type::String),
                Value::null(Type::map(Type::String)),
            ),
        ] {
            let varied = variation(&ty, &value, "test-name").expect("a variation");
            assert!(!varied.raw_equals(&value), "{value:?}");
            assert_eq!(varied.ty(), &ty, "{value:?}");
        }
        let object = Type::object([("a", Type::String)]);
        assert!(variation(&object, &Value::null(object.clone()), "x").is_none());
    }
}
