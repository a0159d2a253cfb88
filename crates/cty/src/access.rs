//! Access to parts of values: attributes, elements, lengths. Parts of unknown containers are
//! unknown, and a part carries the marks of its container.

use std::sync::Arc;

use crate::value::Data;
use crate::{Number, Type, Value};

impl Value {
    /// Returns an attribute of an object; `None` if the value has no such attribute, is null, or is
    /// not an object.
    pub fn get_attr(&self, name: &str) -> Option<Value> {
        let found = match (&self.ty, &self.data) {
            (_, Data::Null) => return None,
            // The type is still open, so the attribute may turn out to exist.
            (Type::Dynamic, _) => Value::dynamic(),
            (Type::Object(o), Data::Unknown(_)) => Value::unknown(o.attributes.get(name)?.clone()),
            (Type::Object(_), Data::Map(members)) => members.get(name)?.clone(),
            _ => return None,
        };
        Some(found.with_marks(&self.marks))
    }

    /// Returns an element of a list or tuple by number, or of a map by key; `None` if the element
    /// does not exist or the value cannot be indexed by key. Unknown keys and containers give
    /// unknown elements.
    pub fn index(&self, key: &Value) -> Option<Value> {
        let found = match (&self.ty, &self.data) {
            (_, Data::Null) => return None,
            (Type::Dynamic, _) => Value::dynamic(),
            (Type::List(element), data) => match (position(key)?, data) {
                (Key::Known(i), Data::Seq(elements)) => elements.get(i)?.clone(),
                _ => Value::unknown((**element).clone()),
            },
            (Type::Tuple(types), data) => match (position(key)?, data) {
                // Each element of a tuple has its own type, so an unknown number leaves the type
                // open.
                (Key::Unknown, _) => Value::dynamic(),
                (Key::Known(i), Data::Seq(elements)) => elements.get(i)?.clone(),
                (Key::Known(i), _) => Value::unknown(types.get(i)?.clone()),
            },
            (Type::Map(element), data) => match (&key.ty, &key.data, data) {
                (_, Data::Null, _) => return None,
                (Type::String, Data::String(k), Data::Map(members)) => members.get(k)?.clone(),
                // A dynamic key may still turn out to be a string.
                (Type::String | Type::Dynamic, _, _) => Value::unknown((**element).clone()),
                _ => return None,
            },
            _ => return None,
        };
        Some(found.with_marks(&self.marks).with_marks(&key.marks))
    }

    /// Returns an element of a list or tuple by its number, without allocating a key.
    pub fn index_int(&self, i: usize) -> Option<Value> {
        match &self.data {
            Data::Seq(elements) if !self.ty.is_set() => {
                Some(elements.get(i)?.clone().with_marks(&self.marks))
            }
            Data::Unknown(_) => self.index(&Value::number(i)),
            _ => None,
        }
    }

    /// Returns an element of a map, or an attribute of an object, by its name.
    pub fn index_str(&self, key: &str) -> Option<Value> {
        match &self.data {
            Data::Map(members) => Some(members.get(key)?.clone().with_marks(&self.marks)),
            Data::Unknown(_) if self.ty.is_object() => self.get_attr(key),
            Data::Unknown(_) => self.index(&Value::string(key)),
            _ => None,
        }
    }

    /// Reports if a map or object has this key; `None` if this is unknown or the value has no keys.
    pub fn contains_key(&self, key: &str) -> Option<bool> {
        match (&self.ty, &self.data) {
            // The type lists all attributes, so even an unknown object can answer.
            (Type::Object(o), _) => Some(o.attributes.contains_key(key)),
            (_, Data::Map(members)) => Some(members.contains_key(key)),
            (_, Data::Null) => Some(false),
            _ => None,
        }
    }

    /// Reports if [`Value::index`] would return an element: true, false or an unknown bool.
    pub fn has_index(&self, key: &Value) -> Value {
        let answer = match (&self.ty, &self.data) {
            (_, Data::Null) => Value::bool(false),
            (Type::Dynamic, _) => Value::unknown_bool(),
            (Type::List(_) | Type::Tuple(_), data) => match position(key) {
                None => Value::bool(false),
                Some(Key::Unknown) => Value::unknown_bool(),
                Some(Key::Known(i)) => match (data, &self.ty) {
                    (Data::Seq(elements), _) => Value::bool(i < elements.len()),
                    // The type of a tuple fixes its length even if the value is unknown.
                    (_, Type::Tuple(types)) => Value::bool(i < types.len()),
                    _ => Value::unknown_bool(),
                },
            },
            (Type::Map(_), data) => match (&key.ty, &key.data, data) {
                (Type::String, Data::String(k), Data::Map(members)) => {
                    Value::bool(members.contains_key(k))
                }
                (_, Data::Null, _) => Value::bool(false),
                (Type::String | Type::Dynamic, _, _) => Value::unknown_bool(),
                _ => Value::bool(false),
            },
            _ => Value::bool(false),
        };
        answer.with_marks(&self.marks).with_marks(&key.marks)
    }

    /// Reports if a set has this element: true, false or an unknown bool.
    pub fn has_element(&self, element: &Value) -> Value {
        // A set keeps the marks of its elements on itself, so an element is compared without marks.
        let (element, element_marks) = element.clone().unmark_deep();
        let answer = match (&self.ty, &self.data) {
            (Type::Set(_), Data::Unknown(_)) => Value::unknown_bool(),
            (Type::Set(ty), Data::Seq(elements)) => {
                if !element.ty.is_dynamic() && !ty.is_dynamic() && element.ty != **ty {
                    Value::bool(false)
                } else if !element.is_known() {
                    Value::unknown_bool()
                } else if crate::set_order::contains(elements, &element) {
                    Value::bool(true)
                // An unknown element of the set may turn out to be equal to `element`.
                } else if self.deep.unknown {
                    Value::unknown_bool()
                } else {
                    Value::bool(false)
                }
            }
            _ => Value::bool(false),
        };
        answer.with_marks(&self.marks).with_marks(&element_marks)
    }

    /// Returns the number of elements as a value: an unknown number with bounds if it is not yet
    /// fixed. `None` for null and for values without elements. The length of an object is its
    /// number of attributes.
    pub fn length(&self) -> Option<Value> {
        let length = match (&self.ty, &self.data) {
            (_, Data::Null) => return None,
            (Type::Dynamic, _) => Value::unknown(Type::Number)
                .refine()
                .not_null()
                .number_min(Number::zero(), true)
                .finish(),
            (Type::Tuple(types), _) => Value::number(types.len()),
            (Type::Object(o), _) => Value::number(o.attributes.len()),
            // Unknown elements may turn out to be duplicates; at least one element remains.
            (Type::Set(_), Data::Seq(elements)) if self.deep.unknown && elements.len() > 1 => {
                Value::unknown(Type::Number)
                    .refine()
                    .not_null()
                    .number_min(Number::from(1), true)
                    .number_max(Number::from(elements.len()), true)
                    .finish()
            }
            (Type::List(_) | Type::Set(_) | Type::Map(_), Data::Unknown(_)) => {
                let range = self.range();
                let refined = Value::unknown(Type::Number)
                    .refine()
                    .not_null()
                    .number_min(Number::from(range.length_min()), true);
                match range.length_max() {
                    Some(max) => refined.number_max(Number::from(max), true).finish(),
                    None => refined.finish(),
                }
            }
            _ => Value::number(self.len()?),
        };
        Some(length.with_marks(&self.marks))
    }

    /// Iterates over keys and elements of a known container in order; empty for other values. The
    /// key is a number in lists and tuples, a string in maps and objects, and the element itself in
    /// sets. Elements do not receive the marks of the container.
    pub fn elements(&self) -> Elements<'_> {
        let inner = match &self.data {
            Data::Seq(elements) => Inner::Seq {
                elements,
                next: 0,
                keys_are_elements: self.ty.is_set(),
            },
            Data::Map(members) => Inner::Map(members.iter()),
            _ => Inner::Nothing,
        };
        Elements(inner)
    }
}

enum Key {
    Known(usize),
    Unknown,
}

/// Parses `key` as an element number; `None` if it can never be one.
fn position(key: &Value) -> Option<Key> {
    match (&key.ty, &key.data) {
        (_, Data::Null) => None,
        (Type::Number, Data::Number(n)) => n.to_usize().map(Key::Known),
        (Type::Number | Type::Dynamic, _) => Some(Key::Unknown),
        _ => None,
    }
}

/// Iterator over keys and elements; see [`Value::elements`].
pub struct Elements<'a>(Inner<'a>);

enum Inner<'a> {
    Nothing,
    Seq {
        elements: &'a Arc<[Value]>,
        next: usize,
        keys_are_elements: bool,
    },
    Map(crate::members::Iter<'a>),
}

impl<'a> Iterator for Elements<'a> {
    type Item = (Value, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Inner::Nothing => None,
            Inner::Seq {
                elements,
                next,
                keys_are_elements,
            } => {
                let element = elements.get(*next)?;
                let key = if *keys_are_elements {
                    element.clone()
                } else {
                    Value::number(*next)
                };
                *next += 1;
                Some((key, element))
            }
            Inner::Map(iter) => iter
                .next()
                .map(|(k, v)| (Value::leaf(Type::String, Data::String(k.clone())), v)),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match &self.0 {
            Inner::Nothing => 0,
            Inner::Seq { elements, next, .. } => elements.len() - next,
            Inner::Map(iter) => iter.len(),
        };
        (left, Some(left))
    }
}

impl ExactSizeIterator for Elements<'_> {}
