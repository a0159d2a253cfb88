//! Values for tests, also of crates that use this one.

use crate::records::StateObject;

/// Returns an object without attributes.
#[must_use]
pub fn object() -> StateObject {
    StateObject {
        address: "terraform_data.a".into(),
        deposed: String::new(),
        provider: String::new(),
        schema_version: 0,
        attributes: "{}".into(),
        sensitive: "[]".into(),
        private: Vec::new(),
        tainted: false,
        create_before_destroy: false,
        skip_destroy: false,
        dependencies: Vec::new(),
        needs: Vec::new(),
        identity: None,
        identity_version: 0,
        rest: String::new(),
    }
}
