//! Failed operations: records, state and dependents after each kind of answer.

use super::rules::{RULE, Rule, check};
use super::world::Effect::*;
use calls::GrpcCode;

/// Answers to the creation of an object.
const CREATION: &[Rule] = &[
    Rule {
        rule: "an error without an object stores nothing",
        after: "a",
        script: &[("create a", &[Refuse])],
        calls: "create a",
        records: Some("create a failed"),
        ended: Some("a failed (unexpected)"),
        state: Some(""),
        says: Some("no such luck"),
        ..RULE
    },
    Rule {
        rule: "an error with an object stores the object as tainted",
        after: "a",
        script: &[("create a", &[Incomplete])],
        calls: "create a",
        records: Some("create a failed"),
        ended: Some("a failed (unexpected)"),
        state: Some("a1 tainted"),
        ..RULE
    },
    Rule {
        rule: "neither an object nor an error contradicts the plan",
        after: "a",
        script: &[("create a", &[Vanish])],
        calls: "create a",
        records: Some("create a failed"),
        ended: Some("a failed (inconsistent result)"),
        state: Some(""),
        says: Some("Provider produced inconsistent result after apply"),
        ..RULE
    },
    Rule {
        rule: "an object that differs from its plan is stored as tainted",
        after: "a",
        script: &[("create a", &[Differ])],
        calls: "create a",
        records: Some("create a failed"),
        ended: Some("a failed (inconsistent result)"),
        state: Some("a1 size other tainted"),
        ..RULE
    },
    Rule {
        rule: "an object with unknown values is stored without them, as tainted",
        after: "a",
        script: &[("create a", &[Unknown])],
        calls: "create a",
        records: Some("create a failed"),
        ended: Some("a failed (inconsistent result)"),
        state: Some("a1 tainted"),
        ..RULE
    },
    Rule {
        rule: "the text of an error decides its class",
        after: "a",
        script: &[("create a", &[RefuseWith("StatusCode: 403")])],
        calls: "create a",
        ended: Some("a failed (denied)"),
        ..RULE
    },
];

/// Calls without a usable answer.
const LOST: &[Rule] = &[
    Rule {
        rule: "a plugin that crashes leaves an unknown outcome",
        after: "a",
        script: &[("create a", &[Crash])],
        calls: "create a",
        records: Some("create a open"),
        ended: Some("a unknown outcome (plugin crashed)"),
        state: Some(""),
        ..RULE
    },
    Rule {
        rule: "a lost connection leaves an unknown outcome",
        after: "a",
        script: &[("create a", &[Disconnect])],
        calls: "create a",
        records: Some("create a open"),
        ended: Some("a unknown outcome (transient)"),
        ..RULE
    },
    Rule {
        rule: "an unreadable answer leaves an unknown outcome",
        after: "a",
        script: &[("create a", &[Garble])],
        calls: "create a",
        records: Some("create a open"),
        ended: Some("a unknown outcome (unexpected)"),
        ..RULE
    },
    Rule {
        rule: "a gRPC error leaves an unknown outcome",
        after: "a",
        script: &[("create a", &[Status(GrpcCode::Internal)])],
        calls: "create a",
        records: Some("create a open"),
        ended: Some("a unknown outcome (unexpected)"),
        ..RULE
    },
    Rule {
        rule: "gRPC InvalidArgument proves that the plugin has not acted",
        after: "a",
        script: &[("create a", &[Status(GrpcCode::InvalidArgument)])],
        calls: "create a",
        records: Some("create a failed"),
        ended: Some("a failed (bad input)"),
        ..RULE
    },
    Rule {
        rule: "gRPC Unimplemented proves that the plugin has not acted",
        after: "a",
        script: &[("create a", &[Status(GrpcCode::Unimplemented)])],
        calls: "create a",
        records: Some("create a failed"),
        ended: Some("a failed (unexpected)"),
        ..RULE
    },
    Rule {
        rule: "a call that was not sent has failed",
        after: "a",
        script: &[("create a", &[Unsent])],
        calls: "create a",
        records: Some("create a failed"),
        ended: Some("a failed (cancelled)"),
        ..RULE
    },
    Rule {
        rule: "an unknown update keeps the old object in the state",
        before: "a, size 1",
        after: "a, size 2",
        script: &[("update a", &[Disconnect])],
        calls: "update a",
        records: Some("update a open"),
        state: Some("a1 size 1"),
        ..RULE
    },
    Rule {
        rule: "an unknown destroy keeps the object in the state",
        before: "a; b",
        after: "b",
        script: &[("destroy a", &[Crash])],
        calls: "destroy a",
        records: Some("destroy a open"),
        state: Some("a1, b1"),
        ..RULE
    },
];

/// Answers to an update or destroy.
const OF_EXISTING: &[Rule] = &[
    Rule {
        rule: "a failed update without an object keeps the old one",
        before: "a, size 1",
        after: "a, size 2",
        script: &[("update a", &[Refuse])],
        calls: "update a",
        records: Some("update a failed"),
        state: Some("a1 size 1"),
        ..RULE
    },
    Rule {
        rule: "a failed update with an object stores it, untainted",
        before: "a, size 1",
        after: "a, size 2",
        script: &[("update a", &[Incomplete])],
        calls: "update a",
        records: Some("update a failed"),
        state: Some("a1 size 2"),
        ..RULE
    },
    Rule {
        rule: "an update that differs from its plan is stored, untainted",
        before: "a, size 1",
        after: "a, size 2",
        script: &[("update a", &[Differ])],
        calls: "update a",
        records: Some("update a failed"),
        ended: Some("a failed (inconsistent result)"),
        state: Some("a1 size other"),
        ..RULE
    },
    Rule {
        rule: "an update with neither an object nor an error keeps the old object",
        before: "a, size 1",
        after: "a, size 2",
        script: &[("update a", &[Vanish])],
        calls: "update a",
        ended: Some("a failed (inconsistent result)"),
        state: Some("a1 size 1"),
        ..RULE
    },
    Rule {
        rule: "a failed destroy without an object keeps the object",
        before: "a; b",
        after: "b",
        script: &[("destroy a", &[Refuse])],
        calls: "destroy a",
        records: Some("destroy a failed"),
        ended: Some("a failed (unexpected)"),
        state: Some("a1, b1"),
        ..RULE
    },
    Rule {
        rule: "a failed destroy with an object stores the object",
        before: "a; b",
        after: "b",
        script: &[("destroy a", &[Incomplete])],
        calls: "destroy a",
        records: Some("destroy a failed"),
        state: Some("a1, b1"),
        ..RULE
    },
    Rule {
        rule: "a destroy that leaves its object without an error contradicts the plan",
        before: "a; b",
        after: "b",
        script: &[("destroy a", &[Remain])],
        calls: "destroy a",
        records: Some("destroy a failed"),
        ended: Some("a failed (inconsistent result)"),
        state: Some("a1, b1"),
        ..RULE
    },
];

/// Failures before the call.
const BEFORE_CALL: &[Rule] = &[
    Rule {
        rule: "a plan that differs from the approved one is not applied",
        before: "a, size 1",
        after: "a, size 2",
        script: &[("plan a", &[Differ])],
        records: Some(""),
        ended: Some("a failed (inconsistent result)"),
        state: Some("a1 size 1"),
        says: Some("Provider produced inconsistent final plan"),
        ..RULE
    },
    Rule {
        rule: "an operation whose plan is refused has no intent",
        after: "a",
        script: &[("plan a", &[Refuse])],
        records: Some(""),
        ended: Some("a failed (unexpected)"),
        ..RULE
    },
    Rule {
        rule: "arguments that the stage did not know are validated again",
        after: "a; b, needs a",
        script: &[("validate b", &[Refuse])],
        calls: "create a",
        records: Some("create a ok"),
        ended: Some("a done, b failed (unexpected)"),
        ..RULE
    },
    Rule {
        rule: "arguments that the stage knew are not validated again",
        after: "a",
        script: &[("validate a", &[Refuse])],
        calls: "create a",
        ended: Some("a done"),
        ..RULE
    },
];

const DEPENDENTS: &[Rule] = &[
    Rule {
        rule: "dependents of a failed change are not attempted; other operations are",
        after: "a; b, needs a; c, needs b; d",
        script: &[("create a", &[Refuse])],
        calls: "create a, create d",
        records: Some("create a failed, create d ok"),
        ended: Some("a failed (unexpected), b not attempted, c not attempted, d done"),
        state: Some("d1"),
        ..RULE
    },
    Rule {
        rule: "dependents of an unknown outcome are not attempted",
        after: "a; b, needs a; c",
        script: &[("create a", &[Crash])],
        calls: "create a, create c",
        ended: Some("a unknown outcome (plugin crashed), b not attempted, c done"),
        ..RULE
    },
    Rule {
        rule: "dependents of a tainted object are not attempted",
        after: "a; b, needs a",
        script: &[("create a", &[Incomplete])],
        calls: "create a",
        ended: Some("a failed (unexpected), b not attempted"),
        ..RULE
    },
    Rule {
        rule: "a failed postcondition keeps the object, and stops its dependents",
        after: "a, expect version other; b, needs a",
        calls: "create a",
        records: Some("create a ok"),
        ended: Some("a failed (bad input), b not attempted"),
        state: Some("a1"),
        ..RULE
    },
    Rule {
        rule: "dependencies of an object that could not be destroyed stay",
        before: "a; b, needs a; c, needs b",
        after: "a; b, needs a; c, needs b",
        destroys: true,
        script: &[("destroy b", &[Crash])],
        calls: "destroy c, destroy b",
        ended: Some("a not attempted, b unknown outcome (plugin crashed), c done"),
        state: Some("a1, b1"),
        ..RULE
    },
    Rule {
        rule: "a failed operation is not repeated",
        after: "a",
        script: &[("create a", &[RefuseWith("try again later")])],
        calls: "create a",
        ended: Some("a failed (transient)"),
        ..RULE
    },
];

#[tokio::test]
async fn answer_to_a_creation_decides_record_and_state() {
    check(CREATION).await;
}

#[tokio::test]
async fn call_without_answer_has_an_unknown_outcome_unless_nothing_was_done() {
    check(LOST).await;
}

#[tokio::test]
async fn failure_never_removes_an_object_from_the_state() {
    check(OF_EXISTING).await;
}

#[tokio::test]
async fn failure_before_the_call_leaves_no_record() {
    check(BEFORE_CALL).await;
}

#[tokio::test]
async fn failure_stops_only_dependents() {
    check(DEPENDENTS).await;
}
