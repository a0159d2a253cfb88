//! Retries of temporary failures: one intent for all attempts, and the rungs that end them.

use super::rules::{RULE, Rule, check};
use super::world::Effect::{Cancel, Transient};
use model::CancelRung::{AskPlugins, StopStarting};

const RETRIES: &[Rule] = &[
    Rule {
        rule: "all attempts of a call share one intent",
        after: "a",
        script: &[("create a", &[Transient(2)])],
        calls: "create a, create a, create a",
        at: &[("create a", "create a open")],
        records: Some("create a ok"),
        ended: Some("a done"),
        state: Some("a1"),
        ..RULE
    },
    Rule {
        rule: "dependents wait for the last attempt",
        after: "a; b, needs a",
        script: &[("create a", &[Transient(1)])],
        calls: "create a, create a, create b",
        ended: Some("a done, b done"),
        ..RULE
    },
    Rule {
        rule: "the first rung ends the retries",
        after: "a",
        script: &[("create a", &[Cancel(StopStarting), Transient(1)])],
        calls: "create a",
        records: Some("create a failed"),
        ended: Some("a failed (cancelled)"),
        ..RULE
    },
    Rule {
        rule: "the second half of a replacement is retried after the first rung",
        before: "a, kind x",
        after: "a, kind y",
        script: &[
            ("destroy a", &[Cancel(StopStarting)]),
            ("create a", &[Transient(1)]),
        ],
        calls: "destroy a, create a, create a",
        records: Some("destroy a ok, create a ok"),
        ended: Some("a done"),
        ..RULE
    },
    Rule {
        rule: "the second rung ends the retries of a second half",
        before: "a, kind x",
        after: "a, kind y",
        script: &[("create a", &[Cancel(AskPlugins), Transient(1)])],
        calls: "destroy a, create a",
        records: Some("destroy a ok, create a failed"),
        ended: Some("a half replaced (cancelled)"),
        ..RULE
    },
];

#[tokio::test]
async fn temporary_failures_are_retried_until_a_rung_forbids_it() {
    check(RETRIES).await;
}
