//! Number of members of a group (cattle), or the list of their keys (pets).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::MemberKey;

/// Desired members of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allocation {
    /// A number of interchangeable members, keyed by index.
    Size(u32),
    /// Members with names of their own. The list of a group never changes.
    Keys(Vec<String>),
}

/// Reasons why an allocation is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocationError {
    /// Neither a size nor keys.
    #[error(
        "the group declares no members: give either a size greater than 0 or a list of member keys"
    )]
    Missing,
    /// A size and keys.
    #[error(
        "the group declares a size of {size} and {keys} member keys: only one allocation method is \
         allowed; remove one of them"
    )]
    Both {
        /// Given size.
        size: u32,
        /// Number of given keys.
        keys: usize,
    },
    /// A key without text.
    #[error("member key {position} is empty: give each member a name")]
    EmptyKey {
        /// Position in the list, from 1.
        position: usize,
    },
    /// A key that occurs twice.
    #[error("the member key {0:?} occurs twice: each member needs a key of its own")]
    DuplicateKey(String),
    /// Other keys than the committed ones.
    #[error(
        "the member keys of a group cannot change ({}): a member's identity and its dedicated \
         resources belong to its key. Commit a new group with the new keys, then destroy this one",
        .0
    )]
    KeysChanged(String),
    /// A size instead of keys, or the other way round.
    #[error(
        "the group has {from} and cannot change to {to}: members would lose their identity. \
         Commit a new group, then destroy this one"
    )]
    MethodChanged {
        /// Committed method.
        from: &'static str,
        /// Requested method.
        to: &'static str,
    },
}

impl Allocation {
    /// Checks the two alternatives of a specification. A size of 0 and an empty list count as not
    /// given.
    ///
    /// # Errors
    /// Not exactly one alternative is given, or a key is empty or occurs twice.
    pub fn new(size: Option<u32>, keys: Option<Vec<String>>) -> Result<Self, AllocationError> {
        let size = size.filter(|size| *size > 0);
        let keys = keys.filter(|keys| !keys.is_empty());
        match (size, keys) {
            (None, None) => Err(AllocationError::Missing),
            (Some(size), Some(keys)) => Err(AllocationError::Both {
                size,
                keys: keys.len(),
            }),
            (Some(size), None) => Ok(Allocation::Size(size)),
            (None, Some(keys)) => {
                let mut seen = BTreeSet::new();
                for (at, key) in keys.iter().enumerate() {
                    if key.trim().is_empty() {
                        return Err(AllocationError::EmptyKey { position: at + 1 });
                    }
                    if !seen.insert(key) {
                        return Err(AllocationError::DuplicateKey(key.clone()));
                    }
                }
                Ok(Allocation::Keys(keys))
            }
        }
    }

    /// Number of members.
    pub fn size(&self) -> usize {
        match self {
            Allocation::Size(size) => *size as usize,
            Allocation::Keys(keys) => keys.len(),
        }
    }

    /// Keys of all desired members, in natural order. A group of a size keeps the existing indexes
    /// and adds free ones from `first`; surplus members are chosen by
    /// [`order::choose_shrink`](crate::order::choose_shrink), so that this never drops one.
    pub fn desired_keys(&self, existing: &[MemberKey], first: u64) -> Vec<MemberKey> {
        let mut desired: Vec<MemberKey> = match self {
            Allocation::Keys(keys) => keys.iter().map(|key| MemberKey::name(key)).collect(),
            Allocation::Size(size) => {
                let taken: BTreeSet<u64> = existing.iter().filter_map(index).collect();
                let missing = (*size as usize).saturating_sub(existing.len());
                let added = free_indexes(&taken, first).take(missing);
                let keep = existing.iter().cloned();
                keep.chain(added.map(MemberKey::Index)).collect()
            }
        };
        desired.sort();
        desired
    }

    /// Checks a change of the committed allocation.
    ///
    /// # Errors
    /// The keys or the method differ.
    pub fn check_change(&self, new: &Allocation) -> Result<(), AllocationError> {
        match (self, new) {
            (Allocation::Size(_), Allocation::Size(_)) => Ok(()),
            (Allocation::Keys(old), Allocation::Keys(new)) => {
                let (old, new) = (old.iter().collect(), new.iter().collect());
                let list = |word: &str, one: &BTreeSet<&String>, other: &BTreeSet<&String>| {
                    let only: Vec<&str> = one.difference(other).map(|key| key.as_str()).collect();
                    (!only.is_empty()).then(|| format!("{word} {}", only.join(", ")))
                };
                let changes: Vec<String> = [list("removed", &old, &new), list("added", &new, &old)]
                    .into_iter()
                    .flatten()
                    .collect();
                match changes.is_empty() {
                    true => Ok(()),
                    false => Err(AllocationError::KeysChanged(changes.join("; "))),
                }
            }
            _ => Err(AllocationError::MethodChanged {
                from: self.method(),
                to: new.method(),
            }),
        }
    }

    fn method(&self) -> &'static str {
        match self {
            Allocation::Size(_) => "a size",
            Allocation::Keys(_) => "a list of member keys",
        }
    }
}

fn index(key: &MemberKey) -> Option<u64> {
    match key {
        MemberKey::Index(index) => Some(*index),
        MemberKey::Name(_) => None,
    }
}

/// Indexes from `first` that are not taken, in order.
pub fn free_indexes(taken: &BTreeSet<u64>, first: u64) -> impl Iterator<Item = u64> {
    (first..).filter(|index| !taken.contains(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(keys: &[&str]) -> Vec<String> {
        keys.iter().map(|key| (*key).to_owned()).collect()
    }

    /// S3-12. InfraKit: ValidateNoAllocations, ValidateMultipleAllocations.
    #[test]
    #[rustfmt::skip]
    fn exactly_one_allocation_method_is_accepted() {
        let cases = [
            ("size", Some(3), None, Ok(Allocation::Size(3))),
            ("keys", None, Some(names(&["a", "b"])), Ok(Allocation::Keys(names(&["a", "b"])))),
            ("an empty list beside a size", Some(3), Some(vec![]), Ok(Allocation::Size(3))),
            (
                "size 0 beside keys",
                Some(0),
                Some(names(&["a"])),
                Ok(Allocation::Keys(names(&["a"]))),
            ),
            ("ValidateNoAllocations", None, None, Err("declares no members")),
            ("size 0", Some(0), None, Err("declares no members")),
            ("an empty list", None, Some(vec![]), Err("declares no members")),
            (
                "ValidateMultipleAllocations",
                Some(2),
                Some(names(&["a"])),
                Err("only one allocation method is allowed"),
            ),
            ("an empty key", None, Some(names(&["a", " "])), Err("member key 2 is empty")),
            ("a key twice", None, Some(names(&["a", "a"])), Err("\"a\" occurs twice")),
        ];
        for (name, size, keys, expected) in cases {
            let found = Allocation::new(size, keys).map_err(|e| e.to_string());
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{name}"),
                (Err(found), Err(part)) => assert!(found.contains(part), "{name}: {found}"),
                (found, _) => panic!("{name}: {found:?}"),
            }
        }
    }

    /// S3-12: the keys of pets are fixed.
    #[test]
    fn list_of_keys_never_changes() {
        let pets = Allocation::Keys(names(&["a", "b"]));
        let error = |new: Allocation| pets.check_change(&new).map_err(|e| e.to_string());
        assert_eq!(error(Allocation::Keys(names(&["b", "a"]))), Ok(()));
        let renamed = error(Allocation::Keys(names(&["a", "c"]))).unwrap_err();
        assert!(renamed.contains("(removed b; added c)"), "{renamed}");
        assert!(renamed.contains("Commit a new group"), "{renamed}");
        let sized = error(Allocation::Size(2)).unwrap_err();
        assert!(
            sized.contains("has a list of member keys and cannot change to a size"),
            "{sized}"
        );
        assert_eq!(
            Allocation::Size(2).check_change(&Allocation::Size(9)),
            Ok(())
        );
    }

    /// S3-12: the index of cattle grows; a gap is filled first.
    #[test]
    fn new_members_get_the_next_free_index() {
        let indexes = |found: &[u64]| {
            found
                .iter()
                .copied()
                .map(MemberKey::Index)
                .collect::<Vec<_>>()
        };
        let cases: [(&str, u32, &[u64], &[u64]); 4] = [
            ("a new group", 3, &[], &[1, 2, 3]),
            ("growth", 4, &[1, 2], &[1, 2, 3, 4]),
            ("a gap", 3, &[1, 3], &[1, 2, 3]),
            ("a smaller size drops nobody", 1, &[1, 2], &[1, 2]),
        ];
        for (name, size, existing, expected) in cases {
            let found = Allocation::Size(size).desired_keys(&indexes(existing), 1);
            assert_eq!(found, indexes(expected), "{name}");
        }
        let pets = Allocation::Keys(names(&["m10", "m2"]));
        assert_eq!(
            pets.desired_keys(&[], 1),
            [MemberKey::name("m2"), MemberKey::name("m10")]
        );
    }
}
