//! Tests from configuration to state and history through the real binary, with the built-in
//! provider.

use crate::support::{Workspace, mode};
use serde_json::{Value, json};

pub(crate) const TWO: &str = r#"
resource "terraform_data" "a" {
  input = "one"
}

resource "terraform_data" "b" {
  input            = terraform_data.a.output
  triggers_replace = [terraform_data.a.id]
}

output "b" {
  value = terraform_data.b.output
}
"#;

pub(crate) fn workspace_with_two_resources() -> Workspace {
    Workspace::new(&[("main.tf", TWO)])
}

fn changes(of: &[(&str, u32)]) -> Value {
    let mut all = json!({"create": 0, "update": 0, "replace": 0, "destroy": 0, "read": 0, "forget": 0, "import": 0, "no_op": 0});
    for (action, n) in of {
        all[action] = (*n).into();
    }
    all
}

pub(crate) fn deploy(w: &Workspace) -> Value {
    w.run(&["deploy", "--auto-approve", "--json"])
        .expect(0)
        .result()
}

fn exported(w: &Workspace) -> Value {
    serde_json::from_str(&w.run(&["state", "export"]).expect(0).stdout).unwrap()
}

#[test]
fn stage_counts_changes_and_sets_the_exit_code() {
    let w = workspace_with_two_resources();
    let run = w.run(&["stage", "--json"]).expect(0);
    assert_eq!(
        run.result(),
        json!({"type": "result", "format_version": "1.0", "command": "stage", "stage": 1, "changes": changes(&[("create", 2)])})
    );
    assert_eq!(
        w.run(&["stage", "--json", "--detailed-exitcode"])
            .expect(2)
            .result()["stage"],
        2
    );
    deploy(&w);
    let run = w.run(&["stage", "--json", "--detailed-exitcode"]).expect(0);
    assert_eq!(run.result()["changes"], changes(&[("no_op", 2)]));
}

#[test]
fn json_output_has_events_then_diagnostics_then_result() {
    let w = Workspace::new(&[(
        "main.tf",
        "resource \"terraform_data\" \"a\" {\n  nope = 1\n  input = var.gone\n}\n",
    )]);
    let run = w.run(&["stage", "--json"]).expect(1);
    assert_eq!(
        run.result(),
        json!({"type": "result", "format_version": "1.0", "command": "stage", "outcome": "error", "exit_code": 1})
    );
    let kinds: Vec<String> = run
        .lines()
        .iter()
        .map(|l| l["type"].as_str().unwrap().to_owned())
        .collect();
    let first = kinds.iter().position(|k| k == "diagnostic").unwrap();
    assert!(
        kinds[first..kinds.len() - 1]
            .iter()
            .all(|k| k == "diagnostic"),
        "{kinds:?}"
    );
    for d in run.diagnostics() {
        let keys: Vec<&str> = d.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            ["type", "severity", "summary", "detail", "address", "range"]
        );
        assert_eq!(d["range"]["filename"], "main.tf", "{d}");
    }
    let mut seen = run.diagnostics();
    seen.dedup();
    assert_eq!(seen.len(), run.diagnostics().len(), "none is said twice");
}

#[test]
fn text_error_shows_the_source_line() {
    let w = Workspace::new(&[(
        "main.tf",
        "resource \"terraform_data\" \"a\" {\n  input = var.gone\n}\n",
    )]);
    let run = w.run(&["stage"]).expect(1);
    assert!(run.stderr.contains("--> main.tf:2:11"), "{}", run.stderr);
    assert!(
        run.stderr.contains("2 |   input = var.gone"),
        "{}",
        run.stderr
    );
    assert!(
        !run.stderr.contains('\u{1b}'),
        "no colours where nobody looks: {:?}",
        run.stderr
    );
    assert!(!run.stderr.contains("RUST_BACKTRACE"));
}

#[test]
fn deploy_and_destroy_update_state_and_history() {
    let w = workspace_with_two_resources();
    let result = deploy(&w);
    assert_eq!(
        result,
        json!({"type": "result", "format_version": "1.0", "command": "deploy", "deploy": 1, "stage": 1, "outcome": "succeeded",
               "operations": {"done": 2, "failed": 0, "not_attempted": 0, "unknown": 0, "half_replaced": 0}})
    );
    let listed = w.run(&["state", "list"]).expect(0).stdout;
    assert_eq!(listed, "terraform_data.a\nterraform_data.b\n");
    let shown = w
        .run(&["state", "show", "terraform_data.b"])
        .expect(0)
        .stdout;
    assert!(
        shown.contains("terraform_data.a") && shown.contains("\"one\""),
        "{shown}"
    );
    let rows = w
        .run(&["state", "show", "terraform_data.b", "--json"])
        .expect(0)
        .result();
    assert_eq!(rows["resources"][0]["address"], "terraform_data.b");
    assert_eq!(
        w.run(&["state", "list", "--json"]).expect(0).result()["resources"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let near = w
        .run(&["state", "show", "terraform_data.c"])
        .expect(1)
        .stderr;
    assert!(near.contains("did you mean"), "{near}");

    let state = exported(&w);
    assert_eq!(
        (&state["version"], &state["outputs"]["b"]["value"]),
        (&json!(4), &json!("one"))
    );
    assert_eq!(state["resources"].as_array().unwrap().len(), 2);

    // An update of one resource forces an update of the other.
    let id =
        |state: &Value, n: usize| state["resources"][n]["instances"][0]["attributes"]["id"].clone();
    w.write("main.tf", &TWO.replace("one", "two"));
    assert_eq!(
        w.run(&["stage", "--json"]).expect(0).result()["changes"],
        changes(&[("update", 2)])
    );
    deploy(&w);
    let after = exported(&w);
    assert_eq!(after["outputs"]["b"]["value"], "two");
    assert_eq!(id(&after, 0), id(&state, 0));
    let replaced = w
        .run(&[
            "deploy",
            "--auto-approve",
            "--json",
            "--replace",
            "terraform_data.a",
        ])
        .expect(0)
        .result();
    assert_eq!(replaced["outcome"], "succeeded");
    let again = exported(&w);
    assert!(
        id(&again, 0) != id(&after, 0) && id(&again, 1) != id(&after, 1),
        "{again}"
    );

    let gone = w
        .run(&["destroy", "--auto-approve", "--json"])
        .expect(0)
        .result();
    assert_eq!(
        (&gone["command"], &gone["operations"]["done"]),
        (&json!("destroy"), &json!(2))
    );
    assert_eq!(exported(&w)["resources"], json!([]));
    let history = w.run(&["history", "--json"]).expect(0).result();
    let outcomes: Vec<&Value> = history["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| &d["outcome"])
        .collect();
    assert_eq!(outcomes, ["succeeded"; 4]);
    let one = w.run(&["history", "1"]).expect(0).stdout;
    assert!(
        one.contains("terraform_data.a") && one.contains("succeeded"),
        "{one}"
    );
    assert!(w.run(&["history", "77"]).expect(1).stderr.contains("77"));

    let compared = w.run(&["history", "2", "--compare", "1"]).expect(0).stdout;
    assert!(compared.contains("  ~ main.tf"), "{compared}");
    let operation = "terraform_data.b: create done";
    assert!(
        compared.contains(operation) && compared.contains("→ update done"),
        "{compared}"
    );
    let json = w
        .run(&["history", "1", "--compare", "4", "--json"])
        .expect(0)
        .result();
    let comparison = &json["comparison"];
    assert_eq!(comparison["before"]["deploy"], 1);
    assert_eq!(comparison["files"][0]["kind"], "changed");
    assert_eq!(comparison["operations"][0]["after"]["action"], "destroy");
    w.run(&["history", "1", "--compare", "77"]).expect(1);
}

#[test]
fn failed_deploy_exits_with_5_and_is_recorded() {
    let text = |want: &str| {
        format!(
            "resource \"terraform_data\" \"a\" {{\n  input = \"x\"\n}}\n\
             resource \"terraform_data\" \"b\" {{\n  input = 1\n  lifecycle {{\n    precondition {{\n      \
             condition     = terraform_data.a.output == \"{want}\"\n      error_message = \"a is not {want}\"\n    }}\n  }}\n}}\n\
             resource \"terraform_data\" \"c\" {{\n  input = terraform_data.b.output\n}}\n"
        )
    };
    let w = Workspace::new(&[("main.tf", &text("y"))]);
    let run = w.run(&["deploy", "--auto-approve", "--json"]).expect(5);
    let result = run.result();
    assert_eq!(result["outcome"], "failed");
    assert_eq!(
        result["operations"],
        json!({"done": 1, "failed": 1, "not_attempted": 1, "unknown": 0, "half_replaced": 0}),
        "{run:#?}"
    );
    let errors = run.diagnostics();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0]["range"]["start"]["line"], 8, "{errors:?}");

    let groups = w.run(&["failures", "--json"]).expect(0).result()["failures"].clone();
    assert_eq!(
        (groups.as_array().unwrap().len(), &groups[0]["addresses"]),
        (1, &json!(["terraform_data.b"]))
    );
    assert!(groups.to_string().contains("a is not y"), "{groups}");
    w.write("main.tf", &text("x"));
    deploy(&w);
    let text = w.run(&["failures"]).expect(0).stdout;
    assert!(
        text.contains("since then: create of terraform_data.b in deploy 2 succeeded"),
        "{text}"
    );
    assert_eq!(
        w.run(&["failures", "--since", "0s", "--json"])
            .expect(0)
            .result()["failures"],
        json!([])
    );
}

#[test]
fn sensitive_value_is_never_shown() {
    let config = "variable \"password\" {\n  type      = string\n  sensitive = true\n}\n\
                  resource \"terraform_data\" \"a\" {\n  triggers_replace = { deep = [var.password] }\n}\n\
                  output \"o\" {\n  value     = var.password\n  sensitive = true\n}\n";
    let w = Workspace::new(&[("main.tf", config)]);
    let secret = "correct-horse-battery";
    let var = format!("password={secret}");
    for args in [
        vec!["stage", "--var", &var],
        vec!["stage", "--json", "--var", &var],
        vec!["deploy", "--auto-approve", "--json", "--var", &var],
        vec![
            "deploy",
            "--auto-approve",
            "--log-level",
            "trace",
            "--replace",
            "terraform_data.a",
            "--var",
            &var,
        ],
        vec!["state", "show", "terraform_data.a"],
        vec!["state", "show", "terraform_data.a", "--json"],
        vec!["history", "1", "--json"],
        vec!["logs", "--json"],
    ] {
        let run = w.run(&args).expect(0);
        assert!(
            !run.stdout.contains(secret) && !run.stderr.contains(secret),
            "{args:?}: {run:#?}"
        );
    }
    assert!(
        w.run(&["state", "export"])
            .expect(0)
            .stdout
            .contains(secret),
        "what must hold it does"
    );
    assert_eq!(mode(&w.store()), 0o600);
}

#[test]
fn read_only_commands_create_no_files() {
    let w = workspace_with_two_resources();
    for args in [
        vec!["history"],
        vec!["failures"],
        vec!["logs"],
        vec!["state", "list"],
        vec!["state", "export"],
    ] {
        w.run(&args).expect(0);
        w.run(&["state", "list", "--json"]).expect(0);
    }
    assert!(!w.store().exists());
    assert_eq!(exported(&w)["version"], 4);
}

#[test]
fn stage_without_changes_reports_no_changes() {
    let w = workspace_with_two_resources();
    deploy(&w);
    let run = w.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(run.stdout.contains("no changes"), "{}", run.stdout);
    assert!(!run.stdout.contains('\u{1b}'));
}

#[test]
fn locked_workspace_is_reported_with_its_lock_owner() {
    use model::lock_owner::this_process;
    use model::settings::Access;
    use store::Store;
    let w = workspace_with_two_resources();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = Store::open(&w.path(), Access::ReadWrite).unwrap();
    runtime
        .block_on(store.acquire_lock(this_process("a test that holds it")))
        .unwrap();
    for args in [
        vec!["stage"],
        vec!["deploy", "--auto-approve"],
        vec!["destroy", "--auto-approve"],
    ] {
        let run = w.run(&args).expect(4);
        assert!(run.stderr.contains("a test that holds it"), "{run:?}");
        assert!(
            run.stderr.contains(&std::process::id().to_string()),
            "{run:?}"
        );
    }
    let run = w.run(&["stage", "--json"]).expect(4);
    assert_eq!(
        (run.result()["exit_code"].clone(), run.diagnostics().len()),
        (json!(4), 1)
    );
    w.run(&["state", "list"]).expect(0);
    w.run(&["history"]).expect(0);
    runtime.block_on(store.release_lock()).unwrap();
    w.run(&["stage"]).expect(0);
}

#[test]
fn unmatched_addresses_are_reported() {
    let w = Workspace::new(&[(
        "main.tf",
        "resource \"terraform_data\" \"a\" {\n  count = 2\n}\n",
    )]);
    for (flag, address) in [
        ("--target", "module.nowhere"),
        ("--exclude", "terraform_data.b"),
        ("--replace", "terraform_data.b[0]"),
    ] {
        let run = w.run(&["stage", flag, address]).expect(0);
        assert!(
            run.stderr
                .contains(&format!("warning: {flag} matches nothing"))
                && run.stderr.contains(address),
            "{run:?}"
        );
    }
    for (flag, address) in [
        ("--target", "terraform_data.a"),
        ("--exclude", "terraform_data.a[1]"),
        ("--replace", "terraform_data.a[0]"),
    ] {
        assert_eq!(
            w.run(&["stage", flag, address]).expect(0).stderr,
            "",
            "{flag} {address}"
        );
    }
}
