//! Changes that depend on single members of a group: they belong to the batch of their member.

use super::rules::{RULE, Rule, check};
use super::world::Effect::{Ask, Refuse};

const ORDER: &[Rule] = &[
    Rule {
        rule: "without a group the dependents follow all instances",
        before: "w, count 2, size 1; v, count 2, follows w[i]",
        after: "w, count 2, size 2; v, count 2, follows w[i]",
        calls: "update w[0], update w[1], update v[0], update v[1]",
        ..RULE
    },
    Rule {
        rule: "the dependent of a member is updated before the next batch",
        before: "w, count 3, size 1; v, count 3, follows w[i]; g, group of w",
        after: "w, count 3, size 2; v, count 3, follows w[i]; g, group of w",
        parallelism: 4,
        calls: "update w[0], update v[0], update w[1], update v[1], update w[2], update v[2]",
        rollout: Some("converged: 0 done, 1 done, 2 done"),
        ..RULE
    },
    Rule {
        rule: "the dependent of a member is replaced around its replacement",
        before: "w, count 2, kind x; v, count 2, kind x, needs w[i]; g, group of w",
        after: "w, count 2, kind y; v, count 2, kind y, needs w[i]; g, group of w",
        parallelism: 4,
        calls: "destroy v[0], destroy w[0], create w[0], create v[0], destroy v[1], destroy w[1], create w[1], create v[1]",
        rollout: Some("converged: 0 done, 1 done"),
        ..RULE
    },
    Rule {
        rule: "dependents of dependents belong to the batch too",
        before: "w, count 2, size 1; v, count 2, follows w[i]; u, count 2, follows v[i]; g, group of w",
        after: "w, count 2, size 2; v, count 2, follows w[i]; u, count 2, follows v[i]; g, group of w",
        parallelism: 4,
        calls: "update w[0], update v[0], update u[0], update w[1], update v[1], update u[1]",
        ..RULE
    },
    Rule {
        rule: "dependents use the new object before the old one is destroyed",
        before: "w, count 2, kind x, create first; v, count 2, needs w[i]; g, group of w, surge",
        after: "w, count 2, kind y, create first; v, count 2, needs w[i]; g, group of w, surge",
        parallelism: 4,
        calls: "create w[0], update v[0], destroy w[0], create w[1], update v[1], destroy w[1]",
        ..RULE
    },
    Rule {
        rule: "a constant key is that of one member",
        before: "w, count 2, size 1; v, follows w[0]; g, group of w",
        after: "w, count 2, size 2; v, follows w[0]; g, group of w",
        parallelism: 4,
        calls: "update w[0], update v, update w[1]",
        ..RULE
    },
    Rule {
        rule: "a dependent of several members belongs to the last one",
        before: "w, count 3, size 1; v, follows w[0], follows w[1]; g, group of w",
        after: "w, count 3, size 2; v, follows w[0], follows w[1]; g, group of w",
        parallelism: 4,
        calls: "update w[0], update w[1], update v, update w[2]",
        ..RULE
    },
    Rule {
        rule: "a need of all members changes before the first batch, and dependents in their batch",
        before: "n, size 1; w, count 2, kind x, needs n; v, count 2, kind x, needs w[i]; g, group of w",
        after: "n, size 2; w, count 2, kind y, needs n; v, count 2, kind y, needs w[i]; g, group of w",
        calls: "update n, destroy v[0], destroy w[0], create w[0], create v[0], destroy v[1], destroy w[1], create w[1], create v[1]",
        ..RULE
    },
    Rule {
        rule: "what needs all members is replaced after the last batch",
        before: "w, count 2, size 1; b, kind x, follows all w; g, group of w",
        after: "w, count 2, size 2; b, kind y, follows all w; g, group of w",
        calls: "update w[0], update w[1], destroy b, create b",
        ..RULE
    },
    Rule {
        rule: "what needs all replaced members is replaced after the last batch",
        before: "w, count 2, kind x; v, count 2, kind x, needs w[i]; b, kind x, needs all w, needs all v; g, group of w",
        after: "w, count 2, kind y; v, count 2, kind y, needs w[i]; b, kind y, needs all w, needs all v; g, group of w",
        calls: "destroy v[0], destroy w[0], create w[0], create v[0], destroy v[1], destroy w[1], create w[1], create v[1], destroy b, create b",
        ..RULE
    },
    Rule {
        rule: "a batch that is not healthy leaves what needs all members in place",
        before: "w, count 2, size 1; b, kind x, follows all w; g, group of w",
        after: "w, count 2, size 2; b, kind y, follows all w; g, group of w, health false",
        calls: "update w[0]",
        state: Some("b1, w[0]1 size 2, w[1]1 size 1"),
        ..RULE
    },
    Rule {
        rule: "what needs members of two batches is replaced after the second one",
        before: "w, count 3, size 1; b, kind x, follows w[0], follows w[1]; g, group of w",
        after: "w, count 3, size 2; b, kind y, follows w[0], follows w[1]; g, group of w",
        calls: "update w[0], update w[1], destroy b, create b, update w[2]",
        ..RULE
    },
    Rule {
        rule: "what needs all members is replaced after one is removed, and its dependents go with it",
        before: "w, count 2; v, count 2, needs w[i]; b, kind x, needs all w; g, group of w",
        after: "w, count 1; v, count 1, needs w[i]; b, kind y, needs all w; g, group of w, drain true",
        calls: "destroy v[1], destroy w[1], destroy b, create b",
        ..RULE
    },
];

const LIMITS: &[Rule] = &[
    Rule {
        rule: "a failed drain leaves the dependents of the member",
        before: "w, count 2, kind x; v, count 2, kind x, needs w[i]; g, group of w, drain false",
        after: "w, count 2, kind y; v, count 2, kind y, needs w[i]; g, group of w, drain false",
        parallelism: 4,
        calls: "",
        ..RULE
    },
    Rule {
        rule: "a failed dependent stops the next batch",
        before: "w, count 2, size 1; v, count 2, follows w[i]; g, group of w",
        after: "w, count 2, size 2; v, count 2, follows w[i]; g, group of w",
        parallelism: 4,
        script: &[("update v[0]", &[Refuse])],
        calls: "update w[0], update v[0]",
        ..RULE
    },
    Rule {
        rule: "the dependent of a skipped member stays",
        before: "w, count 2, kind x; v, count 2, kind x, needs w[i]; g, group of w",
        after: "w, count 2, kind y; v, count 2, kind y, needs w[i]; g, group of w",
        parallelism: 4,
        script: &[("create w[0]", &[Ask("skip 1")])],
        calls: "destroy v[0], destroy w[0], create w[0], create v[0]",
        state: Some("v[0]2, v[1]1, w[0]2, w[1]1"),
        rollout: Some("converged: 0 done, 1 skipped"),
        ..RULE
    },
    Rule {
        rule: "members and their dependents are removed together",
        before: "w, count 3; v, count 3, needs w[i]; g, group of w",
        after: "w, count 1; v, count 1, needs w[i]; g, group of w",
        parallelism: 1,
        calls: "destroy v[1], destroy v[2], destroy w[1], destroy w[2]",
        any_order: true,
        ..RULE
    },
    Rule {
        rule: "a new member is followed by its dependent",
        before: "w, count 1; v, count 1, needs w[i]; g, group of w",
        after: "w, count 2; v, count 2, needs w[i]; g, group of w",
        parallelism: 4,
        calls: "create w[1], create v[1]",
        ..RULE
    },
    Rule {
        rule: "dependents that need all members as well follow the last batch",
        before: "w, count 2, size 1; s, follows w[0], follows w[1]; v, count 2, follows w[i], follows s; g, group of w",
        after: "w, count 2, size 2; s, follows w[0], follows w[1]; v, count 2, follows w[i], follows s; g, group of w",
        calls: "update w[0], update w[1], update s, update v[0], update v[1]",
        ..RULE
    },
];

const CHAINS: &[Rule] = &[
    Rule {
        rule: "the dependents whose for_each is the group's resource belong to the batches",
        before: "w, keys a b, size 1; v, each of w, follows each; g, group of w",
        after: "w, keys a b, size 2; v, each of w, follows each; g, group of w",
        parallelism: 4,
        calls: "update w[\"a\"], update v[\"a\"], update w[\"b\"], update v[\"b\"]",
        rollout: Some("converged: a done, b done"),
        ..RULE
    },
    Rule {
        rule: "they may refer to the key as well as to the object",
        before: "w, keys a b, size 1; v, each of w, follows w[k]; g, group of w",
        after: "w, keys a b, size 2; v, each of w, follows w[k]; g, group of w",
        parallelism: 4,
        calls: "update w[\"a\"], update v[\"a\"], update w[\"b\"], update v[\"b\"]",
        ..RULE
    },
    Rule {
        rule: "they are replaced around their members",
        before: "w, keys a b, kind x; v, each of w, kind x, needs each; g, group of w",
        after: "w, keys a b, kind y; v, each of w, kind y, needs each; g, group of w",
        parallelism: 4,
        calls: "destroy v[\"a\"], destroy w[\"a\"], create w[\"a\"], create v[\"a\"], \
                destroy v[\"b\"], destroy w[\"b\"], create w[\"b\"], create v[\"b\"]",
        state: Some("v[\"a\"]2, v[\"b\"]2, w[\"a\"]2, w[\"b\"]2"),
        ..RULE
    },
    Rule {
        rule: "a chain of two resources belongs to the batches",
        before: "w, keys a b, size 1; v, each of w, follows each; u, each of v, follows each; g, group of w",
        after: "w, keys a b, size 2; v, each of w, follows each; u, each of v, follows each; g, group of w",
        parallelism: 4,
        calls: "update w[\"a\"], update v[\"a\"], update u[\"a\"], update w[\"b\"], update v[\"b\"], update u[\"b\"]",
        ..RULE
    },
    Rule {
        rule: "new members and removed ones have their dependents with them",
        before: "w, keys a b, size 1; v, each of w, needs each; g, group of w",
        after: "w, keys b c, size 2; v, each of w, needs each; g, group of w",
        parallelism: 4,
        calls: "destroy v[\"a\"], destroy w[\"a\"], update w[\"b\"], create w[\"c\"], create v[\"c\"]",
        rollout: Some("converged: a done, b done, c done"),
        ..RULE
    },
    Rule {
        rule: "without a group they follow all instances",
        before: "w, keys a b, size 1; v, each of w, follows each",
        after: "w, keys a b, size 2; v, each of w, follows each",
        calls: "update w[\"a\"], update w[\"b\"], update v[\"a\"], update v[\"b\"]",
        ..RULE
    },
    Rule {
        rule: "a local value that is one member belongs to its batch",
        before: "w, count 2, size 1; l, local w[0]; v, follows local.l; g, group of w",
        after: "w, count 2, size 2; l, local w[0]; v, follows local.l; g, group of w",
        parallelism: 4,
        calls: "update w[0], update v, update w[1]",
        ..RULE
    },
    Rule {
        rule: "the elements of a local value belong to the members with their keys",
        before: "w, keys a b, size 1; l, versions of w; v, keys a b, follows local l[k]; g, group of w",
        after: "w, keys a b, size 2; l, versions of w; v, keys a b, follows local l[k]; g, group of w",
        parallelism: 4,
        calls: "update w[\"a\"], update v[\"a\"], update w[\"b\"], update v[\"b\"]",
        ..RULE
    },
    Rule {
        rule: "a local value that is the resource belongs to the batches",
        before: "w, count 2, size 1; l, local w; v, count 2, follows local.l[i]; g, group of w",
        after: "w, count 2, size 2; l, local w; v, count 2, follows local.l[i]; g, group of w",
        parallelism: 4,
        calls: "update w[0], update v[0], update w[1], update v[1]",
        ..RULE
    },
    Rule {
        rule: "an element waits for the rest of its expression",
        before: "z, size 1; w, keys a b, size 1; l, versions of w with z; v, keys a b, follows local l[k]; g, group of w",
        after: "z, size 2; w, keys a b, size 2; l, versions of w with z; v, keys a b, follows local l[k]; g, group of w",
        calls: "update z, update w[\"a\"], update v[\"a\"], update w[\"b\"], update v[\"b\"]",
        ..RULE
    },
    Rule {
        rule: "a failure in the rest of a local value stops the next batch",
        before: "z, size 1; w, keys a b, size 1; l, versions of w with z; v, keys a b, follows local l[k]; g, group of w",
        after: "z, size 2; w, keys a b, size 2; l, versions of w with z; v, keys a b, follows local l[k]; g, group of w",
        script: &[("update z", &[Refuse])],
        calls: "update z, update w[\"a\"]",
        ..RULE
    },
    Rule {
        rule: "new members and removed ones count in a local value, too",
        before: "w, keys a b, size 1; l, versions of w; v, keys a b, follows local l[k]; g, group of w",
        after: "w, keys b c, size 2; l, versions of w; v, keys b c, follows local l[k]; g, group of w",
        parallelism: 4,
        calls: "destroy v[\"a\"], destroy w[\"a\"], update w[\"b\"], update v[\"b\"], create w[\"c\"], create v[\"c\"]",
        ..RULE
    },
];

#[tokio::test]
async fn dependents_by_for_each_change_in_the_batch() {
    check(CHAINS).await;
}

#[tokio::test]
async fn dependents_of_a_member_change_in_its_batch() {
    check(ORDER).await;
}

#[tokio::test]
async fn dependents_of_a_member_end_with_it() {
    check(LIMITS).await;
}
