//! A document as it is read: objects member by member, each value as it is written, in one pass
//! over the text and without a copy of it.

use crate::error::ReadError;
use crate::fields::{Fields, path};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The members that are lists of objects to be read member by member too, each within the one
/// before: instances are in resources.
const NESTED: &[&str] = &["resources", "instances"];

/// Members of an object in their order.
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, Member<'a>)>);

enum Member<'a> {
    One(&'a RawValue),
    Many(Vec<Members<'a>>),
}

impl<'a> Members<'a> {
    /// Those of a whole document.
    ///
    /// # Errors
    /// It is no object of JSON.
    pub(crate) fn of_document(text: &'a [u8]) -> Result<Self, serde_json::Error> {
        let nested = read(text, Object(NESTED));
        // What is wrong in a nested list is told with its place by whoever takes it.
        nested.or_else(|_| read(text, Object(&[])))
    }

    /// Those of an object within a document.
    ///
    /// # Errors
    /// It is none; `at` says where it is.
    pub(crate) fn of(raw: &'a RawValue, at: &str) -> Result<Self, ReadError> {
        let members = read(raw.get().as_bytes(), Object(&[]));
        members.map_err(|source| ReadError::Field {
            at: at.to_owned(),
            source,
        })
    }

    fn remove(&mut self, name: &str) -> Option<Member<'a>> {
        let position = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.remove(position).1)
    }

    /// Takes a member out as it is written; `null` is one.
    fn remove_raw(&mut self, name: &str) -> Option<&'a RawValue> {
        match self.remove(name)? {
            Member::One(raw) => Some(raw),
            Member::Many(_) => None,
        }
    }

    /// Takes a member out. `null` counts as none, as it does for who wrote the file.
    ///
    /// # Errors
    /// It has another form; `at` says where the object is.
    pub(crate) fn take<T: Deserialize<'a>>(
        &mut self,
        name: &str,
        at: &str,
    ) -> Result<Option<T>, ReadError> {
        let Some(raw) = self.remove_raw(name) else {
            return Ok(None);
        };
        serde_json::from_str(raw.get()).map_err(|source| ReadError::Field {
            at: path(at, name),
            source,
        })
    }

    /// Takes a member out as it is written. `null` counts as none.
    pub(crate) fn take_raw(&mut self, name: &str) -> Option<&'a RawValue> {
        self.remove_raw(name).filter(|raw| raw.get() != "null")
    }

    /// Takes a list of objects out; none is an empty one.
    ///
    /// # Errors
    /// It has another form; `at` says where the object is.
    pub(crate) fn take_list(&mut self, name: &str, at: &str) -> Result<Vec<Self>, ReadError> {
        match self.remove(name) {
            None => Ok(Vec::new()),
            Some(Member::Many(all)) => Ok(all),
            Some(Member::One(raw)) => {
                read(raw.get().as_bytes(), List(&[])).map_err(|source| ReadError::Field {
                    at: path(at, name),
                    source,
                })
            }
        }
    }

    /// Takes a member out that must be there.
    ///
    /// # Errors
    /// It is not, or has another form; `at` says where the object is.
    pub(crate) fn need<T: Deserialize<'a>>(
        &mut self,
        name: &str,
        at: &str,
    ) -> Result<T, ReadError> {
        self.take(name, at)?
            .ok_or_else(|| ReadError::Missing { at: path(at, name) })
    }

    /// Takes a member out that must be there, as it is written.
    ///
    /// # Errors
    /// It is not; `at` says where the object is.
    pub(crate) fn need_raw(&mut self, name: &str, at: &str) -> Result<&'a RawValue, ReadError> {
        let found = self.remove_raw(name);
        found.ok_or_else(|| ReadError::Missing { at: path(at, name) })
    }

    /// Whether there is one of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(n, _)| n == name)
    }

    /// The members that nobody has taken.
    pub(crate) fn rest(self) -> Fields {
        let kept = self.each().map(|(name, raw)| (name, raw.to_owned()));
        Fields(kept.collect())
    }

    /// Every member by its name, as it is written.
    pub(crate) fn each(self) -> impl Iterator<Item = (String, &'a RawValue)> {
        self.0
            .into_iter()
            .filter_map(|(name, member)| match member {
                Member::One(raw) => Some((name.into_owned(), raw)),
                Member::Many(_) => None,
            })
    }
}

fn read<'a, S: DeserializeSeed<'a>>(
    text: &'a [u8],
    what: S,
) -> Result<S::Value, serde_json::Error> {
    let mut from = serde_json::Deserializer::from_slice(text);
    let read = what.deserialize(&mut from)?;
    from.end()?;
    Ok(read)
}

/// An object, of which the first of these members is a list of objects, and so on within.
struct Object(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Object {
    type Value = Members<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Members<'de>, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut all = Members(Vec::new());
        while let Some(Name(name)) = map.next_key()? {
            let member = match self.0.split_first() {
                Some((nested, within)) if name == *nested => {
                    // One that is there twice is nothing that anybody wrote; it is kept as it is.
                    if all.has(nested) {
                        return Err(A::Error::duplicate_field(nested));
                    }
                    Member::Many(map.next_value_seed(List(within))?)
                }
                _ => Member::One(map.next_value()?),
            };
            all.0.push((name, member));
        }
        Ok(all)
    }
}

/// A list of such objects; `null` is an empty one.
struct List(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for List {
    type Value = Vec<Members<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for List {
    type Value = Vec<Members<'de>>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element_seed(Object(self.0))? {
            all.push(one);
        }
        Ok(all)
    }
}

/// A member's name, which is a part of the text where it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
