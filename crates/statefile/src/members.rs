//! Parser of a state document: objects member by member, in one pass over the text, with values
//! borrowed from it.

use crate::error::ReadError;
use crate::fields::{Fields, path};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Names of the lists whose objects are parsed member by member too. Each is nested in the one
/// before: instances are in resources.
const NESTED: &[&str] = &["resources", "instances"];

/// Members of an object, in their order.
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, Member<'a>)>);

enum Member<'a> {
    One(&'a RawValue),
    Many(Vec<Members<'a>>),
}

impl<'a> Members<'a> {
    /// Parses a whole document.
    ///
    /// # Errors
    /// The text is not a JSON object.
    pub(crate) fn of_document(text: &'a [u8]) -> Result<Self, serde_json::Error> {
        let nested = read(text, Object(NESTED));
        // An error inside a nested list is reported later with its place, by the caller that takes
        // the list.
        nested.or_else(|_| read(text, Object(&[])))
    }

    /// Parses an object inside a document.
    ///
    /// # Errors
    /// The value is not an object; `at` is its place.
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

    /// Removes a member and returns its text, even if it is `null`.
    fn remove_raw(&mut self, name: &str) -> Option<&'a RawValue> {
        match self.remove(name)? {
            Member::One(raw) => Some(raw),
            Member::Many(_) => None,
        }
    }

    /// Removes a member and parses it. `null` counts as absent, as it does in Go.
    ///
    /// # Errors
    /// The member has the wrong type; `at` is the place of the object.
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

    /// Removes a member and returns its text. `null` counts as absent.
    pub(crate) fn take_raw(&mut self, name: &str) -> Option<&'a RawValue> {
        self.remove_raw(name).filter(|raw| raw.get() != "null")
    }

    /// Removes a list of objects; an absent list is empty.
    ///
    /// # Errors
    /// The member has the wrong type; `at` is the place of the object.
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

    /// Removes a required member and parses it.
    ///
    /// # Errors
    /// The member is missing or has the wrong type; `at` is the place of the object.
    pub(crate) fn take_required<T: Deserialize<'a>>(
        &mut self,
        name: &str,
        at: &str,
    ) -> Result<T, ReadError> {
        self.take(name, at)?
            .ok_or_else(|| ReadError::Missing { at: path(at, name) })
    }

    /// Removes a required member and returns its text.
    ///
    /// # Errors
    /// The member is missing; `at` is the place of the object.
    pub(crate) fn take_required_raw(
        &mut self,
        name: &str,
        at: &str,
    ) -> Result<&'a RawValue, ReadError> {
        let found = self.remove_raw(name);
        found.ok_or_else(|| ReadError::Missing { at: path(at, name) })
    }

    /// Returns true if a member has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(n, _)| n == name)
    }

    /// Returns the members that were not removed.
    pub(crate) fn into_remaining(self) -> Fields {
        let kept = self.each().map(|(name, raw)| (name, raw.to_owned()));
        Fields(kept.collect())
    }

    /// Iterates over all members and their texts.
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
    // `end` refuses text after the value, which a partial or concatenated file has.
    from.end()?;
    Ok(read)
}

/// Deserializer of an object in which the first of these names is a list of objects, recursively.
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
                    // No program writes a duplicate; failing here makes the caller parse it without
                    // nesting, which keeps both.
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

/// Deserializer of a list of such objects; `null` is an empty list.
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

/// Name of a member, borrowed from the text unless it has escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
