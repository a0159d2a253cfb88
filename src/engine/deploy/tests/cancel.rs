//! Cancel ladder: the operations that still start after each rung, and the ends of running ones.

use super::rules::{RULE, Rule, check};
use super::world::Effect::{Await, Cancel, Kill, RefuseWith};
use model::CancelRung::{AskPlugins, KillPlugins, StopStarting};

const STOP_STARTING: &[Rule] = &[
    Rule {
        rule: "running calls end, and no new operation starts",
        after: "a; b; c",
        parallelism: 2,
        script: &[("create a", &[Await("create b"), Cancel(StopStarting)])],
        calls: "create a, create b",
        records: Some("create a ok, create b ok"),
        ended: Some("a done, b done, c not attempted"),
        state: Some("a1, b1"),
        says: Some("(cancelled)"),
        ..RULE
    },
    Rule {
        rule: "a replacement in progress still creates its new object",
        before: "a, kind x; b, kind x",
        after: "a, kind y; b, kind y",
        script: &[("destroy a", &[Cancel(StopStarting)])],
        calls: "destroy a, create a",
        records: Some("destroy a ok, create a ok"),
        ended: Some("a done, b not attempted"),
        state: Some("a2, b1"),
        ..RULE
    },
    Rule {
        rule: "dependencies that the new object needs are still created",
        before: "a, kind x",
        after: "c; e, needs c; a, kind y, needs e; z",
        script: &[("destroy a", &[Cancel(StopStarting)])],
        calls: "destroy a, create c, create e, create a",
        ended: Some("c done, e done, a done, z not attempted"),
        ..RULE
    },
    Rule {
        rule: "under create_before_destroy dependents are still updated, and the old object goes",
        before: "a, kind x, create first; b, needs a; c, size 1",
        after: "a, kind y, create first; b, needs a; c, size 2",
        script: &[("create a", &[Cancel(StopStarting)])],
        calls: "create a, update b, destroy a",
        ended: Some("a done, b done, c not attempted"),
        state: Some("a2, b1, c1 size 1"),
        ..RULE
    },
    Rule {
        rule: "a destroy stops between two objects",
        before: "a; b, needs a",
        after: "a; b, needs a",
        destroys: true,
        script: &[("destroy b", &[Cancel(StopStarting)])],
        calls: "destroy b",
        records: Some("destroy b ok"),
        ended: Some("a not attempted, b done"),
        state: Some("a1"),
        ..RULE
    },
];

const ASK_PLUGINS: &[Rule] = &[
    Rule {
        rule: "nothing starts any more, not even the second half of a replacement",
        before: "a, kind x",
        after: "a, kind y",
        script: &[("destroy a", &[Cancel(AskPlugins)])],
        calls: "destroy a",
        records: Some("destroy a ok"),
        ended: Some("a half replaced"),
        state: Some(""),
        says: Some("(cancelled)"),
        ..RULE
    },
    Rule {
        rule: "operations that wait for their turn end too",
        before: "a, kind x; b, kind x",
        after: "a, kind y; b, kind y",
        script: &[("destroy a", &[Cancel(AskPlugins)])],
        calls: "destroy a",
        ended: Some("a half replaced, b not attempted"),
        state: Some("b1"),
        ..RULE
    },
    Rule {
        rule: "under create_before_destroy both objects stay",
        before: "a, kind x, create first",
        after: "a, kind y, create first",
        script: &[("create a", &[Cancel(AskPlugins)])],
        calls: "create a",
        records: Some("create a ok"),
        ended: Some("a half replaced"),
        state: Some("a2, a1 deposed"),
        ..RULE
    },
    Rule {
        rule: "a call that succeeds in spite of the request is done",
        after: "a; b, needs a",
        script: &[("create a", &[Cancel(AskPlugins)])],
        calls: "create a",
        records: Some("create a ok"),
        ended: Some("a done, b not attempted"),
        state: Some("a1"),
        ..RULE
    },
    Rule {
        rule: "an error that mentions the request is cancelled",
        after: "a",
        script: &[(
            "create a",
            &[Cancel(AskPlugins), RefuseWith("context canceled")],
        )],
        calls: "create a",
        records: Some("create a failed"),
        ended: Some("a failed (cancelled)"),
        ..RULE
    },
    Rule {
        rule: "the same error without a request is unexpected",
        after: "a",
        script: &[("create a", &[RefuseWith("context canceled")])],
        calls: "create a",
        ended: Some("a failed (unexpected)"),
        ..RULE
    },
];

const KILL_PLUGINS: &[Rule] = &[
    Rule {
        rule: "a killed call has an unknown outcome, and nothing starts any more",
        after: "a; b",
        script: &[("create a", &[Cancel(KillPlugins), Kill])],
        calls: "create a",
        records: Some("create a open"),
        ended: Some("a unknown outcome (cancelled), b not attempted"),
        unknown: Some("create a"),
        ..RULE
    },
    Rule {
        rule: "all running calls have unknown outcomes",
        after: "a; b; c",
        parallelism: 2,
        script: &[
            ("create a", &[Await("create b"), Cancel(KillPlugins), Kill]),
            ("create b", &[Kill]),
        ],
        calls: "create a, create b",
        ended: Some(
            "a unknown outcome (cancelled), b unknown outcome (cancelled), c not attempted",
        ),
        unknown: Some("create a, create b"),
        ..RULE
    },
    Rule {
        rule: "an answer that comes before the kill is recorded",
        after: "a",
        script: &[("create a", &[Cancel(KillPlugins)])],
        calls: "create a",
        records: Some("create a ok"),
        ended: Some("a done"),
        state: Some("a1"),
        ..RULE
    },
    Rule {
        rule: "a killed second half leaves an unknown outcome, not a half replacement",
        before: "a, kind x",
        after: "a, kind y",
        script: &[("create a", &[Cancel(KillPlugins), Kill])],
        calls: "destroy a, create a",
        records: Some("destroy a ok, create a open"),
        ended: Some("a unknown outcome (cancelled)"),
        ..RULE
    },
];

#[tokio::test]
async fn first_rung_completes_replacements_in_progress() {
    check(STOP_STARTING).await;
}

#[tokio::test]
async fn second_rung_starts_nothing() {
    check(ASK_PLUGINS).await;
}

#[tokio::test]
async fn third_rung_leaves_unknown_outcomes() {
    check(KILL_PLUGINS).await;
}
