//! Types and type constraints. Immutable and cheap to clone; equality is structural and includes
//! optional attributes. The JSON form is in `types_json`, conversion in `convert`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Type or type constraint. `Dynamic` means "any type" in constraints and "type not yet known" in
/// values.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// Unicode text, normalized to NFC.
    String,
    /// Binary floating point number of up to 512 bits.
    Number,
    /// True or false.
    Bool,
    /// Any type; the type of values of unknown type.
    Dynamic,
    /// Sequence of values of one type.
    List(Arc<Type>),
    /// Distinct values of one type, in a fixed order.
    Set(Arc<Type>),
    /// Values of one type by string keys.
    Map(Arc<Type>),
    /// Fixed sequence of values, each with its own type.
    Tuple(Arc<[Type]>),
    /// Fixed set of attributes, each with its own type.
    Object(Arc<ObjectType>),
}

/// Attributes of an object type.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ObjectType {
    /// Types by attribute name.
    pub attributes: BTreeMap<Arc<str>, Type>,
    /// Names of attributes that may be absent before conversion. Used in type constraints only,
    /// never in the type of a value.
    pub optional: BTreeSet<Arc<str>>,
}

impl ObjectType {
    /// Returns an attribute and its stored name, for a name that need not be normalized.
    pub(crate) fn attribute(&self, name: &str) -> Option<(&Arc<str>, &Type)> {
        // Stored names are normalized, so a direct match avoids normalizing `name`.
        let found = self.attributes.get_key_value(name);
        found.or_else(|| self.attributes.get_key_value(&*crate::text::normal(name)))
    }
}

impl Type {
    /// Creates the type of lists of `element`.
    pub fn list(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    /// Creates the type of sets of `element`.
    pub fn set(element: Type) -> Type {
        Type::Set(Arc::new(element))
    }

    /// Creates the type of maps of `element`.
    pub fn map(element: Type) -> Type {
        Type::Map(Arc::new(element))
    }

    /// Creates a tuple type of these element types.
    pub fn tuple(elements: impl Into<Vec<Type>>) -> Type {
        Type::Tuple(elements.into().into())
    }

    /// Creates an object type with these attributes, all required.
    pub fn object<K: AsRef<str>>(attributes: impl IntoIterator<Item = (K, Type)>) -> Type {
        Type::object_with_optional(attributes, std::iter::empty::<&str>())
    }

    /// Creates an object constraint in which the attributes named in `optional` may be absent.
    pub fn object_with_optional<K: AsRef<str>, O: AsRef<str>>(
        attributes: impl IntoIterator<Item = (K, Type)>,
        optional: impl IntoIterator<Item = O>,
    ) -> Type {
        let attributes: BTreeMap<Arc<str>, Type> = attributes
            .into_iter()
            .map(|(k, t)| (crate::text::normal(k.as_ref()), t))
            .collect();
        let optional = optional
            .into_iter()
            .map(|o| crate::text::normal(o.as_ref()))
            .filter(|o| attributes.contains_key(o))
            .collect();
        Type::Object(Arc::new(ObjectType {
            attributes,
            optional,
        }))
    }

    /// Returns the object type without attributes.
    pub fn empty_object() -> Type {
        Type::Object(Arc::new(ObjectType::default()))
    }

    /// Returns true for string, number and bool.
    pub fn is_primitive(&self) -> bool {
        matches!(self, Type::String | Type::Number | Type::Bool)
    }

    /// Returns true for list, set and map.
    pub fn is_collection(&self) -> bool {
        matches!(self, Type::List(_) | Type::Set(_) | Type::Map(_))
    }

    /// Returns true for lists.
    pub fn is_list(&self) -> bool {
        matches!(self, Type::List(_))
    }

    /// Returns true for sets.
    pub fn is_set(&self) -> bool {
        matches!(self, Type::Set(_))
    }

    /// Returns true for maps.
    pub fn is_map(&self) -> bool {
        matches!(self, Type::Map(_))
    }

    /// Returns true for tuples.
    pub fn is_tuple(&self) -> bool {
        matches!(self, Type::Tuple(_))
    }

    /// Returns true for objects.
    pub fn is_object(&self) -> bool {
        matches!(self, Type::Object(_))
    }

    /// Returns true for exactly `Dynamic`; see [`Type::has_dynamic`] for "anywhere inside".
    pub fn is_dynamic(&self) -> bool {
        matches!(self, Type::Dynamic)
    }

    /// Returns the element type of a list, set or map.
    pub fn element_type(&self) -> Option<&Type> {
        match self {
            Type::List(t) | Type::Set(t) | Type::Map(t) => Some(t),
            _ => None,
        }
    }

    /// Returns the element types of a tuple.
    pub fn tuple_elements(&self) -> Option<&[Type]> {
        match self {
            Type::Tuple(t) => Some(t),
            _ => None,
        }
    }

    /// Returns the attributes of an object.
    pub fn as_object(&self) -> Option<&ObjectType> {
        match self {
            Type::Object(o) => Some(o),
            _ => None,
        }
    }

    /// Returns the type of one attribute of an object.
    pub fn attribute(&self, name: &str) -> Option<&Type> {
        self.as_object().and_then(|o| o.attributes.get(name))
    }

    /// Returns true if an attribute of an object constraint may be absent.
    pub fn is_optional(&self, name: &str) -> bool {
        self.as_object().is_some_and(|o| o.optional.contains(name))
    }

    /// Returns true if `Dynamic` occurs here or anywhere inside.
    pub fn has_dynamic(&self) -> bool {
        match self {
            Type::Dynamic => true,
            Type::String | Type::Number | Type::Bool => false,
            Type::List(t) | Type::Set(t) | Type::Map(t) => t.has_dynamic(),
            Type::Tuple(ts) => ts.iter().any(Type::has_dynamic),
            Type::Object(o) => o.attributes.values().any(Type::has_dynamic),
        }
    }

    /// Returns true if any object inside has optional attributes.
    pub fn has_optional(&self) -> bool {
        match self {
            Type::Dynamic | Type::String | Type::Number | Type::Bool => false,
            Type::List(t) | Type::Set(t) | Type::Map(t) => t.has_optional(),
            Type::Tuple(ts) => ts.iter().any(Type::has_optional),
            Type::Object(o) => {
                !o.optional.is_empty() || o.attributes.values().any(Type::has_optional)
            }
        }
    }

    /// Makes every optional attribute required, at any depth. Returns the type that values of this
    /// constraint have.
    pub fn without_optional(&self) -> Type {
        if !self.has_optional() {
            return self.clone();
        }
        match self {
            Type::List(t) => Type::list(t.without_optional()),
            Type::Set(t) => Type::set(t.without_optional()),
            Type::Map(t) => Type::map(t.without_optional()),
            Type::Tuple(ts) => Type::Tuple(ts.iter().map(Type::without_optional).collect()),
            Type::Object(o) => Type::Object(Arc::new(ObjectType {
                attributes: o
                    .attributes
                    .iter()
                    .map(|(k, t)| (k.clone(), t.without_optional()))
                    .collect(),
                optional: BTreeSet::new(),
            })),
            other => other.clone(),
        }
    }

    /// Returns the name for users: "string", "list of string", "object", "dynamic".
    pub fn friendly_name(&self) -> String {
        match self {
            Type::String => "string".into(),
            Type::Number => "number".into(),
            Type::Bool => "bool".into(),
            Type::Dynamic => "dynamic".into(),
            Type::List(t) => format!("list of {}", t.friendly_name()),
            Type::Set(t) => format!("set of {}", t.friendly_name()),
            Type::Map(t) => format!("map of {}", t.friendly_name()),
            Type::Tuple(_) => "tuple".into(),
            Type::Object(_) => "object".into(),
        }
    }

    /// Returns the name of a required type: `Dynamic` is "any type".
    pub fn friendly_constraint_name(&self) -> String {
        match self {
            Type::Dynamic => "any type".into(),
            Type::List(t) => format!("list of {}", t.friendly_element_name()),
            Type::Set(t) => format!("set of {}", t.friendly_element_name()),
            Type::Map(t) => format!("map of {}", t.friendly_element_name()),
            other => other.friendly_name(),
        }
    }

    fn friendly_element_name(&self) -> String {
        if self.is_dynamic() {
            "any single type".into()
        } else {
            self.friendly_constraint_name()
        }
    }

    /// Returns true if values of this type fit the constraint `want` without conversion.
    pub fn conforms_to(&self, want: &Type) -> bool {
        if want.is_dynamic() || self == want {
            return true;
        }
        match (self, want) {
            (Type::List(a), Type::List(b))
            | (Type::Set(a), Type::Set(b))
            | (Type::Map(a), Type::Map(b)) => a.conforms_to(b),
            (Type::Tuple(a), Type::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(x, y)| x.conforms_to(y))
            }
            (Type::Object(a), Type::Object(b)) => {
                a.attributes.len() == b.attributes.len()
                    && a.attributes
                        .iter()
                        .all(|(k, t)| b.attributes.get(k).is_some_and(|w| t.conforms_to(w)))
            }
            _ => false,
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::String => f.write_str("string"),
            Type::Number => f.write_str("number"),
            Type::Bool => f.write_str("bool"),
            Type::Dynamic => f.write_str("any"),
            Type::List(t) => write!(f, "list({t:?})"),
            Type::Set(t) => write!(f, "set({t:?})"),
            Type::Map(t) => write!(f, "map({t:?})"),
            Type::Tuple(ts) => {
                f.write_str("tuple([")?;
                for (i, t) in ts.iter().enumerate() {
                    write!(f, "{}{t:?}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("])")
            }
            Type::Object(o) => {
                f.write_str("object({")?;
                for (i, (k, t)) in o.attributes.iter().enumerate() {
                    let sep = if i > 0 { ", " } else { "" };
                    if o.optional.contains(k) {
                        write!(f, "{sep}{k} = optional({t:?})")?
                    } else {
                        write!(f, "{sep}{k} = {t:?}")?
                    }
                }
                f.write_str("})")
            }
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
