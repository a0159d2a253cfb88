//! Tests of `state import` and `state forget`: effects, refusals, and records.

use bundled::lab::control;
use bundled::lab::control::{Fault, Kind, On};
use serde_json::json;

use super::state_import::{id, listed, things};
use crate::lab_deploys::Lab;

#[test]
fn forgotten_object_still_exists_and_can_be_imported_again() {
    let lab = things();
    assert_eq!(listed(&lab).len(), 7);
    let names = [
        "lab_thing.a[0]",
        "lab_thing.k[\"y z\"]",
        "module.m[1].lab_thing.t",
        "lab_bucket.b",
    ];
    let ids = ["a-0", "k-y", "m-1", "b"].map(|name| id(&lab, name));
    let args: Vec<&str> = ["state", "forget", "--json"]
        .into_iter()
        .chain(names)
        .collect();
    let run = lab.run(&args).expect(0);
    let result = run.result();
    assert_eq!(result["command"], "state forget");
    let changes = result["state_changes"].as_array().unwrap();
    assert_eq!(changes.len(), 4);
    for (name, id) in names.iter().zip(&ids) {
        let change = changes.iter().find(|c| c["address"] == *name).unwrap();
        assert_eq!(
            (&change["what"], &change["id"], &change["settled"]),
            (&json!("forgotten"), &json!(id), &json!([]))
        );
    }
    assert_eq!(
        run.lines()
            .iter()
            .filter(|l| l["type"] == "state_changed")
            .count(),
        4
    );
    assert_eq!(
        listed(&lab),
        [
            "lab_thing.a[1]",
            "lab_thing.k[\"x\"]",
            "module.m[0].lab_thing.t"
        ]
    );
    assert_eq!(
        control::objects(&lab.file()).unwrap().len(),
        7,
        "nothing was destroyed"
    );
    assert_eq!(
        lab.run(&["stage", "--json"]).expect(0).result()["changes"]["create"],
        4
    );

    for (name, id) in names.iter().zip(&ids) {
        let result = lab
            .run(&["state", "import", name, id, "--json"])
            .expect(0)
            .result();
        assert_eq!(result["command"], "state import");
        let change = &result["state_changes"][0];
        assert_eq!(
            (&change["what"], &change["id"], &change["address"]),
            (&json!("imported"), &json!(id), &json!(name))
        );
    }
    assert_eq!(
        lab.run(&["stage", "--json", "--detailed-exitcode"])
            .expect(0)
            .result()["changes"]["no_op"],
        7
    );
    assert_eq!(control::objects(&lab.file()).unwrap().len(), 7);

    // Each change of the state is recorded with its user.
    let history = lab.run(&["history", "--json"]).expect(0).result();
    assert_eq!(history["state_changes"].as_array().unwrap().len(), 8);
    let text = lab.run(&["history"]).expect(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 9, "{text}");
    assert!(
        lines[0].contains(&format!("lab_bucket.b: imported (id {}) by ", ids[3])),
        "{text}"
    );
    assert!(lines[8].starts_with("#1"), "{text}");
}

#[test]
fn resources_and_modules_are_forgotten_completely_or_not_at_all() {
    let lab = things();
    for (wrong, hint) in [
        ("lab_thing.aa", "did you mean `lab_thing."),
        ("lab_server.web", "run `flightdeck state list`"),
    ] {
        let run = lab.run(&["state", "forget", "module.m", wrong]).expect(1);
        assert!(
            run.stderr.contains(wrong) && run.stderr.contains(hint),
            "{run:#?}"
        );
    }
    assert!(
        lab.run(&["state", "forget", "lab_thing.a[", "module.m"])
            .expect(1)
            .stderr
            .contains("not a valid address")
    );
    assert_eq!(listed(&lab).len(), 7, "nothing was forgotten");
    let run = lab
        .run(&[
            "state",
            "forget",
            "module.m",
            "lab_thing.a",
            "lab_thing.a[1]",
        ])
        .expect(0);
    assert_eq!(run.stdout.lines().count(), 4, "{run:#?}");
    assert!(run.stdout.contains("is unchanged"), "{run:#?}");
    assert_eq!(
        listed(&lab),
        ["lab_bucket.b", "lab_thing.k[\"x\"]", "lab_thing.k[\"y z\"]"]
    );
}

#[test]
fn deposed_object_is_forgotten_by_its_listed_name() {
    let thing = |version: &str| {
        format!(
            "resource \"lab_thing\" \"a\" {{\n  name     = \"a\"\n  triggers = {{ v = {version:?} }}\n  lifecycle {{\n    create_before_destroy = true\n  }}\n}}\n"
        )
    };
    let lab = Lab::new(&thing("1"));
    lab.deploy().expect(0);
    lab.set_fault(Fault {
        on: On::Delete,
        ..Fault::new(Kind::Permanent)
    });
    lab.workspace.write("main.tf", &thing("2"));
    lab.deploy().expect(5);
    let names = listed(&lab);
    let deposed = names.iter().find(|n| n.contains("(deposed ")).unwrap();
    assert!(
        lab.run(&["state", "forget", "lab_thing.a (deposed ffffffff)"])
            .expect(1)
            .stderr
            .contains("not in the state")
    );
    assert!(
        lab.run(&["state", "forget", deposed])
            .expect(0)
            .stdout
            .contains("forgotten")
    );
    assert_eq!(listed(&lab), ["lab_thing.a"]);
    assert_eq!(control::objects(&lab.file()).unwrap().len(), 2);
}

#[test]
fn unknown_creation_outside_the_state_is_settled_by_forget() {
    let lab = Lab::new("resource \"lab_bucket\" \"a\" {\n  name = \"a\"\n}\n");
    lab.set_fault(Fault {
        times: Some(1),
        ..Fault::new(Kind::Crash)
    });
    lab.deploy().expect(5);
    assert!(
        lab.run(&["state", "forget", "lab_bucket.b"])
            .expect(1)
            .stderr
            .contains("did you mean `lab_bucket.a`?")
    );
    let result = lab
        .run(&["state", "forget", "lab_bucket.a", "--json"])
        .expect(0)
        .result();
    let change = &result["state_changes"][0];
    assert_eq!(
        (&change["what"], &change["settled"]),
        (&json!("settled"), &json!(["create in deploy #1"]))
    );
    assert_eq!(lab.deploy().expect(0).result()["operations"]["done"], 1);
    let text = lab.run(&["history", "1"]).expect(0).stdout;
    assert!(text.contains("unknown outcome (forgotten)"), "{text}");
    assert!(
        lab.run(&["state", "forget", "lab_bucket.a"])
            .expect(0)
            .stdout
            .contains("is unchanged")
    );
}

#[test]
fn state_of_a_locked_workspace_is_not_changed() {
    use model::lock_owner::this_process;
    use model::settings::Access;
    use store::Store;
    let lab = things();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = Store::open(&lab.workspace.path(), Access::ReadWrite).unwrap();
    runtime
        .block_on(store.acquire_lock(this_process("a test that holds it")))
        .unwrap();
    for args in [
        &["state", "forget", "lab_bucket.b"][..],
        &["state", "import", "lab_bucket.b", "bkt-1"],
    ] {
        assert!(
            lab.run(args)
                .expect(4)
                .stderr
                .contains("a test that holds it")
        );
    }
    assert_eq!(listed(&lab).len(), 7);
}
