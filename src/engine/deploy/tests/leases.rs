//! Leases of ephemeral resources: opened before the first use, renewed meanwhile, and closed after
//! the last use in every case.

use super::rules::{RULE, Rule, check};
use super::world::Effect::{Await, Cancel, Crash, Kill, Refuse, Renew};
use model::CancelRung::{AskPlugins, KillPlugins, StopStarting};

const USES: &[Rule] = &[
    Rule {
        rule: "a lease is opened before its use and closed after it",
        after: "e, lease; a, uses e",
        calls: "open e, create a, close e",
        records: Some("create a ok"),
        state: Some("a1"),
        says: Some(""),
        ..RULE
    },
    Rule {
        rule: "a lease stays open until its last use",
        after: "e, lease; a, uses e; b, uses e, needs a",
        calls: "open e, create a, create b, close e",
        ..RULE
    },
    Rule {
        rule: "a lease that another one uses is closed after it",
        after: "d, lease; e, lease, uses d; a, uses e",
        calls: "open d, open e, create a, close e, close d",
        ..RULE
    },
    Rule {
        rule: "a lease in use is renewed when it asks for it",
        after: "e, lease; a, uses e",
        script: &[("open e", &[Renew]), ("create a", &[Await("renew e")])],
        calls: "open e, create a, renew e, close e",
        says: Some(""),
        ..RULE
    },
    Rule {
        rule: "a failed renewal is a warning, and is not repeated",
        after: "e, lease; a, uses e",
        script: &[
            ("open e", &[Renew]),
            ("renew e", &[Crash]),
            ("create a", &[Await("renew e")]),
        ],
        calls: "open e, create a, renew e, close e",
        ended: Some("a done"),
        says: Some("Ephemeral resource could not be renewed"),
        ..RULE
    },
];

const FAILURES: &[Rule] = &[
    Rule {
        rule: "a lease is closed after the failure of an operation that uses it",
        after: "e, lease; a, uses e; b, uses e, needs a",
        script: &[("create a", &[Refuse])],
        calls: "open e, create a, close e",
        ended: Some("a failed (unexpected), b not attempted"),
        ..RULE
    },
    Rule {
        rule: "a lease is closed after a crash during its use",
        after: "e, lease; a, uses e",
        script: &[("create a", &[Crash])],
        calls: "open e, create a, close e",
        records: Some("create a open"),
        unknown: Some("create a"),
        ..RULE
    },
    Rule {
        rule: "without its lease an operation is not attempted",
        after: "e, lease; a, uses e",
        script: &[("open e", &[Refuse])],
        calls: "open e",
        ended: Some("a not attempted"),
        records: Some(""),
        says: Some("no such luck"),
        ..RULE
    },
    Rule {
        rule: "a failed close is a warning",
        after: "e, lease; a, uses e",
        script: &[("close e", &[Refuse])],
        calls: "open e, create a, close e",
        ended: Some("a done"),
        says: Some("Ephemeral resource could not be closed"),
        ..RULE
    },
];

const CANCEL: &[Rule] = &[
    Rule {
        rule: "a lease is closed after the first rung",
        after: "e, lease; a, uses e; b, uses e, needs a",
        script: &[("create a", &[Cancel(StopStarting)])],
        calls: "open e, create a, close e",
        ended: Some("a done, b not attempted"),
        says: Some("(cancelled)"),
        ..RULE
    },
    Rule {
        rule: "a lease is closed after the second rung",
        after: "e, lease; a, uses e; b, uses e, needs a",
        script: &[("create a", &[Cancel(AskPlugins)])],
        calls: "open e, create a, close e",
        ended: Some("a done, b not attempted"),
        says: Some("(cancelled)"),
        ..RULE
    },
    Rule {
        rule: "a lease that opens during the second rung is closed",
        after: "e, lease; a, uses e",
        script: &[("open e", &[Cancel(AskPlugins)])],
        calls: "open e, close e",
        ended: Some("a not attempted"),
        ..RULE
    },
    Rule {
        rule: "killed plugins close nothing, and a warning names the open lease",
        after: "e, lease; a, uses e",
        script: &[("create a", &[Cancel(KillPlugins), Kill])],
        calls: "open e, create a",
        unknown: Some("create a"),
        says: Some(
            "Ephemeral resource could not be closed; hashicorp/fake was stopped during ApplyResourceChange; (cancelled)",
        ),
        ..RULE
    },
];

#[tokio::test]
async fn leases_are_open_while_operations_use_them() {
    check(USES).await;
}

#[tokio::test]
async fn leases_are_closed_after_failures() {
    check(FAILURES).await;
}

#[tokio::test]
async fn leases_are_closed_at_each_rung_of_the_cancel_ladder() {
    check(CANCEL).await;
}
