//! Resources in modules: their order follows references and the call, not the module.

use super::rules::{RULE, Rule, check};
use super::world::Effect::Refuse;

const ORDER: &[Rule] = &[
    Rule {
        rule: "a resource comes after those that the arguments of its module refer to",
        after: "z; m.a, needs z",
        calls: "create z, create module.m.a",
        state: Some("z1, module.m.a1"),
        ..RULE
    },
    Rule {
        rule: "resources of a module do not wait for arguments that they do not use",
        after: "z; m.a; m.b, needs z",
        script: &[("create z", &[Refuse])],
        calls: "create z, create module.m.a",
        ended: Some("z failed (unexpected), module.m.a done, module.m.b not attempted"),
        ..RULE
    },
    Rule {
        rule: "a resource comes after those of the outputs that it refers to",
        after: "a, needs m.z; m.z",
        calls: "create module.m.z, create a",
        ..RULE
    },
    Rule {
        rule: "under depends_on of the call all resources of the module wait",
        after: "m, module, after z; m.a; z",
        calls: "create z, create module.m.a",
        ..RULE
    },
    Rule {
        rule: "each instance of a module has its own objects",
        after: "m, module, count 2; m.a; b, needs m[1].a",
        calls: "create module.m[0].a, create module.m[1].a, create b",
        state: Some("b1, module.m[0].a1, module.m[1].a1"),
        ..RULE
    },
    Rule {
        rule: "a destroy goes in the opposite order across modules",
        before: "z; m.a, needs z; b, needs m.a",
        after: "z; m.a, needs z; b, needs m.a",
        destroys: true,
        calls: "destroy b, destroy module.m.a, destroy z",
        state: Some(""),
        ..RULE
    },
];

const REMOVAL: &[Rule] = &[
    Rule {
        rule: "objects of a removed call are destroyed, dependents first",
        before: "m.a; m.b, needs m.a",
        after: "",
        calls: "destroy module.m.b, destroy module.m.a",
        records: Some("destroy module.m.b ok, destroy module.m.a ok"),
        state: Some(""),
        ..RULE
    },
    Rule {
        rule: "objects of a removed instance are destroyed, others stay",
        before: "m, module, count 2; m.a",
        after: "m, module, count 1; m.a",
        calls: "destroy module.m[1].a",
        state: Some("module.m[0].a1"),
        ..RULE
    },
    Rule {
        rule: "a resource in a module that is not selected is not changed",
        before: "m.a, size 1; b, size 1",
        after: "m.a, size 2; b, size 2",
        deselected: &["module.m.a"],
        calls: "update b",
        state: Some("b1 size 2, module.m.a1 size 1"),
        ..RULE
    },
    Rule {
        rule: "after a failure in a module, resources that refer to its outputs are not attempted",
        after: "m.a; b, needs m.a; c",
        script: &[("create module.m.a", &[Refuse])],
        calls: "create c, create module.m.a",
        ended: Some("c done, module.m.a failed (unexpected), b not attempted"),
        state: Some("c1"),
        ..RULE
    },
];

#[tokio::test]
async fn references_order_resources_across_modules() {
    check(ORDER).await;
}

#[tokio::test]
async fn objects_of_modules_are_removed_and_left_like_others() {
    check(REMOVAL).await;
}
