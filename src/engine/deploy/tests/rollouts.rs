//! Rollouts of groups: batches in order, drain before a change, health before the next batch.

use super::rules::{RULE, Rule, check};
use super::world::Effect::{Cancel, LoseLead, LoseStore, Refuse};
use model::CancelRung::StopStarting;

const ORDER: &[Rule] = &[
    Rule {
        rule: "without a group all instances are updated at once",
        before: "w, count 3, size 1",
        after: "w, count 3, size 2",
        parallelism: 3,
        calls: "update w[0], update w[1], update w[2]",
        rollout: Some(""),
        ..RULE
    },
    Rule {
        rule: "members of a group are updated one after the other",
        before: "w, count 3, size 1; g, group of w",
        after: "w, count 3, size 2; g, group of w",
        parallelism: 3,
        script: &[("update w[1]", &[Refuse])],
        calls: "update w[0], update w[1]",
        ended: Some("w[0] done, w[1] failed (unexpected), w[2] not attempted"),
        rollout: Some("paused (failed): 0 done, 1 failed replace, 2 pending"),
        ..RULE
    },
    Rule {
        rule: "members of one batch are updated together",
        before: "w, count 3, size 1; g, group of w, batch 2",
        after: "w, count 3, size 2; g, group of w, batch 2",
        parallelism: 3,
        any_order: true,
        script: &[("update w[0]", &[Refuse])],
        calls: "update w[0], update w[1]",
        ..RULE
    },
    Rule {
        rule: "the next deploy updates the members that a failure has left",
        before: "w, count 3, size 1; g, group of w",
        interrupted: Some((
            "w, count 3, size 2; g, group of w",
            &[("update w[1]", &[Refuse])],
        )),
        after: "w, count 3, size 2; g, group of w",
        calls: "update w[1], update w[2]",
        rollout: Some("converged: 1 done, 2 done"),
        ..RULE
    },
    Rule {
        rule: "a replacement destroys and creates one member before the next",
        before: "w, count 2, kind x; g, group of w",
        after: "w, count 2, kind y; g, group of w",
        parallelism: 2,
        calls: "destroy w[0], create w[0], destroy w[1], create w[1]",
        state: Some("w[0]2, w[1]2"),
        rollout: Some("converged: 0 done, 1 done"),
        ..RULE
    },
    Rule {
        rule: "a resource that needs all members follows the last batch",
        before: "w, count 2, size 1; b, follows w[0], follows w[1]; g, group of w",
        after: "w, count 2, size 2; b, follows w[0], follows w[1]; g, group of w",
        parallelism: 3,
        calls: "update w[0], update w[1], update b",
        ..RULE
    },
    Rule {
        rule: "the oldest member is first with that order",
        before: "w, count 2, kind x, size 1",
        interrupted: Some((
            "w, count 2, kind y, size 1; g, group of w",
            &[("destroy w[1]", &[Refuse])],
        )),
        after: "w, count 2, kind y, size 2; g, group of w, order oldest",
        calls: "destroy w[1], create w[1], update w[0]",
        ..RULE
    },
    Rule {
        rule: "a dependency of the members precedes the first batch",
        before: "a, size 1; w, count 2, follows a; g, group of w",
        after: "a, size 2; w, count 2, follows a; g, group of w",
        parallelism: 3,
        calls: "update a, update w[0], update w[1]",
        ..RULE
    },
    Rule {
        rule: "a failed dependency starts no batch",
        before: "a, size 1; w, count 2, follows a; g, group of w",
        after: "a, size 2; w, count 2, follows a; g, group of w",
        script: &[("update a", &[Refuse])],
        calls: "update a",
        rollout: Some("paused (failed): 0 pending, 1 pending"),
        ..RULE
    },
    Rule {
        rule: "a failed dependency drains no member",
        before: "a, size 1; w, count 2, follows a; g, group of w",
        after: "a, size 2; w, count 2, follows a; g, group of w, drain true",
        script: &[("update a", &[Refuse])],
        calls: "update a",
        rollout: Some("paused (failed): 0 pending, 1 pending"),
        ..RULE
    },
    Rule {
        rule: "a deselected member keeps its object",
        before: "w, count 3, size 1; g, group of w",
        after: "w, count 3, size 2; g, group of w",
        deselected: &["w[1]"],
        calls: "update w[0], update w[2]",
        rollout: Some("converged: 0 done, 2 done"),
        ..RULE
    },
];

const SIZE: &[Rule] = &[
    Rule {
        rule: "new members are created at once",
        after: "w, count 3; g, group of w",
        parallelism: 3,
        any_order: true,
        calls: "create w[0], create w[1], create w[2]",
        rollout: Some("converged: 0 done, 1 done, 2 done"),
        ..RULE
    },
    Rule {
        rule: "a resize does not change the other members",
        before: "w, count 1; g, group of w",
        after: "w, count 2; g, group of w",
        calls: "create w[1]",
        rollout: Some("converged: 1 done"),
        ..RULE
    },
    Rule {
        rule: "members are removed before the others are updated",
        before: "w, count 3, size 1; g, group of w",
        after: "w, count 2, size 2; g, group of w",
        parallelism: 3,
        calls: "destroy w[2], update w[0], update w[1]",
        rollout: Some("converged: 2 done, 0 done, 1 done"),
        ..RULE
    },
    Rule {
        rule: "members are added after the others are updated",
        before: "w, count 2, size 1; g, group of w",
        after: "w, count 3, size 2; g, group of w",
        parallelism: 3,
        calls: "update w[0], update w[1], create w[2]",
        rollout: Some("converged: 0 done, 1 done, 2 done"),
        ..RULE
    },
    Rule {
        rule: "under create_before_destroy members are removed last",
        before: "w, count 3, size 1, create first; g, group of w",
        after: "w, count 2, size 2, create first; g, group of w",
        parallelism: 3,
        calls: "update w[0], update w[1], destroy w[2]",
        rollout: Some("converged: 0 done, 1 done, 2 done"),
        ..RULE
    },
];

const HOOKS: &[Rule] = &[
    Rule {
        rule: "a failed drain aborts the rollout before the member changes",
        before: "w, count 3, size 1; g, group of w",
        after: "w, count 3, size 2; g, group of w, drain test $KEY != 1",
        calls: "update w[0]",
        ended: Some("w[0] done, w[1] not attempted, w[2] not attempted"),
        says: Some("Group \"g\" was not updated as planned"),
        rollout: Some("aborted: 0 done, 1 failed drain, 2 pending"),
        ..RULE
    },
    Rule {
        rule: "a failed drain only warns when the member is removed",
        before: "w, count 2; g, group of w",
        after: "w, count 1; g, group of w, drain false",
        calls: "destroy w[1]",
        ended: Some("w[1] done"),
        rollout: Some("converged: 1 done"),
        ..RULE
    },
    Rule {
        rule: "an unhealthy member pauses the rollout",
        before: "w, count 3, size 1; g, group of w",
        after: "w, count 3, size 2; g, group of w, health test $KEY != 1",
        calls: "update w[0], update w[1]",
        ended: Some("w[0] done, w[1] done, w[2] not attempted"),
        says: Some("Group \"g\" was not updated as planned"),
        rollout: Some("paused (unhealthy): 0 done, 1 pending, 2 pending"),
        ..RULE
    },
    Rule {
        rule: "an unhealthy member can abort the rollout",
        before: "w, count 2, size 1; g, group of w",
        after: "w, count 2, size 2; g, group of w, health false, on unhealthy abort",
        calls: "update w[0]",
        rollout: Some("aborted: 0 pending, 1 pending"),
        ..RULE
    },
    Rule {
        rule: "the rollout can continue after an unhealthy member",
        before: "w, count 2, size 1; g, group of w",
        after: "w, count 2, size 2; g, group of w, health test $KEY != 0, on unhealthy continue",
        calls: "update w[0], update w[1]",
        ..RULE
    },
    Rule {
        rule: "only the health of changed members counts",
        before: "w, count 3, size 1; g, group of w",
        after: "w, count 3, size 2; g, group of w, ready self.size == \"2\"",
        calls: "update w[0], update w[1], update w[2]",
        rollout: Some("converged: 0 done, 1 done, 2 done"),
        ..RULE
    },
    Rule {
        rule: "a member that an earlier rollout left unhealthy is waited for again",
        before: "w, count 3, size 1; g, group of w",
        interrupted: Some((
            "w, count 3, size 2; g, group of w, health test $KEY != 0",
            &[],
        )),
        after: "w, count 3, size 2; g, group of w, health test $KEY != 0",
        calls: "update w[1]",
        rollout: Some("paused (unhealthy): 1 pending, 2 pending"),
        ..RULE
    },
    Rule {
        rule: "an expression that cannot be evaluated is not healthy",
        before: "w, count 2, size 1; g, group of w",
        after: "w, count 2, size 2; g, group of w, ready self.nothing",
        calls: "update w[0]",
        rollout: Some("paused (unhealthy): 0 pending, 1 pending"),
        ..RULE
    },
    Rule {
        rule: "with surge the old object is destroyed after its successor is healthy",
        before: "w, count 2, kind x; g, group of w, surge",
        after: "w, count 2, kind y; g, group of w, surge, health test $KEY != 1",
        parallelism: 2,
        calls: "create w[0], destroy w[0], create w[1]",
        rollout: Some("paused (unhealthy): 0 done, 1 pending"),
        ..RULE
    },
    Rule {
        rule: "with surge the old object is drained before its destroy",
        before: "w, count 2, kind x; g, group of w, surge",
        after: "w, count 2, kind y; g, group of w, surge, drain test $KEY != 0",
        parallelism: 2,
        calls: "create w[0], create w[1], destroy w[1]",
        state: Some("w[0]2, w[0]1 deposed, w[1]2"),
        says: Some("Group \"g\" was not updated as planned"),
        ..RULE
    },
    Rule {
        rule: "a destroy drains the members",
        before: "w, count 1; g, group of w",
        after: "w, count 1; g, group of w, drain true",
        destroys: true,
        calls: "destroy w[0]",
        state: Some(""),
        rollout: Some("converged: 0 done"),
        ..RULE
    },
    Rule {
        rule: "an operator who stops the deploy pauses the rollout",
        before: "w, count 3, size 1; g, group of w",
        after: "w, count 3, size 2; g, group of w",
        script: &[("update w[0]", &[Cancel(StopStarting)])],
        calls: "update w[0]",
        rollout: Some("paused (by operator): 0 done, 1 pending, 2 pending"),
        ..RULE
    },
    Rule {
        rule: "a rollout that loses the store begins no change of another member",
        before: "w, count 3, size 1; g, group of w",
        after: "w, count 3, size 2; g, group of w",
        parallelism: 2,
        script: &[("update w[0]", &[LoseStore])],
        calls: "update w[0]",
        ended: Some("w[0] unknown outcome (unexpected), w[1] not attempted, w[2] not attempted"),
        ..RULE
    },
    Rule {
        rule: "a rollout of a former leader begins no change of another member",
        before: "w, count 3, size 1; g, group of w",
        after: "w, count 3, size 2; g, group of w",
        parallelism: 2,
        script: &[("update w[0]", &[LoseLead])],
        calls: "update w[0]",
        ended: Some("w[0] done, w[1] not attempted, w[2] not attempted"),
        records: Some("update w[0] ok"),
        says: Some("Another process has taken over; (cancelled)"),
        rollout: Some("paused (interrupted): 0 done, 1 pending, 2 pending"),
        ..RULE
    },
    Rule {
        rule: "a former leader starts no drain",
        before: "w, count 2, size 1; g, group of w",
        after: "w, count 2, size 2; g, group of w, drain test $KEY != 1",
        script: &[("update w[0]", &[LoseLead])],
        calls: "update w[0]",
        ended: Some("w[0] done, w[1] not attempted"),
        says: Some("Another process has taken over; (cancelled)"),
        rollout: Some("paused (interrupted): 0 done, 1 pending"),
        ..RULE
    },
    Rule {
        rule: "a former leader starts no drain of an old object",
        before: "w, count 2, kind x; g, group of w, surge",
        after: "w, count 2, kind y; g, group of w, surge, drain false",
        script: &[("create w[0]", &[LoseLead])],
        calls: "create w[0]",
        state: Some("w[0]2, w[0]1 deposed, w[1]1"),
        says: Some("Another process has taken over; (cancelled)"),
        ..RULE
    },
    Rule {
        rule: "a former leader starts no health check",
        before: "w, count 2, size 1; g, group of w",
        after: "w, count 2, size 2; g, group of w, health false",
        script: &[("update w[0]", &[LoseLead])],
        calls: "update w[0]",
        ended: Some("w[0] done, w[1] not attempted"),
        says: Some("Another process has taken over; (cancelled)"),
        rollout: Some("paused (interrupted): 0 pending, 1 pending"),
        ..RULE
    },
];

#[tokio::test]
async fn order_of_a_rollout() {
    check(ORDER).await;
}

#[tokio::test]
async fn change_of_size() {
    check(SIZE).await;
}

#[tokio::test]
async fn hooks_of_a_rollout() {
    check(HOOKS).await;
}
