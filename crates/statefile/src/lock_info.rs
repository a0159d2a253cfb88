//! What is said beside a lock on a state, so that whoever meets it knows who has it.

use serde::{Deserialize, Serialize};

/// Who holds a lock on a state. As JSON it has the fields in the order of OpenTofu, which compares
/// some of them as text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LockInfo {
    /// Made for this lock; what is asked for where it is to be broken.
    #[serde(rename = "ID")]
    pub id: String,
    /// What it is held for, `OperationTypeApply`.
    pub operation: String,
    pub info: String,
    /// `user@host`.
    pub who: String,
    /// The holder's version.
    pub version: String,
    /// When, RFC 3339 in UTC.
    pub created: String,
    /// Where the state is, as its holder calls it.
    pub path: String,
}

impl LockInfo {
    /// On one line, without a newline.
    #[must_use]
    pub fn to_line(&self) -> String {
        // A struct of texts: writing it cannot fail.
        crate::compact(&serde_json::to_string(self).unwrap_or_default())
    }

    /// What is written beside a lock; `None` where it is something else.
    #[must_use]
    pub fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_byte_for_byte() {
        let line = r#"{"ID":"4f","Operation":"OperationTypeApply","Info":"","Who":"root@vm","Version":"1.12.6","Created":"2026-11-21T23:17:44.10290803Z","Path":"terraform.tfstate"}"#;
        let read = LockInfo::read(line.as_bytes());
        assert_eq!(read.as_ref().map(LockInfo::to_line).as_deref(), Some(line));
        assert_eq!(LockInfo::read(b"root@vm"), None);
    }
}
