//! Fate of declared files after a refresh: declarations whose instance vanished are dropped, new
//! ones are taken in, and interrupted creations are imported.

use std::collections::{BTreeMap, BTreeSet};

use crate::UnixMs;
use crate::scope::FileSet;

/// A declared file of a group's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Name of the file.
    pub file: String,
    /// Address of its instance, if it declares one.
    pub instance: Option<String>,
}

/// State around a refresh.
#[derive(Clone, Debug, Default)]
pub struct Refreshed {
    /// Addresses in the state before the refresh.
    pub before: BTreeSet<String>,
    /// Addresses in the state after it.
    pub after: BTreeSet<String>,
    /// Ids that a search by tags found for addresses; `None` for a search without a result.
    pub found: BTreeMap<String, Option<String>>,
}

/// Fate of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Stays.
    Keep,
    /// Loses its suffix `.new`, and replaces a file of the same name.
    TakeIn,
    /// Is replaced by the new file of the same name.
    Superseded,
    /// Is removed, because its instance was deleted outside of flightdeck.
    Deleted,
    /// Is removed, because its instance was never created.
    NeverCreated,
    /// Search by tags first: the creation of the instance may have been interrupted.
    Search {
        /// Address of the instance.
        address: String,
    },
    /// Import the instance of an interrupted creation; the file stays.
    Import {
        /// Address of the instance.
        address: String,
        /// Its id.
        id: String,
    },
}

/// Decides about all files. Only instances are dropped, because a group creates their successors;
/// dedicated and global sets hold data. Without a successful refresh, every file stays.
pub fn decide(declarations: &[Declaration], state: Option<&Refreshed>) -> Vec<(String, Fate)> {
    let new: BTreeSet<FileSet> = declarations
        .iter()
        .filter_map(|declaration| FileSet::from_file(&declaration.file))
        .filter_map(|(set, is_new)| is_new.then_some(set))
        .collect();
    let fate = |declaration: &Declaration| {
        let (Some(state), Some((set, is_new))) = (state, FileSet::from_file(&declaration.file))
        else {
            return Fate::Keep;
        };
        match (&set, &declaration.instance) {
            _ if is_new => Fate::TakeIn,
            _ if new.contains(&set) => Fate::Superseded,
            (FileSet::Instance(_), Some(address)) => instance_fate(address, state),
            _ => Fate::Keep,
        }
    };
    let all = declarations.iter();
    all.map(|declaration| (declaration.file.clone(), fate(declaration)))
        .collect()
}

fn instance_fate(address: &str, state: &Refreshed) -> Fate {
    if state.after.contains(address) {
        return Fate::Keep;
    }
    if state.before.contains(address) {
        return Fate::Deleted;
    }
    match state.found.get(address) {
        None => Fate::Search {
            address: address.to_owned(),
        },
        Some(None) => Fate::NeverCreated,
        Some(Some(id)) => Fate::Import {
            address: address.to_owned(),
            id: id.clone(),
        },
    }
}

/// Tolerance for times of files in the future. Later ones come from a wrong clock and are ignored,
/// because a group would wait for that time.
const FUTURE: UnixMs = 30_000;
/// First wait after a new declaration, so that others can join it.
const FIRST_WAIT: UnixMs = 5_000;
/// Time without a changed file.
const QUIET: UnixMs = 3_000;
/// Longest wait for this quiet time.
const LONGEST_WAIT: UnixMs = 30_000;

/// Returns true if a file changed less than `window` ago.
pub fn changed_recently(changes: &[UnixMs], window: UnixMs, now: UnixMs) -> bool {
    let credible = changes.iter().filter(|at| **at <= now + FUTURE);
    credible.max().is_some_and(|last| *last > now - window)
}

/// Returns true if new declarations since `since` can be applied together.
pub fn is_settled(changes: &[UnixMs], since: UnixMs, now: UnixMs) -> bool {
    let waited = now - since;
    let quiet = || waited >= FIRST_WAIT && !changed_recently(changes, QUIET, now);
    waited >= FIRST_WAIT + LONGEST_WAIT || quiet()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Declarations of files; an instance has the address `vm.NAME`.
    fn files(names: &str) -> Vec<Declaration> {
        let one = |file: &str| Declaration {
            file: file.to_owned(),
            instance: file
                .starts_with("instance-")
                .then(|| format!("vm.{}", file.split('.').next().unwrap())),
        };
        names.split_whitespace().map(one).collect()
    }

    fn addresses(numbers: &str) -> BTreeSet<String> {
        numbers
            .split_whitespace()
            .map(|n| format!("vm.instance-{n}"))
            .collect()
    }

    fn fates(names: &str, before: &str, after: &str, found: &[(&str, Option<&str>)]) -> String {
        let found = found.iter();
        let state = Refreshed {
            before: addresses(before),
            after: addresses(after),
            found: found
                .map(|(n, id)| (format!("vm.instance-{n}"), id.map(str::to_owned)))
                .collect(),
        };
        let one = |fate: Fate| match fate {
            Fate::Search { .. } => "search".to_owned(),
            Fate::Import { id, .. } => format!("import {id}"),
            other => format!("{other:?}").to_lowercase(),
        };
        let decided = decide(&files(names), Some(&state));
        decided
            .into_iter()
            .map(|(_, fate)| one(fate))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// S3-14, S3-15. Rows named HandleFiles* are InfraKit's.
    #[test]
    #[rustfmt::skip]
    fn s3_15_declarations_of_vanished_instances_are_dropped_and_new_ones_taken_in() {
        let (one, two) = ("instance-1.tf.json", "instance-1.tf.json instance-2.tf.json");
        type Found<'a> = &'a [(&'a str, Option<&'a str>)];
        let cases: Vec<(&str, &str, (&str, &str), Found<'_>, &str)> = vec![
            ("NoFiles", "", ("", ""), &[], ""),
            ("NoPruneNoNewFiles", two, ("1 2", "1 2"), &[], "keep, keep"),
            (
                "NoPruneWithNewFiles",
                "instance-1.tf.json instance-2.tf.json.new",
                ("1", "1"),
                &[],
                "keep, takein",
            ),
            ("Prune: OutOfBand", two, ("1 2", "1"), &[], "keep, deleted"),
            ("not yet searched", two, ("1", "1"), &[], "keep, search"),
            ("Prune: ExistsInBackend", two, ("1", "1"), &[("2", Some("i-2"))], "keep, import i-2"),
            ("Prune: NoExistsInBackend", two, ("1", "1"), &[("2", None)], "keep, nevercreated"),
            ("no instance is left in the state", one, ("1", ""), &[], "deleted"),
            (
                "Duplicates: new overrides old",
                "instance-1.tf.json instance-1.tf.json.new",
                ("1", ""),
                &[],
                "superseded, takein",
            ),
            (
                "DedicatedGlobalPruneWithNewFiles",
                "instance-1.tf.json a_dedicated_1.tf.json a_global.tf.json b_global.tf.json.new",
                ("1", ""),
                &[],
                "deleted, keep, keep, takein",
            ),
            ("files of others stay", "main.tf.json notes.txt", ("", ""), &[], "keep, keep"),
        ];
        for (name, names, (before, after), found, expected) in cases {
            assert_eq!(fates(names, before, after, found), expected, "{name}");
        }
    }

    /// InfraKit: HandleFilesPruneWithNewFiles: of ten files two are lost, eight remain.
    #[test]
    fn two_of_ten_are_lost() {
        let old = (1..=6).map(|n| format!("instance-{n}.tf.json"));
        let new = (7..=10).map(|n| format!("instance-{n}.tf.json.new"));
        let names: Vec<String> = old.chain(new).collect();
        let all = fates(&names.join(" "), "1 2 3 4 5 6", "1 2 3 4", &[]);
        let count = |fate: &str| all.split(", ").filter(|found| *found == fate).count();
        assert_eq!(
            [count("keep"), count("takein"), count("deleted")],
            [4, 4, 2]
        );
    }

    /// InfraKit: HandleFilesRefreshFail, HandleFilesStateListBeforeFail.
    #[test]
    fn nothing_happens_without_a_refresh() {
        let declared = files("instance-1.tf.json instance-2.tf.json.new");
        assert!(
            decide(&declared, None)
                .iter()
                .all(|(_, fate)| *fate == Fate::Keep)
        );
    }

    /// InfraKit: HasRecentDelta, HasRecentDeltaInFuture.
    #[test]
    fn recent_changes_are_noticed_and_far_future_ones_ignored() {
        let now = 1_000_000;
        for (name, changes, expected) in [
            ("no files", vec![], false),
            ("two seconds ago", vec![now - 2_000, now - 90_000], true),
            ("ten seconds ago", vec![now - 10_000], false),
            ("ten seconds ahead", vec![now + 10_000], true),
            ("a minute ahead", vec![now + 60_000, now - 10_000], false),
        ] {
            assert_eq!(changed_recently(&changes, 3_000, now), expected, "{name}");
        }
    }

    #[test]
    fn declarations_are_applied_together_within_35_seconds() {
        for (since_start, last_change, settled) in [
            (4_000, 0, false),
            (5_000, 3_000, false),
            (6_000, 3_000, true),
            (34_000, 33_000, false),
            (35_000, 34_900, true),
        ] {
            assert_eq!(
                is_settled(&[last_change], 0, since_start),
                settled,
                "{since_start}"
            );
        }
    }
}
