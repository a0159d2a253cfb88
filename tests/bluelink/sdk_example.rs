//! Test of the SDK's example provider, `crates/sdk/examples/notes.rs`, as a Bluelink plugin.

use crate::workspace::TestWorkspace;
use serde_json::json;

const MAIN: &str = r#"
terraform {
  required_providers {
    notes = { source = "flightdeck/notes" }
  }
}

variable "directory" {}

provider "notes" {
  directory = var.directory
}

resource "notes_book" "diary" {
  name = "diary"
}

resource "notes_note" "monday" {
  book  = notes_book.diary.id
  title = provider::notes::slug("My Monday")
}

data "notes_titles" "all" {
  filter     = [{ field = "book", operator = "=", search = [notes_book.diary.id] }]
  depends_on = [notes_note.monday]
}

output "titles" {
  value = data.notes_titles.all.titles
}
"#;

#[test]
fn example_provider_works_as_a_bluelink_plugin() {
    let mut bench = TestWorkspace::empty(MAIN);
    let folder = bench.plugin_path().join("providers/flightdeck/notes/0.1.0");
    std::fs::create_dir_all(&folder).unwrap();
    let program = env!("CARGO_BIN_EXE_notes-provider");
    std::os::unix::fs::symlink(program, folder.join("plugin")).unwrap();
    let notes = tempfile::tempdir().unwrap();
    bench.set("TF_VAR_directory", &notes.path().display().to_string());

    bench.deploy().expect(0);
    let note = notes.path().join("diary/my-monday");
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "");
    let attributes = &bench.state_attributes("notes_note")["attributes"];
    assert_eq!(attributes["id"], json!(note.display().to_string()));
    assert_eq!(attributes["text"], "", "the default");
    let titles = bench.run(&["output", "-json", "titles"]).expect(0);
    assert_eq!(titles.stdout.trim(), r#"["my-monday"]"#);
    bench.run(&["stage", "--detailed-exitcode"]).expect(0);
    bench.run(&["destroy", "--auto-approve"]).expect(0);
    assert!(!notes.path().join("diary").exists());
}
