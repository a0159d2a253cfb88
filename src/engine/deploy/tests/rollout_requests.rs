//! Requests of operators about the rollout of a running deploy: pause, resume, abort, skip, retry.

use super::rules::{RULE, Rule, check};
use super::world::Effect::{Ask, AskLater, Refuse};
use std::time::Duration;

const PAUSE: &[Rule] = &[
    Rule {
        rule: "a paused rollout begins nothing more until it is resumed",
        before: "w, count 3, size 1; g, group of w",
        after: "w, count 3, size 2; g, group of w",
        script: &[(
            "update w[0]",
            // The skip shows that the second batch has not begun.
            &[
                Ask("pause"),
                AskLater(&["skip 1 when by operator): 0 done", "resume"]),
            ],
        )],
        calls: "update w[0], update w[2]",
        ended: Some("w[0] done, w[1] not attempted, w[2] done"),
        rollout: Some("converged: 0 done, 1 skipped, 2 done"),
        answers: Some("pause ok, skip 1 ok, resume ok"),
        ..RULE
    },
    Rule {
        rule: "operations that wait for their turn do not begin in a pause",
        before: "w, count 3, size 1; g, group of w, batch 3",
        after: "w, count 3, size 2; g, group of w, batch 3",
        script: &[(
            "update w[0]",
            &[
                Ask("pause"),
                AskLater(&["skip 1 when by operator): 0 done, 1 pending", "resume"]),
            ],
        )],
        calls: "update w[0], update w[2]",
        rollout: Some("converged: 0 done, 1 skipped, 2 done"),
        answers: Some("pause ok, skip 1 ok, resume ok"),
        ..RULE
    },
    Rule {
        rule: "a replacement that has begun is completed in a pause",
        before: "w, count 2, kind x; g, group of w",
        after: "w, count 2, kind y; g, group of w",
        script: &[(
            "destroy w[0]",
            &[Ask("pause"), AskLater(&["resume when 0 done"])],
        )],
        calls: "destroy w[0], create w[0], destroy w[1], create w[1]",
        rollout: Some("converged: 0 done, 1 done"),
        ..RULE
    },
    Rule {
        rule: "a pause ends the wait for health, which begins anew",
        before: "w, count 2, size 1; g, group of w",
        after: "w, count 2, size 2; g, group of w, patient, health test -e go",
        script: &[(
            "update w[0]",
            &[AskLater(&[
                "pause when waiting for health",
                "resume when by operator): 0 pending",
                "skip 0 when waiting for health",
                "skip 1 when waiting for health: 0 skipped, 1 pending",
            ])],
        )],
        calls: "update w[0], update w[1]",
        rollout: Some("converged: 0 skipped, 1 skipped"),
        answers: Some("pause ok, resume ok, skip 0 ok, skip 1 ok"),
        ..RULE
    },
    Rule {
        rule: "a pause over the limit ends the deploy",
        before: "w, count 2, size 1; g, group of w",
        after: "w, count 2, size 2; g, group of w",
        script: &[("update w[0]", &[Ask("pause")])],
        calls: "update w[0]",
        ended: Some("w[0] done, w[1] not attempted"),
        says: Some("Group \"g\" was not updated as planned"),
        rollout: Some("paused (by operator): 0 done, 1 pending"),
        longest_pause: Duration::from_millis(1),
        ..RULE
    },
    Rule {
        rule: "a change that fails in a pause ends the deploy",
        before: "w, count 2, size 1; g, group of w",
        after: "w, count 2, size 2; g, group of w",
        script: &[("update w[0]", &[Ask("pause"), Refuse])],
        calls: "update w[0]",
        ended: Some("w[0] failed (unexpected), w[1] not attempted"),
        rollout: Some("paused (by operator): 0 failed replace, 1 pending"),
        ..RULE
    },
];

const MEMBERS: &[Rule] = &[
    Rule {
        rule: "an aborted rollout leaves the other members as they are",
        before: "w, count 3, size 1; g, group of w",
        after: "w, count 3, size 2; g, group of w; b, size 1",
        script: &[("update w[0]", &[Ask("abort")])],
        calls: "create b, update w[0]",
        ended: Some("b done, w[0] done, w[1] not attempted, w[2] not attempted"),
        says: Some("Group \"g\" was not updated as planned"),
        rollout: Some("aborted: 0 done, 1 pending, 2 pending"),
        ..RULE
    },
    Rule {
        rule: "what needs a skipped member does not change",
        before: "w, count 3, size 1; g, group of w; b, size 1, follows w[1]; c, size 1, follows w[2]; o, output of w[1]",
        after: "w, count 3, size 2; g, group of w; b, size 2, follows w[1]; c, size 2, follows w[2]; o, output of w[1]",
        script: &[("update w[0]", &[Ask("skip 1")])],
        calls: "update w[0], update w[2], update c",
        ended: Some("w[0] done, w[1] not attempted, w[2] done, b not attempted, c done"),
        rollout: Some("converged: 0 done, 1 skipped, 2 done"),
        outputs: Some("o = w[1]1"),
        ..RULE
    },
    Rule {
        rule: "a skipped member is not drained, and its replacement does not begin",
        before: "w, count 2, kind x; g, group of w",
        after: "w, count 2, kind y; g, group of w, drain test $KEY != 1",
        script: &[("destroy w[0]", &[Ask("skip 1")])],
        calls: "destroy w[0], create w[0]",
        rollout: Some("converged: 0 done, 1 skipped"),
        ..RULE
    },
    Rule {
        rule: "a skip can be taken back before its batch",
        before: "w, count 3, size 1; g, group of w",
        after: "w, count 3, size 2; g, group of w",
        script: &[("update w[0]", &[Ask("skip w[1]"), Ask("retry 1")])],
        calls: "update w[0], update w[1], update w[2]",
        rollout: Some("converged: 0 done, 1 done, 2 done"),
        answers: Some("skip w[1] ok, retry 1 ok"),
        ..RULE
    },
    Rule {
        rule: "a failed member cannot be retried by the deploy that failed it",
        before: "w, count 2, size 1; g, group of w, batch 2",
        after: "w, count 2, size 2; g, group of w, batch 2",
        parallelism: 3,
        any_order: true,
        script: &[
            ("update w[0]", &[Refuse]),
            ("update w[1]", &[Ask("retry 0 when 0 failed")]),
        ],
        calls: "update w[0], update w[1]",
        answers: Some(
            "retry 0 refused (the change of 0 failed, and this deploy does not repeat it; run the command again when it has ended)",
        ),
        ..RULE
    },
    Rule {
        rule: "a changed member is not replaced again by the same deploy",
        before: "w, count 2, size 1; g, group of w",
        after: "w, count 2, size 2; g, group of w, patient, health test -e go",
        script: &[(
            "update w[0]",
            &[AskLater(&[
                "retry 0 when waiting for health",
                "skip 0",
                "skip 1 when waiting for health: 0 skipped, 1 pending",
            ])],
        )],
        calls: "update w[0], update w[1]",
        answers: Some(
            "retry 0 refused (the change of 0 succeeded, and to replace it needs a new stage; cancel the deploy, and run the command again when it has ended), \
             skip 0 ok, skip 1 ok",
        ),
        ..RULE
    },
    Rule {
        rule: "requests that the rollout does not allow are refused with the reason",
        before: "w, count 2, size 1; g, group of w",
        after: "w, count 2, size 2; g, group of w",
        script: &[(
            "update w[0]",
            &[Ask("skip 0"), Ask("retry 1"), Ask("skip 9"), Ask("resume")],
        )],
        calls: "update w[0], update w[1]",
        rollout: Some("converged: 0 done, 1 done"),
        answers: Some(
            "skip 0 refused (cannot skip 0: an action on it is in progress; pause, and wait until it ends. Possible: pause, skip member, retry member, abort), \
             retry 1 refused (no change of 1 failed; while the deploy runs, only a skipped member can be retried), \
             skip 9 refused (the rollout has no member 9; its members are 0, 1), \
             resume refused (cannot resume the rollout: the rollout is running. Possible: pause, skip member, retry member, abort)",
        ),
        ..RULE
    },
];

#[tokio::test]
async fn pause_and_resume() {
    check(PAUSE).await;
}

#[tokio::test]
async fn requests_about_members() {
    check(MEMBERS).await;
}
