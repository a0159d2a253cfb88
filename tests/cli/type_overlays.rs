//! Tests of overlays of called modules: they show no sensitive value of their caller, and a wrong
//! one stops no command.

use crate::support::Workspace;

const MAIN: &str = "resource \"terraform_data\" \"a\" {\n  input = sensitive(\"hunter2-4471\")\n}\nmodule \"m\" {\n  source = \"./m\"\n}\n";

fn workspace(overlay: &str) -> Workspace {
    let overlay = format!("type \"terraform_data\" {{\n{overlay}\n}}\n");
    let w = Workspace::new(&[
        ("main.tf", MAIN),
        ("m/main.tf", ""),
        ("m/t.flightdeck.hcl", &overlay),
    ]);
    w.run(&["init"]).expect(0);
    w
}

#[test]
fn overlay_of_a_module_shows_no_sensitive_value_of_its_caller() {
    let w = workspace(
        "  ready   = false\n  status  = upper(nonsensitive(self.input))\n  columns = { A = upper(nonsensitive(self.input)) }\n  wait {\n    enabled  = true\n    interval = \"100ms\"\n    timeout  = \"300ms\"\n  }",
    );
    let runs = [
        w.run(&["deploy", "--auto-approve"]),
        w.run(&["state", "list", "--json"]),
        w.run(&["state", "show", "terraform_data.a"]),
        w.run(&["history", "1"]),
    ];
    for run in runs {
        for text in [&run.stdout, &run.stderr] {
            assert!(!text.contains("HUNTER2-4471"), "{run:?}");
        }
    }
}

#[test]
fn redaction_of_a_module_is_reported_to_the_root_module() {
    let w = workspace("  redact = [self.input]");
    let run = w.run(&["stage"]).expect(0);
    let text = format!("{}{}", run.stdout, run.stderr);
    assert!(text.contains("hidden by a called module"), "{run:?}");
    assert!(text.contains("m/t.flightdeck.hcl"), "{run:?}");
}

#[test]
fn overlay_beyond_the_limits_stops_no_command() {
    let w = workspace(
        "  ready = length([for a in range(1000): [for b in range(1000): [for c in range(1000): a]]]) > 1\n  wait {\n    enabled = false\n  }",
    );
    for command in ["validate", "stage", "types"] {
        let mut command = w.command(&[command]);
        let run = crate::support::Run::from_command(command.env("FLIGHTDECK_MEMORY_LIMIT", "300M"));
        run.expect(0);
    }
}
