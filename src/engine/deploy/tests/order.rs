//! Order of operations: dependencies first when objects are created or updated, dependents first
//! when they are destroyed.

use super::rules::{RULE, Rule, check};
use super::world::Effect::{Await, Refuse};

const CREATION: &[Rule] = &[
    Rule {
        rule: "a creation waits for its dependencies",
        after: "b, needs a; a; c, needs b",
        calls: "create a, create b, create c",
        ended: Some("a done, b done, c done"),
        state: Some("a1, b1, c1"),
        ..RULE
    },
    Rule {
        rule: "independent objects are created at the same time, up to the parallelism",
        after: "a; b",
        parallelism: 2,
        script: &[("create a", &[Await("create b")])],
        calls: "create a, create b",
        state: Some("a1, b1"),
        ..RULE
    },
    Rule {
        rule: "an update waits for the update of its dependency",
        before: "a, size 1; b, follows a",
        after: "a, size 2; b, follows a",
        calls: "update a, update b",
        records: Some("update a ok, update b ok"),
        state: Some("a1 size 2, b1"),
        ..RULE
    },
    Rule {
        rule: "an object without changes is not called",
        before: "a; b, needs a",
        after: "a; b, needs a, size 2",
        calls: "update b",
        state: Some("a1, b1 size 2"),
        ..RULE
    },
    Rule {
        rule: "a dependency that is not selected keeps its object",
        before: "a, size 1; b, needs a",
        after: "a, size 2; b, needs a, size 2",
        deselected: &["a"],
        calls: "update b",
        ended: Some("b done"),
        state: Some("a1 size 1, b1 size 2"),
        ..RULE
    },
    Rule {
        rule: "a data source is read after the object that it looks at",
        after: "a; d, looks at a",
        calls: "create a, look d",
        records: Some("create a ok, read data.d ok"),
        state: Some("d, a1"),
        ..RULE
    },
];

const DESTRUCTION: &[Rule] = &[
    Rule {
        rule: "dependents are destroyed before their dependencies",
        before: "a; b, needs a; c, needs b",
        after: "a; b, needs a; c, needs b",
        destroys: true,
        calls: "destroy c, destroy b, destroy a",
        ended: Some("a done, b done, c done"),
        state: Some(""),
        ..RULE
    },
    Rule {
        rule: "the order comes from the state if the configuration has neither object",
        before: "a; b, needs a; c",
        after: "c",
        calls: "destroy b, destroy a",
        state: Some("c1"),
        ..RULE
    },
    Rule {
        rule: "an object is destroyed before its former dependent is updated",
        before: "a; b, needs a, size 1",
        after: "b, size 2",
        calls: "destroy a, update b",
        state: Some("b1 size 2"),
        ..RULE
    },
    Rule {
        rule: "under create_before_destroy the former dependent is updated first",
        before: "a, create first; b, needs a, size 1",
        after: "b, size 2",
        calls: "update b, destroy a",
        state: Some("b1 size 2"),
        ..RULE
    },
    Rule {
        rule: "a failed destroy keeps the dependencies of its object",
        before: "a; b, needs a; c",
        after: "a; b, needs a; c",
        destroys: true,
        script: &[("destroy b", &[Refuse])],
        calls: "destroy b, destroy c",
        ended: Some("a not attempted, b failed (unexpected), c done"),
        state: Some("a1, b1"),
        ..RULE
    },
];

const REPLACEMENT: &[Rule] = &[
    Rule {
        rule: "a replacement destroys its object, then creates the new one",
        before: "a, kind x",
        after: "a, kind y",
        calls: "destroy a, create a",
        records: Some("destroy a ok, create a ok"),
        ended: Some("a done"),
        state: Some("a2"),
        ..RULE
    },
    Rule {
        rule: "create_before_destroy creates the new object first",
        before: "a, kind x, create first",
        after: "a, kind y, create first",
        calls: "create a, destroy a",
        records: Some("create a ok, destroy a (deposed) ok"),
        ended: Some("a done"),
        state: Some("a2"),
        ..RULE
    },
    Rule {
        rule: "dependents are updated after the replacement of their dependency",
        before: "a, kind x; b, needs a",
        after: "a, kind y; b, needs a",
        calls: "destroy a, create a, update b",
        state: Some("a2, b1"),
        ..RULE
    },
    Rule {
        rule: "under create_before_destroy dependents are updated before the old object goes",
        before: "a, kind x, create first; b, needs a",
        after: "a, kind y, create first; b, needs a",
        calls: "create a, update b, destroy a",
        state: Some("a2, b1"),
        ..RULE
    },
    Rule {
        rule: "replaced dependents are destroyed before their dependency",
        before: "a, kind x; b, needs a, kind x",
        after: "a, kind y; b, needs a, kind y",
        calls: "destroy b, destroy a, create a, create b",
        state: Some("a2, b2"),
        ..RULE
    },
    Rule {
        rule: "create_before_destroy of a dependent holds for its dependencies too",
        before: "a, kind x; b, needs a, kind x, create first",
        after: "a, kind y; b, needs a, kind y, create first",
        calls: "create a, create b, destroy b, destroy a",
        state: Some("a2, b2"),
        ..RULE
    },
    Rule {
        rule: "the second half of a replacement comes before operations that have not started",
        before: "a, kind x; b, kind x; c, size 1",
        after: "a, kind y; b, kind y; c, size 2",
        calls: "destroy a, create a, destroy b, create b, update c",
        ..RULE
    },
    Rule {
        rule: "a tainted object is replaced",
        before: "a",
        tainted: "a",
        after: "a",
        calls: "destroy a, create a",
        state: Some("a2"),
        ..RULE
    },
];

#[tokio::test]
async fn dependencies_are_created_and_updated_first() {
    check(CREATION).await;
}

#[tokio::test]
async fn dependents_are_destroyed_first() {
    check(DESTRUCTION).await;
}

#[tokio::test]
async fn replacements_keep_the_order_of_both_halves() {
    check(REPLACEMENT).await;
}
