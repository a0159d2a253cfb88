//! Attachment of dedicated and global sets to instances: re-use of orphaned sets, and reference
//! counts at the end of an instance.

use std::collections::{BTreeMap, BTreeSet};

use crate::allocation::free_indexes;
use crate::scope::FileSet;

/// Reason for the end of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// A successor takes over its sets.
    RollingUpdate,
    /// The member goes for good.
    Terminate,
}

/// Sets that exist, and those in use. Members that are provisioned together share one, so that each
/// gets sets of its own.
#[derive(Clone, Debug, Default)]
pub struct Attachments {
    existing: BTreeSet<FileSet>,
    attached: BTreeMap<u64, BTreeSet<FileSet>>,
    /// Sets given to instances that are not declared yet.
    reserved: BTreeSet<FileSet>,
}

impl Attachments {
    /// Collects the sets of a directory, and for each instance its attached ones.
    pub fn new(
        existing: impl IntoIterator<Item = FileSet>,
        instances: impl IntoIterator<Item = (u64, Vec<FileSet>)>,
    ) -> Attachments {
        let instances = instances.into_iter();
        Attachments {
            existing: existing.into_iter().collect(),
            attached: instances
                .map(|(number, sets)| (number, sets.into_iter().collect()))
                .collect(),
            reserved: BTreeSet::new(),
        }
    }

    /// Keys of all dedicated sets of a scope, and of those that no instance uses.
    pub fn keys(&self, scope: &str) -> (BTreeSet<String>, BTreeSet<String>) {
        let mut all = BTreeSet::new();
        let mut orphans = BTreeSet::new();
        for set in self.existing.union(&self.reserved) {
            let FileSet::Dedicated { scope: of, key } = set else {
                continue;
            };
            if of == scope {
                all.insert(key.clone());
                if !self.in_use(set) {
                    orphans.insert(key.clone());
                }
            }
        }
        (all, orphans)
    }

    fn in_use(&self, set: &FileSet) -> bool {
        self.reserved.contains(set) || self.attached.values().any(|sets| sets.contains(set))
    }

    /// Dedicated sets that no instance uses.
    pub fn orphans(&self) -> Vec<FileSet> {
        let dedicated = |set: &&FileSet| matches!(set, FileSet::Dedicated { .. });
        let unused = self
            .existing
            .iter()
            .filter(dedicated)
            .filter(|set| !self.in_use(set));
        unused.cloned().collect()
    }

    /// Chooses a key for each dedicated scope of a new member, and reserves it. A member with a
    /// name uses its name; another one takes the lowest orphan, or else the lowest free index.
    ///
    /// Each scope has a key of its own, because the sets of two scopes may differ in number.
    pub fn attach<'s>(
        &mut self,
        scopes: impl IntoIterator<Item = &'s str>,
        name: Option<&str>,
    ) -> BTreeMap<String, String> {
        let mut chosen = BTreeMap::new();
        for scope in scopes {
            let key = match name {
                Some(name) => name.to_owned(),
                None => {
                    let (all, orphans) = self.keys(scope);
                    lowest(&orphans).unwrap_or_else(|| lowest_free(&all))
                }
            };
            self.reserved.insert(FileSet::Dedicated {
                scope: scope.to_owned(),
                key: key.clone(),
            });
            chosen.insert(scope.to_owned(), key);
        }
        chosen
    }

    /// Reserves the sets that a member keeps: the key of each dedicated scope.
    pub fn keep(&mut self, attached: &BTreeMap<String, String>) {
        let sets = attached.iter().map(|(scope, key)| FileSet::Dedicated {
            scope: scope.clone(),
            key: key.clone(),
        });
        self.reserved.extend(sets);
    }

    /// Passes the sets of an instance to another one that takes its place.
    pub fn pass_on(&mut self, from: u64, to: u64) {
        let sets = self.attached.remove(&from);
        self.attached.extend(sets.map(|sets| (to, sets)));
    }

    /// Ends an instance, and returns the sets that end with it: at a termination those that no
    /// other instance uses, at a rolling update none.
    pub fn end(&mut self, instance: u64, reason: EndReason) -> Vec<FileSet> {
        let sets = self.attached.remove(&instance).unwrap_or_default();
        if reason == EndReason::RollingUpdate {
            return Vec::new();
        }
        let ends: Vec<FileSet> = sets.into_iter().filter(|set| !self.in_use(set)).collect();
        for set in &ends {
            self.existing.remove(set);
        }
        ends
    }
}

/// Lowest of the keys that are numbers, or else the first key.
fn lowest(keys: &BTreeSet<String>) -> Option<String> {
    let numbers = keys
        .iter()
        .filter_map(|key| Some((key.parse::<u64>().ok()?, key)));
    numbers
        .min()
        .map(|(_, key)| key)
        .or_else(|| keys.first())
        .cloned()
}

fn lowest_free(keys: &BTreeSet<String>) -> String {
    let taken: BTreeSet<u64> = keys.iter().filter_map(|key| key.parse().ok()).collect();
    // The iterator has no end.
    free_indexes(&taken, 1).next().unwrap_or(1).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(text: &str) -> Vec<FileSet> {
        text.split_whitespace()
            .map(|name| FileSet::parse(name).unwrap())
            .collect()
    }

    fn attachments(existing: &str, instances: &[(u64, &str)]) -> Attachments {
        let instances = instances
            .iter()
            .map(|(number, attached)| (*number, sets(attached)));
        Attachments::new(sets(existing), instances)
    }

    fn text(sets: &[FileSet]) -> String {
        sets.iter()
            .map(FileSet::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// S3-13. Rows named after InfraKit's FindOrphanedDedicatedAttachmentKeys and
    /// GetLowestDedicatedOrphanIndex.
    #[test]
    fn new_member_gets_the_lowest_orphan_or_the_lowest_free_index() {
        let cases: Vec<(&str, &str, &[(u64, &str)], &str)> = vec![
            ("NoFiles", "", &[], "1"),
            ("NoScopeIDMatch", "other_dedicated_1", &[], "1"),
            (
                "no orphan",
                "s_dedicated_1 s_dedicated_3",
                &[(1, "s_dedicated_1 s_dedicated_3")],
                "2",
            ),
            (
                "FindOrphaned",
                "s_dedicated_1 s_dedicated_2",
                &[(1, "s_dedicated_1")],
                "2",
            ),
            (
                "LowestWithInts",
                "s_dedicated_8 s_dedicated_9 s_dedicated_10 s_dedicated_a",
                &[],
                "8",
            ),
            ("LowestNoInts", "s_dedicated_b s_dedicated_a", &[], "a"),
            ("Single", "s_dedicated_2", &[], "2"),
        ];
        for (name, existing, instances, expected) in cases {
            let keys = attachments(existing, instances).attach(["s"], None);
            assert_eq!(keys["s"], expected, "{name}");
        }
    }

    /// S3-13. InfraKit: DestroyRollingUpdate. The sets survive, and the successors get them back.
    #[test]
    fn rolling_update_keeps_the_dedicated_sets_of_a_group() {
        let existing = "w_dedicated_1 w_dedicated_2 w_dedicated_3 w_global";
        let mut state = attachments(
            existing,
            &[
                (11, "w_dedicated_1 w_global"),
                (12, "w_dedicated_2 w_global"),
                (13, "w_dedicated_3 w_global"),
            ],
        );
        for (instance, key) in [(12, "2"), (11, "1"), (13, "3")] {
            assert_eq!(state.end(instance, EndReason::RollingUpdate), []);
            assert_eq!(state.attach(["w"], None)["w"], key);
        }
        // With a name, the key is the name.
        assert_eq!(state.attach(["w"], Some("mgr1"))["w"], "mgr1");
    }

    /// InfraKit: DestroyScaleDown, ProvisionDescribeDestroyScope.
    #[test]
    fn termination_ends_sets_that_no_other_instance_uses() {
        let mut state = attachments(
            "w_dedicated_1 w_dedicated_2 w_global",
            &[
                (11, "w_dedicated_1 w_global"),
                (12, "w_dedicated_2 w_global"),
            ],
        );
        assert_eq!(text(&state.end(11, EndReason::Terminate)), "w_dedicated_1");
        // The last member ends the global set as well.
        assert_eq!(
            text(&state.end(12, EndReason::Terminate)),
            "w_dedicated_2 w_global"
        );
        assert_eq!(state.end(12, EndReason::Terminate), []);
    }

    /// InfraKit keeps the key of one scope for all.
    #[test]
    fn each_scope_has_a_key_of_its_own() {
        let mut state = attachments("a_dedicated_1 b_dedicated_1", &[(1, "a_dedicated_1")]);
        let keys = state.attach(["a", "b"], None);
        assert_eq!((keys["a"].as_str(), keys["b"].as_str()), ("2", "1"));
        let keys = state.attach(["a", "b"], None);
        assert_eq!(
            (keys["a"].as_str(), keys["b"].as_str()),
            ("3", "2"),
            "reserved keys are taken"
        );
    }

    #[test]
    fn orphans_are_dedicated_sets_without_an_instance() {
        let state = attachments(
            "w_dedicated_1 w_dedicated_2 w_global",
            &[(1, "w_dedicated_2")],
        );
        assert_eq!(text(&state.orphans()), "w_dedicated_1");
    }
}
