//! Tests of the SDK's example provider, `crates/sdk/examples/notes.rs`: under flightdeck, and under
//! unmodified `tofu` and `terraform`, if the environment names them.

use crate::provider_workspace::ProviderWorkspace;
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

const MAIN: &str = r#"
terraform {
  required_providers {
    notes = { source = "example.com/acme/notes" }
  }
}

variable "directory" {}

variable "text" {
  default = "rain"
}

provider "notes" {
  directory = var.directory
}

resource "notes_book" "diary" {
  name = "diary"
}

resource "notes_note" "monday" {
  book  = notes_book.diary.id
  title = provider::notes::slug("My Monday")
  text  = var.text
}

data "notes_titles" "all" {
  book       = notes_book.diary.id
  depends_on = [notes_note.monday]
}

output "titles" {
  value = data.notes_titles.all.titles
}
"#;

/// Creates a filesystem mirror with the example provider.
fn mirror(folder: &Path) -> PathBuf {
    let mirror = folder.join("mirror");
    let target = mirror.join("example.com/acme/notes/0.1.0/linux_amd64");
    std::fs::create_dir_all(&target).unwrap();
    let program = target.join("terraform-provider-notes_v0.1.0");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_notes-provider"), program).unwrap();
    mirror
}

#[test]
fn example_provider_works_under_flightdeck() {
    let folder = tempfile::tempdir().unwrap();
    let mut place = ProviderWorkspace::new(mirror(folder.path()), &[("main.tf", MAIN)]);
    let root = folder.path().display().to_string();
    place.set("TF_VAR_directory", &root);
    place.deploy(&[], 0);
    let note = folder.path().join("diary/my-monday");
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "rain");
    let attributes = place.attributes("notes_note.monday");
    assert_eq!(attributes["id"], json!(note.display().to_string()));
    let output = place.run(&["output", "-json", "titles"]).expect(0);
    assert_eq!(output.stdout.trim(), r#"["my-monday"]"#);
    assert_eq!(place.changes(&[], 0), json!({"no_op": 2}));

    // A change outside is drift, and the next deploy undoes it.
    std::fs::write(&note, "sun").unwrap();
    place.deploy(&["--var", "text=snow"], 0);
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "snow");
    std::fs::remove_file(&note).unwrap();
    place.deploy(&["--var", "text=snow"], 0);
    assert!(note.exists(), "a note that does not exist is created again");
    place.run(&["destroy", "--auto-approve"]).expect(0);
    assert!(!folder.path().join("diary").exists());
}

#[test]
fn example_provider_works_under_tofu() {
    under("FLIGHTDECK_TOFU");
}

#[test]
fn example_provider_works_under_terraform() {
    under("FLIGHTDECK_TERRAFORM");
}

/// Runs a whole life under the program that the environment variable names.
fn under(variable: &str) {
    let program = std::env::var_os(variable).filter(|name| !name.is_empty());
    let Some(program) = program else {
        return cty::testing::skipped(&format!("{variable} names no program"));
    };
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(work.join("main.tf"), MAIN).unwrap();
    let settings = folder.path().join("settings.tfrc");
    let mirror = mirror(folder.path());
    let text = format!(
        "provider_installation {{\n  filesystem_mirror {{\n    path = {mirror:?}\n  }}\n}}\n"
    );
    std::fs::write(&settings, text).unwrap();
    let host = Host {
        program,
        work,
        settings,
        directory: folder.path().to_owned(),
    };
    host.run(&["init", "-no-color", "-input=false"]);
    host.run(&["apply", "-no-color", "-auto-approve"]);
    let note = folder.path().join("diary/my-monday");
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "rain");
    assert_eq!(
        host.run(&["output", "-json", "titles"]).trim(),
        r#"["my-monday"]"#
    );
    host.run(&["plan", "-no-color", "-detailed-exitcode"]);
    host.run(&["apply", "-no-color", "-auto-approve", "-var=text=snow"]);
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "snow");
    host.run(&["destroy", "-no-color", "-auto-approve"]);
    assert!(!folder.path().join("diary").exists());
}

/// Unmodified host of providers.
struct Host {
    program: OsString,
    work: PathBuf,
    settings: PathBuf,
    directory: PathBuf,
}

impl Host {
    /// Runs a command, which must succeed; returns its output.
    fn run(&self, arguments: &[&str]) -> String {
        let output = Command::new(&self.program)
            .args(arguments)
            .current_dir(&self.work)
            .env("TF_CLI_CONFIG_FILE", &self.settings)
            .env("TF_VAR_directory", &self.directory)
            .env("CHECKPOINT_DISABLE", "1")
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (told, errors) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {told}\n{errors}");
        told
    }
}
