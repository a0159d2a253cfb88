//! Provisioners: records of each command, and the object after a failure.

use super::rules::{RULE, Rule, check};
use super::world::Effect::{Crash, Refuse};

const CREATION: &[Rule] = &[
    Rule {
        rule: "a provisioner runs after the creation, with records of its own",
        after: "a, run true, run true",
        calls: "create a",
        records: Some("create a ok, local-exec provisioner 1 a ok, local-exec provisioner 2 a ok"),
        ended: Some("a done"),
        state: Some("a1"),
        ..RULE
    },
    Rule {
        rule: "a failed provisioner taints its object, and later ones do not run",
        after: "a, run false, run true",
        calls: "create a",
        records: Some("create a ok, local-exec provisioner 1 a failed"),
        ended: Some("a failed (bad input)"),
        state: Some("a1 tainted"),
        says: Some("local-exec provisioner error"),
        ..RULE
    },
    Rule {
        rule: "dependents of an object whose provisioner failed are not attempted",
        after: "a, run false; b, needs a",
        calls: "create a",
        ended: Some("a failed (bad input), b not attempted"),
        state: Some("a1 tainted"),
        ..RULE
    },
    Rule {
        rule: "under on_failure = continue a failure counts as success",
        after: "a, run false or continue, run true; b, needs a",
        calls: "create a, create b",
        records: Some(
            "create a ok, local-exec provisioner 1 a ok, local-exec provisioner 2 a ok, create b ok",
        ),
        ended: Some("a done, b done"),
        state: Some("a1, b1"),
        ..RULE
    },
    Rule {
        rule: "dependents wait for the provisioners",
        after: "a, run true; b, needs a",
        calls: "create a, create b",
        at: &[(
            "create b",
            "create a ok, local-exec provisioner 1 a ok, create b open",
        )],
        ..RULE
    },
    Rule {
        rule: "provisioners of a failed creation do not run",
        after: "a, run true",
        script: &[("create a", &[Refuse])],
        calls: "create a",
        records: Some("create a failed"),
        ..RULE
    },
    Rule {
        rule: "an update runs no provisioners",
        before: "a, size 1, run true",
        after: "a, size 2, run true",
        calls: "update a",
        records: Some("update a ok"),
        ..RULE
    },
    Rule {
        rule: "a failed provisioner of a replacement keeps the deposed object",
        before: "a, kind x, create first",
        after: "a, kind y, create first, run false",
        calls: "create a",
        records: Some("create a ok, local-exec provisioner 1 a failed"),
        state: Some("a2 tainted, a1 deposed"),
        ..RULE
    },
];

const DESTROY_TIME: &[Rule] = &[
    Rule {
        rule: "a destroy-time provisioner runs before the destroy's intent",
        before: "a, at end true",
        after: "a, at end true",
        destroys: true,
        calls: "destroy a",
        at: &[("destroy a", "local-exec provisioner 1 a ok, destroy a open")],
        records: Some("local-exec provisioner 1 a ok, destroy a ok"),
        state: Some(""),
        ..RULE
    },
    Rule {
        rule: "if it fails, the object is neither destroyed nor tainted",
        before: "a, at end false",
        after: "a, at end false",
        destroys: true,
        records: Some("local-exec provisioner 1 a failed"),
        ended: Some("a failed (bad input)"),
        state: Some("a1"),
        ..RULE
    },
    Rule {
        rule: "it runs in the first half of a replacement",
        before: "a, kind x, at end true",
        after: "a, kind y, at end true",
        calls: "destroy a, create a",
        records: Some("local-exec provisioner 1 a ok, destroy a ok, create a ok"),
        ..RULE
    },
    Rule {
        rule: "tainted objects run none",
        before: "a, at end false",
        tainted: "a",
        after: "a, at end false",
        calls: "destroy a, create a",
        records: Some("destroy a ok, create a ok"),
        ..RULE
    },
    Rule {
        rule: "deposed objects run none",
        before: "a, kind x, create first, at end false",
        after: "a, kind y, create first, at end false",
        calls: "create a, destroy a",
        ended: Some("a done"),
        state: Some("a2"),
        ..RULE
    },
    Rule {
        rule: "after an interrupted destroy a successful one does not run again",
        before: "a, kind x, at end true",
        interrupted: Some(("a, kind y, at end true", &[("destroy a", &[Crash])])),
        after: "a, kind y, at end true",
        calls: "destroy a, create a",
        records: Some("destroy a ok, create a ok"),
        ..RULE
    },
    Rule {
        rule: "after a failed destroy all of them run again",
        before: "a, kind x, at end true",
        interrupted: Some(("a, kind y, at end true", &[("destroy a", &[Refuse])])),
        after: "a, kind y, at end true",
        calls: "destroy a, create a",
        records: Some("local-exec provisioner 1 a ok, destroy a ok, create a ok"),
        ..RULE
    },
];

const REMOTE: &[Rule] = &[
    Rule {
        rule: "a machine that cannot be reached fails the provisioner, with a record",
        after: "a, run true remotely, run true",
        calls: "create a",
        records: Some("create a ok, remote-exec provisioner 1 a failed"),
        ended: Some("a failed (transient)"),
        state: Some("a1 tainted"),
        says: Some("remote-exec provisioner error"),
        ..RULE
    },
    Rule {
        rule: "under on_failure = continue it counts as success",
        after: "a, run true remotely or continue; b, needs a",
        calls: "create a, create b",
        records: Some("create a ok, remote-exec provisioner 1 a ok, create b ok"),
        ended: Some("a done, b done"),
        state: Some("a1, b1"),
        ..RULE
    },
    Rule {
        rule: "an object whose machine cannot be reached at its end is not destroyed",
        before: "a, at end true remotely",
        after: "a, at end true remotely",
        destroys: true,
        records: Some("remote-exec provisioner 1 a failed"),
        ended: Some("a failed (transient)"),
        state: Some("a1"),
        ..RULE
    },
];

#[tokio::test]
async fn unreachable_machine_fails_its_provisioners() {
    check(REMOTE).await;
}

#[tokio::test]
async fn creation_provisioners_decide_about_their_object() {
    check(CREATION).await;
}

#[tokio::test]
async fn destroy_time_provisioners_run_before_the_destroy() {
    check(DESTROY_TIME).await;
}
