//! Drift of the members of a group, and the changes that repair it.

use crate::stage::drift::group_drift;
use crate::stage::show;
use crate::stage::testing::plan;
use group::MemberKey;
use group::declared::{DeclaredGroup, ReconcilePolicy};
use group::drift::Drift;
use group::policy::UpdatePolicy;
use group::scope::FileSet;
use std::collections::BTreeMap;

struct Row {
    rule: &'static str,
    config: &'static str,
    state: &'static [&'static str],
    /// Members of a committed group with their instances, `a=i1`, and with other resources of
    /// their files, `a+p1`. Empty for a group of the configuration, whose instance is `w`.
    members: &'static str,
    orphans: &'static [&'static str],
    expected: &'static [&'static str],
}

const ROW: Row = Row {
    rule: "",
    config: "",
    state: &[],
    members: "",
    orphans: &[],
    expected: &[],
};

const NATIVE: &[Row] = &[
    Row {
        rule: "members as the configuration says have no drift",
        config: "resource lab_thing w { count = 2 }",
        state: &["lab_thing.w[0]", "lab_thing.w[1]"],
        ..ROW
    },
    Row {
        rule: "each kind is found",
        config: "resource lab_thing w { count = 3; size = 2; zone = \"a\" }",
        state: &[
            "lab_thing.w[1] size=2 zone=b",
            "lab_thing.w[2] size=2 zone=a ~size=7",
            "lab_thing.w[3] size=2 zone=a",
        ],
        expected: &[
            "missing 0: w[0]",
            "outdated 1: w[1] (replaces)",
            "changed outside 2: w[2]",
            "unknown 3: w[3]",
        ],
        ..ROW
    },
];

const COMMITTED: &[Row] = &[
    Row {
        rule: "members as the specification says have no drift",
        config: "resource lab_thing i1 {}; resource lab_thing i2 {}; resource lab_thing other {}",
        state: &["lab_thing.i1", "lab_thing.i2"],
        members: "a=i1 b=i2",
        ..ROW
    },
    Row {
        rule: "a deleted instance is created again",
        config: "resource lab_thing i1 {}; resource lab_thing i2 {}",
        state: &["lab_thing.i1 !gone", "lab_thing.i2"],
        members: "a=i1 b=i2",
        expected: &["missing a: i1"],
        ..ROW
    },
    Row {
        rule: "resources in the file of an instance are created with it",
        config: "resource lab_thing i1 {}; resource lab_thing p1 { name = lab_thing.i1.id }; resource lab_thing q { name = lab_thing.i1.id }",
        state: &[],
        members: "a=i1 a+p1",
        expected: &["missing a: i1 p1"],
        ..ROW
    },
    Row {
        rule: "an instance that a commit replaces is outdated",
        config: "resource lab_thing i3 {}; resource lab_thing i2 {}",
        state: &["lab_thing.i1", "lab_thing.i2"],
        members: "a=i1 a=i3 b=i2",
        expected: &["outdated a: i3 i1 (replaces)"],
        ..ROW
    },
    Row {
        rule: "a predecessor that is left is outdated too",
        config: "resource lab_thing i3 {}",
        state: &["lab_thing.i1", "lab_thing.i3"],
        members: "a=i1 a=i3",
        expected: &["outdated a: i1 (replaces)"],
        ..ROW
    },
    Row {
        rule: "a changed declaration and a changed object are told apart",
        config: "resource lab_thing i1 { size = 2 }; resource lab_thing i2 { size = 2 }",
        state: &["lab_thing.i1 size=1", "lab_thing.i2 size=2 ~size=3"],
        members: "a=i1 b=i2",
        expected: &["outdated a: i1", "changed outside b: i2"],
        ..ROW
    },
    Row {
        rule: "a member that a smaller size removed is unknown",
        config: "resource lab_thing i2 {}",
        state: &["lab_thing.i1", "lab_thing.i2"],
        members: "a=i1 b=i2",
        expected: &["unknown a: i1"],
        ..ROW
    },
    Row {
        rule: "dedicated sets without a member are orphaned",
        config: "resource lab_thing i1 {}",
        state: &["lab_thing.i1"],
        members: "a=i1",
        orphans: &["app_dedicated_2"],
        expected: &["orphaned app_dedicated_2:"],
    },
];

fn group(members: &str) -> DeclaredGroup {
    let (mut committed, mut parts) = (BTreeMap::new(), BTreeMap::new());
    for word in members.split_whitespace() {
        let (map, (key, name)) = match word.split_once('+') {
            Some(pair) => (&mut parts, pair),
            None => (&mut committed, word.split_once('=').expect("KEY=NAME")),
        };
        map.insert(format!("lab_thing.{name}"), MemberKey::name(key));
    }
    DeclaredGroup {
        name: "g".into(),
        instance: "lab_thing.w"
            .parse::<lang::addr::AbsInstance>()
            .expect("an address")
            .config(),
        dedicated: Vec::new(),
        global: Vec::new(),
        policy: UpdatePolicy::default(),
        drain: None,
        health: None,
        reconcile: ReconcilePolicy::default(),
        committed: (!members.is_empty()).then_some(committed),
        parts,
        hashes: BTreeMap::new(),
    }
}

async fn found(row: &Row) -> Vec<String> {
    let planned = plan(row.config, row.state, &[]).await;
    let stage = planned.stage.as_ref();
    let stage = stage.unwrap_or_else(|| panic!("{}: {:?}", row.rule, planned.diagnostics()));
    let orphans = row.orphans.iter().filter_map(|name| FileSet::parse(name));
    let orphans: Vec<FileSet> = orphans.collect();
    let drift = group_drift(&group(row.members), stage, &show::summary(stage), &orphans);
    let text = |found: crate::stage::drift::DriftedMember| {
        let drift = match &found.drift {
            Drift::Missing { member } => format!("missing {member}"),
            Drift::OutdatedHash { member } => format!("outdated {member}"),
            Drift::UnknownMember { member } => format!("unknown {member}"),
            Drift::AttributeDrift { member, .. } => format!("changed outside {member}"),
            Drift::OrphanedAttachment { set } => format!("orphaned {set}"),
        };
        let ids = found.changes.iter().map(|index| stage.changes[*index].id());
        let ids: Vec<String> = ids.map(|id| id.replace("lab_thing.", "")).collect();
        let replaces = if found.replaces { " (replaces)" } else { "" };
        let text = format!("{drift}: {}{replaces}", ids.join(" "));
        text.trim_end().to_owned()
    };
    drift.into_iter().map(text).collect()
}

#[tokio::test]
async fn drift_of_a_group_of_the_configuration() {
    for row in NATIVE {
        assert_eq!(found(row).await, row.expected, "{}", row.rule);
    }
}

#[tokio::test]
async fn drift_of_a_committed_group() {
    for row in COMMITTED {
        assert_eq!(found(row).await, row.expected, "{}", row.rule);
    }
}
