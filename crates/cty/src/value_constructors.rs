//! Constructors of values: values without parts, and collections whose elements have one type.

use std::sync::Arc;

use super::value::{Data, Deep, InconsistentTypes, Value};
use crate::{Marks, Members, Number, Type};

impl Value {
    pub(crate) fn leaf(ty: Type, data: Data) -> Value {
        let deep = Deep {
            unknown: matches!(data, Data::Unknown(_)),
            ..Deep::default()
        };
        Value {
            ty,
            data,
            marks: Marks::none(),
            deep,
        }
    }

    pub(super) fn compound<'a>(
        ty: Type,
        data: Data,
        inside: impl Iterator<Item = &'a Value>,
    ) -> Value {
        let mut deep = Deep::default();
        for v in inside {
            deep.unknown |= v.deep.unknown;
            deep.marked |= v.deep.marked;
            deep.inner_count = deep.inner_count.saturating_add(v.size());
        }
        Value {
            ty,
            data,
            marks: Marks::none(),
            deep,
        }
    }

    /// Creates a string, normalized to NFC.
    pub fn string(text: impl AsRef<str>) -> Value {
        Value::leaf(
            Type::String,
            Data::String(crate::text::normal(text.as_ref())),
        )
    }

    /// Creates a number.
    pub fn number(number: impl Into<Number>) -> Value {
        Value::leaf(Type::Number, Data::Number(Arc::new(number.into())))
    }

    /// Creates a whole number with 64 bits.
    pub fn int(value: i64) -> Value {
        Value::number(value)
    }

    /// Creates a bool.
    pub fn bool(value: bool) -> Value {
        Value::leaf(Type::Bool, Data::Bool(value))
    }

    /// Creates the null of a type.
    pub fn null(ty: Type) -> Value {
        Value::leaf(ty.without_optional(), Data::Null)
    }

    /// Creates an unknown value of a type.
    pub fn unknown(ty: Type) -> Value {
        Value::leaf(ty.without_optional(), Data::Unknown(None))
    }

    /// Creates an unknown value of unknown type.
    pub fn dynamic() -> Value {
        Value::leaf(Type::Dynamic, Data::Unknown(None))
    }

    /// Creates an unknown bool that is not null, the usual result of an undecided comparison.
    pub fn unknown_bool() -> Value {
        Value::unknown(Type::Bool).refine_not_null()
    }

    /// Creates a list. Elements of dynamic type (null or unknown) take the element type; a dynamic
    /// element type is inferred from the elements.
    ///
    /// # Panics
    /// If elements have different types; [`Value::try_list`] reports that instead.
    pub fn list(element: Type, elements: Vec<Value>) -> Value {
        Value::try_list(element, elements).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Creates a list; fails if its elements have different types.
    pub fn try_list(element: Type, elements: Vec<Value>) -> Result<Value, InconsistentTypes> {
        let (element, elements) = same_type("list", element, elements)?;
        Ok(
            Value::compound(Type::list(element), Data::Null, elements.iter())
                .with_elements(elements),
        )
    }

    /// Creates a set, sorted and without duplicates. Marks of elements move to the set.
    ///
    /// # Panics
    /// If elements have different types; [`Value::try_set`] reports that instead.
    pub fn set(element: Type, elements: Vec<Value>) -> Value {
        Value::try_set(element, elements).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Creates a set; fails if its elements have different types.
    pub fn try_set(element: Type, elements: Vec<Value>) -> Result<Value, InconsistentTypes> {
        // Duplicates with different marks could not be dropped, so marks belong to the whole set.
        let mut marks = Marks::none();
        let bare = elements
            .into_iter()
            .map(|e| {
                if e.deep.marked {
                    move_marks_out(e, &mut marks)
                } else {
                    e
                }
            })
            .collect();
        let (element, elements) = same_type("set", element, bare)?;
        let elements = crate::set_order::sort_and_dedup(&element, elements);
        Ok(
            Value::compound(Type::set(element), Data::Null, elements.iter())
                .with_elements(elements)
                .with_marks(&marks),
        )
    }

    /// Creates a map.
    ///
    /// # Panics
    /// If elements have different types; [`Value::try_map`] reports that instead.
    pub fn map<K: AsRef<str>>(
        element: Type,
        elements: impl IntoIterator<Item = (K, Value)>,
    ) -> Value {
        Value::try_map(element, elements).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Creates a map; fails if its elements have different types. The last of several equal keys
    /// wins.
    pub fn try_map<K: AsRef<str>>(
        element: Type,
        elements: impl IntoIterator<Item = (K, Value)>,
    ) -> Result<Value, InconsistentTypes> {
        let (keys, values): (Vec<Arc<str>>, Vec<Value>) = elements
            .into_iter()
            .map(|(k, v)| (crate::text::normal(k.as_ref()), v))
            .unzip();
        let (element, values) = same_type("map", element, values)?;
        Ok(Value::from_members(
            Type::map(element),
            keys.into_iter().zip(values).collect(),
        ))
    }

    /// Creates a tuple.
    pub fn tuple(elements: Vec<Value>) -> Value {
        let ty = Type::Tuple(elements.iter().map(|e| e.ty.clone()).collect());
        Value::compound(ty, Data::Null, elements.iter()).with_elements(elements)
    }

    /// Creates an object. The last of several equal names wins.
    pub fn object<K: AsRef<str>>(attributes: impl IntoIterator<Item = (K, Value)>) -> Value {
        Value::object_from_map(
            attributes
                .into_iter()
                .map(|(k, v)| (crate::text::normal(k.as_ref()), v)),
        )
    }

    /// Creates an object from names that are already normalized.
    pub fn object_from_map(attributes: impl IntoIterator<Item = (Arc<str>, Value)>) -> Value {
        Value::object_of_members(attributes.into_iter().collect())
    }

    /// Creates an object from names that are already normalized. If its attributes match `object`,
    /// it shares that type instead of having its own.
    pub fn object_of_type(
        object: &Arc<crate::ObjectType>,
        attributes: impl IntoIterator<Item = (Arc<str>, Value)>,
    ) -> Value {
        let members: Members = attributes.into_iter().collect();
        let fits = object.optional.is_empty()
            && object.attributes.len() == members.len()
            && object
                .attributes
                .iter()
                .zip(&members)
                .all(|((name, ty), (have, v))| name == have && *ty == v.ty);
        if fits {
            Value::from_members(Type::Object(object.clone()), members)
        } else {
            Value::object_of_members(members)
        }
    }

    fn object_of_members(attributes: Members) -> Value {
        let types = attributes
            .iter()
            .map(|(k, v)| (k.clone(), v.ty.clone()))
            .collect();
        let ty = Type::Object(Arc::new(crate::ObjectType {
            attributes: types,
            optional: Default::default(),
        }));
        Value::from_members(ty, attributes)
    }

    /// Creates the object without attributes.
    pub fn empty_object() -> Value {
        Value::object_from_map([])
    }

    /// Creates the tuple without elements.
    pub fn empty_tuple() -> Value {
        Value::tuple(Vec::new())
    }

    /// Creates the number 0.
    pub fn zero() -> Value {
        Value::number(Number::zero())
    }
}

fn move_marks_out(element: Value, marks: &mut Marks) -> Value {
    let (bare, inner) = element.unmark_deep();
    marks.extend(&inner);
    bare
}

/// Determines the element type and assigns it to elements of dynamic type.
fn same_type(
    kind: &'static str,
    element: Type,
    mut elements: Vec<Value>,
) -> Result<(Type, Vec<Value>), InconsistentTypes> {
    let mut ty = element.without_optional();
    // A dynamic element type is replaced by that of the first element that has one.
    for e in &elements {
        if ty.is_dynamic() {
            ty = e.ty.clone();
        } else if !e.ty.is_dynamic() && e.ty != ty {
            return Err(InconsistentTypes {
                kind,
                first: ty,
                second: e.ty.clone(),
            });
        }
    }
    for e in &mut elements {
        if e.ty != ty {
            *e = std::mem::replace(e, Value::bool(false)).retyped(&ty);
        }
    }
    Ok((ty, elements))
}
