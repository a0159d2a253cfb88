//! Trust by content: after a decision, one thing that the command executes is changed, in each
//! spelling and for each kind of command. The changed command does not run.

use crate::LAB;
use crate::support::{Run, Workspace};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

/// Change of one thing that the command executes.
type Change = fn(&Place);

/// Commands as text of a shell, and the change.
const ROWS: [(&str, Change); 15] = [
    ("./tool.sh", |p| p.script("tool.sh", "two")),
    ("sh tool.sh now", |p| p.script("tool.sh", "two")),
    ("nice -n 5 ./tool.sh", |p| p.script("tool.sh", "two")),
    ("env A=1 sh ./tool.sh", |p| p.script("tool.sh", "two")),
    ("true; ./tool.sh || true", |p| p.script("tool.sh", "two")),
    (". ./tool.sh", |p| p.script("tool.sh", "two")),
    ("cat tool.sh | sh", |p| p.script("tool.sh", "two")),
    ("sh < tool.sh", |p| p.script("tool.sh", "two")),
    ("\"./my tool.sh\"", |p| p.script("my tool.sh", "two")),
    ("./a=b.sh", |p| p.script("a=b.sh", "two")),
    ("cd dir && ./tool.sh", |p| p.script("one/tool.sh", "two")),
    ("./interpreted", |p| p.script("interpreter", "two")),
    ("./link", |p| p.turn("link", "other.sh")),
    ("./dir/tool.sh", |p| p.turn("dir", "other")),
    ("sh ./chain", |p| p.turn("link", "other.sh")),
];

/// Workspace with the files of the commands.
struct Place(Workspace);

impl Place {
    fn new(main: &str) -> Self {
        let place = Self(Workspace::new(&[("main.tf", main)]));
        for file in [
            "tool.sh",
            "my tool.sh",
            "a=b.sh",
            "one/tool.sh",
            "interpreter",
        ] {
            place.script(file, "one");
        }
        for file in ["other.sh", "other/tool.sh"] {
            place.script(file, "two");
        }
        place.write("interpreted", "#!./interpreter\n");
        for (link, target) in [("link", "tool.sh"), ("dir", "one"), ("chain", "link")] {
            symlink(target, place.0.path().join(link)).unwrap();
        }
        place
    }

    fn ran(&self) -> PathBuf {
        self.0.path().with_file_name("ran")
    }

    fn take_ran(&self) -> String {
        let text = std::fs::read_to_string(self.ran()).unwrap_or_default();
        std::fs::remove_file(self.ran()).ok();
        text
    }

    fn write(&self, name: &str, text: &str) {
        self.0.write(name, text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.0.path().join(name), mode).unwrap();
    }

    /// Writes a script that notes its word, and prints credentials.
    fn script(&self, name: &str, word: &str) {
        let ran = self.ran().display().to_string();
        let printed = r#"{"Version":1,"AccessKeyId":"a","SecretAccessKey":"b"}"#;
        let text = format!("#!/bin/sh\necho {word} >> '{ran}'\necho '{printed}'\n");
        self.write(name, &text);
    }

    fn turn(&self, link: &str, target: &str) {
        let path = self.0.path().join(link);
        std::fs::remove_file(&path).unwrap();
        symlink(target, path).unwrap();
    }
}

/// Text as a string of the language.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Trusts each command, checks that the decision holds, and that it ends with the change.
fn attack(place: impl Fn(&str) -> Place, run: impl Fn(&Place, &[&str], u32) -> Run) {
    for (command, change) in ROWS {
        let place = place(command);
        let trusted = run(&place, &["--trust-workspace"], 0);
        assert_eq!(place.take_ran(), "one\n", "{command}: {trusted:?}");
        let same = run(&place, &[], 1);
        assert_eq!(place.take_ran(), "one\n", "{command}: {same:?}");
        change(&place);
        let changed = run(&place, &[], 2);
        assert_eq!(place.take_ran(), "", "{command}: {changed:?}");
        let says = ["has changed since", "needs your trust"];
        let is_said = says.iter().any(|text| changed.stderr.contains(text));
        assert!(is_said, "{command}: {changed:?}");
    }
    println!("met: {} spellings", ROWS.len());
}

#[test]
fn secret_command_whose_content_changes_does_not_run() {
    attack(
        |command| {
            let place = Place::new("variable \"pw\" {}\nresource \"terraform_data\" \"a\" {}\n");
            let from = quoted(&format!("command:sh -c '{command}'"));
            let secret = format!("secret \"pw\" {{\n  from = {from}\n}}\n");
            place.0.write("s.flightdeck.hcl", &secret);
            place
        },
        |place, more, _| place.0.run(&[&["stage"], more].concat()),
    );
}

#[test]
fn credential_process_whose_content_changes_does_not_run() {
    let main = "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    region = \"us-east-1\"\n    max_retries = 1\n    skip_metadata_api_check = true\n    endpoints = { s3 = \"http://127.0.0.1:1\" }\n    profile = \"x\"\n    shared_config_files = [\"aws.cfg\"]\n  }\n}\n";
    attack(
        |command| {
            let place = Place::new(main);
            let profile = format!("[profile x]\ncredential_process = {command}\n");
            place.0.write("aws.cfg", &profile);
            place
        },
        |place, more, _| {
            let mut command = place.0.command(&[&["state", "list"], more].concat());
            for (name, _) in std::env::vars_os() {
                if name.to_string_lossy().starts_with("AWS_") {
                    command.env_remove(name);
                }
            }
            Run::from_command(&mut command)
        },
    );
}

/// Deploys one object with a hook, each time of another kind.
fn deploy(place: &Place, more: &[&str], n: u32) -> Run {
    let kind = format!("kind=v{n}");
    let words = ["deploy", "--auto-approve", "--var", &kind];
    place.0.run(&[&words[..], more].concat())
}

#[test]
fn hook_whose_content_changes_does_not_run() {
    let main = format!(
        "{LAB}variable \"kind\" {{\n  default = \"v\"\n}}\nresource \"lab_thing\" \"web\" {{\n  count = 1\n  name  = \"web\"\n  kind  = var.kind\n}}\n"
    );
    attack(
        |command| {
            let place = Place::new(&main);
            place.0.run(&["deploy", "--auto-approve"]).expect(0);
            let command = format!("[\"sh\", \"-c\", {}]", quoted(command));
            let group = format!(
                "group \"web\" {{\n  instance = lab_thing.web\n  update {{\n    drain {{\n      command = {command}\n    }}\n  }}\n}}\n"
            );
            place.0.write("web.flightdeck.hcl", &group);
            place
        },
        deploy,
    );
}

#[test]
fn hook_whose_value_changes_does_not_run() {
    let row = |expression: &str, value: &str| {
        format!(
            "{LAB}variable \"kind\" {{\n  default = \"v\"\n}}\nlocals {{\n  tool = {value}\n}}\nresource \"lab_thing\" \"web\" {{\n  count = 1\n  name  = \"web\"\n  kind  = var.kind\n}}\n#{expression}\n"
        )
    };
    for expression in [
        "[local.tool]",
        "[\"sh\", local.tool]",
        "[\"sh\", \"-c\", \"${local.tool} now\"]",
        "[\"sh\", \"-c\", format(\"%s now\", local.tool)]",
        "split(\" \", \"sh ${local.tool}\")",
        "[\"env\", \"sh\", abspath(local.tool)]",
    ] {
        let place = Place::new(&row(expression, "\"./tool.sh\""));
        place.0.run(&["deploy", "--auto-approve"]).expect(0);
        let group = format!(
            "group \"web\" {{\n  instance = lab_thing.web\n  update {{\n    drain {{\n      command = {expression}\n    }}\n  }}\n}}\n"
        );
        place.0.write("web.flightdeck.hcl", &group);
        deploy(&place, &["--trust-workspace"], 0).expect(0);
        assert_eq!(place.take_ran(), "one\n", "{expression}");
        place.0.write("main.tf", &row(expression, "\"./other.sh\""));
        let run = deploy(&place, &[], 1).expect(3);
        assert_eq!(place.take_ran(), "", "{expression}: {run:?}");
        place.0.write("main.tf", &row(expression, "\"./tool.sh\""));
        deploy(&place, &[], 2).expect(0);
        assert_eq!(place.take_ran(), "one\n", "{expression}");
    }
}

#[test]
fn enforced_provisioner_whose_content_changes_does_not_run() {
    attack(
        |command| {
            let provisioner = format!(
                "  provisioner \"local-exec\" {{\n    command = {}\n  }}\n",
                quoted(command)
            );
            let thing = |body: &str| {
                format!(
                    "{LAB}resource \"lab_thing\" \"web\" {{\n  count = 1\n  name  = \"web\"\n{body}}}\n"
                )
            };
            let place = Place::new(&thing(""));
            place.0.run(&["deploy", "--auto-approve"]).expect(0);
            let group = "group \"web\" {\n  instance = lab_thing.web\n  reconcile {\n    mode = \"enforce\"\n  }\n}\n";
            place.0.write("web.flightdeck.hcl", group);
            place.0.write("main.tf", &thing(&provisioner));
            place
        },
        |place, more, _| {
            let cloud = place.0.path().join("cloud.json");
            let objects = bundled::lab::control::objects(&cloud).unwrap();
            for object in objects {
                bundled::lab::control::delete_object(&cloud, &object.id).unwrap();
            }
            place.0.run(&[&["reconcile", "--once"], more].concat())
        },
    );
}
