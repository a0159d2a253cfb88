//! Settings of resource types from overlays, in the form for display.

use serde::{Deserialize, Serialize};

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
