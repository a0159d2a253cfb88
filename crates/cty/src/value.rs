//! Values: immutable, cheap to clone. Every node has a type, marks, and is null, unknown or known.
//! Deep facts (is anything inside unknown, marked?) are settled when a value is made, so asking is
//! free.

use std::sync::Arc;

use crate::refine::Refinement;
use crate::{Marks, Members, Number, Type};

/// A value of some type: null, unknown or known, with marks.
#[derive(Clone)]
pub struct Value {
    pub(crate) ty: Type,
    pub(crate) data: Data,
    pub(crate) marks: Marks,
    pub(crate) deep: Deep,
}

#[derive(Clone)]
pub(crate) enum Data {
    Null,
    Unknown(Option<Arc<Refinement>>),
    Bool(bool),
    Number(Arc<Number>),
    String(Arc<str>),
    /// Elements of a list, set (in set order) or tuple.
    Seq(Arc<[Value]>),
    /// Elements of a map or attributes of an object.
    Map(Members),
}

/// What is true of a value or of anything inside it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Deep {
    pub(crate) unknown: bool,
    pub(crate) marked: bool,
    /// How many values there are inside, each as often as it occurs.
    pub(crate) inside: u32,
}

/// The elements given for one collection have different types.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("all elements of a {kind} must have one type, not both {first} and {second}")]
pub struct InconsistentTypes {
    /// "list", "set" or "map".
    pub kind: &'static str,
    /// The type of the elements before.
    pub first: Type,
    /// The type that differs.
    pub second: Type,
}

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

    fn compound<'a>(ty: Type, data: Data, inside: impl Iterator<Item = &'a Value>) -> Value {
        let mut deep = Deep::default();
        for v in inside {
            deep.unknown |= v.deep.unknown;
            deep.marked |= v.deep.marked;
            deep.inside = deep.inside.saturating_add(v.size());
        }
        Value {
            ty,
            data,
            marks: Marks::none(),
            deep,
        }
    }

    /// How many values it is made of, itself included, each as often as it occurs: what it takes to
    /// look at all of it, and not the memory that it takes, since values are shared.
    pub fn size(&self) -> u32 {
        self.deep.inside.saturating_add(1)
    }

    /// A string, brought into normal form C.
    pub fn string(text: impl AsRef<str>) -> Value {
        Value::leaf(
            Type::String,
            Data::String(crate::text::normal(text.as_ref())),
        )
    }

    /// A number.
    pub fn number(number: impl Into<Number>) -> Value {
        Value::leaf(Type::Number, Data::Number(Arc::new(number.into())))
    }

    /// A whole number, with 64 bits.
    pub fn int(value: i64) -> Value {
        Value::number(value)
    }

    /// A truth value.
    pub fn bool(value: bool) -> Value {
        Value::leaf(Type::Bool, Data::Bool(value))
    }

    /// The null of a type.
    pub fn null(ty: Type) -> Value {
        Value::leaf(ty.without_optional(), Data::Null)
    }

    /// A value of a type about which nothing more is known.
    pub fn unknown(ty: Type) -> Value {
        Value::leaf(ty.without_optional(), Data::Unknown(None))
    }

    /// A value about which nothing is known.
    pub fn dynamic() -> Value {
        Value::leaf(Type::Dynamic, Data::Unknown(None))
    }

    /// An unknown truth value that is not null: the usual outcome of a comparison that cannot be
    /// decided.
    pub fn unknown_bool() -> Value {
        Value::unknown(Type::Bool).refine_not_null()
    }

    /// A list. Elements whose type is dynamic (null or unknown) take the element type; a dynamic
    /// element type is inferred from the elements.
    ///
    /// # Panics
    /// If elements have different types; [`Value::try_list`] reports that instead.
    pub fn list(element: Type, elements: Vec<Value>) -> Value {
        Value::try_list(element, elements).unwrap_or_else(|e| panic!("{e}"))
    }

    /// A list, unless its elements have different types.
    pub fn try_list(element: Type, elements: Vec<Value>) -> Result<Value, InconsistentTypes> {
        let (element, elements) = same_type("list", element, elements)?;
        Ok(Value::compound(Type::list(element), Data::Null, elements.iter()).holding(elements))
    }

    /// A set, ordered and without duplicates. Marks of elements move to the set.
    ///
    /// # Panics
    /// If elements have different types; [`Value::try_set`] reports that instead.
    pub fn set(element: Type, elements: Vec<Value>) -> Value {
        Value::try_set(element, elements).unwrap_or_else(|e| panic!("{e}"))
    }

    /// A set, unless its elements have different types.
    pub fn try_set(element: Type, elements: Vec<Value>) -> Result<Value, InconsistentTypes> {
        let mut marks = Marks::none();
        let bare = elements
            .into_iter()
            .map(|e| {
                if e.deep.marked {
                    hoist(e, &mut marks)
                } else {
                    e
                }
            })
            .collect();
        let (element, elements) = same_type("set", element, bare)?;
        let elements = crate::set_order::arrange(&element, elements);
        Ok(
            Value::compound(Type::set(element), Data::Null, elements.iter())
                .holding(elements)
                .with_marks(&marks),
        )
    }

    /// A map.
    ///
    /// # Panics
    /// If elements have different types; [`Value::try_map`] reports that instead.
    pub fn map<K: AsRef<str>>(
        element: Type,
        elements: impl IntoIterator<Item = (K, Value)>,
    ) -> Value {
        Value::try_map(element, elements).unwrap_or_else(|e| panic!("{e}"))
    }

    /// A map, unless its elements have different types. Of two equal keys the last one counts.
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

    /// A tuple.
    pub fn tuple(elements: Vec<Value>) -> Value {
        let ty = Type::Tuple(elements.iter().map(|e| e.ty.clone()).collect());
        Value::compound(ty, Data::Null, elements.iter()).holding(elements)
    }

    /// An object. Of two equal names the last one counts.
    pub fn object<K: AsRef<str>>(attributes: impl IntoIterator<Item = (K, Value)>) -> Value {
        Value::object_from_map(
            attributes
                .into_iter()
                .map(|(k, v)| (crate::text::normal(k.as_ref()), v)),
        )
    }

    /// An object from names that are in normal form already.
    pub fn object_from_map(attributes: impl IntoIterator<Item = (Arc<str>, Value)>) -> Value {
        Value::object_of_members(attributes.into_iter().collect())
    }

    /// An object from names that are in normal form already, which is of type `object` where its
    /// attributes are: such objects share their type instead of each having its own.
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

    /// The same value, sharing its type with others of this very type.
    #[must_use]
    pub fn sharing_type(mut self, ty: &Type) -> Value {
        if self.ty == *ty {
            self.ty = ty.clone();
        }
        self
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

    /// The object without attributes.
    pub fn empty_object() -> Value {
        Value::object_from_map([])
    }

    /// The tuple without elements.
    pub fn empty_tuple() -> Value {
        Value::tuple(Vec::new())
    }

    /// The number 0.
    pub fn zero() -> Value {
        Value::number(Number::zero())
    }

    pub(crate) fn from_members(ty: Type, members: Members) -> Value {
        Value::compound(ty, Data::Map(members.clone()), members.values())
    }

    fn holding(mut self, elements: Vec<Value>) -> Value {
        self.data = Data::Seq(elements.into());
        self
    }

    /// The same null or unknown value, now of a known type; used where an element joins a
    /// collection.
    pub(crate) fn retyped(mut self, ty: &Type) -> Value {
        self.ty = ty.clone();
        self
    }

    // Asking.

    /// The type.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Null, whatever its marks.
    pub fn is_null(&self) -> bool {
        matches!(self.data, Data::Null)
    }

    /// Not unknown itself; something inside may still be.
    pub fn is_known(&self) -> bool {
        !matches!(self.data, Data::Unknown(_))
    }

    /// Known, and so is everything inside.
    pub fn is_wholly_known(&self) -> bool {
        !self.deep.unknown
    }

    /// Known and not null.
    pub fn is_given(&self) -> bool {
        !matches!(self.data, Data::Null | Data::Unknown(_))
    }

    /// The value of type dynamic about which nothing is known.
    pub fn is_dynamic_unknown(&self) -> bool {
        self.ty.is_dynamic() && !self.is_known()
    }

    /// Whether the types of all values inside are settled.
    pub fn has_wholly_known_type(&self) -> bool {
        match &self.data {
            Data::Null | Data::Bool(_) | Data::Number(_) | Data::String(_) => true,
            Data::Unknown(_) => !self.ty.has_dynamic(),
            Data::Seq(elements) => {
                !self.deep.unknown || elements.iter().all(Value::has_wholly_known_type)
            }
            Data::Map(members) => {
                !self.deep.unknown || members.values().all(Value::has_wholly_known_type)
            }
        }
    }

    /// The text of a known string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.data {
            Data::String(s) => Some(s),
            _ => None,
        }
    }

    /// The text of a known string, shared.
    pub fn as_arc_str(&self) -> Option<Arc<str>> {
        match &self.data {
            Data::String(s) => Some(s.clone()),
            _ => None,
        }
    }

    /// The truth of a known bool.
    pub fn as_bool(&self) -> Option<bool> {
        match self.data {
            Data::Bool(b) => Some(b),
            _ => None,
        }
    }

    /// The number of a known number.
    pub fn as_number(&self) -> Option<&Number> {
        match &self.data {
            Data::Number(n) => Some(n),
            _ => None,
        }
    }

    /// The elements of a known list, set or tuple.
    pub fn as_slice(&self) -> Option<&[Value]> {
        match &self.data {
            Data::Seq(elements) => Some(elements),
            _ => None,
        }
    }

    /// The members of a known map or object.
    pub fn as_map(&self) -> Option<&Members> {
        match &self.data {
            Data::Map(members) => Some(members),
            _ => None,
        }
    }

    /// How many elements or attributes are stored; `None` for anything that is not a known
    /// container. In a set with unknown elements fewer may remain: [`Value::length`] knows that.
    pub fn len(&self) -> Option<usize> {
        match &self.data {
            Data::Seq(elements) => Some(elements.len()),
            Data::Map(members) => Some(members.len()),
            _ => None,
        }
    }

    /// A known container without elements.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }
}

fn hoist(element: Value, marks: &mut Marks) -> Value {
    let (bare, inner) = element.unmark_deep();
    marks.extend(&inner);
    bare
}

/// Settles the element type, and gives it to the elements that have none.
fn same_type(
    kind: &'static str,
    element: Type,
    mut elements: Vec<Value>,
) -> Result<(Type, Vec<Value>), InconsistentTypes> {
    let mut ty = element.without_optional();
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

impl PartialEq for Value {
    /// The same as [`Value::raw_equals`].
    fn eq(&self, other: &Value) -> bool {
        self.raw_equals(other)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::string(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::string(value)
    }
}

impl From<Number> for Value {
    fn from(value: Number) -> Value {
        Value::number(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::int(value)
    }
}
