//! Addresses of servers in every place where one is shown or stored: without user, password and
//! token, and without characters that reorder or hide text.

use crate::Lab;
use crate::groups::{SERVERS, group};
use crate::support::Run;
use std::path::Path;

/// Parts of the credentials. The configuration joins them, so that its own text has none.
const SECRETS: [&str; 2] = ["pa55word", "tok3nsecret"];
const LOCALS: &str = "locals {\n  user  = \"user:${join(\"\", [\"pa55\", \"word\"])}\"\n  query = \"a=b\\u202e&token=${join(\"\", [\"tok3n\", \"secret\"])}\"\n}\n";
/// Addresses with credentials, with and without a scheme. Nothing listens there.
const HTTP: &str = "\"http://${local.user}@127.0.0.1:1/ready?${local.query}\"";
const TCP: &str = "\"${local.user}@127.0.0.1:1?${local.query}\"";

/// Checks one sink.
fn check_text(sink: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{sink} has {secret:?}: {text}");
    }
    assert!(!text.contains('\u{202e}'), "{sink} reorders text: {text}");
}

fn check_run(sink: &str, run: &Run) {
    check_text(&format!("stdout of {sink}"), &run.stdout);
    check_text(&format!("stderr of {sink}"), &run.stderr);
}

/// Checks all files below a directory.
fn check_files(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => check_files(&path),
            path => {
                let bytes = std::fs::read(&path).unwrap();
                let text = String::from_utf8_lossy(&bytes);
                for secret in SECRETS {
                    assert!(!text.contains(secret), "{} has {secret}", path.display());
                }
            }
        }
    }
}

/// Checks all commands that show a deploy, and what is stored of it.
fn check_stored(lab: &Lab, what: &str) {
    let w = &lab.workspace;
    for words in [
        &["group"][..],
        &["group", "show", "web"],
        &["group", "show", "web", "--json"],
        &["history"],
        &["history", "2"],
        &["history", "2", "--json"],
        &["logs"],
        &["logs", "--json"],
        &["state", "list", "--json"],
    ] {
        check_run(&format!("{what}: {words:?}"), &w.run(words));
    }
    check_files(&w.path().join(".flightdeck"));
    check_files(&w.path().with_file_name("data"));
    check_files(&w.path().with_file_name("state"));
}

#[test]
fn health_address_is_redacted_in_every_sink() {
    for (kind, address) in [
        ("http", HTTP.to_owned()),
        ("tcp", TCP.to_owned()),
        ("command", format!("[\"false\", {HTTP}, {TCP}]")),
        // The program prints it, so that its last output is the reason.
        (
            "command",
            format!(
                "[\"sh\", \"-c\", \"echo {}; false\"]",
                HTTP.trim_matches('"')
            ),
        ),
    ] {
        let lab = Lab::new(&format!("{LOCALS}{}", SERVERS.replace("= 3", "= 1")));
        lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
        let health = format!(
            "    health {{\n      {kind} = {address}\n      interval = \"100ms\"\n      timeout  = \"300ms\"\n    }}"
        );
        lab.workspace.write("web.flightdeck.hcl", &group(&health));
        let changed = ["--auto-approve", "--var", "kind=v2"];
        let refused = lab.workspace.run(&[&["deploy"], &changed[..]].concat());
        check_run(&format!("{kind}: question for trust"), &refused);
        let deploy = ["deploy", "--trust-workspace", "--json"];
        let run = lab.workspace.run(&[&deploy, &changed[..]].concat());
        assert_ne!(run.code, Some(0), "{run:?}");
        check_run(&format!("{kind}: deploy --json"), &run);
        let again = ["--auto-approve", "--var", "kind=v3"];
        let run = lab.workspace.run(&[&["deploy"], &again[..]].concat());
        assert_ne!(run.code, Some(0), "{run:?}");
        check_run(&format!("{kind}: deploy"), &run);
        check_stored(&lab, kind);
    }
}

#[test]
fn address_in_a_provisioner_is_redacted_in_every_sink() {
    let thing = format!(
        "{LOCALS}resource \"lab_thing\" \"web\" {{\n  count = 1\n  name  = \"web\"\n  provisioner \"local-exec\" {{\n    command     = \"echo from $URL; exit 1\"\n    environment = {{ URL = {HTTP}, HOST = {TCP} }}\n  }}\n}}\n"
    );
    let lab = Lab::new(&thing);
    for words in [
        &["stage"][..],
        &["stage", "--json"],
        &["show", "--json"],
        &["plan", "--out", "p"],
        &["show", "p"],
    ] {
        let run = lab.workspace.run(words).expect(0);
        check_run(&format!("{words:?}"), &run);
    }
    let shown = lab.workspace.run(&["stage"]).expect(0).stdout;
    assert!(shown.contains("URL="), "{shown}");
    assert!(shown.contains("REDACTED@127.0.0.1:1"), "{shown}");
}

#[test]
fn credentials_are_redacted_in_the_question_about_enforce() {
    let lab = Lab::new(SERVERS);
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let provisioner = "  provisioner \"remote-exec\" {\n    inline = [\"curl http://user:pa55word@h/?token=tok3nsecret\"]\n    connection {\n      host                = \"127.0.0.1\"\n      password            = \"pa55word\"\n      proxy_user_password = \"tok3nsecret\"\n      private_key         = <<-EOT\n        pa55word\n      EOT\n    }\n  }\n}\n";
    let servers = SERVERS.trim_end().strip_suffix('}').unwrap();
    lab.configure(&format!("{servers}{provisioner}"));
    let group = "group \"web\" {\n  instance = lab_thing.web\n  reconcile {\n    mode = \"enforce\"\n  }\n}\n";
    lab.workspace.write("web.flightdeck.hcl", group);
    let id = crate::reconcile::id(&lab, "web-1");
    bundled::lab::control::delete_object(&lab.file(), &id).unwrap();
    let run = lab.workspace.run(&["reconcile", "--once", "--json"]);
    check_run("reconcile", &run);
    assert!(
        run.stdout.contains("remote-exec of lab_thing.web"),
        "{run:?}"
    );
    assert!(run.stdout.contains("(sensitive value)"), "{run:?}");
    for words in [&["group", "show", "web"][..], &["group", "--json"]] {
        check_run(&format!("{words:?}"), &lab.workspace.run(words));
    }
}

#[test]
fn reports_of_checks_escape_text_of_a_plugin() {
    let check = conform::Check::new("start", conform::Status::Fail, "a\u{202e}b\u{1b}[2J");
    let report = conform::Report {
        plugin: "acme/thing\u{202e}".to_owned(),
        checks: vec![check],
        ..conform::Report::default()
    };
    for (sink, text) in [("JUnit", report.junit()), ("Markdown", report.markdown())] {
        check_text(sink, &text);
        assert!(!text.contains('\u{1b}'), "{sink}: {text}");
    }
}

#[test]
fn address_of_a_module_or_backend_is_redacted_in_its_errors() {
    let module = "module \"m\" {\n  source = \"git::http://user:pa55word@127.0.0.1:1/m.git?token=tok3nsecret\"\n}\n";
    let archive = "module \"m\" {\n  source = \"http://user:pa55word@127.0.0.1:1/m.zip?token=tok3nsecret\"\n}\n";
    let backend = "terraform {\n  backend \"http\" {\n    address   = \"http://user:pa55word@127.0.0.1:1/s?token=tok3nsecret\"\n    retry_max = 0\n  }\n}\n";
    for (what, text, words) in [
        ("git", module, "init"),
        ("archive", archive, "init"),
        ("backend", backend, "init"),
        ("backend", backend, "stage"),
    ] {
        let lab = Lab::new("");
        lab.workspace.write("main.tf", text);
        for more in [&[][..], &["--json"]] {
            let run = lab.workspace.run(&[&[words], more].concat());
            assert!(run.code != Some(0) || what == "backend", "{what}: {run:?}");
            // A diagnostic shows the line of the configuration, with a mask of the same length.
            check_run(&format!("{what}: {words}"), &run);
        }
    }
}
