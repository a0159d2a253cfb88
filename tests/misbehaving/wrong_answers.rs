//! Tests of answers with an error, a wrong object or no object, and of the state after them. The
//! table was recorded from OpenTofu; the tests after it need no recording.

use serde_json::{Map, Value, json};

use crate::observed_run::{FaultWorkspace, Observations, assert_contains, for_each_row};

/// Workspace with the fake `answers` as its only provider, and a state.
struct World {
    bench: FaultWorkspace,
}

impl World {
    /// Creates it with `resources`, the body of the configuration, and `objects` in the state.
    fn new(resources: &str, objects: &[Value]) -> Self {
        let world = Self {
            bench: FaultWorkspace::new("answers"),
        };
        world.configure(resources);
        let provider = format!("provider[\"{}\"]", world.bench.address());
        let of = |object: &Value| {
            let name = &object["resource"];
            let instance: Map<String, Value> = object
                .as_object()
                .unwrap()
                .iter()
                .filter(|(key, _)| *key != "resource")
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            json!({"mode": "managed", "type": "fake_thing", "name": name, "provider": provider, "instances": [instance]})
        };
        let resources: Vec<Value> = objects.iter().map(of).collect();
        let state = json!({
            "version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "of-this-test",
            "outputs": {}, "resources": resources,
        });
        world.bench.write("terraform.tfstate", &state.to_string());
        world
    }

    fn configure(&self, resources: &str) {
        let text = format!(
            "terraform {{\n  required_providers {{\n    fake = {{ source = \"{}\" }}\n  }}\n}}\n{resources}",
            self.bench.address()
        );
        self.bench.write("main.tf", &text);
    }

    /// Sets the answer to one call, for every later run.
    fn answer(&self, answer: &Value) {
        self.answers(std::slice::from_ref(answer));
    }

    fn answers(&self, answers: &[Value]) {
        let text = serde_json::to_string(answers).unwrap();
        std::fs::write(self.bench.folder().join("answers.json"), text).unwrap();
    }

    fn answer_correctly(&self) {
        std::fs::remove_file(self.bench.folder().join("answers.json")).unwrap();
    }

    fn deploy(&self) -> Observations {
        self.bench.run(&["deploy", "--auto-approve", "--json"], &[])
    }

    /// Instances in the state file by resource name; deposed ones as `NAME deposed`.
    fn instances(&self) -> Map<String, Value> {
        let state: Value = serde_json::from_str(&self.bench.read("terraform.tfstate")).unwrap();
        let mut all = Map::new();
        for resource in state["resources"].as_array().unwrap() {
            for instance in resource["instances"].as_array().unwrap() {
                let name = resource["name"].as_str().unwrap();
                let name = match instance.get("deposed") {
                    Some(_) => format!("{name} deposed"),
                    None => name.to_owned(),
                };
                all.insert(name, instance.clone());
            }
        }
        all
    }

    /// State in the form of the recordings.
    fn summary(&self) -> Value {
        let short = |instance: &Value| {
            let attributes = &instance["attributes"];
            json!({
                "name": attributes["name"], "require_new": attributes["require_new"],
                "id": !attributes["id"].is_null(),
                "status": instance.get("status").unwrap_or(&Value::Null),
            })
        };
        let all = self.instances();
        all.iter()
            .map(|(k, v)| (k.clone(), short(v)))
            .collect::<Map<_, _>>()
            .into()
    }
}

fn thing(resource: &str, name: &str, require_new: &str, more: &str) -> String {
    format!(
        "resource \"fake_thing\" \"{resource}\" {{\n  name = \"{name}\"\n  require_new = \"{require_new}\"\n{more}}}\n"
    )
}

/// One ordinary resource and one with `create_before_destroy`.
fn two(name: &str, require_new: &str) -> String {
    let first = "  lifecycle {\n    create_before_destroy = true\n  }\n";
    thing("x", name, require_new, "") + &thing("cbd", name, require_new, first)
}

/// Object for the state, with private data that no answer contains.
fn object(resource: &str) -> Value {
    json!({
        "resource": resource, "schema_version": 0, "sensitive_attributes": [],
        "attributes": {"id": "made", "name": "a", "require_new": "1"},
        "private": "ZmlsZWQ=",
    })
}

fn recorded(row: &Value) {
    let action = row["action"].as_str().unwrap();
    let (call, resources) = match action {
        "create" => ("create", two("a", "1")),
        "update" => ("update", two("b", "1")),
        "delete" => ("delete", String::new()),
        "replace, delete fails" => ("delete", two("b", "2")),
        "replace, create fails" => ("create", two("b", "2")),
        "read, then no change" => ("read", two("a", "1")),
        "read, then update" => ("read", two("b", "1")),
        "read, then delete" => ("read", String::new()),
        other => panic!("there is no action {other:?}"),
    };
    let before: Vec<Value> = row["before"]
        .as_object()
        .unwrap()
        .keys()
        .map(|name| match name.as_str() {
            "cbd" => {
                let mut cbd = object(name);
                cbd["create_before_destroy"] = true.into();
                cbd
            }
            _ => object(name),
        })
        .collect();
    let world = World::new(&resources, &before);
    world.answer(&json!({"call": call, "answer": row["answer"], "error": row["error"]}));
    let records = world.instances();
    let seen = world.deploy();
    let failed = seen.code != Some(0);
    assert_eq!(failed, row["fails"].as_bool().unwrap(), "{seen:#?}");
    assert_eq!(world.summary(), row["after"], "{seen:#?}");
    // An object that no answer replaced keeps all its data, including private data.
    let without = matches!(row["answer"].as_str(), Some("null" | "none"));
    if failed && without && matches!(call, "delete" | "update") {
        assert_eq!(world.instances()["x"], records["x"], "{seen:#?}");
    }
}

fn each_recorded(file: &str) {
    let Some(rows) = cty::testing::vectors(file) else {
        return;
    };
    let named: Vec<(String, Value)> = rows
        .into_iter()
        .map(|row| {
            let name = format!("{}: {} {}", row["action"], row["answer"], row["error"]);
            (name, row)
        })
        .collect();
    for_each_row(&named, |(name, _)| name, |(_, row)| recorded(row));
}

#[test]
fn state_after_a_failing_apply_is_the_recorded_one() {
    each_recorded("apply_errors.jsonl");
}

#[test]
fn state_after_a_failing_read_is_the_recorded_one() {
    each_recorded("read_errors.jsonl");
}

#[test]
fn refused_delete_keeps_the_object_and_the_next_deploy_destroys_it() {
    let world = World::new("", &[object("x")]);
    world.answer(&json!({"call": "delete", "answer": "null", "error": true}));
    let before = world.instances();
    let seen = world.deploy().expect(5);
    assert_eq!(world.instances(), before, "{seen:#?}");
    world.answer_correctly();
    let seen = world.deploy().expect(0);
    assert!(world.instances().is_empty(), "{seen:#?}");
}

#[test]
fn refused_delete_of_a_dependent_keeps_the_object_it_depends_on() {
    let mut dependent = object("y");
    dependent["attributes"]["name"] = "b".into();
    dependent["dependencies"] = json!(["fake_thing.x"]);
    let world = World::new("", &[object("x"), dependent]);
    world.answer(&json!({"call": "delete", "name": "b", "answer": "null", "error": true}));
    let before = world.instances();
    let seen = world.deploy().expect(5);
    assert_eq!(world.instances(), before, "{seen:#?}");
}

#[test]
fn refused_delete_of_a_deposed_object_keeps_it() {
    for error in [true, false] {
        let mut deposed = object("x");
        deposed["deposed"] = "00000001".into();
        let world = World::new("", &[deposed]);
        // Without an error the answer is wrong too, because a destroyed object must be null.
        let answer = if error { "null" } else { "prior" };
        world.answer(&json!({"call": "delete", "answer": answer, "error": error}));
        let before = world.summary();
        let seen = world.deploy().expect(5);
        assert_eq!(world.summary(), before, "{seen:#?}");
    }
}

#[test]
fn refused_delete_of_a_tainted_object_leaves_it_tainted() {
    for answer in ["null", "none", "prior", "half"] {
        let mut tainted = object("x");
        tainted["status"] = "tainted".into();
        let world = World::new(&thing("x", "a", "1", ""), &[tainted]);
        world.answer(&json!({"call": "delete", "answer": answer, "error": true}));
        let seen = world.deploy().expect(5);
        let x = &world.summary()["x"];
        assert_eq!(x["status"], "tainted", "{answer}: {seen:#?}");
    }
}

#[test]
fn failed_create_restores_a_deposed_tainted_object_as_tainted() {
    let mut tainted = object("cbd");
    tainted["status"] = "tainted".into();
    tainted["create_before_destroy"] = true.into();
    let world = World::new(&two("a", "1").replace("\"x\"", "\"y\""), &[tainted]);
    world.answer(&json!({"call": "create", "answer": "null", "error": true}));
    let before = world.instances();
    let seen = world.deploy().expect(5);
    assert_eq!(world.instances(), before, "{seen:#?}");
}

#[test]
fn refused_update_keeps_the_object_as_it_was_read() {
    let world = World::new(&thing("x", "b", "1", ""), &[object("x")]);
    let read = json!({"call": "read", "answer": "half", "error": false});
    let update = json!({"call": "update", "answer": "null", "error": true});
    world.answers(&[read, update]);
    let seen = world.deploy().expect(5);
    assert_eq!(world.summary()["x"]["name"], "half", "{seen:#?}");
}

#[test]
fn created_object_with_an_unreadable_identity_is_kept_as_tainted() {
    let world = World::new(&thing("x", "a", "1", ""), &[]);
    world.answer(&json!({
        "call": "create", "answer": "planned", "error": false, "unreadable_identity": true,
    }));
    let seen = world.deploy().expect(5);
    let x = &world.summary()["x"];
    assert_eq!((&x["status"], &x["id"]), (&"tainted".into(), &true.into()));
    assert_contains(&seen.diagnostics().join("\n"), &["invalid identity"]);
}

#[test]
fn error_in_an_unreadable_answer_is_reported() {
    let cases = [("create", "a", vec![]), ("update", "b", vec![object("x")])];
    for (call, name, objects) in cases {
        let world = World::new(&thing("x", name, "1", ""), &objects);
        world.answer(&json!({"call": call, "answer": "unreadable", "error": true}));
        let before = world.instances();
        let seen = world.deploy().expect(5);
        assert_eq!(seen.operation("fake_thing.x")["state"], "unknown");
        assert_eq!(world.instances(), before, "{seen:#?}");
        let words = ["cannot decode the answer", "the answer has an error"];
        assert_contains(&seen.diagnostics().join("\n"), &words);
    }
}

#[test]
fn error_in_an_unreadable_read_is_reported() {
    let world = World::new(&thing("x", "a", "1", ""), &[object("x")]);
    world.answer(&json!({"call": "read", "answer": "unreadable", "error": true}));
    let before = world.instances();
    let seen = world.deploy().expect(1);
    assert_eq!(world.instances(), before, "{seen:#?}");
    assert_contains(&seen.diagnostics().join("\n"), &["the answer has an error"]);
}
