//! Tables of invalid configurations and of unsupported language features.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::case::{CYCLE, Case, LAB, ONE, STATE, UNQUALIFIED, case, check_all, with_a};
use super::unusual_files::ACME;
use crate::support::Workspace;

/// Common mistakes.
fn plain() -> Vec<Case> {
    vec![
        case("empty directory", "contains no configuration files"),
        case("syntax error", "expected the start of an expression").main(with_a("  input = = 1\n")).at("main.tf", 2, 11),
        case("syntax error in JSON", "must start with")
            .file("main.tf.json", "{\n  \"locals\": {,}\n}\n")
            .at("main.tf.json", 2, 14)
            .errors(3),
        case("unknown provider", "hashicorp/frob").main("resource \"frob_thing\" \"a\" {}\n").at("main.tf", 1, 1).code(3),
        case("unknown resource type", "terraform_thing").main("resource \"terraform_thing\" \"a\" {\n}\n").at("main.tf", 1, 10),
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
        case("cycle", "remove one of the references").main(CYCLE).at("main.tf", 1, 1),
        case("undeclared variable", "\"gone\" has not been declared").main("output \"o\" {\n  value = var.gone\n}\n").at("main.tf", 2, 11),
        case("value for a variable that is not declared", "add a \"variable\" block").main(ONE).args(&[b"--var", b"gone=1"]).at(
            "<value for var.gone>",
            1,
            1,
        ),
        case("variable without a value", "set it with --var").main("variable \"v\" {\n  type = string\n}\n").at("main.tf", 1, 1),
        case("for_each over what is not known", "use known keys")
            .main(format!("{}resource \"terraform_data\" \"b\" {{\n  for_each = toset([terraform_data.a.id])\n}}\n", with_a("")))
            .at("main.tf", 4, 14),
        case("plugin missing", "acme/x").main(ACME).at("main.tf", 3, 9).code(3),
        case("cloud block", "tofu init -migrate-state").main("terraform {\n  cloud {\n    organization = \"o\"\n  }\n}\n").at("main.tf", 2, 3),
        case("backend", "the backend \"consul\"").main("terraform {\n  backend \"consul\" {\n    path = \"b\"\n  }\n}\n").at("main.tf", 2, 3),
        case("half a backend", "the argument \"key\" is not set").main("terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    region = \"r\"\n  }\n}\n").at("main.tf", 2, 3),
        case("argument of a backend", "no argument \"adress\"").main("terraform {\n  backend \"http\" {\n    adress = \"b\"\n  }\n}\n").at("main.tf", 3, 5),
        case("a state of a provider without a namespace", "state replace-provider -- -/alpha")
            .main(with_a(""))
            .file("terraform.tfstate", UNQUALIFIED)
            .code(3),
        case("a state that is none", "\"resources\": invalid type").main(with_a("")).file("terraform.tfstate", STATE),
    ]
}

/// Unsupported language features: each is named at its place.
fn not_accepted() -> Vec<Case> {
    let lab = |name, says| case(name, says).file("versions.tf", LAB);
    vec![
        case("module of a registry", "is not installed yet")
            .main("module \"m\" {\n  source = \"acme/network/aws\"\n}\n")
            .at("main.tf", 1, 1),
        case("module from git", "is not installed yet")
            .main("module \"m\" {\n  source = \"git::https://example.com/m.git?ref=v1\"\n}\n")
            .at("main.tf", 1, 1),
        case("version of a module", "a module with a local path cannot have a version")
            .main("module \"m\" {\n  source  = \"./m\"\n  version = \"1.0.0\"\n}\n")
            .file("m/main.tf", "")
            .at("main.tf", 2, 13),
        lab("ephemeral resource of no type", "does not support ephemeral resource \"lab_token\"")
            .main("\nephemeral \"lab_token\" \"t\" {\n}\n")
            .at("main.tf", 2, 11),
        case("encryption with a key from a cloud", "with a key of the key provider \"aws_kms\", which flightdeck does not support")
            .main("terraform {\n  encryption {\n    key_provider \"aws_kms\" \"k\" {\n      kms_key_id = \"x\"\n      key_spec   = \"AES_256\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.aws_kms.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n")
            .at("main.tf", 10, 5),
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

/// Files with invalid UTF-8, or with text in another encoding.
pub(super) fn bytes() -> Vec<Case> {
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

/// File names that lead to no readable text.
pub(super) fn files() -> Vec<Case> {
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

#[test]
fn invalid_configurations_have_an_error_a_place_and_an_exit_code() {
    check_all(&plain());
}

#[test]
fn unsupported_features_are_refused_by_name() {
    check_all(&not_accepted());
}

#[test]
fn invalid_utf_8_is_reported_with_its_place() {
    check_all(&bytes());
}

#[test]
fn unreadable_file_names_are_reported() {
    check_all(&files());
}

/// An argument with invalid UTF-8 is refused before the command starts, for every flag.
#[test]
fn argument_with_invalid_utf_8_is_refused() {
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
