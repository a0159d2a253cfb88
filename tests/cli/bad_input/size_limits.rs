//! Tests of input that is too deep, too long or too large.

use super::case::{Case, LAB, case, check_all, with_a};
use crate::support::Workspace;

/// Invalid numbers, and far too many instances.
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
        case("a count of billions", "exceed the limit of 1,000,000")
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

/// Input that is too deep, too long or too large.
fn large() -> Vec<Case> {
    const N: usize = 10_000;
    let local = |text: String| format!("locals {{\n  a = {text}\n}}\n");
    let around = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(N), close.repeat(N))
    };
    let deep = "can be nested at most 250 levels deep";
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
        // Too many errors to read: the first ones are shown, and the number of the others.
        case("a JSON template of rubbish", "more syntax errors")
            .file(
                "main.tf.json",
                format!(
                    "{{\"locals\": {{\"a\": \"{}\"}}}}",
                    around("${[", "1", "]}")
                ),
            )
            .errors(101),
        case("a file of rubbish", "more syntax errors")
            .main("a = )\n".repeat(20_000))
            .errors(103),
        case(
            "an error for each of many arguments",
            "of 3000 errors and warnings are not shown",
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
            "and 999800 more bytes to number",
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

/// Reference to an undeclared variable, on line 2.
const GONE: &str = "output \"o\" {\n  value = var.gone\n}\n";

/// `n` megabytes of locals: 200 bytes per line, 5,000 lines per megabyte.
pub(super) fn megabytes(n: usize) -> String {
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

#[test]
fn numbers_out_of_range_are_refused() {
    check_all(&numbers());
}

#[test]
fn too_deep_long_or_large_input_gives_a_short_error_without_a_crash() {
    check_all(&large());
}

/// A value that the state cannot hold is an error as soon as it is known.
#[test]
fn infinite_output_is_an_error() {
    let later = "pow(10, length(terraform_data.a.id) * 99999999)";
    for (value, code) in [("pow(10, 999999999)", 1), (later, 5)] {
        let text =
            format!("output \"o\" {{ value = {value} }}\nresource \"terraform_data\" \"a\" {{}}\n");
        let w = Workspace::new(&[("main.tf", &text)]);
        let run = w.run(&["deploy", "--auto-approve", "--json"]).expect(code);
        let said = run.diagnostics()[0].clone();
        assert!(
            said["detail"].as_str().unwrap().contains("infinity"),
            "{said}"
        );
        assert_eq!(said["range"]["start"]["line"], 1, "{said}");
    }
}

#[test]
fn hundred_thousand_resources_can_be_staged() {
    let w = Workspace::new(&[("main.tf", &with_a("  count = 100000\n"))]);
    let run = w.run(&["stage", "--json"]).expect(0);
    assert_eq!(run.result()["changes"]["create"], 100_000);
}
