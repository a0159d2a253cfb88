//! Attributes of an object by name, for reading and modification by resources.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::{Type, Value};

/// Error of a value that is not an object of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The value is not an object; shows the friendly name of its type.
    #[error("an object is required, not {0}")]
    NoObject(String),
    /// The type has no such attribute.
    #[error("there is no attribute {0}")]
    NoAttribute(String),
    /// The attribute has another type.
    #[error("attribute {name} must be {wanted}, not {found}")]
    OtherType {
        /// Name of the attribute.
        name: String,
        /// Required type.
        wanted: String,
        /// Type of the value.
        found: String,
    },
}

/// Lets authors use the error as the text of a diagnostic.
impl From<ObjectError> for String {
    fn from(error: ObjectError) -> String {
        error.to_string()
    }
}

/// Attributes of an object, with its type.
#[derive(Clone, Debug)]
pub struct Object {
    ty: Type,
    attributes: BTreeMap<Arc<str>, Value>,
}

impl Object {
    /// Reads the attributes of a known object.
    ///
    /// # Errors
    /// The value is unknown, null or not an object.
    pub fn of(value: &Value) -> Result<Object, ObjectError> {
        match (value.ty(), value.as_map()) {
            (Type::Object(_), Some(attributes)) => Ok(Object {
                ty: value.ty().clone(),
                attributes: attributes.to_map(),
            }),
            _ => Err(ObjectError::NoObject(value.ty().friendly_name())),
        }
    }

    /// Returns an attribute; null if the object does not have it.
    pub fn get(&self, name: &str) -> Value {
        self.attributes
            .get(name)
            .cloned()
            .unwrap_or_else(|| Value::null(Type::Dynamic))
    }

    /// Returns a known string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.attributes.get(name)?.as_str()
    }

    /// Returns a known whole number.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.attributes.get(name)?.as_number()?.to_i64()
    }

    /// Returns a known bool.
    pub fn bool(&self, name: &str) -> Option<bool> {
        self.attributes.get(name)?.as_bool()
    }

    /// Returns the known strings of a list or set.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        self.attributes
            .get(name)
            .and_then(Value::as_slice)
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .collect()
    }

    /// Returns true if the attribute is unknown, that is, still to be set by the provider.
    pub fn is_unknown(&self, name: &str) -> bool {
        self.attributes
            .get(name)
            .is_some_and(|value| !value.is_known())
    }

    /// Sets an attribute.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.attributes.insert(name.into(), value.into());
    }

    /// Sets an attribute if it is unknown.
    pub fn fill(&mut self, name: &str, value: impl Into<Value>) {
        if self.is_unknown(name) {
            self.set(name, value);
        }
    }

    /// Sets an attribute to null.
    pub fn clear(&mut self, name: &str) {
        // The null keeps the attribute's type, which the object's type requires.
        if let Some(ty) = self.ty.attribute(name).cloned() {
            self.set(name, Value::null(ty));
        }
    }

    /// Replaces unknown values by null, at any depth.
    pub fn clear_unknown(&mut self) {
        // Known attributes are left alone, which avoids rebuilding them.
        for value in self
            .attributes
            .values_mut()
            .filter(|value| !value.is_wholly_known())
        {
            *value = value.unknown_as_null();
        }
    }

    /// Builds the object.
    ///
    /// # Errors
    /// An attribute was set that the type does not have, or to a value of another type.
    pub fn into_value(self) -> Result<Value, ObjectError> {
        // Checked here, so that a mistake of the author fails in its own call and names the
        // attribute.
        for (name, value) in &self.attributes {
            match self.ty.attribute(name) {
                None => return Err(ObjectError::NoAttribute(name.to_string())),
                Some(ty) if !value.ty().conforms_to(ty) => {
                    return Err(ObjectError::OtherType {
                        name: name.to_string(),
                        wanted: ty.friendly_name(),
                        found: value.ty().friendly_name(),
                    });
                }
                Some(_) => {}
            }
        }
        Ok(Value::object_from_map(self.attributes))
    }
}
