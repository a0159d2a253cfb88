//! Configuration in the plan representation: each expression as its constant value or its
//! references.

use crate::stage::config_json::Configuration;
use crate::stage::testing::Unplanned;
use serde_json::{Value as Json, json};

/// Returns the part of a configuration's representation at a JSON pointer.
fn part(config: &str, pointer: &str) -> Json {
    let config = format!("variable needed {{}}; {config}");
    let unplanned = Unplanned::new(&config, &[], &["-var=needed=x"]);
    let input = &unplanned.workspace.input;
    let configuration = Configuration {
        declared: &input.root,
        root: &input.root,
        sources: &input.sources,
        schemas: &input.schemas,
    };
    let all = configuration.json();
    let found = all.pointer(pointer).cloned();
    found.unwrap_or_else(|| panic!("{pointer} in {all:#}"))
}

#[test]
fn expression_is_its_constant_value_or_its_references() {
    const OTHERS: &str = "variable v { default = 1 }; locals { l = 1 }; resource lab_other o { count = 1 }; resource lab_other k { for_each = toset([\"x\"]) }";
    for (expression, expected) in [
        ("\"x\"", json!({ "constant_value": "x" })),
        ("1 + 1", json!({ "constant_value": 2 })),
        ("null", json!({ "constant_value": null })),
        ("var.v", json!({ "references": ["var.v"] })),
        ("\"${local.l}-x\"", json!({ "references": ["local.l"] })),
        // All steps, then fewer, then the object that has the instance.
        (
            "lab_other.o[0].tags[\"k\"]",
            json!({ "references": [
                "lab_other.o[0].tags[\"k\"]", "lab_other.o[0].tags", "lab_other.o[0]", "lab_other.o",
            ] }),
        ),
        (
            "lab_other.k[\"x\"].id",
            json!({ "references": [
                "lab_other.k[\"x\"].id", "lab_other.k[\"x\"]", "lab_other.k",
            ] }),
        ),
        ("path.module", json!({ "references": ["path.module"] })),
        (
            "var.v == 1 ? local.l : var.v",
            json!({ "references": ["var.v", "local.l", "var.v"] }),
        ),
        // A function of the language is no reference, and its result is no constant.
        ("upper(\"x\")", json!({})),
    ] {
        let config = format!("{OTHERS}; resource lab_thing a {{ name = {expression} }}");
        let resources = part(&config, "/root_module/resources");
        let all = resources.as_array().expect("a list").iter();
        let own = all.filter(|one| one["address"] == "lab_thing.a");
        let got: Vec<&Json> = own.map(|one| &one["expressions"]["name"]).collect();
        assert_eq!(got, [&expected], "{expression}");
    }
}

#[test]
fn declarations_are_encoded_with_what_they_set() {
    const RESOURCE: &str = "/root_module/resources/0";
    for (config, pointer, expected) in [
        // A resource without arguments.
        (
            "resource lab_thing a {}",
            RESOURCE,
            json!({
                "address": "lab_thing.a", "mode": "managed", "type": "lab_thing", "name": "a",
                "provider_config_key": "lab", "schema_version": 1,
            }),
        ),
        // Blocks are a list of objects.
        (
            "resource lab_thing a { rule { port = 1 }; rule { port = 2 } }",
            "/root_module/resources/0/expressions",
            json!({ "rule": [
                { "port": { "constant_value": 1 } }, { "port": { "constant_value": 2 } },
            ] }),
        ),
        // Repetition and explicit dependencies.
        (
            "resource lab_thing a { count = 2; depends_on = [data.lab_data.d] }; data lab_data d { name = \"x\" }",
            "/root_module/resources/0/count_expression",
            json!({ "constant_value": 2 }),
        ),
        (
            "resource lab_thing a { count = 2; depends_on = [data.lab_data.d] }; data lab_data d { name = \"x\" }",
            "/root_module/resources/0/depends_on",
            json!(["data.lab_data.d"]),
        ),
        (
            "resource lab_thing a { for_each = var.all }; variable all { default = [] }",
            "/root_module/resources/0/for_each_expression",
            json!({ "references": ["var.all"] }),
        ),
        // A provisioner with the arguments of its kind.
        (
            "resource lab_thing a { provisioner local-exec { command = self.id } }",
            "/root_module/resources/0/provisioners",
            json!([{
                "type": "local-exec",
                "expressions": { "command": { "references": ["self.id", "self"] } },
            }]),
        ),
        // Managed resources come before data sources.
        (
            "data lab_data a { name = \"x\" }; resource lab_thing z {}",
            "/root_module/resources/1/address",
            json!("data.lab_data.a"),
        ),
        // Variables and outputs.
        (
            "variable v { type = list(string); default = [\"x\"]; description = \"Text.\"; sensitive = true }",
            "/root_module/variables/v",
            json!({
                "type": ["list", "string"], "default": ["x"], "description": "Text.",
                "sensitive": true,
            }),
        ),
        (
            "",
            "/root_module/variables/needed",
            json!({ "required": true }),
        ),
        (
            "output o { value = 1; description = \"Text.\"; sensitive = true }",
            "/root_module/outputs/o",
            json!({
                "expression": { "constant_value": 1 }, "description": "Text.", "sensitive": true,
            }),
        ),
        // A module call with its module.
        (
            "module m { source = \"./m\"; in = 1 }; @@m variable in {}; output out { value = var.in }",
            "/root_module/module_calls/m",
            json!({
                "source": "./m",
                "expressions": { "in": { "constant_value": 1 } },
                "module": {
                    "outputs": { "out": { "expression": { "references": ["var.in"] } } },
                    "variables": { "in": { "required": true } },
                },
            }),
        ),
        // Provider blocks, with their arguments.
        (
            "provider lab { alias = \"east\"; region = \"e\" }",
            "/provider_config/lab.east",
            json!({
                "name": "lab", "alias": "east",
                "full_name": "registry.opentofu.org/hashicorp/lab",
                "expressions": { "region": { "constant_value": "e" } },
            }),
        ),
    ] {
        assert_eq!(part(config, pointer), expected, "{config}");
    }
}
