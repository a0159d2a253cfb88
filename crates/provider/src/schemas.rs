//! Schemas of a provider's types, decoded on demand: large providers have thousands of types, of
//! which a workspace uses a few dozen. Owned by the provider's schema.

use cty::TypeJsonError;
use cty::schema::Schema;
use proto::Bytes;
use std::collections::BTreeMap;
use std::ops::Index;
use std::sync::OnceLock;

/// Decodes a schema from the wire; the text names it in errors.
pub type ReadSchema = fn(&Bytes, &str) -> Result<Schema, SchemaError>;

/// Error in a provider's schema, with its location.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    #[error("{at} cannot be decoded: {source}")]
    Undecodable {
        at: String,
        source: prost::DecodeError,
    },
    #[error("the type of {at} is invalid: {source}")]
    Type { at: String, source: TypeJsonError },
    #[error("{at} has the unknown nesting mode {mode}")]
    Nesting { at: String, mode: i32 },
    #[error("function {0} has no return type")]
    NoResult(String),
}

/// Schemas by type name.
#[derive(Debug, Clone, Default)]
pub struct Schemas(BTreeMap<String, Entry>);

#[derive(Debug, Clone)]
struct Entry {
    schema: OnceLock<Box<Schema>>,
    raw: Option<(Bytes, ReadSchema)>,
}

impl Schemas {
    /// Creates the schemas from encoded ones. All are decoded once as a check, because a provider
    /// with an invalid schema is rejected as a whole; the results are dropped to save memory.
    ///
    /// # Errors
    /// A schema is invalid; the error has the location.
    pub fn undecoded(
        kind: &str,
        all: impl IntoIterator<Item = (String, Bytes)>,
        read: ReadSchema,
    ) -> Result<Self, SchemaError> {
        let one = |(name, raw): (String, Bytes)| {
            read(&raw, &format!("{kind} {name}"))?;
            Ok((
                name,
                Entry {
                    schema: OnceLock::new(),
                    raw: Some((raw, read)),
                },
            ))
        };
        all.into_iter().map(one).collect::<Result<_, _>>().map(Self)
    }

    pub fn get(&self, name: &str) -> Option<&Schema> {
        self.0.get(name).map(|entry| entry.get(name))
    }

    /// Returns a schema to change it for its user; the provider's own stays as it is.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Schema> {
        let entry = self.0.get_mut(name)?;
        entry.get(name);
        entry.schema.get_mut().map(Box::as_mut)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates in order of names. Decodes every schema.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&String, &Schema)> {
        self.0.iter().map(|(name, entry)| (name, entry.get(name)))
    }
}

impl Entry {
    fn get(&self, name: &str) -> &Schema {
        self.schema.get_or_init(|| match &self.raw {
            Some((raw, read)) => Box::new(read(raw, name).expect("decoded once when it arrived")),
            None => Box::default(),
        })
    }
}

impl FromIterator<(String, Schema)> for Schemas {
    fn from_iter<I: IntoIterator<Item = (String, Schema)>>(all: I) -> Self {
        let one = |(name, schema)| {
            (
                name,
                Entry {
                    schema: OnceLock::from(Box::new(schema)),
                    raw: None,
                },
            )
        };
        Self(all.into_iter().map(one).collect())
    }
}

impl<const N: usize> From<[(String, Schema); N]> for Schemas {
    fn from(all: [(String, Schema); N]) -> Self {
        all.into_iter().collect()
    }
}

impl Index<&str> for Schemas {
    type Output = Schema;

    /// Panics if there is no such type, like an index into a map.
    fn index(&self, name: &str) -> &Schema {
        self.0[name].get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn schema_is_decoded_on_first_use_and_cached() {
        static READ: AtomicUsize = AtomicUsize::new(0);
        let read: ReadSchema = |raw, at| {
            READ.fetch_add(1, Ordering::Relaxed);
            if raw.is_empty() {
                Err(SchemaError::NoResult(at.to_owned()))
            } else {
                Ok(Schema::new(raw[0].into(), cty::schema::Block::default()))
            }
        };
        let raw = |bytes: &'static [u8]| Bytes::from_static(bytes);
        let all = Schemas::undecoded(
            "resource",
            [("a".to_owned(), raw(&[1])), ("b".to_owned(), raw(&[2]))],
            read,
        )
        .expect("read");
        assert!(
            all.0.values().all(|e| e.schema.get().is_none()),
            "the checked schema is dropped"
        );
        assert_eq!(
            (
                all["b"].version,
                all.get("b").map(|s| s.version),
                all.get("c").is_none()
            ),
            (2, Some(2), true)
        );
        assert_eq!(
            READ.load(Ordering::Relaxed),
            3,
            "two to check, one asked for twice"
        );
        assert!(all.0["a"].schema.get().is_none());
        assert_eq!(
            Schemas::undecoded("resource", [("e".to_owned(), raw(&[]))], read)
                .expect_err("refused")
                .to_string(),
            "function resource e has no return type"
        );
    }
}
