//! Tests of modules that another tool installed: their manifest is used.

use crate::install::{git, run_tofu, tofu};
use crate::support::Workspace;
use serde_json::{Value, json};

/// Module with one output: its path.
const LEAF: &str = "output \"at\" {\n  value = path.module\n}\n";

fn manifest(rows: &[Value]) -> String {
    json!({ "Modules": rows }).to_string()
}

/// Workspace with an installed module from git, and one from a registry that calls two others.
fn installed() -> Workspace {
    let rows = [
        json!({"Key": "", "Source": "", "Dir": "."}),
        json!({"Key": "g", "Source": "git::https://github.com/acme/mods.git//net?ref=v1", "Dir": ".terraform/modules/g/net"}),
        json!({"Key": "r", "Source": "registry.opentofu.org/acme/app/lab", "Version": "1.4.2", "Dir": ".terraform/modules/r"}),
        json!({"Key": "r.beside", "Source": "./parts/beside", "Dir": ".terraform/modules/r/parts/beside"}),
        json!({"Key": "r.far", "Source": "https://example.com/far.zip", "Dir": ".terraform/modules/r.far"}),
    ];
    let app = "module \"beside\" {\n  source = \"./parts/beside\"\n}\nmodule \"far\" {\n  source = \"https://example.com/far.zip\"\n}\noutput \"at\" {\n  value = [path.module, module.beside.at, module.far.at]\n}\n";
    Workspace::new(&[
        (
            "main.tf",
            "module \"g\" {\n  source = \"github.com/acme/mods//net?ref=v1\"\n}\nmodule \"r\" {\n  source  = \"acme/app/lab\"\n  version = \"~> 1.4\"\n}\noutput \"at\" {\n  value = concat([module.g.at], module.r.at)\n}\n",
        ),
        (".terraform/modules/modules.json", &manifest(&rows)),
        (".terraform/modules/g/net/main.tf", LEAF),
        (".terraform/modules/r/main.tf", app),
        (".terraform/modules/r/parts/beside/main.tf", LEAF),
        (".terraform/modules/r.far/main.tf", LEAF),
    ])
}

#[test]
fn modules_are_read_from_the_manifests_directories() {
    let w = installed();
    w.run(&["validate"]).expect(0);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let state: Value = serde_json::from_str(&w.read("terraform.tfstate")).unwrap();
    assert_eq!(
        state["outputs"]["at"]["value"],
        json!([
            ".terraform/modules/g/net",
            ".terraform/modules/r",
            ".terraform/modules/r/parts/beside",
            ".terraform/modules/r.far",
        ])
    );
}

#[test]
fn data_directory_can_be_changed() {
    let w = installed();
    std::fs::rename(w.path().join(".terraform"), w.path().join("elsewhere")).unwrap();
    let without = w.run(&["validate", "--json"]).expect(1);
    assert!(without.stdout.contains("Module not installed"));
    let text = w.read("elsewhere/modules/modules.json");
    w.write(
        "elsewhere/modules/modules.json",
        &text.replace(".terraform/", "elsewhere/"),
    );
    let run = w
        .command(&["validate"])
        .env("TF_DATA_DIR", "elsewhere")
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
}

/// Diagnostics of `validate` after a change: summary, file and line of each.
fn diagnostics_after_change(change: impl Fn(&Workspace)) -> Vec<(String, String, i64)> {
    let w = installed();
    change(&w);
    let run = w.run(&["validate", "--json"]).expect(1);
    let diagnostics = run.diagnostics();
    for d in &diagnostics {
        let detail = d["detail"].as_str().unwrap();
        assert!(detail.contains("init\" to install"), "{detail}");
    }
    let place = |d: &Value| {
        (
            d["summary"].as_str().unwrap().to_owned(),
            d["range"]["filename"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            d["range"]["start"]["line"].as_i64().unwrap_or_default(),
        )
    };
    diagnostics.iter().map(place).collect()
}

fn edited(from: &'static str, to: &'static str) -> impl Fn(&Workspace) {
    move |w| {
        let file = ".terraform/modules/modules.json";
        let text = w.read(file);
        assert!(text.contains(from), "{text}");
        w.write(file, &text.replace(from, to));
    }
}

#[test]
fn manifest_mismatch_is_reported_at_the_module_call() {
    let at = |summary: &str, file: &str, line: i64| (summary.to_owned(), file.to_owned(), line);
    assert_eq!(
        diagnostics_after_change(|w| std::fs::remove_dir_all(w.path().join(".terraform")).unwrap()),
        [
            at("Module not installed", "main.tf", 1),
            at("Module not installed", "main.tf", 4),
        ]
    );
    assert_eq!(
        diagnostics_after_change(edited("?ref=v1", "?ref=v0")),
        [at("Module source has changed", "main.tf", 2)]
    );
    assert_eq!(
        diagnostics_after_change(edited("1.4.2", "1.3.0")),
        [at("Module version requirements have changed", "main.tf", 5)]
    );
    assert_eq!(
        diagnostics_after_change(edited("\"Version\":\"1.4.2\",", "")),
        [at("Module version requirements have changed", "main.tf", 5)]
    );
    let gone = ".terraform/modules/r.far";
    assert_eq!(
        diagnostics_after_change(|w| std::fs::remove_dir_all(w.path().join(gone)).unwrap()),
        [at(
            "Module not installed",
            ".terraform/modules/r/main.tf",
            4
        )]
    );
    assert_eq!(
        diagnostics_after_change(|w| w.write(".terraform/modules/modules.json", "{")),
        [at("Unreadable modules manifest", "", 0)]
    );
}

#[test]
fn invalid_module_source_is_refused_at_its_place() {
    for (call, summary) in [
        ("source = \"child\"", "Invalid module source address"),
        (
            "source = \"github.com/acme\"",
            "Invalid module source address",
        ),
        (
            "source = \"./child\"\n  version = \"1.0.0\"",
            "Invalid registry module source address",
        ),
    ] {
        let text = format!("module \"m\" {{\n  {call}\n}}\n");
        let w = Workspace::new(&[("main.tf", &text), ("child/main.tf", LEAF)]);
        let run = w.run(&["validate", "--json"]).expect(1);
        let [d] = &run.diagnostics()[..] else {
            panic!("{run:#?}")
        };
        assert_eq!(
            (&d["summary"], &d["range"]["start"]["line"]),
            (&json!(summary), &json!(2))
        );
    }
}

#[test]
fn init_by_tofu_is_sufficient_and_tofu_plans_no_changes() {
    let Some(tofu) = tofu("after the init of tofu none is needed") else {
        return;
    };
    let w = Workspace::new(&[(
        "repository/net/main.tf",
        "module \"in\" {\n  source = \"../shared\"\n}\noutput \"at\" {\n  value = [path.module, module.in.at]\n}\n",
    )]);
    w.write("repository/shared/main.tf", LEAF);
    let repository = w.path().join("repository");
    git(&repository, &["init", "-q"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "-qm", "one"]);
    git(&repository, &["tag", "v1"]);
    w.write(
        "main.tf",
        &format!(
            "module \"g\" {{\n  source = \"git::file://{}//net?ref=v1\"\n}}\noutput \"at\" {{\n  value = module.g.at\n}}\nresource \"terraform_data\" \"a\" {{\n  input = module.g.at\n}}\n",
            repository.display()
        ),
    );
    run_tofu(&tofu, &w, None, &["init", "-no-color"]).expect(0);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    run_tofu(
        &tofu,
        &w,
        None,
        &["plan", "-detailed-exitcode", "-no-color"],
    )
    .expect(0);
}
