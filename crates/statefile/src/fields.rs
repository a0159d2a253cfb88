//! Unknown fields of a JSON object, which are written back unchanged.

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// JSON value as its original text.
pub type Raw = Box<RawValue>;

/// Members of an object, in their order.
#[derive(Debug, Clone, Default)]
pub struct Fields(pub Vec<(String, Raw)>);

impl Fields {
    /// Returns true if there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns the path of a field, for messages.
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
