//! Reasons and needs of changes.

use super::*;
use crate::stage::change::{Act, Configured};

#[test]
fn change_reasons_are_described() {
    let object = |n: i64| Value::object([("a", Value::int(n)), ("b", Value::int(n))]);
    let null = Value::null(object(1).ty().clone());
    let with = |edit: fn(&mut Change), action: Action, before: &Value, after: &Value| {
        let mut change = change("thing_x.a", action, before.clone(), after.clone());
        edit(&mut change);
        summary(&stage(vec![change])).changes.remove(0).why
    };
    assert_eq!(
        with(|_| {}, Action::NoOp, &object(1), &object(1)),
        "as configured"
    );
    assert_eq!(with(|_| {}, Action::Create, &null, &object(1)), "new");
    assert_eq!(
        with(|_| {}, Action::Update, &object(1), &object(2)),
        "a, b change"
    );
    let forced = with(
        |c| {
            c.reason = Some(Reason::ReplaceBecauseCannotUpdate);
            c.act = replacing(vec![Path::root().attr("a")]);
        },
        Action::Replace,
        &object(1),
        &object(2),
    );
    assert_eq!(forced, "a cannot be changed in place");
    let tainted = with(
        |c| c.reason = Some(Reason::ReplaceBecauseTainted),
        Action::Replace,
        &object(1),
        &object(2),
    );
    assert_eq!(tainted, Reason::ReplaceBecauseTainted.text());
    let gone = with(
        |c| c.reason = Some(Reason::DeleteBecauseNoResourceConfig),
        Action::Destroy,
        &object(1),
        &null,
    );
    assert_eq!(gone, "no longer in the configuration");
    let moved = with(
        |c| c.previous = "thing_x.old".parse().ok(),
        Action::NoOp,
        &object(1),
        &object(1),
    );
    assert_eq!(moved, "moved from thing_x.old");
    let drifted = with(|c| c.drifted = true, Action::Update, &object(1), &object(2));
    assert_eq!(drifted, "changed outside of deploys; a, b change");
    let deposed = with(
        |c| c.deposed = Some("0badcafe".into()),
        Action::Destroy,
        &object(1),
        &null,
    );
    assert_eq!(deposed, "left over from a replacement");
}

#[test]
fn imports_are_counted_in_addition_to_updates() {
    let mut imported = bare("thing_x.a", Action::Update, &[], &[]);
    imported.act = Act::Update {
        by: Configured::default(),
        importing: Some("id".into()),
    };
    let counts = summary(&stage(vec![
        imported,
        bare("thing_x.b", Action::NoOp, &[], &[]),
    ]))
    .counts;
    assert_eq!((counts.update, counts.import, counts.no_op), (1, 1, 1));
}

#[test]
fn needs_list_only_changes_of_this_stage() {
    let all = summary(&stage(vec![
        bare("thing_x.net", Action::Update, &[], &[]),
        bare("thing_x.same", Action::NoOp, &[], &[]),
        bare(
            "module.m[0].thing_x.web[0]",
            Action::Create,
            &["thing_x.net", "thing_x.same", "module.m.thing_x.web"],
            &[],
        ),
        bare("thing_x.low", Action::Destroy, &[], &[]),
        bare(
            "thing_x.high",
            Action::Destroy,
            &["thing_x.low"],
            &["thing_x.low"],
        ),
    ]));
    let needs: Vec<&[String]> = all.changes.iter().map(|c| c.needs.as_slice()).collect();
    assert_eq!(needs[2], ["thing_x.net"]);
    assert_eq!(needs[3], ["thing_x.high"]);
    assert!(needs[4].is_empty());
}

/// Needs are by instance if possible; an unchanged output stays the same in any case.
#[test]
fn output_is_unchanged_when_it_depends_on_a_deselected_change() {
    let needs = |all: &[&str]| all.iter().map(|s| (*s).to_owned()).collect();
    let output = |name: &str, all| OutputChange {
        name: name.into(),
        action: Action::Create,
        before: None,
        after: None,
        null: false,
        sensitive: false,
        needs: needs(all),
    };
    let mut staged = stage(vec![
        bare("x.a[0]", Action::Create, &[], &[]),
        bare("x.a[1]", Action::Create, &[], &[]),
        bare("x.ab", Action::Create, &[], &[]),
    ]);
    staged.outputs = vec![
        output("first", &["x.a[0]"]),
        output("second", &["x.a[1]"]),
        output("all", &["x.a"]),
        output("other", &["x.ab"]),
    ];
    let left = ["x.a[1]".to_owned()];
    let stays: Vec<String> = summary(&staged)
        .outputs
        .into_iter()
        .filter(|o| o.is_unchanged_without(&left))
        .map(|o| o.name)
        .collect();
    assert_eq!(stays, ["all", "second"]);
}
