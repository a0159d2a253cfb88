//! Links between resources. The id of a link has the ids of the objects at its ends, as its
//! provider gets them with the call.

use super::rules::{RULE, Rule, check};
use super::world::Effect::Refuse;

const LINKS: &[Rule] = &[
    Rule {
        rule: "a link is created after both ends, with their new objects",
        after: "a; b; l, links a to b",
        calls: "create a, create b, create link.l",
        records: Some("create a ok, create b ok, create link.l ok"),
        state: Some("a1, b1, a1-b1"),
        ..RULE
    },
    Rule {
        rule: "the kind of a link orders its ends",
        after: "a; b; l, links b to a",
        calls: "create b, create a, create link.l",
        state: Some("a1, b1, b1-a1"),
        ..RULE
    },
    Rule {
        rule: "a reference of the ends has precedence over that order",
        after: "a; b, needs a; l, links b to a",
        calls: "create a, create b, create link.l",
        ..RULE
    },
    Rule {
        rule: "without one of its ends a link is not attempted",
        after: "a; b; l, links a to b",
        script: &[("create b", &[Refuse])],
        calls: "create a, create b",
        ended: Some("a done, b failed (unexpected), link.l not attempted"),
        state: Some("a1"),
        ..RULE
    },
    Rule {
        rule: "a failed link leaves its ends",
        after: "a; b; l, links a to b",
        script: &[("create link.l", &[Refuse])],
        calls: "create a, create b, create link.l",
        ended: Some("a done, b done, link.l failed (unexpected)"),
        state: Some("a1, b1"),
        ..RULE
    },
    Rule {
        rule: "a link is destroyed before its ends",
        before: "a; b; l, links a to b",
        after: "a; b; l, links a to b",
        destroys: true,
        calls: "destroy link.l, destroy b, destroy a",
        state: Some(""),
        ..RULE
    },
    Rule {
        rule: "a removed link leaves its ends",
        before: "a; b; l, links a to b",
        after: "a; b",
        calls: "destroy link.l",
        state: Some("a1, b1"),
        ..RULE
    },
    Rule {
        rule: "the replacement of an end replaces its link around it",
        before: "a; b, kind x; l, links a to b",
        after: "a; b, kind y; l, links a to b",
        calls: "destroy link.l, destroy b, create b, create link.l",
        state: Some("a1, b2, a1-b2"),
        ..RULE
    },
    Rule {
        rule: "an update of an end leaves its link",
        before: "a; b, size 1; l, links a to b",
        after: "a; b, size 2; l, links a to b",
        calls: "update b",
        state: Some("a1, b1 size 2, a1-b1"),
        ..RULE
    },
];

#[tokio::test]
async fn links_follow_the_objects_at_their_ends() {
    check(LINKS).await;
}
