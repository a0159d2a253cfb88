//! Secret blocks: references, errors with their lines, and values that replace them.

use crate::config::{Flag, Inputs, Loaded, Origin, SecretSource, load_root};
use crate::diag::Diagnostics;
use crate::source::SourceMap;

const MAIN: &str = r#"
variable "password" { type = string }
variable "token" {}
variable "rules" { type = list(string) }
variable "stage" {
  default = "a"
  const   = true
}
"#;

fn load(files: &[(&str, &str)], inputs: Inputs) -> (Loaded, Diagnostics, SourceMap) {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        std::fs::write(path, text).expect("written");
    }
    let sources = SourceMap::new();
    let (loaded, diags) = load_root(dir.path(), &sources, &inputs);
    (loaded, diags, sources)
}

fn partial() -> Inputs {
    Inputs {
        partial: true,
        ..Inputs::default()
    }
}

fn block(from: &str) -> String {
    format!("secret \"password\" {{\n  from = {from:?}\n}}\n")
}

#[test]
fn s1_15_references_have_four_sources() {
    let words = |words: &[&str]| {
        SecretSource::Command(words.iter().map(|word| (*word).to_owned()).collect())
    };
    for (from, expected) in [
        (
            "env:DB_PASSWORD",
            SecretSource::Environment("DB_PASSWORD".into()),
        ),
        (
            "file:secrets/db",
            SecretSource::File("secrets/db".to_owned()),
        ),
        ("command:pass show db", words(&["pass", "show", "db"])),
        (
            "command:sh -c 'echo a  b' \"c d\" e\\ f",
            words(&["sh", "-c", "echo a  b", "c d", "e f"]),
        ),
        ("generate:16", SecretSource::Generate(16)),
        ("generate:1024", SecretSource::Generate(1024)),
    ] {
        let text = block(from);
        let files = [("main.tf", MAIN), ("secrets.flightdeck.hcl", &*text)];
        let (loaded, diags, _) = load(&files, partial());
        assert!(!diags.has_errors(), "{from}: {diags:?}");
        let secret = &loaded.root.secrets["password"];
        assert_eq!(secret.source, expected);
        assert_eq!(secret.to_string(), format!("secret password from {from}"));
        let value = &loaded.values.values["password"];
        assert_eq!(value.origin, Origin::Secret);
        assert!(!value.value.is_known(), "{from} is not resolved here");
        assert!(loaded.root.variables["password"].sensitive);
    }
}

#[test]
fn s1_15_invalid_secrets_are_errors_with_their_places() {
    let reference = "Invalid reference of a secret";
    for (case, text, line, error) in [
        ("no scheme", block("hunter2"), 2, reference),
        ("unknown scheme", block("vault:db"), 2, reference),
        ("empty name", block("env:"), 2, reference),
        ("bad name", block("env:A-B"), 2, reference),
        ("name with a digit first", block("env:1A"), 2, reference),
        ("blank path", block("file: "), 2, reference),
        ("open quote", block("command:pass 'db"), 2, reference),
        ("no program", block("command:''"), 2, reference),
        ("too short", block("generate:15"), 2, reference),
        ("too long", block("generate:1025"), 2, reference),
        ("no number", block("generate:many"), 2, reference),
        (
            "reference to a variable",
            "secret \"password\" {\n  from = var.token\n}\n".to_owned(),
            2,
            "Variables not allowed",
        ),
        (
            "no text",
            "secret \"password\" {\n  from = [\"env:A\"]\n}\n".to_owned(),
            2,
            "Unsuitable value type",
        ),
        (
            "without a source",
            "secret \"password\" {\n}\n".to_owned(),
            1,
            "Missing required argument",
        ),
        (
            "unknown argument",
            "secret \"password\" {\n  from = \"env:A\"\n  sensitive = true\n}\n".to_owned(),
            3,
            "Unsupported argument",
        ),
        (
            "undeclared variable",
            "secret \"pasword\" {\n  from = \"env:A\"\n}\n".to_owned(),
            2,
            "Secret for an undeclared variable",
        ),
        (
            "variable of another type",
            "secret \"rules\" {\n  from = \"env:A\"\n}\n".to_owned(),
            2,
            "Secret for a variable of another type",
        ),
        (
            "constant variable",
            "secret \"stage\" {\n  from = \"env:A\"\n}\n".to_owned(),
            2,
            "Secret for a constant variable",
        ),
        (
            "two for one variable",
            block("env:A") + &block("env:B"),
            4,
            "Duplicate secret",
        ),
    ] {
        let files = [("main.tf", MAIN), ("secrets.flightdeck.hcl", &*text)];
        let (_, diags, sources) = load(&files, partial());
        let errors: Vec<(u32, &str)> = diags
            .errors()
            .filter_map(|d| Some((d.range(&sources)?.start.line, &*d.summary)))
            .collect();
        assert_eq!(errors.first(), Some(&(line, error)), "{case}: {diags:?}");
    }
}

#[test]
fn s1_15_secrets_stand_only_in_own_files_of_the_root_module() {
    let text = block("env:A");
    let (_, diags, sources) = load(&[("main.tf", &*(MAIN.to_owned() + &text))], partial());
    let error = diags.errors().next().expect("an error");
    assert_eq!(error.summary, "Unsupported block type");
    assert_eq!(error.range(&sources).map(|r| r.start.line), Some(9));
    let files = [
        ("main.tf", "module \"app\" {\n  source = \"./app\"\n}\n"),
        ("app/main.tf", "variable \"password\" { default = \"\" }\n"),
        ("app/secrets.flightdeck.hcl", &*text),
    ];
    let (_, diags, sources) = load(&files, partial());
    let error = diags.errors().next().expect("an error");
    assert_eq!(error.summary, "Secret outside the root module");
    let place = error.range(&sources).expect("a place");
    assert_eq!(
        (&*place.filename, place.start.line),
        ("app/secrets.flightdeck.hcl", 1)
    );
}

#[test]
fn s1_15_only_the_command_line_replaces_a_reference() {
    const MAIN: &str = "variable \"password\" { type = string }\n";
    let text = block("env:A");
    let files = [("main.tf", MAIN), ("secrets.flightdeck.hcl", &*text)];
    let flag = Inputs {
        flags: vec![Flag::Var {
            name: "password".to_owned(),
            text: "x".to_owned(),
        }],
        ..Inputs::default()
    };
    let (loaded, diags, _) = load(&files, flag);
    assert!(!diags.has_errors(), "{diags:?}");
    assert_eq!(diags.iter().count(), 1, "{diags:?}");
    assert_eq!(loaded.values.values["password"].origin, Origin::Flag);
    assert!(loaded.root.variables["password"].sensitive);

    let conflict = "Both a value and a secret for a variable";
    let environment = Inputs {
        env: vec![("password".to_owned(), "x".to_owned())],
        ..Inputs::default()
    };
    let (_, diags, sources) = load(&files, environment);
    let error = diags.errors().next().expect("an error");
    assert_eq!(error.summary, conflict);
    assert!(error.detail.contains("TF_VAR_password"), "{error:?}");
    assert_eq!(error.range(&sources).map(|r| r.start.line), Some(2));

    let with_file = [&files[..], &[("terraform.tfvars", "password = \"x\"\n")]].concat();
    let (_, diags, sources) = load(&with_file, Inputs::default());
    let error = diags.errors().next().expect("an error");
    assert_eq!(error.summary, conflict);
    let place = error.range(&sources).map(|r| r.filename);
    assert_eq!(place.as_deref(), Some("terraform.tfvars"));
}
