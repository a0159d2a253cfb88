//! Keys of members: an index of a group of a size (cattle), or a name from a list (pets).

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use lang::addr::{InstanceKey, natural_cmp};
use serde::{Deserialize, Serialize};

/// Key of a member, unique in its group. Indexes precede names; names are in natural order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberKey {
    /// Index of a member of a group with a size.
    Index(u64),
    /// Name from the list of keys.
    Name(Arc<str>),
}

impl MemberKey {
    /// A key from a name.
    pub fn name(name: &str) -> MemberKey {
        MemberKey::Name(name.into())
    }

    /// Key of a member of a resource with `count` or `for_each`; `None` for a single instance.
    pub fn from_instance(key: &InstanceKey) -> Option<MemberKey> {
        match key {
            InstanceKey::None => None,
            InstanceKey::Int(index) => Some(MemberKey::Index(*index)),
            InstanceKey::Str(name) => Some(MemberKey::Name(name.clone())),
        }
    }

    /// Instance key of the member's resources.
    pub fn to_instance(&self) -> InstanceKey {
        match self {
            MemberKey::Index(index) => InstanceKey::Int(*index),
            MemberKey::Name(name) => InstanceKey::Str(name.clone()),
        }
    }
}

impl fmt::Display for MemberKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemberKey::Index(index) => write!(f, "{index}"),
            MemberKey::Name(name) => f.write_str(name),
        }
    }
}

impl Ord for MemberKey {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (MemberKey::Index(a), MemberKey::Index(b)) => a.cmp(b),
            (MemberKey::Index(_), MemberKey::Name(_)) => Ordering::Less,
            (MemberKey::Name(_), MemberKey::Index(_)) => Ordering::Greater,
            (MemberKey::Name(a), MemberKey::Name(b)) => natural_cmp(a, b),
        }
    }
}

impl PartialOrd for MemberKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// InfraKit: SortByID.
    #[test]
    fn keys_are_in_natural_order() {
        let mut keys: Vec<MemberKey> = ["web10", "web2", "db1"].map(MemberKey::name).into();
        keys.extend([10, 9, 0].map(MemberKey::Index));
        keys.sort();
        let sorted: Vec<String> = keys.iter().map(MemberKey::to_string).collect();
        assert_eq!(sorted, ["0", "9", "10", "db1", "web2", "web10"]);
    }

    #[test]
    fn name_of_digits_stays_a_name_when_stored() {
        for key in [MemberKey::Index(3), MemberKey::name("3")] {
            let text = serde_json::to_string(&key).unwrap();
            assert_eq!(serde_json::from_str::<MemberKey>(&text).unwrap(), key);
        }
    }

    #[test]
    fn keys_convert_to_instance_keys_and_back() {
        for key in [MemberKey::Index(0), MemberKey::name("a")] {
            assert_eq!(MemberKey::from_instance(&key.to_instance()), Some(key));
        }
        assert_eq!(MemberKey::from_instance(&InstanceKey::None), None);
    }
}
