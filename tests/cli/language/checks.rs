//! Data sources in checks: read during the plan and again at the end of the deploy, without ever
//! failing either.

use crate::support::Workspace;
use serde_json::Value;

const CHECK: &str = r#"
resource "terraform_data" "a" { input = "made anyway" }
check "upstream" {
  data "terraform_remote_state" "up" {
    backend = "local"
    config  = { path = "up.json" }
  }
  assert {
    condition     = data.terraform_remote_state.up.outputs.v == "one"
    error_message = "v is ${data.terraform_remote_state.up.outputs.v}."
  }
}
"#;

fn state(v: &str) -> String {
    format!(
        "{{\"version\": 4, \"terraform_version\": \"1.12.6\", \"serial\": 1, \"lineage\": \"l0\", \"outputs\": {{\"v\": {{\"value\": \"{v}\", \"type\": \"string\"}}}}, \"resources\": []}}\n"
    )
}

fn status(workspace: &Workspace) -> String {
    let plan: Value =
        serde_json::from_str(&std::fs::read_to_string(workspace.path().join("plan.json")).unwrap())
            .unwrap();
    let checks = plan["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 1, "{checks:?}");
    checks[0]["status"].as_str().unwrap().to_owned()
}

#[test]
fn failing_data_source_of_a_check_fails_nothing() {
    let workspace = Workspace::new(&[("main.tf", CHECK)]);
    let stage = ["stage", "--json", "--plan-json", "plan.json"];
    // The data source fails, and the other resources are planned all the same.
    let run = workspace.run(&stage).expect(0);
    assert_eq!(status(&workspace), "fail");
    // An unreadable data source is in the prior state, with null for its unknown values.
    let plan: serde_json::Value = serde_json::from_str(&workspace.read("plan.json")).unwrap();
    let found = &plan["prior_state"]["values"]["root_module"]["resources"];
    assert_eq!(
        found[0]["values"]["outputs"],
        serde_json::Value::Null,
        "{plan:#}"
    );
    assert_eq!(found[0]["values"]["backend"], "local", "{plan:#}");
    let warned = |run: &crate::support::Run| {
        run.diagnostics()
            .iter()
            .any(|d| d["severity"] == "warning" && d["range"]["start"]["line"] == 4)
    };
    assert!(
        warned(&run) && !run.diagnostics().iter().any(|d| d["severity"] == "error"),
        "{run:#?}"
    );
    let run = workspace
        .run(&["deploy", "--auto-approve", "--json"])
        .expect(0);
    assert!(warned(&run), "{run:#?}");
    let listed = workspace.run(&["state", "list"]).expect(0).stdout;
    assert!(listed.contains("terraform_data.a"), "{listed}");
    for (v, verdict) in [("one", "pass"), ("two", "fail")] {
        workspace.write("up.json", &state(v));
        workspace.run(&stage).expect(0);
        assert_eq!(status(&workspace), verdict);
        workspace
            .run(&["deploy", "--auto-approve", "--json"])
            .expect(0);
    }
}

/// Both the module that waits and the one it waits for call the check's module. The data source of
/// the check is read at the end of the deploy, and nothing waits for it.
#[test]
fn module_that_depends_on_a_module_with_a_check_does_not_wait_for_the_check() {
    const BOTH: &str = "resource \"terraform_data\" \"r\" {}\nmodule \"checker\" {\n  source = \"../checker\"\n}\n";
    let workspace = Workspace::new(&[
        (
            "main.tf",
            "module \"base\" {\n  source = \"./base\"\n}\nmodule \"dependent\" {\n  source     = \"./dependent\"\n  depends_on = [module.base]\n}\n",
        ),
        ("base/main.tf", BOTH),
        ("dependent/main.tf", BOTH),
        (
            "checker/main.tf",
            "check \"health\" {\n  data \"terraform_remote_state\" \"up\" {\n    backend = \"local\"\n    config  = { path = \"up.json\" }\n  }\n  assert {\n    condition     = data.terraform_remote_state.up.outputs.v == \"one\"\n    error_message = \"no\"\n  }\n}\n",
        ),
        ("up.json", &state("one")),
    ]);
    workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let listed = workspace.run(&["state", "list"]).expect(0).stdout;
    for made in [
        "module.base.terraform_data.r",
        "module.dependent.terraform_data.r",
    ] {
        assert!(listed.contains(made), "{listed}");
    }
}

#[test]
fn unknown_error_message_of_a_check_is_no_problem() {
    let w = Workspace::new(&[(
        "main.tf",
        "resource \"terraform_data\" \"a\" {\n  input = 1\n}\ncheck \"x\" {\n  assert {\n    condition     = terraform_data.a.input == 2\n    error_message = terraform_data.a.id\n  }\n}\n",
    )]);
    w.run(&["stage", "--plan-json", "plan.json"]).expect(0);
    let plan = std::fs::read_to_string(w.path().join("plan.json")).unwrap();
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let instance = &plan["checks"][0]["instances"][0];
    assert_eq!(instance["status"], "fail", "{instance}");
    assert!(instance.get("problems").is_none(), "{instance}");
}
