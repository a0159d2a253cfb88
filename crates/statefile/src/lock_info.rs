//! Information about a state lock, which identifies the lock owner.

use serde::{Deserialize, Serialize};

/// Lock owner of a state. Its JSON has the field order of OpenTofu, which compares some of it as
/// text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LockInfo {
    /// Identifier of this lock, required to force-unlock it.
    #[serde(rename = "ID")]
    pub id: String,
    /// Operation of the lock owner, such as `OperationTypeApply`.
    pub operation: String,
    pub info: String,
    /// `user@host`.
    pub who: String,
    /// Program version of the lock owner.
    pub version: String,
    /// Creation time, RFC 3339 in UTC.
    pub created: String,
    /// Path of the state, as the lock owner names it.
    pub path: String,
}

impl LockInfo {
    /// Returns the JSON on one line, without a newline.
    #[must_use]
    pub fn to_line(&self) -> String {
        // A struct of texts, so writing cannot fail.
        crate::compact(&serde_json::to_string(self).unwrap_or_default())
    }

    /// Parses lock information; `None` if the text is something else.
    #[must_use]
    pub fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_info_round_trips_byte_for_byte() {
        let line = r#"{"ID":"4f","Operation":"OperationTypeApply","Info":"","Who":"root@vm","Version":"1.12.6","Created":"2026-11-21T23:17:44.10290803Z","Path":"terraform.tfstate"}"#;
        let read = LockInfo::read(line.as_bytes());
        assert_eq!(read.as_ref().map(LockInfo::to_line).as_deref(), Some(line));
        assert_eq!(LockInfo::read(b"root@vm"), None);
    }
}
