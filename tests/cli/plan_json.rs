//! Tests of the complete plan representation: configuration, planned values, and prior state.

use crate::install::{run_tofu, tofu};
use crate::lab_deploys::Lab;
use crate::support::Workspace;
use configuration::{IN_JSON, MAIN, MODULE};
use serde_json::{Value, json};

mod configuration;

fn workspace() -> Workspace {
    Workspace::new(&[("main.tf", MAIN), ("m/main.tf", MODULE)])
}

fn shown(w: &Workspace) -> Value {
    w.run(&["plan", "-out=p", "-var", "secret=s"]).expect(0);
    let shown = w.run(&["show", "-json", "p"]).expect(0);
    serde_json::from_str(&shown.stdout).unwrap()
}

/// Compares two documents, including the order of members.
fn assert_same_json(got: &Value, want: Value) {
    assert_eq!(
        serde_json::to_string_pretty(got).unwrap(),
        serde_json::to_string_pretty(&want).unwrap()
    );
}

#[test]
fn configuration_has_constants_and_references() {
    let plan = shown(&workspace());
    let configuration = &plan["configuration"];
    assert_same_json(
        &configuration["provider_config"],
        json!({"terraform": {"name": "terraform", "full_name": "terraform.io/builtin/terraform"}}),
    );
    let root = &configuration["root_module"];
    assert_same_json(
        &root["outputs"],
        json!({
            "all": {"expression": {"references": ["terraform_data.counted"]}, "description": "Every one."},
            "hidden": {"sensitive": true, "expression": {"references": ["var.secret"]}},
            "none": {"expression": {"constant_value": null}},
        }),
    );
    assert_same_json(
        &root["resources"],
        json!([
            {
                "address": "terraform_data.counted", "mode": "managed", "type": "terraform_data", "name": "counted",
                "provider_config_key": "terraform",
                "provisioners": [{"type": "local-exec", "expressions": {
                    "command": {"references": ["self.id", "self"]},
                    "environment": {"references": ["var.secret"]},
                }}],
                "expressions": {"input": {"references": [
                    "terraform_data.each[\"a\"].output.key", "terraform_data.each[\"a\"].output",
                    "terraform_data.each[\"a\"]", "terraform_data.each",
                ]}},
                "schema_version": 0,
                "count_expression": {"constant_value": 2},
                "depends_on": ["module.m", "terraform_data.each[\"b\"]"],
            },
            {
                "address": "terraform_data.each", "mode": "managed", "type": "terraform_data", "name": "each",
                "provider_config_key": "terraform",
                "expressions": {
                    "input": {"references": [
                        "each.key",
                        "module.m[\"x\"].made[0].id", "module.m[\"x\"].made[0]", "module.m[\"x\"].made", "module.m[\"x\"]",
                        "var.size.n", "var.size",
                    ]},
                    "triggers_replace": {"constant_value": "fixed"},
                },
                "schema_version": 0,
                "for_each_expression": {"references": ["var.names"]},
            },
        ]),
    );
    assert_same_json(
        &root["module_calls"],
        json!({"m": {
            "source": "./m",
            "expressions": {"from": {"constant_value": "y"}},
            "module": {
                "outputs": {"made": {"expression": {"references": ["terraform_data.made"]}}},
                "resources": [{
                    "address": "terraform_data.made", "mode": "managed", "type": "terraform_data", "name": "made",
                    "provider_config_key": "terraform",
                    "expressions": {"input": {"references": ["var.from"]}},
                    "schema_version": 0,
                    "count_expression": {"constant_value": 1},
                }],
                "variables": {"from": {"required": true}},
            },
        }}),
    );
    assert_same_json(
        &root["variables"],
        json!({
            "names": {"type": ["set", "string"], "default": ["a", "b"], "description": "Who is there."},
            "secret": {"type": "string", "required": true, "sensitive": true},
            "size": {
                "type": ["object", {"n": "number", "unit": "string"}, ["unit"]],
                "default": {"n": 1, "unit": "m"},
            },
        }),
    );
}

#[test]
fn plan_has_changes_checks_and_prior_state() {
    let w = workspace();
    let plan = shown(&w);
    assert_same_json(
        &plan["relevant_attributes"],
        json!([
            {"resource": "module.m[\"x\"].terraform_data.made", "attribute": []},
            {"resource": "terraform_data.counted", "attribute": []},
            {"resource": "terraform_data.each[\"a\"]", "attribute": ["output", "key"]},
        ]),
    );
    assert_same_json(
        &plan["checks"],
        json!([
            {
                "address": {"kind": "check", "name": "size", "to_display": "check.size"},
                "status": "fail",
                "instances": [{
                    "address": {"to_display": "check.size"}, "status": "fail", "problems": [{"message": "Too small."}],
                }],
            },
            {
                "address": {
                    "kind": "resource", "mode": "managed", "module": "module.m", "name": "made",
                    "to_display": "module.m.terraform_data.made", "type": "terraform_data",
                },
                "status": "pass",
                "instances": [{
                    "address": {
                        "instance_key": 0, "module": "module.m[\"x\"]",
                        "to_display": "module.m[\"x\"].terraform_data.made[0]",
                    },
                    "status": "pass",
                }],
            },
        ]),
    );
    // The prior state has only an output with a known value.
    assert_same_json(
        &plan["prior_state"]["values"],
        json!({"outputs": {"hidden": {"sensitive": true, "value": "s", "type": "string"}}, "root_module": {}}),
    );
    assert_same_json(
        &plan["planned_values"]["outputs"],
        json!({
            "all": {"sensitive": false},
            "hidden": {"sensitive": true, "type": "string", "value": "s"},
            "none": {"sensitive": false, "type": "dynamic", "value": null},
        }),
    );
    let members: Vec<&String> = plan.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        [
            "format_version",
            "terraform_version",
            "variables",
            "planned_values",
            "resource_changes",
            "output_changes",
            "prior_state",
            "configuration",
            "relevant_attributes",
            "checks",
            "timestamp",
            "errored",
        ]
    );
    // Empty parts of a plan are omitted.
    w.write("main.tf", "");
    let plan = shown(&Workspace::new(&[(
        "main.tf",
        "variable \"secret\" {}\nlocals {}\n",
    )]));
    let members: Vec<&String> = plan.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        [
            "format_version",
            "terraform_version",
            "variables",
            "planned_values",
            "configuration",
            "timestamp",
            "errored"
        ]
    );
}

#[test]
fn variables_have_their_given_values() {
    let w = Workspace::new(&[
        (
            "main.tf",
            "variable \"text\" {\n  type = string\n}\nvariable \"list\" {\n  type = set(string)\n}\nvariable \"default\" {\n  type    = number\n  default = \"7\"\n}\n",
        ),
        (
            "terraform.tfvars",
            "text = 3\nlist = [\"b\", \"a\", \"b\"]\n",
        ),
    ]);
    let plan = w.run(&["plan", "-out=p"]).expect(0);
    drop(plan);
    let shown = w.run(&["show", "-json", "p"]).expect(0).stdout;
    let plan: Value = serde_json::from_str(&shown).unwrap();
    assert_same_json(
        &plan["variables"],
        json!({"default": {"value": 7}, "list": {"value": ["b", "a", "b"]}, "text": {"value": 3}}),
    );
}

#[test]
fn nested_blocks_are_represented_by_nesting_mode() {
    let lab = Lab::new(
        r#"
locals {
  sizes = [1, 2]
}
resource "lab_network" "n" {
  name = "n"
  cidr = "10.1.0.0/16"
}
resource "lab_server" "s" {
  name       = "s"
  image      = "img-debian"
  network_id = lab_network.n.id
  disk {
    name    = "d"
    size_gb = 10
  }
  disk {
    name    = "e"
    size_gb = local.sizes[1]
  }
  dynamic "disk" {
    for_each = local.sizes
    content {
      name    = "m${disk.key}"
      size_gb = disk.value
    }
  }
  health_check {
    path = "/${lab_network.n.name}"
  }
}
"#,
    );
    lab.run(&["stage", "--plan-json", "plan.json"]).expect(0);
    let plan: Value = serde_json::from_str(&lab.workspace.read("plan.json")).unwrap();
    let resources = &plan["configuration"]["root_module"]["resources"];
    assert_eq!(resources[1]["provider_config_key"], "lab");
    // Generated blocks are omitted: only literal blocks are shown.
    assert_same_json(
        &resources[1]["expressions"],
        json!({
            "disk": [
                {"name": {"constant_value": "d"}, "size_gb": {"constant_value": 10}},
                {"name": {"constant_value": "e"}, "size_gb": {"references": ["local.sizes[1]", "local.sizes"]}},
            ],
            "health_check": {"path": {"references": ["lab_network.n.name", "lab_network.n"]}},
            "image": {"constant_value": "img-debian"},
            "name": {"constant_value": "s"},
            "network_id": {"references": ["lab_network.n.id", "lab_network.n"]},
        }),
    );
    let lab = &plan["configuration"]["provider_config"]["lab"];
    assert_eq!(lab["full_name"], "flightdeck.internal/bundled/lab");
    assert!(lab["expressions"]["file"]["constant_value"].is_string());
}

/// Document without the parts that differ between two runs.
fn normalized(document: &Value) -> Value {
    let mut document = document.clone();
    document["timestamp"] = Value::Null;
    document["terraform_version"] = Value::Null;
    if let Some(version) = document.pointer_mut("/prior_state/terraform_version") {
        *version = Value::Null;
    }
    // Ids are random, so all texts in their format are equal.
    let text = document.to_string();
    let is_id =
        |text: &str| text.len() == 36 && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let parts = text.split('"').map(|part| match is_id(part) {
        true => "id",
        false => part,
    });
    let text = parts.collect::<Vec<_>>().join("\"");
    let mut document: Value = serde_json::from_str(&text).unwrap();
    // tofu has no fixed order for the attributes of one resource.
    if let Some(Value::Array(all)) = document.get_mut("relevant_attributes") {
        all.sort_by_cached_key(ToString::to_string);
    }
    document
}

#[test]
fn representation_matches_that_of_tofu() {
    let Some(tofu) = tofu("tofu_shows_the_same_documents") else {
        return;
    };
    let (ours, theirs) = (workspace(), workspace());
    for w in [&ours, &theirs] {
        w.write("more.tf.json", IN_JSON);
    }
    let vars = ["-var", "secret=s"];
    run_tofu(&tofu, &theirs, None, &["init"]).expect(0);
    // Two rounds: an empty state, and the result of the first round.
    for round in 1..=2 {
        let plan = [&["plan", "-out=p"][..], &vars].concat();
        run_tofu(&tofu, &theirs, None, &plan).expect(0);
        let there = run_tofu(&tofu, &theirs, None, &["show", "-json", "p"]).expect(0);
        let there: Value = serde_json::from_str(&there.stdout).unwrap();
        let here = shown(&ours);
        assert_eq!(
            serde_json::to_string_pretty(&normalized(&here)).unwrap(),
            serde_json::to_string_pretty(&normalized(&there)).unwrap(),
            "round {round}"
        );
        run_tofu(&tofu, &theirs, None, &["apply", "p"]).expect(0);
        ours.run(&["apply", "p"]).expect(0);
        for w in [&ours, &theirs] {
            let less = MAIN.replace(
                "default     = [\"a\", \"b\"]",
                "default     = [\"b\", \"c\", \"a\"]",
            );
            w.write("main.tf", &less.replace("value = null", "value = var.size"));
        }
    }
}

/// An imported object gets its dependencies with its first change, or at once if it has none.
#[test]
fn imported_object_with_changes_has_no_dependencies_before_its_change() {
    const MAIN: &str = r#"
resource "terraform_data" "first" {}
resource "terraform_data" "as_it_is" {
  depends_on = [terraform_data.first]
}
resource "terraform_data" "to_be_changed" {
  input = terraform_data.first.id
}
import {
  to = terraform_data.as_it_is
  id = "a"
}
import {
  to = terraform_data.to_be_changed
  id = "b"
}
"#;
    let w = Workspace::new(&[("main.tf", MAIN)]);
    w.run(&["stage", "--plan-json", "plan.json"]).expect(0);
    let plan: Value = serde_json::from_str(&w.read("plan.json")).unwrap();
    let found = &plan["prior_state"]["values"]["root_module"]["resources"];
    let found: Vec<(&Value, &Value)> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| (&resource["address"], &resource["depends_on"]))
        .collect();
    assert_eq!(
        found,
        [
            (
                &json!("terraform_data.as_it_is"),
                &json!(["terraform_data.first"])
            ),
            (&json!("terraform_data.to_be_changed"), &Value::Null),
        ]
    );
}
