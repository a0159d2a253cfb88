//! Tests of values of ephemeral resources: permitted references, order of closing, and conditions.

use serde_json::Value;

use super::ephemeral::{SESSION, THING, line, take_session_log, with_thing};
use crate::support::Run;
use crate::{HEAD, Lab};

pub(super) fn errors(run: &Run) -> Vec<Value> {
    run.diagnostics()
        .into_iter()
        .filter(|d| d["severity"] == "error")
        .collect()
}

#[test]
fn ephemeral_resource_is_closed_after_its_dependents() {
    let lab = with_thing(
        r#"
ephemeral "lab_session" "inner" {
  provider = lab.inside
  count    = 2
  name     = "inner${count.index}"
}
ephemeral "lab_session" "each" {
  for_each   = toset(["x"])
  name       = "${each.key}-${length(ephemeral.lab_session.inner)}"
  depends_on = [ephemeral.lab_session.inner]
}
resource "lab_thing" "b" {
  name = "b"
  lifecycle {
    precondition {
      condition     = ephemeral.lab_session.inner[1].token == "token-of-inner1" && ephemeral.lab_session.each["x"].name == "x-2"
      error_message = "no"
    }
  }
}
"#,
    );
    lab.workspace.run(&["stage"]).expect(0);
    let log = take_session_log(&lab);
    let at = |text: &str| {
        log.iter()
            .position(|l| l == text)
            .unwrap_or_else(|| panic!("{text}: {log:?}"))
    };
    assert_eq!(log.len(), 8, "{log:?}");
    assert!(
        at("opened s") < at("opened inner0") && at("opened inner1") < at("opened x-2"),
        "{log:?}"
    );
    assert!(
        at("closed x-2") < at("closed inner0") && at("closed x-2") < at("closed inner1"),
        "{log:?}"
    );
    assert_eq!(at("closed s"), 7, "{log:?}");
}

#[test]
fn targets_open_only_needed_ephemeral_resources() {
    let lab = with_thing(
        "ephemeral \"lab_session\" \"t\" { name = \"t\" }\nresource \"lab_thing\" \"b\" { name = \"b\" }\n",
    );
    lab.workspace
        .run(&["stage", "--target", "lab_thing.b"])
        .expect(0);
    assert_eq!(take_session_log(&lab), Vec::<String>::new());
    lab.workspace
        .run(&["stage", "--target", "lab_thing.a"])
        .expect(0);
    assert_eq!(take_session_log(&lab), ["opened s", "closed s"]);
    let run = lab
        .workspace
        .run(&["stage", "--exclude", "ephemeral.lab_session.s", "--json"])
        .expect(0);
    assert_eq!(
        take_session_log(&lab),
        ["opened t", "closed t"],
        "what needs the other one is left out"
    );
    assert_eq!(run.result()["changes"]["create"], 1);
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    take_session_log(&lab);
    lab.workspace
        .run(&[
            "deploy",
            "--destroy",
            "--auto-approve",
            "--target",
            "lab_thing.a",
        ])
        .expect(0);
    assert_eq!(
        take_session_log(&lab),
        ["opened s", "closed s", "opened s", "closed s"]
    );
    assert_eq!(lab.objects(), ["lab_thing.b"]);
}

#[test]
fn conditions_of_ephemeral_resources_are_checked_before_and_after_open() {
    let with = |block: &str| {
        format!(
            "ephemeral \"lab_session\" \"s\" {{\n  name = \"s\"\n  lifecycle {{\n    {block} {{\n      condition = "
        )
    };
    for (block, condition, opened) in [
        ("precondition", "var.no", false),
        ("postcondition", "self.token == \"x\" || var.no", true),
    ] {
        let lab = Lab::new("");
        let head = with(block);
        lab.configure(&format!(
            "variable \"no\" {{ default = false }}\n{head}{condition}\n      error_message = \"not so\"\n    }}\n  }}\n}}\n"
        ));
        let run = lab.workspace.run(&["stage", "--json"]).expect(1);
        let errors = errors(&run);
        assert_eq!(
            (errors.len(), &errors[0]["detail"]),
            (1, &Value::from("not so")),
            "{errors:#?}"
        );
        assert_eq!(
            take_session_log(&lab),
            if opened {
                vec!["opened s", "closed s"]
            } else {
                vec![]
            },
            "{block}"
        );
    }
}

#[test]
fn ephemeral_values_are_allowed_in_ephemeral_contexts_only() {
    let module = "variable \"token\" { ephemeral = true }\noutput \"token\" {\n  value = \"<${var.token}>\"\n  ephemeral = true\n}\n";
    let flow = r#"
locals { token = ephemeral.lab_session.s.token }
module "m" {
  source = "./m"
  token  = local.token
}
resource "lab_thing" "b" {
  name = "b"
  note = local.token
  provisioner "local-exec" {
    command     = "printf '%s' \"$TOKEN\" > seen"
    environment = { TOKEN = module.m.token }
  }
}
output "nothing" {
  value     = ephemeralasnull(module.m.token)
  sensitive = true
}
"#;
    let lab = with_thing(flow);
    lab.workspace.write("m/main.tf", module);
    let run = lab
        .workspace
        .run(&["deploy", "--auto-approve", "--json"])
        .expect(0);
    assert_eq!(
        std::fs::read_to_string(lab.workspace.path().join("seen")).unwrap(),
        "<token-of-s>"
    );
    assert!(!run.stdout.contains("token-of-s"), "{run:#?}");
    let refused = [
        (
            "resource \"lab_thing\" \"b\" {\n  name = ephemeral.lab_session.s.token\n}\n",
            2,
        ),
        (
            "data \"lab_image\" \"i\" {\n  family = ephemeral.lab_session.s.token\n}\n",
            2,
        ),
        (
            "output \"o\" {\n  value = ephemeral.lab_session.s.name\n}\n",
            2,
        ),
        (
            "module \"m\" {\n  source = \"./n\"\n  token  = ephemeral.lab_session.s.token\n}\n",
            3,
        ),
        (
            "resource \"lab_thing\" \"b\" {\n  name  = \"b\"\n  count = length(ephemeral.lab_session.s.token)\n}\n",
            3,
        ),
        (
            "resource \"lab_thing\" \"b\" {\n  name     = each.key\n  for_each = toset([ephemeral.lab_session.s.token])\n}\n",
            3,
        ),
        (
            "resource \"lab_thing\" \"b\" {\n  name = ephemeral.lab_session.s.tokn\n}\n",
            2,
        ),
        (
            "resource \"lab_thing\" \"b\" {\n  name = ephemeral.lab_session.t.token\n}\n",
            2,
        ),
        ("ephemeral \"lab_session\" \"t\" {\n  nam = \"t\"\n}\n", 2),
        (
            "ephemeral \"lab_session\" \"t\" {\n  name  = \"t\"\n  count = length(ephemeral.lab_session.s.token)\n}\n",
            3,
        ),
    ];
    for (text, at) in refused {
        let lab = with_thing(text);
        lab.workspace.write("n/main.tf", "variable \"token\" {}\n");
        for command in [&["validate", "--json"][..], &["stage", "--json"]] {
            let errors = errors(&lab.workspace.run(command).expect(1));
            let lines: Vec<&Value> = errors
                .iter()
                .map(|e| &e["range"]["start"]["line"])
                .collect();
            let wanted = Value::from(line(HEAD) + line(SESSION) + line(THING) + at);
            assert!(lines.contains(&&wanted), "{text}: {errors:#?}");
        }
        assert_eq!(take_session_log(&lab), Vec::<String>::new(), "{text}");
    }
}
