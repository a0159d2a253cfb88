//! Replacements that end between their halves, and deposed objects.

use super::rules::{RULE, Rule, check};
use super::world::Effect::{Crash, Incomplete, Refuse};

const DESTROY_FIRST: &[Rule] = &[
    Rule {
        rule: "what a failed destroy skips stays skipped after the first half of another replacement",
        before: "a, kind x; b, follows a; c, count 2, kind x, follows b",
        after: "a, kind y; b, follows a; c, count 2, kind y, follows b",
        parallelism: 1,
        script: &[("destroy c[0]", &[Refuse])],
        calls: "destroy c[0], destroy c[1]",
        ended: Some(
            "a not attempted, b not attempted, c[0] failed (unexpected), c[1] half replaced",
        ),
        ..RULE
    },
    Rule {
        rule: "if the object cannot be destroyed, the new one is not created",
        before: "a, kind x",
        after: "a, kind y",
        script: &[("destroy a", &[Refuse])],
        calls: "destroy a",
        records: Some("destroy a failed"),
        ended: Some("a failed (unexpected)"),
        state: Some("a1"),
        ..RULE
    },
    Rule {
        rule: "if the new object cannot be created, the object is half replaced",
        before: "a, kind x; b, needs a",
        after: "a, kind y; b, needs a",
        script: &[("create a", &[Refuse])],
        calls: "destroy a, create a",
        records: Some("destroy a ok, create a failed"),
        ended: Some("a half replaced (unexpected), b not attempted"),
        state: Some("b1"),
        ..RULE
    },
    Rule {
        rule: "a new object that came with an error is tainted, and nothing is missing",
        before: "a, kind x",
        after: "a, kind y",
        script: &[("create a", &[Incomplete])],
        calls: "destroy a, create a",
        records: Some("destroy a ok, create a failed"),
        ended: Some("a failed (unexpected)"),
        state: Some("a2 tainted"),
        ..RULE
    },
    Rule {
        rule: "a second half that fails before its call is missing too",
        before: "a, kind x",
        after: "a, kind y",
        script: &[("plan a", &[Refuse])],
        calls: "destroy a",
        records: Some("destroy a ok"),
        ended: Some("a half replaced (unexpected)"),
        state: Some(""),
        ..RULE
    },
    Rule {
        rule: "an unknown outcome of the second half has to be settled first",
        before: "a, kind x",
        after: "a, kind y",
        script: &[("create a", &[Crash])],
        calls: "destroy a, create a",
        records: Some("destroy a ok, create a open"),
        ended: Some("a unknown outcome (plugin crashed)"),
        state: Some(""),
        ..RULE
    },
    Rule {
        rule: "the next deploy creates the missing object",
        before: "a, kind x",
        interrupted: Some(("a, kind y", &[("create a", &[Refuse])])),
        after: "a, kind y",
        calls: "create a",
        records: Some("create a ok"),
        ended: Some("a done"),
        state: Some("a2"),
        ..RULE
    },
];

const CREATE_FIRST: &[Rule] = &[
    Rule {
        rule: "if the new object cannot be created, the deposed one is current again",
        before: "a, kind x, create first",
        after: "a, kind y, create first",
        script: &[("create a", &[Refuse])],
        calls: "create a",
        records: Some("create a failed"),
        ended: Some("a failed (unexpected)"),
        state: Some("a1"),
        ..RULE
    },
    Rule {
        rule: "a new object that came with an error is tainted, and the old one stays deposed",
        before: "a, kind x, create first",
        after: "a, kind y, create first",
        script: &[("create a", &[Incomplete])],
        calls: "create a",
        records: Some("create a failed"),
        ended: Some("a failed (unexpected)"),
        state: Some("a2 tainted, a1 deposed"),
        ..RULE
    },
    Rule {
        rule: "under an unknown creation the old object stays deposed",
        before: "a, kind x, create first",
        after: "a, kind y, create first",
        script: &[("create a", &[Crash])],
        calls: "create a",
        records: Some("create a open"),
        ended: Some("a unknown outcome (plugin crashed)"),
        state: Some("a1 deposed"),
        ..RULE
    },
    Rule {
        rule: "if the old object cannot be destroyed, both objects are in the state",
        before: "a, kind x, create first",
        after: "a, kind y, create first",
        script: &[("destroy a", &[Refuse])],
        calls: "create a, destroy a",
        records: Some("create a ok, destroy a (deposed) failed"),
        ended: Some("a failed (unexpected)"),
        state: Some("a2, a1 deposed"),
        ..RULE
    },
    Rule {
        rule: "a new object with a failed postcondition keeps the old one",
        before: "a, kind x, create first",
        after: "a, kind y, create first, expect version other",
        calls: "create a",
        records: Some("create a ok"),
        ended: Some("a failed (bad input)"),
        state: Some("a2, a1 deposed"),
        ..RULE
    },
    Rule {
        rule: "under destroy = false the old object is forgotten after the new one exists",
        before: "a, kind x, create first, keep",
        after: "a, kind y, create first, keep",
        calls: "create a",
        records: Some("create a ok, forget a (deposed) ok"),
        ended: Some("a done"),
        state: Some("a2"),
        ..RULE
    },
    Rule {
        rule: "a failed dependent keeps the old object",
        before: "a, kind x, create first; b, needs a",
        after: "a, kind y, create first; b, needs a",
        script: &[("update b", &[Refuse])],
        calls: "create a, update b",
        ended: Some("a half replaced, b failed (unexpected)"),
        state: Some("a2, a1 deposed, b1"),
        ..RULE
    },
    Rule {
        rule: "the next deploy destroys the deposed object",
        before: "a, kind x, create first",
        interrupted: Some(("a, kind y, create first", &[("destroy a", &[Refuse])])),
        after: "a, kind y, create first",
        calls: "destroy a (deposed)",
        records: Some("destroy a (deposed) ok"),
        ended: Some("a (deposed) done"),
        state: Some("a2"),
        ..RULE
    },
    Rule {
        rule: "a deposed object and the current one are destroyed together",
        before: "a, kind x, create first",
        interrupted: Some(("a, kind y, create first", &[("destroy a", &[Refuse])])),
        after: "a, kind y, create first",
        destroys: true,
        calls: "destroy a, destroy a (deposed)",
        state: Some(""),
        ..RULE
    },
    Rule {
        rule: "a failed destroy of a deposed object keeps it deposed",
        before: "a, kind x, create first",
        interrupted: Some(("a, kind y, create first", &[("destroy a", &[Refuse])])),
        after: "a, kind y, create first",
        script: &[("destroy a (deposed)", &[Refuse])],
        calls: "destroy a (deposed)",
        records: Some("destroy a (deposed) failed"),
        state: Some("a2, a1 deposed"),
        ..RULE
    },
];

#[tokio::test]
async fn replacement_that_destroys_first_ends_in_one_of_these_states() {
    check(DESTROY_FIRST).await;
}

#[tokio::test]
async fn replacement_that_creates_first_ends_in_one_of_these_states() {
    check(CREATE_FIRST).await;
}
