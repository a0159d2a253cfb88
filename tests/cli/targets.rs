//! Tests of targets and excludes: each combination with each mode, compared with recordings of
//! OpenTofu 1.12.6. `targets/observed.jsonl` has one run per line: the plan, and the changes of the
//! apply to state and outputs. Members `here` and `why` describe intended differences.

use crate::support::Workspace;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

const OBSERVED: &str = include_str!("targets/observed.jsonl");

/// Workspace with the files of one directory of `targets/`.
fn world(name: &str) -> Workspace {
    fn add(workspace: &Workspace, from: &Path, at: &str) {
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{at}{}", path.file_name().unwrap().to_str().unwrap());
            if path.is_dir() {
                add(workspace, &path, &format!("{name}/"));
            } else {
                workspace.write(&name, &std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let workspace = Workspace::new(&[]);
    add(
        &workspace,
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/cli/targets")
            .join(name),
        "",
    );
    workspace
}

/// Addresses with the input of each object, and the outputs.
fn state(w: &Workspace) -> (Map<String, Value>, Map<String, Value>) {
    let doc: Value = serde_json::from_str(&w.run(&["state", "export"]).expect(0).stdout).unwrap();
    let mut objects = Map::new();
    for resource in doc["resources"].as_array().unwrap() {
        for instance in resource["instances"].as_array().unwrap() {
            let mut address = resource["module"]
                .as_str()
                .map(|m| format!("{m}."))
                .unwrap_or_default();
            address += if resource["mode"] == "data" {
                "data."
            } else {
                ""
            };
            address += &format!(
                "{}.{}",
                resource["type"].as_str().unwrap(),
                resource["name"].as_str().unwrap()
            );
            match &instance["index_key"] {
                Value::Null => {}
                key => address += &format!("[{key}]"),
            }
            let input = &instance["attributes"]["input"];
            objects.insert(address, input.get("value").unwrap_or(input).clone());
        }
    }
    let outputs = doc["outputs"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, o)| (name.clone(), o["value"].clone()))
        .collect();
    (objects, outputs)
}

/// Changed members; removed ones are `(gone)`.
fn difference(before: &Map<String, Value>, after: &Map<String, Value>) -> Value {
    let mut out = Map::new();
    for name in before
        .keys()
        .chain(after.keys())
        .filter(|n| before.get(*n) != after.get(*n))
    {
        out.insert(
            name.clone(),
            after.get(name).cloned().unwrap_or_else(|| "(gone)".into()),
        );
    }
    out.into()
}

fn formatted_changes(changes: impl Iterator<Item = (String, Value)>) -> Value {
    let word = |actions: &Value| match actions
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a.as_str().unwrap())
        .collect::<Vec<_>>()[..]
    {
        [one @ ("create" | "update" | "read" | "no-op")] => one.to_owned(),
        ["delete"] => "destroy".to_owned(),
        _ => "replace".to_owned(),
    };
    let acting = changes
        .map(|(name, actions)| (name, word(&actions)))
        .filter(|(_, word)| word != "no-op");
    acting
        .map(|(name, word)| (name, Value::from(word)))
        .collect::<Map<_, _>>()
        .into()
}

/// Stages and deploys in a workspace with the recorded initial state.
fn run(w: &Workspace, case: &Value) -> Value {
    let mode = case["world"].as_str().unwrap();
    let (kind, addresses) = ["target", "exclude"]
        .into_iter()
        .find_map(|k| Some((k, case.get(k)?)))
        .unwrap();
    let mut args: Vec<String> = vec![
        "stage".into(),
        "--json".into(),
        "--plan-json".into(),
        "plan.json".into(),
    ];
    args.extend(
        addresses
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|a| [format!("--{kind}"), a.as_str().unwrap().to_owned()]),
    );
    match mode {
        "destroy" => args.push("--destroy".into()),
        "refresh-only" => args.push("--refresh-only".into()),
        _ => {}
    }
    if matches!(mode, "change" | "refresh-only") {
        args.extend(["--var".into(), "v=two".into()]);
    }
    let mut out = json!({ "world": mode, kind: addresses });
    let before = state(w);
    let staged = w.run(&args);
    if staged.code != Some(0) {
        out["error"] = "plan".into();
        return out;
    }
    let plan: Value =
        serde_json::from_str(&std::fs::read_to_string(w.path().join("plan.json")).unwrap())
            .unwrap();
    // Empty parts are omitted.
    let resources = plan["resource_changes"].as_array().into_iter().flatten();
    out["changes"] = formatted_changes(resources.map(|c| {
        (
            c["address"].as_str().unwrap().to_owned(),
            c["change"]["actions"].clone(),
        )
    }));
    out["outputs"] = formatted_changes(
        plan["output_changes"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(n, c)| (n.clone(), c["actions"].clone())),
    );
    w.run(&["deploy", "--json", &staged.result()["stage"].to_string()])
        .expect(0);
    let after = state(w);
    out["state"] = difference(&before.0, &after.0);
    out["kept"] = difference(&before.1, &after.1);
    out
}

/// Expected result: the recording with the intended differences.
fn expected(case: &Value) -> Value {
    let mut due = case.clone();
    let all = due.as_object_mut().unwrap();
    all.remove("why");
    let Some(Value::Object(here)) = all.remove("here") else {
        return due;
    };
    for (field, value) in here {
        if value.is_null() {
            all.remove(&field);
        } else {
            all.insert(field, value);
        }
    }
    due
}

#[test]
fn targets_and_excludes_match_recordings_in_every_mode() {
    let cases: Vec<Value> = OBSERVED
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        cases.len() > 150
            && cases
                .iter()
                .all(|c| c.get("here").is_none() == c.get("why").is_none())
    );
    let full = world("world");
    full.run(&["deploy", "--auto-approve"]).expect(0);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let w = world(if case["world"] == "less" {
                "less"
            } else {
                "world"
            });
            if case["world"] != "new" {
                std::fs::create_dir(w.path().join(".flightdeck")).unwrap();
                std::fs::copy(full.store(), w.store()).unwrap();
                let state = "terraform.tfstate";
                std::fs::copy(full.path().join(state), w.path().join(state)).unwrap();
            }
            let (got, due) = (run(&w, case), expected(case));
            if got != due {
                wrong.push(format!("due {due}\ngot {got}\n"));
            }
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect()
    });
    assert!(
        wrong.is_empty(),
        "{} of {} runs:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

/// An object outside the target, in its own module, is needed by a dependent of the target, so it
/// stays.
#[test]
fn targeted_destroy_keeps_dependencies_of_remaining_objects() {
    let w = Workspace::new(&[
        (
            "main.tf",
            r#"
resource "terraform_data" "a" {}
module "m" { source = "./m" }
resource "terraform_data" "n" { input = [terraform_data.a.id, module.m.id] }
"#,
        ),
        (
            "m/main.tf",
            "resource \"terraform_data\" \"u\" {}\noutput \"id\" { value = terraform_data.u.id }\n",
        ),
    ]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let staged = w
        .run(&["stage", "--destroy", "--target", "terraform_data.a"])
        .expect(0);
    assert!(
        !staged.stdout.contains("terraform_data.u"),
        "{}",
        staged.stdout
    );
    w.run(&["destroy", "--auto-approve", "--target", "terraform_data.a"])
        .expect(0);
    assert_eq!(
        w.run(&["state", "list"]).expect(0).stdout,
        "module.m.terraform_data.u\n"
    );
}

/// A resource address without a key, in a module with several instances, means all instances.
#[test]
fn resource_address_without_keys_means_all_instances() {
    let w = world("world");
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w.run(&[
        "destroy",
        "--auto-approve",
        "--target",
        "module.m.module.deep.terraform_data.core",
    ])
    .expect(0);
    let left = w.run(&["state", "list"]).expect(0).stdout;
    assert!(
        !left.contains("core")
            && !left.contains("late")
            && left.contains("module.m[\"q\"].terraform_data.in"),
        "{left}"
    );
    w.run(&[
        "destroy",
        "--auto-approve",
        "--exclude",
        "module.m.terraform_data.in",
    ])
    .expect(0);
    let left = w.run(&["state", "list"]).expect(0).stdout;
    // Dependencies of the remaining objects stay.
    let kept = [
        "module.m[\"p\"].terraform_data.in",
        "module.m[\"q\"].terraform_data.in",
        "terraform_data.a[\"x\"]",
        "terraform_data.a[\"y\"]",
    ];
    assert_eq!(left.lines().collect::<Vec<_>>(), kept);
}

/// A retry after a partly failed deploy names the instances that are still to be created, and
/// resources that need all instances. Existing instances need no target.
#[test]
fn targets_need_only_instances_that_do_not_exist() {
    let count = "resource \"terraform_data\" \"a\" {\n  count = 2\n}\n\
        resource \"terraform_data\" \"b\" {\n  input = terraform_data.a[*].id\n}\n";
    let each = "resource \"terraform_data\" \"a\" {\n  for_each = toset([\"x\", \"y\"])\n}\n\
        resource \"terraform_data\" \"b\" {\n  depends_on = [terraform_data.a]\n}\n";
    let levels = "resource \"terraform_data\" \"a\" {\n  count = 2\n}\n\
        locals {\n  ids = terraform_data.a[*].id\n}\n\
        resource \"terraform_data\" \"m\" {\n  count = 2\n  input = local.ids\n}\n\
        resource \"terraform_data\" \"b\" {\n  input = terraform_data.m[*].output\n}\n\
        output \"b\" {\n  value = terraform_data.b.output\n}\n";
    let modules = "module \"m\" {\n  source = \"./m\"\n  count = 2\n}\n\
        resource \"terraform_data\" \"b\" {\n  input = module.m[*].id\n}\n";
    // Configuration, target of the first deploy, targets of the retry, the instance to omit.
    let table: [(&str, &str, &[&str], &str); 4] = [
        (
            count,
            "terraform_data.a[0]",
            &["terraform_data.a[1]", "terraform_data.b"],
            "terraform_data.a[0]",
        ),
        (
            each,
            "terraform_data.a[\"x\"]",
            &["terraform_data.a[\"y\"]", "terraform_data.b"],
            "terraform_data.a[\"x\"]",
        ),
        (
            levels,
            "terraform_data.a[0]",
            &[
                "terraform_data.a[1]",
                "terraform_data.m",
                "terraform_data.b",
            ],
            "terraform_data.a[0]",
        ),
        (
            modules,
            "module.m[0]",
            &["module.m[1].terraform_data.a", "terraform_data.b"],
            "module.m[0].terraform_data.a",
        ),
    ];
    for (config, first, retry, existing) in table {
        let w = Workspace::new(&[("main.tf", config)]);
        let id = "resource \"terraform_data\" \"a\" {}\noutput \"id\" {\n  value = terraform_data.a.id\n}\n";
        w.write("m/main.tf", id);
        let targets: Vec<&str> = retry.iter().flat_map(|t| ["--target", t]).collect();
        // No object exists yet: the error names the missing first instance.
        let refused = w.run(&[&["stage"], targets.as_slice()].concat()).expect(1);
        assert!(
            refused.stderr.contains(&format!(
                "depends on {existing}, which does not exist yet and is outside of the targets"
            )),
            "{}",
            refused.stderr
        );
        w.run(&["deploy", "--auto-approve", "--target", first])
            .expect(0);
        w.run(&[&["deploy", "--auto-approve"], targets.as_slice()].concat())
            .expect(0);
        let rest = w.run(&["stage"]).expect(0).stdout;
        assert!(rest.contains("no changes"), "{rest}");
    }
}

/// A change that depends on a target without being needed is shown as deselected, and is not
/// applied.
#[test]
fn change_that_a_target_does_not_need_is_deselected() {
    let w = world("world");
    let staged = w
        .run(&["stage", "--target", "terraform_data.c"])
        .expect(0)
        .stdout;
    assert!(
        staged.contains("terraform_data.b[\"y\"]  deselected")
            && staged.contains("5 to create, of which 2 deselected"),
        "{staged}"
    );
    w.run(&["deploy", "1"]).expect(0);
    let there = w.run(&["state", "list"]).expect(0).stdout;
    assert_eq!(
        there.lines().collect::<Vec<_>>(),
        [
            "terraform_data.a[\"x\"]",
            "terraform_data.b[\"x\"]",
            "terraform_data.c"
        ]
    );
}
