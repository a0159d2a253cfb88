//! Tests of functions that depend on the provider's configuration: with which configuration, from
//! which module, and errors for missing ones.

use crate::provider_workspace::{ProviderWorkspace, line};
use serde_json::json;

/// Requirement of the provider. A note in its configuration adds a function of that name.
const REQUIRED: &str = r#"
terraform {
  required_providers {
    interop = { source = "acme/interop" }
  }
}
"#;

const CALLED: &str = r#"
provider "interop" {
  note = "hello"
}

provider "interop" {
  alias = "late"
  note  = "bye"
}

provider "interop" {
  for_each = toset(["one", "two"])
  alias    = "many"
  note     = each.key
}

variable "who" {
  default = "you"

  validation {
    condition     = provider::interop::hello(var.who) == "hello you"
    error_message = provider::interop::late::bye(var.who)
  }
}

resource "interop_null" "n" {}

module "here" {
  source = "./here"
}

module "given" {
  source    = "./here"
  providers = { interop = interop.other }
}

provider "interop" {
  alias = "other"
  note  = "hello"
}

module "two" {
  source    = "./two"
  for_each  = toset(["two"])
  providers = { interop = interop.many[each.key] }
}

output "all" {
  value = {
    default = provider::interop::hello("you")
    alias   = provider::interop::late::bye("you")
    schema  = provider::interop::late::half(4)
    here    = module.here.said
    given   = module.given.said
    two     = module.two["two"].said
  }
}

output "later" {
  value = provider::interop::hello(interop_null.n.id)
}
"#;

#[test]
fn configured_provider_has_the_functions_of_its_configuration() {
    let main = format!("{REQUIRED}{CALLED}");
    let child =
        |call: &str| format!("{REQUIRED}output \"said\" {{ value = provider::interop::{call} }}\n");
    let files = [
        ("main.tf", main.as_str()),
        ("here/main.tf", &child("hello(\"inside\")")),
        ("two/main.tf", &child("two(\"inside\")")),
    ];
    let Some(place) = ProviderWorkspace::with_built_providers(&files) else {
        return;
    };
    // `validate` cannot know these functions, because no provider is configured.
    place.run(&["validate"]).expect(0);
    let outputs = &place.plan(&[]).0["output_changes"];
    let all = json!({
        "default": "hello you", "alias": "bye you", "schema": 2,
        "here": "hello inside", "given": "hello inside", "two": "two inside",
    });
    assert_eq!(outputs["all"]["after"], all);
    assert_eq!(outputs["later"]["after_unknown"], true);
    place.deploy(&[], 0);
    let state = place.exported();
    let id = &state["resources"][0]["instances"][0]["attributes"]["id"];
    let said = format!("hello {}", id.as_str().unwrap());
    assert_eq!(state["outputs"]["later"]["value"], said);
    assert_eq!(place.changes(&[], 0), json!({ "no_op": 1 }));
    let refused = place.run(&["stage", "--json", "--var", "who=me"]).expect(1);
    assert!(
        refused.diagnostics()[0]["detail"]
            .to_string()
            .contains("bye me")
    );
    place.run(&["destroy", "--auto-approve"]).expect(0);
}

#[test]
fn function_without_a_configuration_is_an_error_where_it_is_called() {
    const ONE: &str = "provider \"interop\" {\n  note = \"hello\"\n}\n";
    const MANY: &str = "provider \"interop\" {\n  for_each = toset([\"one\"])\n  alias    = \"x\"\n  note     = each.key\n}\n";
    const NO: &str = "Function not found in provider";
    let cases = [
        ("another name", ONE, "provider::interop::bye(1)", NO),
        ("past can", ONE, "can(provider::interop::bye(1))", NO),
        (
            "in a branch not taken",
            ONE,
            "true ? 1 : provider::interop::bye(1)",
            NO,
        ),
        (
            "without a configuration",
            "",
            "provider::interop::hello(1)",
            NO,
        ),
        (
            "of all instances at once",
            MANY,
            "can(provider::interop::x::half(2))",
            "Uninitialized function provider",
        ),
        (
            "with too many names",
            ONE,
            "can(provider::interop::a::b::half(2))",
            "Unable to parse provider function",
        ),
        (
            "with too few arguments",
            ONE,
            "provider::interop::hello()",
            "Not enough function arguments",
        ),
    ];
    let Some(place) = ProviderWorkspace::with_built_providers(&[]) else {
        return;
    };
    for (name, providers, call, summary) in cases {
        let text = format!("{REQUIRED}{providers}output \"a\" {{\n  value = {call}\n}}\n");
        place.workspace.write("main.tf", &text);
        let all = place.run(&["stage", "--json"]).expect(1).diagnostics();
        assert_eq!(
            (all.len(), &all[0]["summary"]),
            (1, &json!(summary)),
            "{name}: {all:?}"
        );
        assert_eq!(
            all[0]["range"]["start"]["line"],
            line(&text, "value ="),
            "{name}"
        );
    }
    // A resource without instances is not evaluated.
    let nothing = "resource \"terraform_data\" \"n\" {\n  count = 0\n  input = provider::interop::bye(1)\n}\n";
    place
        .workspace
        .write("main.tf", &format!("{REQUIRED}{ONE}{nothing}"));
    assert_eq!(place.changes(&[], 0), json!({}));
}

#[test]
fn provider_configuration_that_calls_its_own_function_is_a_cycle() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[]) else {
        return;
    };
    for (name, note, local) in [
        (
            "through a local value",
            "local.n",
            "provider::interop::joined(\"-\")",
        ),
        ("by itself", "provider::interop::joined(\"-\")", "1"),
    ] {
        let text = format!(
            "{REQUIRED}provider \"interop\" {{\n  note = {note}\n}}\nlocals {{\n  n = {local}\n}}\nresource \"interop_null\" \"n\" {{}}\n"
        );
        place.workspace.write("main.tf", &text);
        let all = place.run(&["validate", "--json"]).expect(1).diagnostics();
        let summary = all[0]["summary"].as_str().unwrap();
        assert!(summary.starts_with("Cycle: "), "{name}: {all:?}");
    }
}
