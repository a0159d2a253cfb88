//! Group blocks: complete blocks, and errors with their lines.

use crate::config::{Inputs, Loaded, load_root};
use crate::diag::Diagnostics;
use crate::source::SourceMap;
use cty::Value;

const MAIN: &str = r#"
variable "batch" { default = 2 }
variable "port" { default = "8080" }
resource "lab_server" "web" { count = 3 }
resource "lab_volume" "data" { count = 3 }
resource "lab_network" "main" {}
"#;

fn load(files: &[(&str, &str)], partial: bool) -> (Loaded, Diagnostics, SourceMap) {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        std::fs::write(path, text).expect("written");
    }
    let sources = SourceMap::new();
    let inputs = Inputs {
        partial,
        ..Inputs::default()
    };
    let (loaded, diags) = load_root(dir.path(), &sources, &inputs);
    (loaded, diags, sources)
}

#[test]
fn group_block_has_resources_settings_and_hooks() {
    let text = r#"
group "web" {
  instance  = lab_server.web
  dedicated = [lab_volume.data]
  global    = [lab_network.main]
  update {
    batch = var.batch
    surge = true
    drain {
      command = ["./drain", "${member.key}"]
      timeout = "2m"
    }
    health { http = "http://${self.ip}:${var.port}/ready" }
  }
  reconcile { mode = "enforce" }
}
"#;
    let (loaded, diags, _) = load(&[("main.tf", MAIN), ("web.flightdeck.hcl", text)], false);
    assert!(!diags.has_errors(), "{diags:?}");
    let group = &loaded.root.groups["web"];
    assert_eq!(group.instance.address.to_string(), "lab_server.web");
    assert_eq!(group.dedicated[0].address.to_string(), "lab_volume.data");
    assert_eq!(group.global[0].address.to_string(), "lab_network.main");
    let update = group.update.as_ref().expect("an update block");
    assert_eq!(update.settings.values["batch"].0, Value::number(2));
    assert_eq!(update.settings.values["surge"].0, Value::bool(true));
    let drain = update.drain.as_ref().expect("a drain block");
    assert_eq!(drain.settings.values["timeout"].0, Value::string("2m"));
    let health = update.health.as_ref().expect("a health block");
    let expected = Value::object([("port", Value::string("8080"))]);
    assert_eq!(health.names["var"], expected);
    let reconcile = group.reconcile.as_ref().expect("a reconcile block");
    assert_eq!(reconcile.values["mode"].0, Value::string("enforce"));
}

#[test]
fn validation_needs_no_values_of_variables() {
    let text = "group \"web\" {\n  instance = lab_server.web\n  update { batch = var.size }\n}\n";
    let main = format!("{MAIN}variable \"size\" {{}}\n");
    let files = [("main.tf", &*main), ("web.flightdeck.hcl", text)];
    let (loaded, diags, _) = load(&files, true);
    assert!(!diags.has_errors(), "{diags:?}");
    let update = loaded.root.groups["web"].update.as_ref();
    assert!(update.is_some_and(|u| u.settings.values.is_empty()));
}

#[test]
fn links_may_stand_beside_groups() {
    let link = "link \"a\" {\n  from = lab_server.web[0]\n  to   = lab_network.main\n}\n";
    let (loaded, diags, _) = load(&[("main.tf", MAIN), ("links.flightdeck.hcl", link)], false);
    assert!(!diags.has_errors(), "{diags:?}");
    assert!(loaded.root.resources.values().any(|r| r.link.is_some()));
}

#[test]
fn invalid_groups_are_errors_with_their_places() {
    let group = |body: &str| format!("group \"web\" {{\n  instance = lab_server.web\n{body}\n}}\n");
    for (case, text, line, error) in [
        (
            "without instance",
            "group \"web\" {\n}\n".to_owned(),
            1,
            "Missing required argument",
        ),
        (
            "one instance of a resource",
            "group \"web\" {\n  instance = lab_server.web[0]\n}\n".to_owned(),
            2,
            "Invalid resource of a group",
        ),
        (
            "data source",
            "group \"web\" {\n  instance = data.lab_image.base\n}\n".to_owned(),
            2,
            "Invalid resource of a group",
        ),
        (
            "undeclared resource",
            "group \"web\" {\n  instance = lab_server.app\n}\n".to_owned(),
            2,
            "Undeclared resource of a group",
        ),
        (
            "undeclared module",
            "group \"web\" {\n  instance = module.app.lab_server.web\n}\n".to_owned(),
            2,
            "Undeclared resource of a group",
        ),
        (
            "resource of another group",
            group("") + "group \"other\" {\n  instance = lab_server.web\n}\n",
            2,
            "Resource in two places of groups",
        ),
        (
            "same name twice",
            group("") + "group \"web\" {\n  instance = lab_volume.data\n}\n",
            5,
            "Duplicate group",
        ),
        (
            "unknown block",
            "fleet \"web\" {}\n".to_owned(),
            1,
            "Unsupported block type",
        ),
        (
            "unknown argument",
            group("  size = 3"),
            3,
            "Unsupported argument",
        ),
        (
            "two update blocks",
            group("  update {}\n  update {}"),
            4,
            "Duplicate update block",
        ),
        (
            "two probes",
            group("  update {\n    health {\n      http = \"a\"\n      tcp = \"b\"\n    }\n  }"),
            4,
            "Invalid health block",
        ),
        (
            "drain without a command",
            group("  update {\n    drain { timeout = \"2m\" }\n  }"),
            4,
            "Invalid drain block",
        ),
        (
            "hook with a reference to a resource",
            group("  update {\n    health { http = lab_network.main.id }\n  }"),
            4,
            "Invalid reference in a group",
        ),
        (
            "setting with a reference to a resource",
            group("  update { batch = lab_network.main.size }"),
            3,
            "Dynamic value in static context",
        ),
    ] {
        let files = [("main.tf", MAIN), ("web.flightdeck.hcl", &*text)];
        let (_, diags, sources) = load(&files, false);
        let errors: Vec<(u32, &str)> = diags
            .errors()
            .filter_map(|d| Some((d.range(&sources)?.start.line, &*d.summary)))
            .collect();
        assert_eq!(errors, [(line, error)], "{case}: {diags:?}");
    }
}

#[test]
fn groups_outside_the_root_module_are_refused() {
    let files = [
        ("main.tf", "module \"app\" {\n  source = \"./app\"\n}\n"),
        ("app/main.tf", "resource \"lab_server\" \"web\" {}\n"),
        (
            "app/web.flightdeck.hcl",
            "group \"web\" {\n  instance = lab_server.web\n}\n",
        ),
    ];
    let (_, diags, _) = load(&files, false);
    let summaries: Vec<&str> = diags.errors().map(|d| &*d.summary).collect();
    assert_eq!(summaries, ["Group outside the root module"], "{diags:?}");
}
