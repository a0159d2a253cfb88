use super::super::test_stages::{bare, stage};
use super::*;
use Action::{Create, Destroy, Forget, NoOp, Replace, ReplaceCreateFirst, Update};

type Row<'a> = (&'a str, Action, &'a [&'a str], &'a [&'a str]);

fn refs(rows: &[Row<'_>]) -> Vec<ChangeRef> {
    references(&stage(
        rows.iter()
            .map(|(a, action, needs, before)| bare(a, *action, needs, before))
            .collect(),
    ))
}

fn left(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|s| (*s).to_owned()).collect()
}

/// Returns the deselected changes, and those changed along with their cause.
fn run(
    changes: &[ChangeRef],
    before: &[&str],
    how: Select,
) -> (Vec<String>, Vec<(String, String)>) {
    let out = select(changes, &left(before), &how).unwrap();
    (out.left, out.along)
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect()
}

const CHAIN: &[Row<'static>] = &[
    ("x.net", Create, &[], &[]),
    ("x.sub", Create, &["x.net"], &[]),
    ("x.web", Create, &["x.sub"], &[]),
    ("x.apart", Create, &[], &[]),
    ("x.same", NoOp, &["x.net"], &[]),
];

#[test]
fn deselecting_a_change_deselects_its_dependents() {
    let changes = refs(CHAIN);
    let (left, along) = run(&changes, &[], Select::Leave("x.net".into()));
    assert_eq!(left, ["x.net", "x.sub", "x.web"]);
    assert_eq!(along, pairs(&[("x.sub", "x.net"), ("x.web", "x.sub")]));
    let (left, along) = run(&changes, &[], Select::Leave("x.web".into()));
    assert_eq!(
        (left.as_slice(), along.len()),
        (["x.web".to_owned()].as_slice(), 0)
    );
}

#[test]
fn selecting_a_change_selects_its_dependencies() {
    let changes = refs(CHAIN);
    let (left, along) = run(
        &changes,
        &["x.net", "x.sub", "x.web", "x.apart"],
        Select::Take("x.web".into()),
    );
    assert_eq!(left, ["x.apart"]);
    assert_eq!(along, pairs(&[("x.sub", "x.web"), ("x.net", "x.sub")]));
}

#[test]
fn select_all_none_and_invert_give_the_expected_selection() {
    let changes = refs(CHAIN);
    assert!(run(&changes, &["x.net"], Select::All).0.is_empty());
    assert_eq!(
        run(&changes, &[], Select::None).0,
        ["x.net", "x.sub", "x.web", "x.apart"]
    );
    // The inverse of all but web is web alone, with the needs of web.
    let (left, along) = run(&changes, &["x.web"], Select::Invert);
    assert_eq!(left, ["x.apart"]);
    assert_eq!(along, pairs(&[("x.sub", "x.web"), ("x.net", "x.sub")]));
    let out = select(&changes, &BTreeSet::new(), &Select::None).unwrap();
    assert!(
        out.taken.is_empty(),
        "a change that does nothing is on neither side"
    );
}

#[test]
fn several_changes_are_selected_and_deselected_with_their_closure() {
    let changes = refs(CHAIN);
    let many = |take, addresses: &[&str]| Select::Many {
        take,
        addresses: addresses.iter().map(|a| (*a).to_owned()).collect(),
    };
    let (left, along) = run(&changes, &[], many(false, &["x.sub", "x.apart", "x.sub"]));
    assert_eq!(left, ["x.sub", "x.web", "x.apart"]);
    assert_eq!(along, pairs(&[("x.web", "x.sub")]));
    let all = ["x.net", "x.sub", "x.web", "x.apart"];
    let (left, along) = run(&changes, &all, many(true, &["x.sub", "x.apart"]));
    assert_eq!(left, ["x.web"]);
    assert_eq!(along, pairs(&[("x.net", "x.sub")]));
    let unknown = select(&changes, &BTreeSet::new(), &many(true, &["x.net", "x.no"]));
    assert!(matches!(unknown, Err(SelectError::NoChange { .. })));
}

#[test]
fn only_and_except_replace_the_selection() {
    let changes = refs(CHAIN);
    let owned = |all: &[&str]| all.iter().map(|a| (*a).to_owned()).collect();
    // Unknown and unchanged addresses of an earlier stage are ignored.
    let only = Select::Only(owned(&["x.sub", "x.gone", "x.same"]));
    let (left, along) = run(&changes, &["x.net"], only);
    assert_eq!(left, ["x.web", "x.apart"]);
    assert_eq!(along, pairs(&[("x.net", "x.sub")]));
    let except = |left: &[&str]| Select::Except(owned(left));
    let (left, along) = run(&changes, &["x.apart"], except(&["x.sub", "x.web"]));
    assert_eq!((left, along), (owned(&["x.sub", "x.web"]), pairs(&[])));
    assert!(run(&changes, &["x.net"], except(&[])).0.is_empty());
}

#[test]
fn destroys_are_selected_in_reverse_dependency_order() {
    let changes = refs(&[
        ("x.low", Destroy, &[], &[]),
        ("x.high", Destroy, &["x.low"], &["x.low"]),
    ]);
    let (left, along) = run(&changes, &["x.low", "x.high"], Select::Take("x.low".into()));
    assert!(left.is_empty());
    assert_eq!(along, pairs(&[("x.high", "x.low")]));
    assert_eq!(
        run(
            &changes,
            &["x.low", "x.high"],
            Select::Take("x.high".into())
        )
        .0,
        ["x.low"]
    );
    assert_eq!(
        run(&changes, &[], Select::Leave("x.high".into())).0,
        ["x.low", "x.high"]
    );
    assert_eq!(
        run(&changes, &[], Select::Leave("x.low".into())).0,
        ["x.low"]
    );
}

/// Selects the change of `x.low` with this action: is the change of its dependent selected along?
#[test]
fn selecting_a_destroy_or_replacement_selects_affected_dependents() {
    for (low, high, pulled) in [
        (Destroy, Update, true),
        (Destroy, Replace, true),
        (Destroy, Forget, false),
        (Replace, Replace, true),
        (Replace, Destroy, true),
        // The dependent is updated when the new object exists.
        (Replace, Update, false),
        // The old object is destroyed last, after its dependents have been updated.
        (ReplaceCreateFirst, Update, true),
        (Update, Destroy, false),
        (Update, Update, false),
        (Forget, Destroy, false),
    ] {
        let changes = refs(&[("x.low", low, &[], &[]), ("x.high", high, &[], &["x.low"])]);
        let (left, _) = run(&changes, &["x.low", "x.high"], Select::Take("x.low".into()));
        assert_eq!(left.is_empty(), pulled, "{low:?} with {high:?}");
    }
}

#[test]
fn resource_reference_depends_on_each_changed_instance() {
    let changes = refs(&[
        ("x.a[0]", Create, &[], &[]),
        ("x.a[1]", Create, &["x.a"], &[]),
        ("module.m[\"k\"].x.b[0]", Create, &["x.a"], &[]),
        ("x.a[2]", Destroy, &[], &[]),
    ]);
    let (left, _) = run(&changes, &[], Select::Leave("x.a[0]".into()));
    assert_eq!(left, ["x.a[0]", "module.m[\"k\"].x.b[0]"]);
}

#[test]
fn instance_reference_depends_only_on_the_named_instance() {
    let changes = refs(&[
        ("x.a[\"x\"]", Create, &[], &[]),
        ("x.a[\"z\"]", Create, &[], &[]),
        ("x.b[\"x\"]", Create, &["x.a[\"x\"]"], &[]),
        ("x.b[\"z\"]", Create, &["x.a[\"z\"]"], &[]),
        ("module.app[\"billing\"].x.in", Create, &["x.a[\"x\"]"], &[]),
        ("module.app[\"shop\"].x.in", Create, &["x.a[\"x\"]"], &[]),
        (
            "module.app[\"billing\"].x.out",
            Create,
            &["module.app[\"billing\"].x.in"],
            &[],
        ),
        (
            "module.app[\"shop\"].x.out",
            Create,
            &["module.app[\"shop\"].x.in"],
            &[],
        ),
        ("x.all", Create, &["x.b"], &[]),
    ]);
    assert_eq!(
        run(&changes, &[], Select::Leave("x.a[\"z\"]".into())).0,
        ["x.a[\"z\"]", "x.b[\"z\"]", "x.all"]
    );
    let left = run(
        &changes,
        &[],
        Select::Leave("module.app[\"billing\"].x.in".into()),
    )
    .0;
    assert_eq!(
        left,
        [
            "module.app[\"billing\"].x.in",
            "module.app[\"billing\"].x.out"
        ]
    );
    let taken = select(
        &changes,
        &changes.iter().map(|c| c.id.clone()).collect(),
        &Select::Take("x.b[\"x\"]".into()),
    )
    .unwrap()
    .taken;
    assert_eq!(taken, ["x.a[\"x\"]", "x.b[\"x\"]"]);
}

/// A recorded need of one instance concerns only that instance; a need of the resource concerns all
/// of them.
#[test]
fn replacing_an_instance_selects_dependents_that_may_have_used_it() {
    let all: Vec<Change> = [
        ("x", Some("x.a[\"x\"]")),
        ("y", Some("x.a[\"y\"]")),
        ("old", None),
    ]
    .into_iter()
    .map(|(key, needed)| {
        let mut one = bare(&format!("x.b[\"{key}\"]"), Replace, &[], &["x.a"]);
        one.recorded.needs = needed.map(|n| [n.to_owned()].into());
        one
    })
    .chain(["x", "y"].map(|key| bare(&format!("x.a[\"{key}\"]"), Replace, &[], &[])))
    .collect();
    let changes = references(&stage(all));
    let nothing = changes.iter().map(|c| c.id.clone()).collect();
    let taken = select(&changes, &nothing, &Select::Take("x.a[\"x\"]".into()))
        .unwrap()
        .taken;
    assert_eq!(taken, ["x.b[\"x\"]", "x.b[\"old\"]", "x.a[\"x\"]"]);
    assert_eq!(
        run(&changes, &[], Select::Leave("x.b[\"y\"]".into())).0,
        ["x.b[\"y\"]", "x.a[\"y\"]"]
    );
}

/// Within a module, recorded dependencies concern only the own module instance.
#[test]
fn module_instances_are_independent_of_each_other() {
    let changes = refs(&[
        ("module.m[0].x.low", Destroy, &[], &[]),
        ("module.m[1].x.low", Destroy, &[], &[]),
        ("module.m[0].x.high", Destroy, &[], &["module.m.x.low"]),
        ("module.m[1].x.high", Destroy, &[], &["module.m.x.low"]),
        ("x.out", Destroy, &[], &["module.m.x.low"]),
    ]);
    let nothing: Vec<&str> = changes.iter().map(|c| c.id.as_str()).collect();
    let (left, _) = run(&changes, &nothing, Select::Take("module.m[0].x.low".into()));
    assert_eq!(left, ["module.m[1].x.low", "module.m[1].x.high"]);
}

/// A value of the module leads out of it and back into it, so its instances depend on each other.
#[test]
fn connected_module_instances_depend_on_each_other() {
    let all = [
        ("module.m[0].x.low", &[][..]),
        ("module.m[1].x.high", &["module.m.x.low"]),
    ];
    let all = all.map(|(address, before)| bare(address, Destroy, &[], before));
    let mut planned = stage(all.into());
    let nothing = ["module.m[0].x.low", "module.m[1].x.high"];
    let take = || Select::Take("module.m[0].x.low".into());
    let apart = run(&references(&planned), &nothing, take());
    assert_eq!(apart.0, ["module.m[1].x.high"]);
    planned.connected_modules = [ModulePath(vec!["m".into()])].into();
    assert_eq!(run(&references(&planned), &nothing, take()).0, [""; 0]);
}

/// An unchanged change passes on its needs.
#[test]
fn dependencies_pass_through_unchanged_resources() {
    let changes = refs(&[
        ("x.a", Update, &[], &[]),
        ("x.b", NoOp, &["x.a"], &[]),
        ("x.c", Update, &["x.b"], &[]),
    ]);
    assert_eq!(
        run(&changes, &[], Select::Leave("x.a".into())).0,
        ["x.a", "x.c"]
    );
}

#[test]
fn only_selects_the_change_with_its_dependencies() {
    let changes = refs(CHAIN);
    let out = select_only(&changes, &["x.sub".to_owned(), "x.sub".to_owned()]).unwrap();
    assert_eq!(out.taken, ["x.net", "x.sub"]);
    assert_eq!(out.left, ["x.web", "x.apart"]);
    assert!(select_only(&changes, &["x.sub".to_owned(), "x.no".to_owned()]).is_err());
}

#[test]
fn unknown_addresses_are_rejected_with_a_reason() {
    let changes = refs(&[("x.a[0]", Create, &[], &[]), ("x.same", NoOp, &[], &[])]);
    for (address, part) in [
        ("x.nope", "no change of x.nope"),
        ("x.a", "x.a[0]"),
        ("x.same", "does not change"),
    ] {
        for how in [
            Select::Take(address.to_owned()),
            Select::Leave(address.to_owned()),
        ] {
            let error = select(&changes, &BTreeSet::new(), &how)
                .unwrap_err()
                .to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}

/// For arbitrary graphs and steps: selected changes have all their needs, and a step has its
/// effect.
#[test]
fn selections_are_dependency_closures() {
    use proptest::prelude::*;
    let actions = [
        NoOp,
        Create,
        Update,
        Replace,
        ReplaceCreateFirst,
        Destroy,
        Forget,
    ];
    let change = (
        0..actions.len(),
        prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    );
    let steps = prop::collection::vec((0u8..5, any::<prop::sample::Index>()), 1..8);
    proptest!(|(all in prop::collection::vec(change, 1..24), steps in steps)| {
        let ids: Vec<String> = (0..all.len()).map(|i| format!("x.r{i}")).collect();
        let changes: Vec<ChangeRef> = all.iter().enumerate().map(|(i, (action, needs))| {
            // Only earlier ones are needed, so there are no cycles.
            let needs: BTreeSet<String> = needs.iter().filter(|_| i > 0).map(|n| ids[n.index(i)].clone()).collect();
            let prior_needs = needs.clone();
            ChangeRef { id: ids[i].clone(), address: ids[i].parse().unwrap(), action: actions[*action], imports: false, needs, prior_needs }
        }).collect();
        let mut left = BTreeSet::new();
        for (kind, at) in steps {
            let address = ids[at.index(ids.len())].clone();
            let how = match kind { 0 => Select::Take(address.clone()), 1 => Select::Leave(address.clone()), 2 => Select::All, 3 => Select::None, _ => Select::Invert };
            let Ok(out) = select(&changes, &left, &how) else { continue };
            let taken: BTreeSet<&str> = out.taken.iter().map(String::as_str).collect();
            prop_assert_eq!(out.taken.len() + out.left.len(), changes.iter().filter(|c| has_effect(c)).count());
            match how {
                Select::Take(_) => prop_assert!(taken.contains(address.as_str())),
                Select::Leave(_) => prop_assert!(!taken.contains(address.as_str())),
                _ => {}
            }
            for c in changes.iter().filter(|c| taken.contains(c.id.as_str()) && applies(c)) {
                for d in changes.iter().filter(|d| c.needs.contains(&d.id) && applies(d)) {
                    prop_assert!(taken.contains(d.id.as_str()), "{} needs {}", c.id, d.id);
                }
            }
            for c in changes.iter().filter(|c| taken.contains(c.id.as_str()) && c.action == Destroy) {
                for d in changes.iter().filter(|d| d.prior_needs.contains(&c.id) && d.action.destroys()) {
                    prop_assert!(taken.contains(d.id.as_str()), "destroying {} needs {}", c.id, d.id);
                }
            }
            for (what, _) in &out.along {
                let now = taken.contains(what.as_str());
                prop_assert_eq!(now, left.contains(what) || matches!(how, Select::Invert), "{} went along", what);
            }
            left = out.left.into_iter().collect();
        }
    });
}

/// Two resources with 5,000 instances each, which depend on each other as whole resources.
#[test]
fn deselecting_one_of_ten_thousand_changes_affects_only_its_dependents() {
    let mut rows = Vec::new();
    for i in 0..5_000 {
        rows.push(bare(&format!("x.a[{i}]"), Create, &[], &[]));
        rows.push(bare(&format!("x.b[{i}]"), Create, &["x.a"], &["x.a"]));
    }
    let changes = references(&stage(rows));
    let out = select(&changes, &BTreeSet::new(), &Select::Leave("x.a[77]".into())).unwrap();
    assert_eq!(out.left.len(), 5_001);
}
