//! Settings of resource types from overlays, in the form for display.

use super::Lazy;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Settings of one resource type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeView {
    #[serde(rename = "type")]
    pub type_name: String,
    /// The configuration or the state has such a resource.
    pub used: bool,
    /// An apply waits until the object is ready.
    pub waits: bool,
    pub settings: Vec<TypeSetting>,
}

/// Setting with the layer that has set it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeSetting {
    /// Such as `ready` or `wait.timeout`.
    pub name: String,
    /// The value as written.
    pub value: String,
    /// `built in`, `module`, `workspace` or `user`.
    pub layer: String,
    /// File and line; `None` for a built-in setting.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub place: Option<String>,
}

/// Settings of the type of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectType {
    /// Shared by all objects of the type.
    pub view: Arc<TypeView>,
    /// Names and values of the columns that the type defines. Sensitive values are masked.
    pub columns: Lazy<Vec<(String, String)>>,
}
