//! An object's attributes, to read and to change by name: what a resource works on.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::{Type, Value};

/// Why a value is no object of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// It is something else; types by their friendly names.
    #[error("an object is needed here, not {0}")]
    NoObject(String),
    /// An attribute that its type does not have.
    #[error("there is no attribute {0}")]
    NoAttribute(String),
    /// An attribute of another type.
    #[error("attribute {name} must be {wanted}, not {found}")]
    OtherType {
        /// The attribute.
        name: String,
        /// The type that it has to be of.
        wanted: String,
        /// The type of the value.
        found: String,
    },
}

/// Diagnostics are made of texts.
impl From<ObjectError> for String {
    fn from(error: ObjectError) -> String {
        error.to_string()
    }
}

/// The attributes of an object, taken apart.
#[derive(Clone, Debug)]
pub struct Object {
    ty: Type,
    attributes: BTreeMap<Arc<str>, Value>,
}

impl Object {
    /// The attributes of a known object.
    ///
    /// # Errors
    /// For any other value.
    pub fn of(value: &Value) -> Result<Object, ObjectError> {
        match (value.ty(), value.as_map()) {
            (Type::Object(_), Some(attributes)) => Ok(Object {
                ty: value.ty().clone(),
                attributes: attributes.to_map(),
            }),
            _ => Err(ObjectError::NoObject(value.ty().friendly_name())),
        }
    }

    /// An attribute; null where there is none of that name.
    pub fn get(&self, name: &str) -> Value {
        self.attributes
            .get(name)
            .cloned()
            .unwrap_or_else(|| Value::null(Type::Dynamic))
    }

    /// A known text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.attributes.get(name)?.as_str()
    }

    /// A known whole number.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.attributes.get(name)?.as_number()?.to_i64()
    }

    /// A known truth value.
    pub fn bool(&self, name: &str) -> Option<bool> {
        self.attributes.get(name)?.as_bool()
    }

    /// The known texts of a list or set.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        self.attributes
            .get(name)
            .and_then(Value::as_slice)
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .collect()
    }

    /// Whether the provider is still to say what this attribute is.
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
        if let Some(ty) = self.ty.attribute(name).cloned() {
            self.set(name, Value::null(ty));
        }
    }

    /// Everything that is still unknown becomes null, at any depth.
    pub fn clear_unknown(&mut self) {
        for value in self
            .attributes
            .values_mut()
            .filter(|value| !value.is_wholly_known())
        {
            *value = value.unknown_as_null();
        }
    }

    /// The object again.
    ///
    /// # Errors
    /// When an attribute was set that the type does not have, or to a value of another type.
    pub fn into_value(self) -> Result<Value, ObjectError> {
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
