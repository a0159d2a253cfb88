//! An object of JSON, member by member, each as it is written: what is known is taken out by name,
//! what is left goes back into the file as it was.

use crate::error::ReadError;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A value of JSON as it is written.
pub type Raw = Box<RawValue>;

/// Members of an object in their order.
#[derive(Debug, Clone, Default)]
pub struct Fields(pub Vec<(String, Raw)>);

impl Fields {
    /// Takes a member out. `null` counts as none, as it does for who wrote the file.
    ///
    /// # Errors
    /// It has another form; `at` says where the object is.
    pub(crate) fn take<T: DeserializeOwned>(
        &mut self,
        name: &str,
        at: &str,
    ) -> Result<Option<T>, ReadError> {
        let Some(position) = self.0.iter().position(|(n, _)| n == name) else {
            return Ok(None);
        };
        let (_, raw) = self.0.remove(position);
        serde_json::from_str(raw.get()).map_err(|source| ReadError::Field {
            at: path(at, name),
            source,
        })
    }

    /// Takes a member out that must be there.
    pub(crate) fn need<T: DeserializeOwned>(
        &mut self,
        name: &str,
        at: &str,
    ) -> Result<T, ReadError> {
        self.take(name, at)?
            .ok_or_else(|| ReadError::Missing { at: path(at, name) })
    }

    /// Takes a member out that must be there, as it is written.
    pub(crate) fn need_raw(&mut self, name: &str, at: &str) -> Result<Raw, ReadError> {
        let found = self.0.iter().position(|(n, _)| n == name);
        let position = found.ok_or_else(|| ReadError::Missing { at: path(at, name) })?;
        Ok(self.0.remove(position).1)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Where a field is, for a reader of the file.
pub(crate) fn path(at: &str, name: &str) -> String {
    if at.is_empty() {
        format!("{name:?}")
    } else {
        format!("{at}, {name:?}")
    }
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        let texts = |all: &Self| -> Vec<(String, String)> {
            let one = |(n, raw): &(String, Raw)| (n.clone(), raw.get().to_owned());
            all.0.iter().map(one).collect()
        };
        texts(self) == texts(other)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut all = Vec::new();
                while let Some(member) = map.next_entry::<String, Raw>()? {
                    all.push(member);
                }
                Ok(Fields(all))
            }
        }
        from.deserialize_map(Members)
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, raw) in &self.0 {
            map.serialize_entry(name, raw)?;
        }
        map.end()
    }
}
