//! Tests of `flightdeck version`, as text and as JSON.

use crate::install::{run_tofu, tofu};
use crate::support::Workspace;
use serde_json::{Value, json};

const LOCKED: &str = "provider \"registry.opentofu.org/hashicorp/null\" {\n  version = \"3.2.1\"\n}\n\nprovider \"registry.opentofu.org/hashicorp/aws\" {\n  version = \"5.100.0\"\n}\n";

#[test]
fn version_shows_language_platform_and_locked_providers() {
    let w = Workspace::new(&[(".terraform.lock.hcl", LOCKED)]);
    let run = w.run(&["version", "-json"]).expect(0);
    let all: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        all["provider_selections"],
        json!({
            "registry.opentofu.org/hashicorp/aws": "5.100.0",
            "registry.opentofu.org/hashicorp/null": "3.2.1",
        })
    );
    let language = all["terraform_version"].as_str().unwrap();
    assert!(language.starts_with("1."), "{language}");
    assert!(all["platform"].as_str().unwrap().contains('_'));
    let text = w.run(&["version"]).expect(0).stdout;
    assert!(text.starts_with("flightdeck "), "{text}");
    assert!(text.contains(language), "{text}");
    assert!(
        text.ends_with("+ provider registry.opentofu.org/hashicorp/null v3.2.1\n"),
        "{text}"
    );
    for word in ["--version", "-version"] {
        let run = w.run(&[word]).expect(0);
        let own = env!("CARGO_PKG_VERSION");
        assert_eq!(run.stdout, format!("flightdeck {own}\n"));
    }
}

#[test]
fn damaged_lock_file_does_not_hide_the_version() {
    let w = Workspace::new(&[(".terraform.lock.hcl", "x {")]);
    let run = w.run(&["version", "--json"]).expect(0);
    let all: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(all["provider_selections"], json!({}));
    assert!(run.stderr.contains("is invalid"), "{run:?}");
}

#[test]
fn version_json_has_tofus_members() {
    let Some(tofu) = tofu("version_has_the_members_that_tofu_has") else {
        return;
    };
    let w = Workspace::new(&[(".terraform.lock.hcl", LOCKED)]);
    let theirs = run_tofu(&tofu, &w, None, &["version", "-json"]).expect(0);
    let ours = w.run(&["version", "-json"]).expect(0);
    let [ours, theirs]: [Value; 2] =
        [ours, theirs].map(|run| serde_json::from_str(&run.stdout).unwrap());
    for name in ["platform", "provider_selections"] {
        assert_eq!(ours[name], theirs[name]);
    }
    let names = |v: &Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs));
}
