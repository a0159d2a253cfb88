//! Private data of an object, and conversion of stored values to the current schema. Pure.

use crate::Bytes;
use cty::Type;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// Private data of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PrivateState {
    /// Id given by the host, by which the plugin knows the object.
    pub(super) resource_id: String,
    /// Set if the last deploy succeeded but the object is not known to be stable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unstable: Option<Unstable>,
}

/// Deploy after which an object is not known to be stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unstable {
    Created,
    Updated,
}

impl PrivateState {
    /// Parses private data; creates an id for a new object or one from another tool.
    pub(super) fn decode(private: &Bytes) -> Self {
        serde_json::from_slice(private).unwrap_or_else(|_| Self {
            resource_id: uuid::Uuid::new_v4().to_string(),
            unstable: None,
        })
    }

    pub(super) fn bytes(&self) -> Bytes {
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}

/// Converts stored JSON to a type: drops members that the type lacks and adds missing ones as null.
pub(super) fn fit_to_type(stored: Json, ty: &Type) -> Json {
    let each = |all: Vec<Json>, of: &Type| all.into_iter().map(|v| fit_to_type(v, of)).collect();
    match (stored, ty) {
        (Json::Object(mut members), Type::Object(_)) => {
            let names = ty.as_object().into_iter().flat_map(|o| o.attributes.iter());
            let one = |(name, of): (&std::sync::Arc<str>, &Type)| {
                let value = members.remove(&**name).unwrap_or(Json::Null);
                (name.to_string(), fit_to_type(value, of))
            };
            Json::Object(names.map(one).collect::<Map<_, _>>())
        }
        (Json::Object(members), Type::Map(of)) => {
            let one = |(name, value)| (name, fit_to_type(value, of));
            Json::Object(members.into_iter().map(one).collect())
        }
        (Json::Array(all), Type::List(of)) => Json::Array(each(all, of)),
        (stored, _) => stored,
    }
}
