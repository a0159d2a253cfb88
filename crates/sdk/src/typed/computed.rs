//! Field that the provider sets.

use cty::Value;

use super::attribute::{AttributeType, Presence};
use super::model::Mismatch;
use crate::schema::AttrType;

/// Attribute that the provider sets. It is unknown in the plan of a new object, and every create
/// and update must set it; the SDK reports one that is still unknown. `Computed<Option<T>>` can be
/// null.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Computed<T> {
    /// To be set by the provider.
    #[default]
    Unknown,
    /// Set.
    Known(T),
}

impl<T> Computed<T> {
    /// Sets the value.
    pub fn set(&mut self, value: impl Into<T>) {
        *self = Computed::Known(value.into());
    }

    /// Sets the value if it is unknown, that is, neither configured nor kept.
    pub fn fill(&mut self, value: impl Into<T>) {
        if let Computed::Unknown = self {
            self.set(value);
        }
    }

    /// Returns the value, if it is set.
    pub fn get(&self) -> Option<&T> {
        match self {
            Computed::Unknown => None,
            Computed::Known(value) => Some(value),
        }
    }
}

impl<T> From<T> for Computed<T> {
    fn from(value: T) -> Computed<T> {
        Computed::Known(value)
    }
}

impl Computed<String> {
    /// Returns the text; empty if it is unknown.
    pub fn as_str(&self) -> &str {
        self.get().map(String::as_str).unwrap_or_default()
    }
}

impl<T: AttributeType> AttributeType for Computed<T> {
    const PRESENCE: Presence = Presence::Computed;

    fn ty() -> AttrType {
        T::ty()
    }

    fn from_value(value: &Value) -> Result<Computed<T>, Mismatch> {
        // A null is a value that is not set, as in a state that was imported.
        let nullable = matches!(T::PRESENCE, Presence::Optional);
        match value.is_wholly_known() && (nullable || !value.is_null()) {
            true => T::from_value(value).map(Computed::Known),
            false => Ok(Computed::Unknown),
        }
    }

    fn to_value(&self) -> Value {
        match self {
            // After a create or update, the SDK reports a value that is still unknown.
            Computed::Unknown => Value::unknown(super::attribute::value_type::<T>()),
            Computed::Known(value) => value.to_value(),
        }
    }
}
