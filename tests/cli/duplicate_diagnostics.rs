//! Tests of duplicate diagnostics: one cause is reported once, even if several modules meet it.

use crate::support::Workspace;

const CALLS: &str = "module \"a\" {\n  source = \"./m\"\n}\nmodule \"b\" {\n  source = \"./m\"\n}\nmodule \"c\" {\n  source = \"./m\"\n}\n";

#[test]
fn error_in_a_module_is_reported_once_for_all_calls() {
    let faults = [
        "output \"v\" {\n  value = var.nope\n}\n",
        "resource \"terraform_data\" \"d\" {\n  input = missing.thing\n}\n",
        "output \"v\" {\n  valu = 1\n}\n",
    ];
    for fault in faults {
        let workspace = Workspace::new(&[("main.tf", CALLS), ("m/main.tf", fault)]);
        for command in ["validate", "stage"] {
            let run = workspace.run(&[command, "--json"]);
            let said: Vec<_> = run
                .diagnostics()
                .into_iter()
                .filter(|d| d["range"]["filename"] == "m/main.tf")
                .collect();
            let summaries: std::collections::BTreeSet<_> =
                said.iter().map(|d| d["summary"].to_string()).collect();
            assert_eq!(
                (run.code, said.len()),
                (Some(1), summaries.len()),
                "{fault}: {run:#?}"
            );
            assert!(
                said.iter().all(|d| d["further"]["count"] == 2),
                "{fault}: {said:#?}"
            );
            let text = workspace.run(&[command]).stderr;
            assert!(text.contains("Same problem at 2 more places"), "{text}");
        }
    }
}

#[test]
fn error_of_many_instances_is_reported_once_with_their_addresses() {
    let main = "module \"m\" {\n  source   = \"./m\"\n  for_each = toset([\"a\", \"b\"])\n}\n";
    let module = "resource \"terraform_data\" \"d\" {\n  count = 3\n  input = count.index\n  lifecycle {\n    postcondition {\n      condition     = self.input > 5\n      error_message = \"too few\"\n    }\n  }\n}\n";
    let workspace = Workspace::new(&[("main.tf", main), ("m/main.tf", module)]);
    let run = workspace.run(&["stage", "--json"]);
    let said = run.diagnostics();
    assert_eq!((run.code, said.len()), (Some(1), 1), "{run:#?}");
    assert_eq!(said[0]["range"]["start"]["line"], 6, "{said:#?}");
}
