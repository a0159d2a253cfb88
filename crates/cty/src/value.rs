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
    /// How many values it is made of, itself included, each as often as it occurs: what it takes to
    /// look at all of it, and not the memory that it takes, since values are shared.
    pub fn size(&self) -> u32 {
        self.deep.inside.saturating_add(1)
    }

    /// The same value, sharing its type with others of this very type.
    #[must_use]
    pub fn sharing_type(mut self, ty: &Type) -> Value {
        if self.ty == *ty {
            self.ty = ty.clone();
        }
        self
    }

    pub(crate) fn from_members(ty: Type, members: Members) -> Value {
        Value::compound(ty, Data::Map(members.clone()), members.values())
    }

    pub(super) fn holding(mut self, elements: Vec<Value>) -> Value {
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
