//! Tests of modules with several instances: one that fails holds up none of the others, through
//! whatever its objects depend on each other.

use crate::support::Workspace;

/// Fails while the file `fails` exists, in the instance `c` of the module.
const FAILS: &str = "provisioner \"local-exec\" {\n    command = var.in == \"c\" ? \"test ! -e fails\" : \"true\"\n  }";

const CALL: &str = "module \"m\" {\n  source   = \"./m\"\n  for_each = toset([\"a\", \"b\", \"c\"])\n  in       = each.key\n}\n";

fn first(more: &str) -> String {
    format!("resource \"terraform_data\" \"first\" {{\n  input = var.in\n  {more}\n  {FAILS}\n}}\n")
}

fn second(input: &str) -> String {
    format!("resource \"terraform_data\" \"second\" {{\n  input = {input}\n}}\n")
}

/// Writes a workspace with the instances `a`, `b` and `c` of a module `m` and a nested one `n`.
fn workspace(module: &str, nested: &str) -> Workspace {
    called_by(CALL, module, nested)
}

/// The same with another call of the module.
fn called_by(main: &str, module: &str, nested: &str) -> Workspace {
    let module = format!("variable \"in\" {{}}\n{module}");
    let nested = format!("variable \"in\" {{}}\n{nested}");
    let w = Workspace::new(&[
        ("main.tf", main),
        ("m/main.tf", &module),
        ("m/n/main.tf", &nested),
        (
            "x.tfstate",
            r#"{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[]}"#,
        ),
    ]);
    w.run(&["init"]).expect(0);
    w
}

/// Returns the managed objects of the state without the taint of the failed one.
fn objects(w: &Workspace) -> Vec<String> {
    let listed = w.run(&["state", "list"]).expect(0).stdout;
    let names = listed.lines().map(|line| line.split_whitespace().next());
    let names = names.flatten().filter(|name| !name.contains("data.t"));
    names.map(str::to_owned).collect()
}

fn nested(out: &str) -> String {
    format!("module \"n\" {{\n  source = \"./n\"\n  in     = terraform_data.first.id\n}}\n{out}")
}

/// Configurations of the module and of its nested module, whose object `second` depends on `first`.
fn chains() -> Vec<(&'static str, String, String)> {
    let data = "data \"terraform_remote_state\" \"d\" {\n  backend = \"local\"\n  config = {\n    path = terraform_data.first.id == \"\" ? \"y\" : \"${path.root}/x.tfstate\"\n  }\n}\n";
    vec![
        ("a reference", second("terraform_data.first.id"), String::new()),
        (
            "a local value",
            format!("locals {{\n  l = terraform_data.first.id\n}}\n{}", second("local.l")),
            String::new(),
        ),
        (
            "a nested module",
            nested(&second("module.n.out")),
            "resource \"terraform_data\" \"inner\" {\n  input = var.in\n}\noutput \"out\" {\n  value = terraform_data.inner.id\n}\n".to_owned(),
        ),
        (
            "an output of a module without resources",
            nested(&second("module.n.out")),
            "locals {\n  l = var.in\n}\noutput \"out\" {\n  value = local.l\n}\n".to_owned(),
        ),
        (
            "a data source that is read during the deploy",
            format!("{data}{}", second("data.terraform_remote_state.d.backend")),
            String::new(),
        ),
        (
            "depends_on",
            "resource \"terraform_data\" \"second\" {\n  depends_on = [terraform_data.first]\n}\n".to_owned(),
            String::new(),
        ),
        (
            "an ephemeral value in a provisioner",
            "resource \"terraform_data\" \"second\" {\n  provisioner \"local-exec\" {\n    command = \"test -n '${terraform_data.first.id}'\"\n  }\n}\n".to_owned(),
            String::new(),
        ),
    ]
}

fn of_instance<'a>(all: &'a [String], instance: &str) -> Vec<&'a str> {
    let prefix = format!("module.m[\"{instance}\"].");
    let of_it = all
        .iter()
        .filter_map(|name| name.strip_prefix(prefix.as_str()));
    of_it.collect()
}

#[test]
fn failed_instance_of_a_module_holds_up_no_other_instance() {
    for (kind, rest, nested) in chains() {
        let w = workspace(&format!("{}{rest}", first("")), &nested);
        w.write("fails", "");
        w.run(&["deploy", "--auto-approve"]).expect(5);
        let all = objects(&w);
        assert_eq!(of_instance(&all, "c"), ["terraform_data.first"], "{kind}");
        for other in ["a", "b"] {
            let of_it = of_instance(&all, other);
            assert!(of_it.contains(&"terraform_data.second"), "{kind}: {all:?}");
        }
        // Nothing was lost: the rest follows once the cause is gone.
        std::fs::remove_file(w.path().join("fails")).unwrap();
        w.run(&["deploy", "--auto-approve"]).expect(0);
        let all = objects(&w);
        assert_eq!(of_instance(&all, "c"), of_instance(&all, "a"), "{kind}");
    }
}

#[test]
fn replacement_in_one_instance_holds_up_no_other_instance() {
    let module = |zone: &str| {
        let zone = format!("triggers_replace = \"{zone}\"");
        format!(
            "variable \"in\" {{}}\n{}{}",
            first(&zone),
            second("terraform_data.first.id")
        )
    };
    let w = workspace(&first("triggers_replace = \"1\""), "");
    w.write("m/main.tf", &module("1"));
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let id = |instance: &str| {
        let address = format!("module.m[\"{instance}\"].terraform_data.second");
        let shown = w.run(&["state", "show", &address]).expect(0).stdout;
        let input = shown.lines().find(|line| line.contains("input"));
        input.map(str::to_owned).unwrap_or_default()
    };
    let before: Vec<String> = ["a", "b", "c"].map(id).into();
    w.write("m/main.tf", &module("2"));
    w.write("fails", "");
    w.run(&["deploy", "--auto-approve"]).expect(5);
    let after: Vec<String> = ["a", "b", "c"].map(id).into();
    // The objects that depend on the replaced ones were updated, but for the failed instance.
    let changed: Vec<bool> = before.iter().zip(&after).map(|(b, a)| b != a).collect();
    assert_eq!(changed, [true, true, false], "{before:?} {after:?}");
}

#[test]
fn failed_destroy_in_one_instance_holds_up_no_other_instance() {
    let inner = "resource \"terraform_data\" \"inner\" {\n  input = var.in\n  provisioner \"local-exec\" {\n    when    = destroy\n    command = self.input == \"c\" ? \"test ! -e fails\" : \"true\"\n  }\n}\n";
    let outer = "resource \"terraform_data\" \"first\" {\n  input = var.in\n}\nmodule \"n\" {\n  source     = \"./n\"\n  in         = var.in\n  depends_on = [terraform_data.first]\n}\n";
    let w = workspace(outer, inner);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w.write("fails", "");
    w.run(&["deploy", "--auto-approve", "--destroy"]).expect(5);
    let left = objects(&w);
    assert_eq!(of_instance(&left, "c").len(), 2, "{left:?}");
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn dependents_are_counted_within_their_module_instance() {
    let w = workspace(
        &format!("{}{}", first(""), second("terraform_data.first.id")),
        "",
    );
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let shown = w.run(&[
        "state",
        "show",
        "module.m[\"a\"].terraform_data.first",
        "--json",
    ]);
    let row = shown.expect(0).stdout;
    assert!(
        row.contains("module.m[\\\"a\\\"].terraform_data.second"),
        "{row}"
    );
    assert!(!row.contains("module.m[\\\"b\\\"]"), "{row}");
}

/// A local value passes an output of one instance back to the module.
const PASSED_BACK: &str = "locals {\n  l = module.m[\"a\"].early\n}\nmodule \"m\" {\n  source   = \"./m\"\n  for_each = toset([\"a\", \"b\"])\n  in       = each.key\n  peer     = local.l\n}\n";

#[test]
fn dependents_in_another_instance_are_destroyed_first() {
    let module = "variable \"peer\" {}\nresource \"terraform_data\" \"early\" {}\nmodule \"n\" {\n  source = \"./n\"\n  in     = var.peer\n  name   = var.in\n}\noutput \"early\" {\n  value = terraform_data.early.id\n}\n";
    let nested = "variable \"name\" {}\nresource \"terraform_data\" \"late\" {\n  input = [var.in, var.name]\n  provisioner \"local-exec\" {\n    when    = destroy\n    command = self.input[1] == \"b\" ? \"test ! -e fails\" : \"true\"\n  }\n}\n";
    let w = called_by(PASSED_BACK, module, nested);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let late = "module.m[\"b\"].module.n.terraform_data.late";
    let shown = w.run(&["state", "show", late]).expect(0).stdout;
    assert!(
        !shown.contains("module.m[\"b\"].terraform_data.early"),
        "{shown}"
    );
    w.write("fails", "");
    for target in [None, Some("module.m[\"a\"].terraform_data.early")] {
        let mut arguments = vec!["deploy", "--auto-approve", "--destroy"];
        arguments.extend(target.iter().flat_map(|target| ["--target", target]));
        w.run(&arguments).expect(5);
        let left = objects(&w);
        let early = "module.m[\"a\"].terraform_data.early".to_owned();
        assert!(left.contains(&early), "{target:?}: {left:?}");
    }
    std::fs::remove_file(w.path().join("fails")).unwrap();
    w.run(&["deploy", "--auto-approve", "--destroy"]).expect(0);
    assert_eq!(objects(&w), [""; 0]);
}

#[test]
fn connected_instance_waits_only_for_its_dependents() {
    let module = "variable \"peer\" {}\nresource \"terraform_data\" \"early\" {\n  input = var.in\n}\nresource \"terraform_data\" \"late\" {\n  input = [var.in, var.peer, terraform_data.early.id]\n  provisioner \"local-exec\" {\n    when    = destroy\n    command = self.input[0] == \"c\" ? \"test ! -e fails\" : \"true\"\n  }\n}\noutput \"early\" {\n  value = terraform_data.early.id\n}\n";
    let call = PASSED_BACK.replace("\"b\"]", "\"b\", \"c\"]");
    let w = called_by(&call, module, "");
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w.write("fails", "");
    w.run(&["deploy", "--auto-approve", "--destroy"]).expect(5);
    // Only the first object of `a`, and that of `c`, are needed by what failed.
    let left = [
        "module.m[\"a\"].terraform_data.early",
        "module.m[\"c\"].terraform_data.early",
        "module.m[\"c\"].terraform_data.late",
    ];
    assert_eq!(objects(&w), left);
}

#[test]
fn failed_destroy_holds_up_only_the_instances_that_it_uses() {
    // A nested module passes a value of one instance back to itself.
    let nested = "variable \"peer\" {}\nresource \"terraform_data\" \"y\" {}\nresource \"terraform_data\" \"x\" {\n  input = var.in\n}\noutput \"early\" {\n  value = terraform_data.y.id\n}\noutput \"out\" {\n  value = var.peer\n}\n";
    let module = "resource \"terraform_data\" \"first\" {\n  input = var.in\n}\nmodule \"n\" {\n  source = \"./n\"\n  count  = 2\n  in     = terraform_data.first.id\n  peer   = module.n[0].early\n}\nresource \"terraform_data\" \"last\" {\n  input = [var.in, module.n[*].out]\n  provisioner \"local-exec\" {\n    when    = destroy\n    command = self.input[0] == \"c\" ? \"test ! -e fails\" : \"true\"\n  }\n}\noutput \"first\" {\n  value = terraform_data.first.id\n}\n";
    // An object of the root module uses one instance, and its destroy fails too.
    let hub = "resource \"terraform_data\" \"hub\" {\n  input = module.m[\"a\"].first\n  provisioner \"local-exec\" {\n    when    = destroy\n    command = \"test ! -e fails\"\n  }\n}\n";
    let w = called_by(&format!("{CALL}{hub}"), module, nested);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w.write("fails", "");
    w.run(&["deploy", "--auto-approve", "--destroy"]).expect(5);
    let left = objects(&w);
    assert_eq!(
        of_instance(&left, "a"),
        ["terraform_data.first"],
        "{left:?}"
    );
    assert_eq!(of_instance(&left, "b"), [""; 0], "{left:?}");
    assert!(
        of_instance(&left, "c").contains(&"terraform_data.last"),
        "{left:?}"
    );
}

#[test]
fn targeted_destroy_leaves_out_instances_that_do_not_need_the_target() {
    let module = "variable \"peer\" {}\nresource \"terraform_data\" \"early\" {}\nresource \"terraform_data\" \"late\" {\n  input = terraform_data.early.id\n}\nresource \"terraform_data\" \"other\" {\n  input = var.peer\n}\noutput \"early\" {\n  value = terraform_data.early.id\n}\n";
    let w = called_by(PASSED_BACK, module, "");
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let destroyed = |words: [&str; 2]| {
        let arguments = [&["stage", "--destroy"], &words[..]].concat();
        let shown = w.run(&arguments).expect(0).stdout;
        let rows = shown.lines().filter_map(|line| line.strip_prefix("  - "));
        let names = rows.filter_map(|row| row.split_whitespace().next());
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort();
        names
    };
    let in_instance = |key: &str, names: &[&str]| -> Vec<String> {
        let name = |name: &&str| format!("module.m[\"{key}\"].terraform_data.{name}");
        names.iter().map(name).collect()
    };
    let b = in_instance("b", &["early", "late", "other"]);
    assert_eq!(destroyed(["--target", "module.m[\"b\"]"]), b);
    // What the excluded instance needs stays: the first object of the other one.
    let a = in_instance("a", &["late", "other"]);
    assert_eq!(destroyed(["--exclude", "module.m[\"b\"]"]), a);
    // Both use the first object of this instance.
    let of_b = in_instance("b", &["other"]);
    let all = [in_instance("a", &["early", "late", "other"]), of_b].concat();
    assert_eq!(destroyed(["--target", "module.m[\"a\"]"]), all);
}

#[test]
fn key_of_the_other_type_names_the_same_instance() {
    let w = workspace("output \"out\" {\n  value = var.in\n}\n", "");
    w.write(
        "main.tf",
        "resource \"terraform_data\" \"c\" {\n  count = 2\n  input = \"q\"\n}\nresource \"terraform_data\" \"z\" {\n  input = terraform_data.c[\"0\"].output\n}\nmodule \"m\" {\n  source   = \"./m\"\n  for_each = toset([\"0\", \"1\"])\n  in       = terraform_data.c[1].id\n}\noutput \"o\" {\n  value = module.m[0].out\n}\n",
    );
    w.run(&["deploy", "--auto-approve", "--target", "terraform_data.z"])
        .expect(0);
    assert!(objects(&w).contains(&"terraform_data.c[0]".to_owned()));
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let shown = w.run(&["output", "-raw", "o"]).expect(0).stdout;
    assert!(!shown.is_empty(), "{shown}");
    w.run(&["plan", "-detailed-exitcode"]).expect(0);
}
