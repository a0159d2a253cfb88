//! Types: what a value may be. Immutable and cheap to clone; equality is structural (optional
//! attributes count). The JSON form is in `types_json`; conversion between types in `convert`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// A type or type constraint. `Dynamic` stands for "any type" in constraints, and for "not known
/// yet" in values.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// Unicode text, kept in normal form C.
    String,
    /// A binary floating point number of up to 512 bits.
    Number,
    /// True or false.
    Bool,
    /// Any type; the type of values about whose type nothing is known.
    Dynamic,
    /// A sequence of values of one type.
    List(Arc<Type>),
    /// Distinct values of one type, in a fixed order.
    Set(Arc<Type>),
    /// Values of one type by string key.
    Map(Arc<Type>),
    /// A fixed sequence of values, each with its own type.
    Tuple(Arc<[Type]>),
    /// A fixed set of attributes, each with its own type.
    Object(Arc<ObjectType>),
}

/// The attributes of an object type.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ObjectType {
    /// Types by attribute name.
    pub attributes: BTreeMap<Arc<str>, Type>,
    /// Names which conversion may leave out; only ever used in type constraints, never in the type
    /// of a value.
    pub optional: BTreeSet<Arc<str>>,
}

impl ObjectType {
    /// An attribute and its name as the type has it, by a name in whatever form of Unicode.
    pub(crate) fn attribute(&self, name: &str) -> Option<(&Arc<str>, &Type)> {
        // Names of attributes are in normal form: what is found as it stands needs no other.
        let found = self.attributes.get_key_value(name);
        found.or_else(|| self.attributes.get_key_value(&*crate::text::normal(name)))
    }
}

impl Type {
    /// A list of `element`.
    pub fn list(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    /// A set of `element`.
    pub fn set(element: Type) -> Type {
        Type::Set(Arc::new(element))
    }

    /// A map of `element`.
    pub fn map(element: Type) -> Type {
        Type::Map(Arc::new(element))
    }

    /// A tuple of these element types.
    pub fn tuple(elements: impl Into<Vec<Type>>) -> Type {
        Type::Tuple(elements.into().into())
    }

    /// An object with these attributes, all of them required.
    pub fn object<K: AsRef<str>>(attributes: impl IntoIterator<Item = (K, Type)>) -> Type {
        Type::object_with_optional(attributes, std::iter::empty::<&str>())
    }

    /// An object constraint in which the attributes named by `optional` may be absent.
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

    /// The object type without attributes.
    pub fn empty_object() -> Type {
        Type::Object(Arc::new(ObjectType::default()))
    }

    /// String, number or bool.
    pub fn is_primitive(&self) -> bool {
        matches!(self, Type::String | Type::Number | Type::Bool)
    }

    /// List, set or map.
    pub fn is_collection(&self) -> bool {
        matches!(self, Type::List(_) | Type::Set(_) | Type::Map(_))
    }

    /// A list.
    pub fn is_list(&self) -> bool {
        matches!(self, Type::List(_))
    }

    /// A set.
    pub fn is_set(&self) -> bool {
        matches!(self, Type::Set(_))
    }

    /// A map.
    pub fn is_map(&self) -> bool {
        matches!(self, Type::Map(_))
    }

    /// A tuple.
    pub fn is_tuple(&self) -> bool {
        matches!(self, Type::Tuple(_))
    }

    /// An object.
    pub fn is_object(&self) -> bool {
        matches!(self, Type::Object(_))
    }

    /// Exactly `Dynamic`; see [`Type::has_dynamic`] for "anywhere inside".
    pub fn is_dynamic(&self) -> bool {
        matches!(self, Type::Dynamic)
    }

    /// The element type of a list, set or map.
    pub fn element_type(&self) -> Option<&Type> {
        match self {
            Type::List(t) | Type::Set(t) | Type::Map(t) => Some(t),
            _ => None,
        }
    }

    /// The element types of a tuple.
    pub fn tuple_elements(&self) -> Option<&[Type]> {
        match self {
            Type::Tuple(t) => Some(t),
            _ => None,
        }
    }

    /// The attributes of an object.
    pub fn as_object(&self) -> Option<&ObjectType> {
        match self {
            Type::Object(o) => Some(o),
            _ => None,
        }
    }

    /// The type of one attribute of an object.
    pub fn attribute(&self, name: &str) -> Option<&Type> {
        self.as_object().and_then(|o| o.attributes.get(name))
    }

    /// Whether an attribute of an object constraint may be absent.
    pub fn is_optional(&self, name: &str) -> bool {
        self.as_object().is_some_and(|o| o.optional.contains(name))
    }

    /// `Dynamic` here or anywhere inside.
    pub fn has_dynamic(&self) -> bool {
        match self {
            Type::Dynamic => true,
            Type::String | Type::Number | Type::Bool => false,
            Type::List(t) | Type::Set(t) | Type::Map(t) => t.has_dynamic(),
            Type::Tuple(ts) => ts.iter().any(Type::has_dynamic),
            Type::Object(o) => o.attributes.values().any(Type::has_dynamic),
        }
    }

    /// Whether any object inside has optional attributes.
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

    /// The same type with every optional attribute made required, at any depth: what values of this
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

    /// The name as operators know it: "string", "list of string", "object", "dynamic".
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

    /// The name where a type is asked for rather than described: `Dynamic` is "any type".
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

    /// Whether values of this type fit the constraint `want` as they are, without conversion.
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
