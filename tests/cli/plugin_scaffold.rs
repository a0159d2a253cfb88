//! Tests of `plugin new`, `plugin scaffold` and `plugin docs`: their output is complete, and has no
//! effect of its own.

use crate::support::Workspace;

const HEAD: &str = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\n\nprovider \"lab\" {\n  file = \"lab.json\"\n}\n\n";

#[test]
fn starter_block_is_formatted_and_deploys_once_its_placeholders_are_filled() {
    for all in [false, true] {
        let world = Workspace::new(&[]);
        let mut words = vec!["plugin", "scaffold", "lab_bucket"];
        words.extend(all.then_some("--all"));
        let block = world.run(&words).expect(0).stdout;
        assert!(block.contains("# Its name (string)"), "{block}");
        assert_eq!(block.contains("= null"), all, "{block}");
        world.write(
            "main.tf",
            &format!("{HEAD}{}", block.replace("<name>", "first")),
        );
        world.run(&["fmt", "--check"]).expect(0);
        world.run(&["deploy", "--auto-approve"]).expect(0);
        world.run(&["stage", "--detailed-exitcode"]).expect(0);
    }
}

#[test]
fn unknown_type_or_provider_gets_a_suggestion() {
    let world = Workspace::new(&[]);
    for (words, said) in [
        (vec!["lab_buket"], "did you mean `lab_bucket`?"),
        (vec!["acme_thing"], "--plugin"),
        (
            vec!["lab_bucket", "--plugin", "bundled"],
            "matches 3 plugins",
        ),
        (vec!["lab_bucket", "--plugin", "./none"], "needs a path"),
    ] {
        let run = world.run(&[vec!["plugin", "scaffold"], words.clone()].concat());
        assert!(
            run.code == Some(1) && run.stderr.contains(said),
            "{words:?}: {run:?}"
        );
    }
}

#[test]
fn documentation_of_a_provider_has_a_page_for_each_of_its_types() {
    let w = Workspace::new(&[]);
    w.run(&["plugin", "docs", "bundled/lab", "--out", "docs"])
        .expect(0);
    let page = w.read("docs/resources/bucket.md");
    let heading = "# lab_bucket (resource)\n\nA store for objects.";
    assert!(page.starts_with(heading), "{page}");
    assert!(
        page.contains("resource \"lab_bucket\" \"example\" {"),
        "{page}"
    );
    let again = w.run(&["plugin", "docs", "bundled/lab", "--out", "docs", "--json"]);
    assert_eq!(again.expect(0).result()["changed"], 0);
    assert!(w.read("docs/index.md").contains("- `lab_session`\n"));
}

#[test]
fn new_crate_has_the_commands_for_its_hosts() {
    let sdk = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/sdk");
    for (flags, usage, other) in [
        (&[][..], "dev_overrides", "BLUELINK"),
        (&["--bluelink"], "BLUELINK", "dev_overrides"),
    ] {
        let w = Workspace::new(&[]);
        w.run(&[&["plugin", "new", "notes", "--sdk", sdk], flags].concat())
            .expect(0);
        let file = |name: &str| w.read(&format!("terraform-provider-notes/{name}"));
        let readme = file("README.md");
        assert!(
            readme.contains(usage) && !readme.contains(other),
            "{readme}"
        );
        for name in ["Cargo.toml", "README.md", "src/main.rs", "example/main.tf"] {
            assert!(!file(name).contains("{{"), "{name}");
        }
        let again = w.run(&["plugin", "new", "notes", "--sdk", sdk]);
        assert!(again.stderr.contains("exists already"), "{again:?}");
    }
}
