//! Going into values: attributes, elements, lengths. Unknown containers answer with unknown parts,
//! and the marks of a container come along with what is taken out of it.

use std::sync::Arc;

use crate::value::Data;
use crate::{Number, Type, Value};

impl Value {
    /// An attribute of an object; `None` if the object has no such attribute, is null, or is no
    /// object.
    pub fn get_attr(&self, name: &str) -> Option<Value> {
        let found = match (&self.ty, &self.data) {
            (_, Data::Null) => return None,
            (Type::Dynamic, _) => Value::dynamic(),
            (Type::Object(o), Data::Unknown(_)) => Value::unknown(o.attributes.get(name)?.clone()),
            (Type::Object(_), Data::Map(members)) => members.get(name)?.clone(),
            _ => return None,
        };
        Some(found.with_marks(&self.marks))
    }

    /// An element of a list or tuple by number, or of a map by key; `None` if there is no such
    /// element or the value has no elements by key. Unknown keys and containers give unknown
    /// elements.
    pub fn index(&self, key: &Value) -> Option<Value> {
        let found = match (&self.ty, &self.data) {
            (_, Data::Null) => return None,
            (Type::Dynamic, _) => Value::dynamic(),
            (Type::List(element), data) => match (position(key)?, data) {
                (Key::Known(i), Data::Seq(elements)) => elements.get(i)?.clone(),
                _ => Value::unknown((**element).clone()),
            },
            (Type::Tuple(types), data) => match (position(key)?, data) {
                (Key::Unknown, _) => Value::dynamic(),
                (Key::Known(i), Data::Seq(elements)) => elements.get(i)?.clone(),
                (Key::Known(i), _) => Value::unknown(types.get(i)?.clone()),
            },
            (Type::Map(element), data) => match (&key.ty, &key.data, data) {
                (_, Data::Null, _) => return None,
                (Type::String, Data::String(k), Data::Map(members)) => members.get(k)?.clone(),
                (Type::String | Type::Dynamic, _, _) => Value::unknown((**element).clone()),
                _ => return None,
            },
            _ => return None,
        };
        Some(found.with_marks(&self.marks).with_marks(&key.marks))
    }

    /// An element of a list or tuple, without making a key first.
    pub fn index_int(&self, i: usize) -> Option<Value> {
        match &self.data {
            Data::Seq(elements) if !self.ty.is_set() => {
                Some(elements.get(i)?.clone().with_marks(&self.marks))
            }
            Data::Unknown(_) => self.index(&Value::number(i)),
            _ => None,
        }
    }

    /// An element of a map, or an attribute of an object, by its name.
    pub fn index_str(&self, key: &str) -> Option<Value> {
        match &self.data {
            Data::Map(members) => Some(members.get(key)?.clone().with_marks(&self.marks)),
            Data::Unknown(_) if self.ty.is_object() => self.get_attr(key),
            Data::Unknown(_) => self.index(&Value::string(key)),
            _ => None,
        }
    }

    /// Whether a known map or object has this key; `None` if that is not known.
    pub fn contains_key(&self, key: &str) -> Option<bool> {
        match (&self.ty, &self.data) {
            (Type::Object(o), _) => Some(o.attributes.contains_key(key)),
            (_, Data::Map(members)) => Some(members.contains_key(key)),
            (_, Data::Null) => Some(false),
            _ => None,
        }
    }

    /// Whether [`Value::index`] would find something: true, false or an unknown bool.
    pub fn has_index(&self, key: &Value) -> Value {
        let answer = match (&self.ty, &self.data) {
            (_, Data::Null) => Value::bool(false),
            (Type::Dynamic, _) => Value::unknown_bool(),
            (Type::List(_) | Type::Tuple(_), data) => match position(key) {
                None => Value::bool(false),
                Some(Key::Unknown) => Value::unknown_bool(),
                Some(Key::Known(i)) => match (data, &self.ty) {
                    (Data::Seq(elements), _) => Value::bool(i < elements.len()),
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

    /// Whether a set has this element: true, false or an unknown bool.
    pub fn has_element(&self, element: &Value) -> Value {
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

    /// The number of elements as a value: unknown, within bounds, where it is not settled. `None`
    /// for values without elements and for null. The length of an object is the number of its
    /// attributes.
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

    /// Keys and elements in order, of a known container; nothing for others. The key is a number in
    /// lists and tuples, a string in maps and objects, the element itself in sets. Marks of the
    /// container are not added.
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

/// `None` for a key that can never be the number of an element.
fn position(key: &Value) -> Option<Key> {
    match (&key.ty, &key.data) {
        (_, Data::Null) => None,
        (Type::Number, Data::Number(n)) => n.to_usize().map(Key::Known),
        (Type::Number | Type::Dynamic, _) => Some(Key::Unknown),
        _ => None,
    }
}

/// See [`Value::elements`].
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
