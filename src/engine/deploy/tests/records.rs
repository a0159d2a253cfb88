//! Records of a deploy: an intent is on disk before its call, and an outcome before the next step.

use super::rules::{RULE, Rule, check};
use super::world::Effect::{Await, Crash, Keep, LoseStore, Refuse};

const INTENTS: &[Rule] = &[
    Rule {
        rule: "a creation has its intent on disk before its call, and its outcome after it",
        after: "a",
        calls: "create a",
        at: &[("create a", "create a open")],
        records: Some("create a ok"),
        ..RULE
    },
    Rule {
        rule: "an outcome is on disk before a dependent operation starts",
        after: "a; b, needs a",
        calls: "create a, create b",
        at: &[("create b", "create a ok, create b open")],
        records: Some("create a ok, create b ok"),
        ..RULE
    },
    Rule {
        rule: "concurrent operations have an intent each",
        after: "a; b",
        parallelism: 2,
        script: &[("create a", &[Await("create b")])],
        calls: "create a, create b",
        at: &[("create b", "create a open, create b open")],
        records: Some("create a ok, create b ok"),
        ..RULE
    },
    Rule {
        rule: "with a parallelism of 1 no intent is written ahead",
        after: "a; b; c; d",
        calls: "create a, create b, create c, create d",
        at: &[
            ("create b", "create a ok, create b open"),
            (
                "create d",
                "create a ok, create b ok, create c ok, create d open",
            ),
        ],
        ..RULE
    },
    Rule {
        rule: "an update and a destroy have intents too",
        before: "b; a, needs b, size 1",
        after: "a, size 2",
        calls: "destroy b, update a",
        at: &[
            ("destroy b", "destroy b open"),
            ("update a", "destroy b ok, update a open"),
        ],
        records: Some("destroy b ok, update a ok"),
        ..RULE
    },
    Rule {
        rule: "the outcome of a first half is on disk before the second half starts",
        before: "a, kind x",
        after: "a, kind y",
        calls: "destroy a, create a",
        at: &[("create a", "destroy a ok, create a open")],
        ..RULE
    },
    Rule {
        rule: "under create_before_destroy the destroy names the deposed object",
        before: "a, kind x, create first",
        after: "a, kind y, create first",
        calls: "create a, destroy a",
        at: &[("destroy a", "create a ok, destroy a (deposed) open")],
        ..RULE
    },
];

const WITHOUT_CALL: &[Rule] = &[
    Rule {
        rule: "an import is recorded without a call that changes something",
        after: "a, import x9",
        records: Some("import a ok"),
        ended: Some("a done"),
        state: Some("x9"),
        ..RULE
    },
    Rule {
        rule: "an object that is imported and updated is imported first",
        after: "a, import x9, size 2",
        calls: "update a",
        at: &[("update a", "import a ok, update a open")],
        records: Some("import a ok, update a ok"),
        state: Some("x9 size 2"),
        ..RULE
    },
    Rule {
        rule: "a forgotten object leaves the state without a call",
        before: "a; b",
        after: "a, removed; b",
        records: Some("forget a ok"),
        ended: Some("a done"),
        state: Some("b1"),
        ..RULE
    },
    Rule {
        rule: "a replacement under destroy = false forgets the old object",
        before: "a, kind x, keep",
        after: "a, kind y, keep",
        calls: "create a",
        records: Some("forget a ok, create a ok"),
        state: Some("a2"),
        ..RULE
    },
    Rule {
        rule: "an update whose new values equal the current ones is recorded as done",
        before: "a, size 1; b, follows a",
        after: "a, size 2; b, follows a",
        script: &[("update a", &[Keep])],
        calls: "update a",
        records: Some("update a ok, update b ok"),
        ended: Some("a done, b done"),
        ..RULE
    },
    Rule {
        rule: "a data source that cannot be read is not recorded",
        after: "a; d, looks at a",
        script: &[("look d", &[Refuse])],
        calls: "create a, look d",
        records: Some("create a ok"),
        ended: Some("a done, data.d failed (unexpected)"),
        state: Some("a1"),
        ..RULE
    },
];

const UNKNOWN: &[Rule] = &[
    Rule {
        rule: "an intent without an outcome is an unknown outcome",
        after: "a; b",
        script: &[("create a", &[Crash])],
        calls: "create a, create b",
        records: Some("create a open, create b ok"),
        unknown: Some("create a"),
        ..RULE
    },
    Rule {
        rule: "a later update of the object settles an unknown update",
        before: "a, size 1",
        interrupted: Some(("a, size 2", &[("update a", &[Crash])])),
        after: "a, size 3",
        calls: "update a",
        unknown: Some(""),
        ..RULE
    },
    Rule {
        rule: "a later destroy of the object settles an unknown destroy",
        before: "a; b",
        interrupted: Some(("b", &[("destroy a", &[Crash])])),
        after: "b",
        calls: "destroy a",
        unknown: Some(""),
        state: Some("b1"),
        ..RULE
    },
    Rule {
        rule: "an import settles an unknown creation",
        interrupted: Some(("a", &[("create a", &[Crash])])),
        after: "a, import x9",
        unknown: Some(""),
        state: Some("x9"),
        ..RULE
    },
    Rule {
        rule: "other operations do not settle an unknown outcome",
        interrupted: Some(("a", &[("create a", &[Crash])])),
        after: "b",
        calls: "create b",
        unknown: Some("create a"),
        ..RULE
    },
    Rule {
        rule: "a failed operation does not settle an unknown outcome",
        before: "a, size 1",
        interrupted: Some(("a, size 2", &[("update a", &[Crash])])),
        after: "a, size 3",
        script: &[("update a", &[Refuse])],
        calls: "update a",
        records: Some("update a failed"),
        unknown: Some("update a"),
        ..RULE
    },
    Rule {
        rule: "without the store the outcome is unknown, and nothing more starts",
        after: "a; b; c, needs a",
        script: &[("create a", &[LoseStore])],
        calls: "create a",
        records: Some("no store"),
        ended: Some("a unknown outcome (unexpected), b not attempted, c not attempted"),
        ..RULE
    },
    Rule {
        rule: "without the store the second half of a replacement does not start either",
        before: "a, kind x",
        after: "a, kind y",
        script: &[("destroy a", &[LoseStore])],
        calls: "destroy a",
        ended: Some("a unknown outcome (unexpected)"),
        ..RULE
    },
];

#[tokio::test]
async fn intents_are_on_disk_before_calls_and_outcomes_after_them() {
    check(INTENTS).await;
}

#[tokio::test]
async fn steps_without_a_call_are_recorded_as_done() {
    check(WITHOUT_CALL).await;
}

#[tokio::test]
async fn unknown_outcomes_stay_until_their_object_is_settled() {
    check(UNKNOWN).await;
}
