//! Tests of `prevent_destroy` in module instances that leave the configuration: the stage evaluates
//! it with the key of the instance and the remaining configuration.

use crate::support::Workspace;

/// `prevent_destroy` in the module, more of the module, arguments of its call, and the result of
/// the stage: destroys, refused because it is true, or refused because it is unknown.
const CASES: &[(&str, &str, &str, Outcome)] = &[
    ("var.guard", "", "guard = var.guard", Outcome::Destroys),
    ("var.guard", "", "guard = !var.guard", Outcome::Prevented),
    ("var.guard", "", "", Outcome::Destroys),
    (
        "local.l",
        "locals {\n  l = !local.m\n  m = var.guard\n}",
        "",
        Outcome::Prevented,
    ),
    (
        "var.guard",
        "",
        "guard = each.key == \"b\"",
        Outcome::Prevented,
    ),
    (
        "var.guard",
        "",
        "guard = each.key != \"b\"",
        Outcome::Destroys,
    ),
    ("var.guard", "", "guard = \"true\"", Outcome::Prevented),
    ("var.guard", "", "guard = null", Outcome::Destroys),
    ("var.guard", "", "guard = local.of_root", Outcome::Prevented),
    (
        "var.guard",
        "",
        "guard = module.other.value",
        Outcome::Prevented,
    ),
    (
        "module.n.value",
        "module \"n\" {\n  source = \"../n\"\n}",
        "",
        Outcome::Prevented,
    ),
    // Only an existing instance has a value of `for_each`, and resources.
    (
        "var.guard",
        "",
        "guard = each.value == \"x\"",
        Outcome::Undecided,
    ),
    (
        "var.guard",
        "",
        "guard = { a = true }[each.key]",
        Outcome::Undecided,
    ),
    (
        "terraform_data.x.id == \"\"",
        "resource \"terraform_data\" \"x\" {}",
        "",
        Outcome::Undecided,
    ),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    Destroys,
    Prevented,
    Undecided,
}

fn root(call: &str, instances: &str) -> String {
    format!(
        "variable \"guard\" {{\n  default = false\n}}\nlocals {{\n  of_root = true\n}}\nmodule \"other\" {{\n  source = \"./n\"\n}}\nmodule \"m\" {{\n  source   = \"./m\"\n  for_each = {instances}\n  {call}\n}}\n"
    )
}

fn module(guard: &str, more: &str) -> String {
    format!(
        "variable \"guard\" {{\n  type     = bool\n  default  = false\n  nullable = false\n}}\n{more}\nresource \"terraform_data\" \"a\" {{\n  lifecycle {{\n    prevent_destroy = {guard}\n  }}\n}}\n"
    )
}

#[test]
fn prevent_destroy_of_a_removed_module_instance_is_evaluated_while_staging() {
    for (guard, more, call, outcome) in CASES {
        let w = Workspace::new(&[
            ("main.tf", &root("", "{ a = \"x\", b = \"y\" }")),
            ("m/main.tf", &module("false", more)),
            ("n/main.tf", "output \"value\" {\n  value = true\n}\n"),
        ]);
        w.run(&["deploy", "--auto-approve"]).expect(0);
        w.write("m/main.tf", &module(guard, more));
        w.write("main.tf", &root(call, "{ a = \"x\" }"));
        let run = w.run(&["stage", "--json"]);
        let text = format!("{}{}", run.stdout, run.stderr);
        let found = match run.code {
            Some(0) => Outcome::Destroys,
            _ if text.contains("Instance cannot be destroyed") => Outcome::Prevented,
            _ if text.contains("no longer has for this module instance") => Outcome::Undecided,
            _ => panic!("{guard}, {call}: {run:#?}"),
        };
        assert_eq!(found, *outcome, "{guard}, {call}: {run:#?}");
        if found == Outcome::Destroys {
            w.run(&["deploy", "--auto-approve"]).expect(0);
            let left = w.run(&["state", "list"]).expect(0).stdout;
            assert!(!left.contains("module.m[\"b\"]"), "{left}");
        }
    }
}

#[test]
fn inputs_of_a_removed_nested_module_are_evaluated_from_the_root() {
    let root = |count: u8, guard: bool| {
        format!(
            "module \"m\" {{\n  source = \"./m\"\n  count  = {count}\n  guard  = {guard} && count.index > 0\n}}\n"
        )
    };
    let middle =
        "variable \"guard\" {}\nmodule \"n\" {\n  source = \"../n\"\n  guard  = var.guard\n}\n";
    let w = Workspace::new(&[
        ("main.tf", &root(3, true)),
        ("m/main.tf", middle),
        ("n/main.tf", &module("var.guard", "")),
    ]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    for (count, guard, code) in [(1, true, 1), (0, true, 1), (1, false, 0)] {
        w.write("main.tf", &root(count, guard));
        let run = w.run(&["stage"]).expect(code);
        assert_eq!(
            run.stderr.contains("Instance cannot be destroyed"),
            code == 1,
            "{run:#?}"
        );
    }
}
