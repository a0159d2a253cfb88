//! Values: immutable and cheap to clone. Each value has a type and marks, and is null, unknown or
//! known. Facts about nested values (unknown or marked parts) are computed at creation, so that
//! queries are free.

use std::sync::Arc;

use crate::refine::Refinement;
use crate::{Marks, Members, Number, Type};

/// Value of some type: null, unknown or known, with marks.
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
    /// Elements of a map, or attributes of an object.
    Map(Members),
}

/// Facts about a value and everything inside it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Deep {
    pub(crate) unknown: bool,
    pub(crate) marked: bool,
    /// Number of values inside; shared ones count as often as they occur.
    pub(crate) inner_count: u32,
}

/// Error of a collection whose elements have different types.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("all elements of a {kind} must have one type, not both {first} and {second}")]
pub struct InconsistentTypes {
    /// "list", "set" or "map".
    pub kind: &'static str,
    /// Type of the elements before.
    pub first: Type,
    /// Type that differs.
    pub second: Type,
}

impl Value {
    /// Returns the number of values inside, including itself; shared ones count as often as they
    /// occur. It measures the work of a traversal, not the memory, which is shared.
    pub fn size(&self) -> u32 {
        self.deep.inner_count.saturating_add(1)
    }

    /// Replaces the type by the shared instance `ty` if both are equal.
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

    pub(super) fn with_elements(mut self, elements: Vec<Value>) -> Value {
        self.data = Data::Seq(elements.into());
        self
    }

    /// Gives a null or unknown value a known type; used when an element joins a collection.
    pub(crate) fn retyped(mut self, ty: &Type) -> Value {
        self.ty = ty.clone();
        self
    }

    // Queries.

    /// Returns the type.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Returns true for null, with or without marks.
    pub fn is_null(&self) -> bool {
        matches!(self.data, Data::Null)
    }

    /// Returns false for an unknown value; parts of a known one can be unknown.
    pub fn is_known(&self) -> bool {
        !matches!(self.data, Data::Unknown(_))
    }

    /// Returns true if the value and everything inside it is known.
    pub fn is_wholly_known(&self) -> bool {
        !self.deep.unknown
    }

    /// Returns true if the value is known and not null.
    pub fn is_given(&self) -> bool {
        !matches!(self.data, Data::Null | Data::Unknown(_))
    }

    /// Returns true for an unknown value of unknown type.
    pub fn is_dynamic_unknown(&self) -> bool {
        self.ty.is_dynamic() && !self.is_known()
    }

    /// Returns true if the types of all values inside are known.
    pub fn has_wholly_known_type(&self) -> bool {
        match &self.data {
            Data::Null | Data::Bool(_) | Data::Number(_) | Data::String(_) => true,
            Data::Unknown(_) => !self.ty.has_dynamic(),
            Data::Seq(elements) => {
                // Only unknown parts can have an open type.
                !self.deep.unknown || elements.iter().all(Value::has_wholly_known_type)
            }
            Data::Map(members) => {
                !self.deep.unknown || members.values().all(Value::has_wholly_known_type)
            }
        }
    }

    /// Returns the text of a known string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.data {
            Data::String(s) => Some(s),
            _ => None,
        }
    }

    /// Returns the shared text of a known string.
    pub fn as_arc_str(&self) -> Option<Arc<str>> {
        match &self.data {
            Data::String(s) => Some(s.clone()),
            _ => None,
        }
    }

    /// Returns the content of a known bool.
    pub fn as_bool(&self) -> Option<bool> {
        match self.data {
            Data::Bool(b) => Some(b),
            _ => None,
        }
    }

    /// Returns the content of a known number.
    pub fn as_number(&self) -> Option<&Number> {
        match &self.data {
            Data::Number(n) => Some(n),
            _ => None,
        }
    }

    /// Returns the elements of a known list, set or tuple.
    pub fn as_slice(&self) -> Option<&[Value]> {
        match &self.data {
            Data::Seq(elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns the members of a known map or object.
    pub fn as_map(&self) -> Option<&Members> {
        match &self.data {
            Data::Map(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the number of stored elements or attributes; `None` unless the value is a known
    /// container. A set with unknown elements can turn out to have fewer: [`Value::length`]
    /// accounts for that.
    pub fn len(&self) -> Option<usize> {
        match &self.data {
            Data::Seq(elements) => Some(elements.len()),
            Data::Map(members) => Some(members.len()),
            _ => None,
        }
    }

    /// Returns true for a known container without elements.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }
}

impl PartialEq for Value {
    /// Compares with [`Value::raw_equals`].
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
