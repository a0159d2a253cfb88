//! Root outputs: the values that the state gets at the end of a deploy.

use super::rules::{RULE, Rule, check};
use super::world::Effect::Refuse;

const OUTPUTS: &[Rule] = &[
    Rule {
        rule: "an output has the value of the applied object",
        after: "a; o, output of a",
        calls: "create a",
        outputs: Some("o = a1"),
        ..RULE
    },
    Rule {
        rule: "a new output is stored without any operation",
        before: "a",
        after: "a; o, output of a",
        outputs: Some("o = a1"),
        ..RULE
    },
    Rule {
        rule: "an output that the configuration lacks is removed",
        before: "a; o, output of a",
        after: "a",
        outputs: Some(""),
        ..RULE
    },
    Rule {
        rule: "an output of a failed operation is not stored",
        after: "a; b; o, output of a; p, output of b",
        script: &[("create a", &[Refuse])],
        calls: "create a, create b",
        outputs: Some("p = b1"),
        ..RULE
    },
    Rule {
        rule: "a value that the stage knew is stored although its operation failed",
        before: "a, size 1",
        after: "a, size 2; o, output of a",
        script: &[("update a", &[Refuse])],
        calls: "update a",
        outputs: Some("o = a1"),
        ..RULE
    },
    Rule {
        rule: "an output of a half replaced object keeps its value",
        before: "a, kind x; o, output of a",
        after: "a, kind y; o, output of a",
        script: &[("create a", &[Refuse])],
        calls: "destroy a, create a",
        outputs: Some("o = a1"),
        ..RULE
    },
    Rule {
        rule: "an output of a change that is not selected keeps its value",
        before: "a, kind x; o, output of a",
        after: "a, kind y; b; o, output of a; p, output of b",
        deselected: &["a"],
        calls: "create b",
        outputs: Some("o = a1, p = b1"),
        ..RULE
    },
    Rule {
        rule: "a destroy removes all outputs",
        before: "a; o, output of a",
        after: "a; o, output of a",
        destroys: true,
        calls: "destroy a",
        outputs: Some(""),
        ..RULE
    },
    Rule {
        rule: "a narrowed destroy changes no output",
        before: "a; b; o, output of a; p, output of b",
        after: "a; b; o, output of a; p, output of b",
        destroys: true,
        deselected: &["a"],
        calls: "destroy b",
        outputs: Some("o = a1, p = b1"),
        ..RULE
    },
];

#[tokio::test]
async fn outputs_follow_the_operations_that_they_need() {
    check(OUTPUTS).await;
}
