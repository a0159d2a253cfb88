//! Names of plugin methods.

use serde::{Deserialize, Serialize};
use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;

/// Name of a method that a plugin is called with, or calls itself: the name of protocol 6 if it has
/// one, independently of the dialect. Serialized as plain text; known names are not allocated.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MethodName(Cow<'static, str>);

impl MethodName {
    pub const fn from_static(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for MethodName {
    fn from(name: &str) -> Self {
        Self(Cow::Owned(name.to_owned()))
    }
}

impl From<String> for MethodName {
    fn from(name: String) -> Self {
        Self(Cow::Owned(name))
    }
}

impl Deref for MethodName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Lets maps be queried by `str`.
impl Borrow<str> for MethodName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for MethodName {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<&str> for MethodName {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == **other
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;

    #[test]
    fn method_name_serializes_as_text_and_honors_column_width() {
        let name = MethodName::from_static("ReadResource");
        let text = serde_json::to_string(&name).unwrap();
        assert_eq!(text, "\"ReadResource\"");
        let read: MethodName = serde_json::from_str(&text).unwrap();
        assert_eq!(read, name);
        assert_eq!(format!("{read:<14}|"), "ReadResource  |");
    }
}
