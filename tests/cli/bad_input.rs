//! What can be wrong with a workspace: each gets its words, its place and its exit code; none a
//! panic or a hang.

use crate::support::{Run, Workspace};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// One workspace that is wrong, and what is said of it.
struct Case {
    name: &'static str,
    files: Vec<(&'static str, Vec<u8>)>,
    /// Links: name and where it leads.
    links: Vec<(&'static str, &'static str)>,
    folders: Vec<&'static str>,
    args: Vec<OsString>,
    code: i32,
    /// File, line and column of one of the errors.
    at: Option<(&'static str, u64, u64)>,
    /// What one of the errors must say, in lower case.
    says: &'static str,
    /// How many errors there may be at most: what follows from an error is not worth saying.
    errors: usize,
}

fn case(name: &'static str, says: &'static str) -> Case {
    let (files, links, folders, args) = Default::default();
    Case {
        name,
        files,
        links,
        folders,
        args,
        code: 1,
        at: None,
        says,
        errors: 2,
    }
}

impl Case {
    fn file(mut self, name: &'static str, text: impl AsRef<[u8]>) -> Self {
        self.files.push((name, text.as_ref().to_vec()));
        self
    }

    fn main(self, text: impl AsRef<[u8]>) -> Self {
        self.file("main.tf", text)
    }

    fn link(mut self, name: &'static str, to: &'static str) -> Self {
        self.links.push((name, to));
        self
    }

    fn folder(mut self, name: &'static str) -> Self {
        self.folders.push(name);
        self
    }

    fn args(mut self, args: &[&[u8]]) -> Self {
        self.args = args
            .iter()
            .map(|a| OsStr::from_bytes(a).to_owned())
            .collect();
        self
    }

    fn at(mut self, file: &'static str, line: u64, column: u64) -> Self {
        self.at = Some((file, line, column));
        self
    }

    fn code(self, code: i32) -> Self {
        Self { code, ..self }
    }

    /// With this many errors at most.
    fn errors(self, errors: usize) -> Self {
        Self { errors, ..self }
    }
}

const LAB: &str = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\n";
const CYCLE: &str = "resource \"terraform_data\" \"a\" {\n  input = terraform_data.b.id\n}\nresource \"terraform_data\" \"b\" {\n  input = terraform_data.a.id\n}\n";
const STATE: &str = r#"{"version":4,"serial":3,"lineage":"l","outputs":{},"resources":[{"mode":"managed","type":"terraform_data","name":"a","provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[{"schema_version":0,"attributes":{"id":"1"}}]}]}"#;
const ONE: &str = "output \"o\" { value = 1 }\n";

fn with_a(body: &str) -> String {
    format!("resource \"terraform_data\" \"a\" {{\n{body}}}\n")
}

/// The plain mistakes.
fn plain() -> Vec<Case> {
    vec![
        case("empty directory", "contains no configuration files"),
        case("syntax error", "expected the start of an expression").main(with_a("  input = = 1\n")).at("main.tf", 2, 11),
        case("syntax error in JSON", "must start with")
            .file("main.tf.json", "{\n  \"locals\": {,}\n}\n")
            .at("main.tf.json", 2, 14)
            .errors(3),
        case("unknown provider", "hashicorp/frob").main("resource \"frob_thing\" \"a\" {}\n").at("main.tf", 1, 1).code(3),
        case("unknown resource type", "terraform_thing").main("resource \"terraform_thing\" \"a\" {\n}\n").at("main.tf", 1, 1),
        case("unknown attribute", "\"nope\" is not expected here").main(with_a("\n  nope = 1\n")).at("main.tf", 3, 3),
        case("missing required attribute", "the argument \"name\" is required")
            .file("versions.tf", LAB)
            .main("\nresource \"lab_server\" \"a\" {\n}\n")
            .at("main.tf", 2, 27),
        case("wrong type", "number required, but have tuple").main(with_a("  count = [1]\n")).at("main.tf", 2, 11),
        case("wrong type of an attribute", "string required, but have tuple")
            .file("versions.tf", LAB)
            .main("resource \"lab_server\" \"a\" {\n  name = [\"x\"]\n}\n")
            .at("main.tf", 2, 10),
        case("cycle", "take one of the references out").main(CYCLE).at("main.tf", 1, 1),
        case("undeclared variable", "\"gone\" has not been declared").main("output \"o\" {\n  value = var.gone\n}\n").at("main.tf", 2, 11),
        case("value for a variable that is not declared", "add a \"variable\" block").main(ONE).args(&[b"--var", b"gone=1"]).at(
            "<value for var.gone>",
            1,
            1,
        ),
        case("variable without a value", "set it with --var").main("variable \"v\" {\n  type = string\n}\n").at("main.tf", 1, 1),
        case("for_each over what is not known", "use keys that are known")
            .main(format!("{}resource \"terraform_data\" \"b\" {{\n  for_each = toset([terraform_data.a.id])\n}}\n", with_a("")))
            .at("main.tf", 4, 14),
        case("plugin missing", "acme/x").main(ACME).at("main.tf", 3, 9).code(3),
        case("cloud block", "take the block out").main("terraform {\n  cloud {\n    organization = \"o\"\n  }\n}\n").at("main.tf", 2, 3),
        case("backend", "the backend \"s3\"").main("terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n  }\n}\n").at("main.tf", 2, 3),
        case("state of another tool", "terraform.tfstate").main(with_a("")).file("terraform.tfstate", STATE),
    ]
}

/// What the language has and is not accepted yet: refused by name, at its place.
fn not_accepted() -> Vec<Case> {
    let lab = |name, says| case(name, says).file("versions.tf", LAB);
    vec![
        case("module of a registry", "registries, git and archives are not supported yet")
            .main("module \"m\" {\n  source = \"acme/network/aws\"\n}\n")
            .at("main.tf", 2, 12),
        case("module from git", "registries, git and archives are not supported yet")
            .main("module \"m\" {\n  source = \"git::https://example.com/m.git?ref=v1\"\n}\n")
            .at("main.tf", 2, 12),
        case("version of a module", "a module of a local path has no versions")
            .main("module \"m\" {\n  source  = \"./m\"\n  version = \"1.0.0\"\n}\n")
            .file("m/main.tf", "")
            .at("main.tf", 2, 13),
        lab("ephemeral resource of no type", "does not support ephemeral resource \"lab_token\"")
            .main("\nephemeral \"lab_token\" \"t\" {\n}\n")
            .at("main.tf", 2, 1),
        case("encryption of the state", "has state encrypted, which flightdeck cannot do yet")
            .main("terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n")
            .at("main.tf", 9, 5),
        case("another edition", "language edition \"tofu2099\" is not supported")
            .main("terraform {\n}\nlanguage {\n  edition = tofu2099\n}\n")
            .at("main.tf", 4, 13),
        case("another machine over winrm", "connections of type \"winrm\" are not supported")
            .main(with_a(
                "  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n    connection {\n      type = \"winrm\"\n      host = \"x\"\n    }\n  }\n",
            ))
            .at("main.tf", 5, 14),
    ]
}

/// Bytes that are no text, or not the text that is meant.
fn bytes() -> Vec<Case> {
    let variable = "variable \"v\" {}\n";
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(ONE.encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let encoding = "must be utf-8 encoded";
    vec![
        case("no UTF-8", encoding)
            .main(b"locals {\n  a = 1\n  b = \"\xff\xfe\"\n}\n")
            .at("main.tf", 3, 8),
        case("no UTF-8 in JSON", encoding)
            .file(
                "main.tf.json",
                b"{\n  \"locals\": {\n \"b\": \"\xff\"\n}}\n",
            )
            .at("main.tf.json", 3, 8),
        case("no UTF-8 in tfvars", encoding)
            .main(variable)
            .file("terraform.tfvars", b"\nv = \"\xff\"\n")
            .at("terraform.tfvars", 2, 6),
        case("no UTF-8 in JSON tfvars", encoding)
            .main(variable)
            .file("terraform.tfvars.json", b"{\n\"v\": \"\xff\"\n}")
            .at("terraform.tfvars.json", 2, 7),
        case("UTF-16", "this file is utf-16")
            .main(utf16)
            .at("main.tf", 1, 1)
            .errors(1),
        case("no UTF-8 in the lock file", "did not contain valid utf-8")
            .main(ONE)
            .file(".terraform.lock.hcl", b"\xff\n"),
        case("NUL", "not used within the language")
            .main(b"output \"o\" {\n  value = \x00\n}\n")
            .at("main.tf", 2, 11),
        case("NUL in JSON", "syntax error in this json string")
            .file(
                "main.tf.json",
                b"{\"output\":{\"o\":{\"value\":\"a\x00b\"}}}\n",
            )
            .at("main.tf.json", 1, 25)
            .errors(5),
        case("an escape sequence", "not used within the language")
            .main(b"output \"o\" {\n  value = \x1b[2J\n}\n")
            .at("main.tf", 2, 11)
            .errors(3),
        case("carriage returns alone", "lf or crlf line endings")
            .main("output \"o\" {\r  value = 1\r}\r")
            .at("main.tf", 1, 13)
            .errors(5),
        case("an error behind CRLF", "\"nope\" is not expected here")
            .main("resource \"terraform_data\" \"a\" {\r\n  nope = 1\r\n}\r\n")
            .at("main.tf", 2, 3),
        case(
            "an error behind a byte order mark",
            "\"nope\" is not expected here",
        )
        .main("\u{feff}resource \"terraform_data\" \"a\" {\n  nope = 1\n}\n")
        .at("main.tf", 2, 3),
        case("a byte order mark in JSON", "without one")
            .file("main.tf.json", "\u{feff}{}")
            .at("main.tf.json", 1, 1),
        case("an empty JSON file", "ends prematurely")
            .file("main.tf.json", "")
            .at("main.tf.json", 1, 1),
    ]
}

/// Names that lead to no text.
fn files() -> Vec<Case> {
    let call = |to: &str| format!("module \"m\" {{\n  source = \"{to}\"\n}}\n");
    vec![
        case("a directory is no file", "contains no configuration files").folder("x.tf"),
        case(
            "a link to itself",
            "\"x.tf\" could not be read: too many levels of symbolic links",
        )
        .main(ONE)
        .link("x.tf", "x.tf"),
        case(
            "a link to nowhere",
            "\"x.tf\" could not be read: no such file",
        )
        .main(ONE)
        .link("x.tf", "nowhere.tf"),
        case(
            "a file of variables that is a link to nowhere",
            "\"terraform.tfvars\" could not be read: no such file",
        )
        .main(ONE)
        .link("terraform.tfvars", "nowhere"),
        case(
            "a file of variables that is a link to itself",
            "\"a.auto.tfvars\" could not be read: too many levels",
        )
        .main(ONE)
        .link("a.auto.tfvars", "a.auto.tfvars"),
        case("a directory for variables", "not a regular file")
            .main(ONE)
            .folder("terraform.tfvars"),
        case(
            "a module that is a link to itself",
            "could not be read for module",
        )
        .main(call("./m"))
        .link("m", "m")
        .at("main.tf", 2, 12),
        case("a module that calls itself", "the module calls itself")
            .main(call("./"))
            .at("main.tf", 2, 12),
        case(
            "two modules that call each other",
            "the module calls itself",
        )
        .main(call("./m"))
        .file("m/main.tf", call("../"))
        .at("m/main.tf", 2, 12),
        case(
            "a module that calls itself through a link",
            "the module calls itself",
        )
        .main(call("./m"))
        .file("m/main.tf", call("./again"))
        .link("m/again", "../m"),
    ]
}

/// Numbers that are none, and far too many instances.
fn numbers() -> Vec<Case> {
    let nines = "9".repeat(400);
    let size = |n: &str| {
        format!(
            "{LAB}resource \"lab_server\" \"a\" {{\n  name = \"a\"\n  image = \"img-1\"\n  disk {{\n    name = \"d\"\n    size_gb = {n}\n  }}\n}}\n"
        )
    };
    let output = |n: &str| format!("output \"o\" {{ value = {n} }}\n");
    vec![
        case("1e999999999", "out of range")
            .main(output("1e999999999"))
            .at("main.tf", 1, 22),
        case("1e999999999 in JSON", "out of range")
            .file(
                "main.tf.json",
                "{\"output\":{\"o\":{\"value\":1e999999999}}}",
            )
            .at("main.tf.json", 1, 25),
        case("a million digits", "out of range")
            .main(output(&"9".repeat(1_200_000)))
            .at("main.tf", 1, 22),
        case("1e999999999 from a text", "cannot convert")
            .main(output("tonumber(\"1e999999999\")"))
            .at("main.tf", 1, 32),
        case("400 digits as a count", "a whole number is required")
            .main(with_a(&format!("  count = {nines}\n")))
            .at("main.tf", 2, 11),
        case(
            "a count of billions",
            "more than the million that is supported",
        )
        .main(with_a("  count = 2000000000\n"))
        .at("main.tf", 2, 11),
        case("a count below zero", "greater than or equal to zero")
            .main(with_a("  count = -1\n"))
            .at("main.tf", 2, 11),
        case("half a count", "a whole number is required")
            .main(with_a("  count = 1.5\n"))
            .at("main.tf", 2, 11),
        case("400 digits as a size", "must be a whole number from 1")
            .main(size(&nines))
            .at("main.tf", 11, 15),
    ]
}

/// Too deep, too long, too many.
fn large() -> Vec<Case> {
    const N: usize = 10_000;
    let local = |text: String| format!("locals {{\n  a = {text}\n}}\n");
    let around = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(N), close.repeat(N))
    };
    let deep = "nested in each other at most 250 deep";
    let long = "x".repeat(1_000_000);
    let mut all: Vec<Case> = [
        ("parentheses", around("(", "1", ")"), 256),
        ("lists", around("[", "1", "]"), 256),
        ("objects", around("{a=", "1", "}"), 752),
        ("templates", around("\"${", "1", "}\""), 754),
        ("calls", around("abs(", "1", ")"), 1_003),
        ("negations", around("!", "true", ""), 255),
        ("conditionals", around("true ? ", "1", " : 2"), 1_750),
        ("index brackets", format!("local.a{}", "[0]".repeat(N)), 0),
        ("for expressions", around("[for x in ", "[1]", " : x]"), 0),
    ]
    .into_iter()
    .map(|(name, text, column)| {
        let case = case(name, deep).main(local(text));
        if column > 0 {
            case.at("main.tf", 2, column)
        } else {
            case
        }
    })
    .collect();
    all.extend([
        case("blocks", deep)
            .main(with_a(&around("b {\n", "", "}\n")))
            .at("main.tf", 251, 3),
        case("template directives", deep)
            .main(local(format!(
                "\"{}\"",
                around("%{ if true }", "x", "%{ endif }")
            )))
            .at("main.tf", 2, 2_984),
        case("types", deep)
            .main(format!(
                "variable \"v\" {{\n  type = {}\n}}\n",
                around("list(", "string", ")")
            ))
            .at("main.tf", 2, 1_255),
        case("JSON arrays", deep)
            .file(
                "main.tf.json",
                format!("{{\"locals\": {{\"a\": {}}}}}", around("[", "1", "]")),
            )
            .at("main.tf.json", 1, 266)
            .errors(2),
        case("JSON objects", deep)
            .file(
                "main.tf.json",
                format!("{{\"locals\": {{\"a\": {}}}}}", around("{\"a\":", "1", "}")),
            )
            .errors(2),
        // Far more errors than anybody reads: the first ones, and how many more there are.
        case(
            "a JSON template of rubbish",
            "more errors of syntax in this file",
        )
        .file(
            "main.tf.json",
            format!(
                "{{\"locals\": {{\"a\": \"{}\"}}}}",
                around("${[", "1", "]}")
            ),
        )
        .errors(101),
        case("a file of rubbish", "more errors of syntax in this file")
            .main("a = )\n".repeat(20_000))
            .errors(103),
        case(
            "an error for each of many arguments",
            "more of 3000 errors and warnings are not shown",
        )
        .main(with_a(
            &(0..3_000)
                .map(|n| format!("  a{n} = 1\n"))
                .collect::<String>(),
        ))
        .errors(501),
        case("variables in a file", deep)
            .main("variable \"v\" {\n  type = any\n}\n")
            .file(
                "terraform.tfvars",
                format!("v = {}\n", around("[", "", "]")),
            )
            .at("terraform.tfvars", 1, 255),
        case("a variable", deep)
            .main("variable \"v\" {\n  type = any\n}\n")
            .args(&[b"--var", format!("v={}", around("[", "", "]")).as_bytes()])
            .at("<value for var.v>", 1, 251),
        case("decoded JSON", "recursion limit")
            .main("output \"o\" { value = jsondecode(file(\"x.txt\")) }\n")
            .file("x.txt", around("[", "", "]"))
            .at("main.tf", 1, 22),
        case("decoded YAML", "recursion limit")
            .main("output \"o\" { value = yamldecode(file(\"x.txt\")) }\n")
            .file("x.txt", around("[", "", "]"))
            .at("main.tf", 1, 22),
        case(
            "a megabyte that is no number",
            "and 999800 bytes more to number",
        )
        .main(format!(
            "output \"o\" {{\n  value = tonumber(\"{long}\")\n}}\n"
        ))
        .at("main.tf", 2, 21),
        case("a megabyte as a count", "a number is required")
            .main(with_a(&format!("  count = \"{long}\"\n")))
            .at("main.tf", 2, 11),
        case(
            "a name of 5,000 characters that is none",
            "a name must start with",
        )
        .main(format!(
            "resource \"terraform_data\" \"{}\" {{}}\n",
            "!".repeat(5_000)
        ))
        .at("main.tf", 1, 27),
        case(
            "a name of 5,000 characters that is not declared",
            "bytes more",
        )
        .main(format!(
            "output \"o\" {{ value = terraform_data.{}.id }}\n",
            "a".repeat(50_000)
        ))
        .at("main.tf", 1, 22),
        case("a mistake behind 10 MB", "\"gone\" has not been declared")
            .main(format!("{}{GONE}", megabytes(10)))
            .at("main.tf", 50_002, 11),
        case(
            "a mistake behind 100,000 resources",
            "\"gone\" has not been declared",
        )
        .main(
            (0..100_000)
                .map(|n| format!("resource \"terraform_data\" \"r{n}\" {{\n}}\n"))
                .collect::<String>()
                + GONE,
        )
        .at("main.tf", 200_002, 11),
    ]);
    all
}

/// What nobody declared, on its second line.
const GONE: &str = "output \"o\" {\n  value = var.gone\n}\n";

/// Locals of 200 bytes each line, 5,000 lines a megabyte.
fn megabytes(n: usize) -> String {
    let line = |i: usize| {
        format!(
            "{:199}\n",
            format!(
                "locals {{ a{i:05} = \"text ${{{i} + 1}}\" }} # {}",
                "x".repeat(150)
            )
        )
    };
    (0..n * 5_000).map(line).collect()
}

fn check(case: &Case, run: &Run) -> Vec<String> {
    let mut wrong = Vec::new();
    if run.code != Some(case.code) {
        wrong.push(format!("exit code {:?} instead of {}", run.code, case.code));
    }
    let lines = run.diagnostics();
    let errors: Vec<_> = lines.iter().filter(|d| d["severity"] == "error").collect();
    let place = |d: &Value| {
        (
            d["range"]["filename"].clone(),
            d["range"]["start"]["line"].clone(),
            d["range"]["start"]["column"].clone(),
        )
    };
    if let Some((file, line, column)) = case.at
        && !errors
            .iter()
            .any(|d| place(d) == (file.into(), line.into(), column.into()))
    {
        wrong.push(format!("no error at {file}:{line}:{column}"));
    }
    // Some are told as a warning beside the errors: that there are more.
    let text = |d: &Value, key: &str| d[key].as_str().unwrap_or_default().to_lowercase();
    let said =
        |d: &Value| text(d, "summary").contains(case.says) || text(d, "detail").contains(case.says);
    if !lines.iter().any(said) {
        wrong.push(format!("nothing says {:?}", case.says));
    }
    if errors.len() > case.errors {
        wrong.push(format!(
            "{} errors instead of {} at most",
            errors.len(),
            case.errors
        ));
    }
    if let Some(d) = lines.iter().find(|d| d.to_string().len() > 20_000) {
        wrong.push(format!("{} bytes in one diagnostic", d.to_string().len()));
    }
    if !wrong.is_empty() {
        let errors: Vec<String> = errors
            .iter()
            .take(5)
            .map(|d| d.to_string().chars().take(400).collect())
            .collect();
        let stderr: String = run.stderr.chars().take(1_000).collect();
        wrong.push(format!("said: {errors:#?} {stderr}"));
    }
    wrong
}

impl Case {
    fn workspace(&self) -> Workspace {
        let w = Workspace::new(&[]);
        for (name, bytes) in &self.files {
            let path = w.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        self.folders
            .iter()
            .for_each(|name| std::fs::create_dir(w.path().join(name)).unwrap());
        self.links
            .iter()
            .for_each(|(name, to)| std::os::unix::fs::symlink(to, w.path().join(name)).unwrap());
        w
    }
}

fn check_all(cases: &[Case]) {
    let mut wrong = Vec::new();
    for case in cases {
        let w = case.workspace();
        for command in [
            &["stage", "--json"][..],
            &["deploy", "--auto-approve", "--json"][..],
        ] {
            let args: Vec<&OsStr> = command
                .iter()
                .map(OsStr::new)
                .chain(case.args.iter().map(OsString::as_os_str))
                .collect();
            let run = w.run(&args);
            let outcome = run.result();
            if outcome["outcome"] != "error" || outcome["exit_code"] != case.code {
                wrong.push(format!(
                    "{}: {}: the result is {outcome}",
                    case.name, command[0]
                ));
            }
            wrong.extend(
                check(case, &run)
                    .into_iter()
                    .map(|text| format!("{}: {}: {text}", case.name, command[0])),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn everything_that_can_be_wrong_has_its_words_its_place_and_its_exit_code() {
    check_all(&plain());
}

#[test]
fn what_is_not_accepted_yet_is_refused_by_name() {
    check_all(&not_accepted());
}

#[test]
fn bytes_that_are_no_text_are_named_with_their_place() {
    check_all(&bytes());
}

#[test]
fn names_that_lead_to_no_text_are_named() {
    check_all(&files());
}

#[test]
fn numbers_out_of_all_bounds_are_refused() {
    check_all(&numbers());
}

#[test]
fn what_is_too_deep_too_long_or_too_much_ends_in_few_words_and_never_in_a_crash() {
    check_all(&large());
}

/// What cannot be kept is told when it should be, and not passed over.
#[test]
fn an_output_that_is_infinite_is_not_kept_in_silence() {
    let w = Workspace::new(&[("main.tf", "output \"o\" { value = pow(10, 999999999) }\n")]);
    let run = w.run(&["deploy", "--auto-approve", "--json"]).expect(5);
    let said = run.diagnostics()[0].clone();
    assert!(
        said["detail"].as_str().unwrap().contains("infinity"),
        "{said}"
    );
    assert_eq!(said["range"]["start"]["line"], 1, "{said}");
}

/// An argument that is no text is refused before anything is done, whatever it is for.
#[test]
fn an_argument_that_is_no_utf_8_is_refused() {
    let w = Workspace::new(&[("main.tf", "variable \"v\" {}\n")]);
    let run = w
        .run(&[
            OsStr::new("stage"),
            OsStr::new("--var"),
            OsStr::from_bytes(b"v=a\xffb"),
        ])
        .expect(1);
    assert!(run.stderr.contains("UTF-8"), "{run:?}");
}

/// Unreadable for everybody, root too: a directory under a name that promises a file, and what only
/// its owner may read.
#[test]
fn a_file_that_may_not_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let w = Workspace::new(&[("main.tf", ONE), ("secret.tf", ONE)]);
    std::fs::set_permissions(
        w.path().join("secret.tf"),
        std::fs::Permissions::from_mode(0o000),
    )
    .unwrap();
    if std::fs::read(w.path().join("secret.tf")).is_ok() {
        eprintln!(
            "skipped: permissions do not bind root here; a link to itself stands for an unreadable file in the table"
        );
        return;
    }
    let run = w.run(&["stage", "--json"]).expect(1);
    let said = run.diagnostics()[0].to_string();
    assert!(
        said.contains("secret.tf") && said.contains("ermission denied"),
        "{said}"
    );
}

/// What looks odd and is none the less right.
#[test]
fn odd_files_that_mean_something_are_read() {
    let input = |text: &str| with_a(&format!("  input = \"{text}\"\n"));
    let name = "a".repeat(5_000);
    let good: [(&str, &str, Vec<u8>, u64); 9] = [
        ("an empty file", "main.tf", Vec::new(), 0),
        ("a byte order mark", "main.tf", format!("\u{feff}{}", with_a("")).into_bytes(), 1),
        ("CRLF", "main.tf", with_a("  input = 1\n").replace('\n', "\r\n").into_bytes(), 1),
        ("NUL in a text", "main.tf", input("a\0b").into_bytes(), 1),
        ("a megabyte", "main.tf", input(&"x".repeat(1_000_000)).into_bytes(), 1),
        ("10 MB", "main.tf", (megabytes(10) + &input("${local.a49999}")).into_bytes(), 1),
        (
            "a name of 5,000 characters",
            "main.tf",
            format!("resource \"terraform_data\" \"{name}\" {{}}\noutput \"o\" {{ value = terraform_data.{name}.id }}\n").into_bytes(),
            1,
        ),
        ("400 digits", "main.tf", with_a(&format!("  input = {}\n", "9".repeat(400))).into_bytes(), 1),
        ("a sum of 10,000", "main.tf", with_a(&format!("  input = {}2\n", "1 + ".repeat(10_000))).into_bytes(), 1),
    ];
    for (name, file, bytes, created) in good {
        let w = Workspace::new(&[("x.tf/readme", "a directory is passed over")]);
        std::fs::write(w.path().join(file), bytes).unwrap();
        let run = w.run(&["deploy", "--auto-approve", "--json"]);
        assert_eq!(
            run.code,
            Some(0),
            "{name}: {:?} {:.2000}",
            run.diagnostics(),
            run.stderr
        );
        assert_eq!(run.result()["operations"]["done"], created, "{name}");
        let again = w.run(&["stage", "--json", "--detailed-exitcode"]);
        assert_eq!(
            again.code,
            Some(0),
            "{name}: what was deployed stays as it is"
        );
    }
}

#[test]
fn a_hundred_thousand_resources_are_staged() {
    let w = Workspace::new(&[("main.tf", &with_a("  count = 100000\n"))]);
    let run = w.run(&["stage", "--json"]).expect(0);
    assert_eq!(run.result()["changes"]["create"], 100_000);
}

const ACME: &str = "terraform {\n  required_providers {\n    x = { source = \"acme/x\" }\n  }\n}\nresource \"x_y\" \"a\" {}\n";

fn executable(w: &Workspace, platform: &str, bytes: &[u8], mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let dir = w.path().join(format!(
        ".terraform/providers/registry.opentofu.org/acme/x/1.0.0/{platform}"
    ));
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("terraform-provider-x_v1.0.0");
    std::fs::write(&file, bytes).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn here() -> &'static str {
    if cfg!(target_arch = "aarch64") {
        "linux_arm64"
    } else {
        "linux_amd64"
    }
}

#[test]
fn a_plugin_that_cannot_be_executed_is_told_from_one_for_another_machine() {
    // The first 20 bytes of an ELF file for the IBM S/390, which no machine of ours is.
    let mut other = b"\x7fELF\x02\x02\x01".to_vec();
    other.resize(64, 0);
    other[16..20].copy_from_slice(&[0, 2, 0, 22]);
    let rows: [(&str, &str, &[u8], u32, &str); 3] = [
        (
            "not executable",
            here(),
            b"#!/bin/sh\nexit 0\n",
            0o644,
            "execut",
        ),
        (
            "other architecture",
            here(),
            &other,
            0o755,
            "is built for linux s390x",
        ),
        (
            "other system",
            "plan9_mips",
            b"#!/bin/sh\nexit 0\n",
            0o755,
            "acme/x",
        ),
    ];
    for (name, platform, bytes, mode, says) in rows {
        let w = Workspace::new(&[("main.tf", ACME)]);
        executable(&w, platform, bytes, mode);
        for args in [["stage"], ["plugins"]] {
            let run = w.run(&args).expect(3);
            assert!(run.stderr.to_lowercase().contains(says), "{name}: {run:#?}");
        }
    }
}
