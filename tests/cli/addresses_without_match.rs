//! Tests of addresses in flags and blocks that match nothing: each is reported.

use crate::support::{Run, Workspace};

const COUNTED: &str = "resource \"terraform_data\" \"a\" {\n  count = 2\n}\n";

fn staged(text: &str, flags: &[&str]) -> Run {
    let w = Workspace::new(&[("main.tf", text)]);
    w.run(&[&["stage", "--json"], flags].concat())
}

#[test]
fn unmatched_replace_or_target_address_is_a_warning() {
    for (flag, address) in [
        ("replace", "terraform_data.a"),
        ("replace", "terraform_data.a[7]"),
        ("target", "terraform_data.a[7]"),
    ] {
        let run = staged(COUNTED, &[&format!("--{flag}"), address]).expect(0);
        let all = run.diagnostics();
        let warning = all
            .iter()
            .find(|d| d["summary"] == format!("--{flag} matches nothing"))
            .unwrap_or_else(|| panic!("{address}: {run:#?}"));
        let detail = warning["detail"].as_str().unwrap();
        assert!(
            detail.contains(&format!("no instance {address}.")),
            "{detail}"
        );
        if flag == "replace" {
            assert!(
                detail.contains("terraform_data.a[0], terraform_data.a[1]"),
                "{detail}"
            );
        }
    }
    for flags in [
        ["--replace", "terraform_data.a[1]"],
        ["--target", "terraform_data.a[1]"],
        ["--target", "terraform_data.a"],
    ] {
        let run = staged(COUNTED, &flags).expect(0);
        assert!(run.diagnostics().is_empty(), "{flags:?}: {run:#?}");
    }
}

#[test]
fn impossible_replace_address_is_refused() {
    for (flags, said) in [
        (
            &["--replace", "data.terraform_remote_state.d"][..],
            "is not a managed resource",
        ),
        (&["--replace", "ephemeral.x.e"], "is not a managed resource"),
        (
            &["--replace", "terraform_data.a[0]", "--destroy"],
            "Remove --replace or the mode",
        ),
        (
            &["--replace", "terraform_data.a[0]", "--refresh-only"],
            "Remove --replace or the mode",
        ),
    ] {
        let run = staged(COUNTED, flags).expect(1);
        assert!(run.stdout.contains(said), "{flags:?}: {run:#?}");
    }
}

#[test]
fn import_without_target_only_stops_stages_that_import() {
    let text = format!("{COUNTED}import {{\n  to = terraform_data.none\n  id = \"1\"\n}}\n");
    staged(&text, &[]).expect(1);
    staged(&text, &["--destroy"]).expect(0);
    staged(&text, &["--refresh-only"]).expect(0);
}

#[test]
fn depends_on_entry_without_dependencies_is_a_warning() {
    for entry in ["path.module", "terraform.workspace"] {
        let text = format!(
            "resource \"terraform_data\" \"a\" {{\n  depends_on = [{entry}]\n}}\noutput \"o\" {{\n  value      = 1\n  depends_on = [{entry}]\n}}\n"
        );
        let run = staged(&text, &[]).expect(0);
        let told = run.diagnostics();
        let told: Vec<_> = told
            .iter()
            .filter(|d| d["summary"] == "Entry of depends_on has no effect")
            .map(|d| d["range"]["start"]["line"].as_u64().unwrap())
            .collect();
        assert_eq!(told, [2, 6], "{entry}: {run:#?}");
    }
    staged(
        "resource \"terraform_data\" \"a\" {\n  depends_on = [path.nowhere]\n}\n",
        &[],
    )
    .expect(1);
}
