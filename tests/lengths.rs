//! Limits on the length of files and functions, at rustfmt's 100 columns. Longer ones are split by
//! subject, or listed here with a reason.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};

/// Maximum number of lines of a file.
const LONGEST_FILE: usize = 600;

const ARMS: &str = "a match with an arm for each case, and little else";
const BLOCK: &str = "one block of the language, argument by argument, in the order of its errors";
const FAULTS: &str = "all checks of one item, in the order of their errors";
const GRAMMAR: &str = "a grammar rule: each alternative, with an error for any other token";

/// Functions with more than 70 lines of code, each with its reason. Test functions are not
/// measured, because they are scenarios or tables.
const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[
    ("crates/cty/src/convert/apply.rs", "convert_known", ARMS),
    ("crates/cty/src/debug.rs", "write", ARMS),
    ("crates/cty/src/msgpack/encode.rs", "write", ARMS),
    ("crates/cty/src/plan/valid.rs", "nested_block", ARMS),
    (
        "crates/lang/src/config/shared_blocks.rs",
        "provider_ref",
        GRAMMAR,
    ),
    ("crates/lang/src/config/pbkdf2.rs", "pbkdf2", BLOCK),
    ("crates/lang/src/config/providers.rs", "provider", BLOCK),
    (
        "crates/lang/src/config/providers.rs",
        "required_providers",
        BLOCK,
    ),
    (
        "crates/lang/src/config/provisioner.rs",
        "provisioner",
        BLOCK,
    ),
    ("crates/lang/src/config/refactor.rs", "removed", BLOCK),
    ("crates/lang/src/config/resource.rs", "resource", BLOCK),
    ("crates/lang/src/config/types.rs", "object", GRAMMAR),
    ("crates/lang/src/config/values.rs", "variable", BLOCK),
    ("crates/lang/src/functions/clock/time.rs", "verb", ARMS),
    ("crates/lang/src/syntax/block.rs", "block", GRAMMAR),
    ("crates/lang/src/syntax/for_expr.rs", "for_inner", GRAMMAR),
    ("crates/lang/src/syntax/json/parser.rs", "object", GRAMMAR),
    ("crates/lang/src/syntax/strings.rs", "unescape", GRAMMAR),
    ("crates/wire/src/handshake.rs", "parse", GRAMMAR),
    ("src/app/message_handlers.rs", "on_answer", ARMS),
    ("src/app/effects.rs", "run_effect", ARMS),
    ("src/app/entry.rs", "key", ARMS),
    ("src/cli/commands.rs", "run", ARMS),
    ("src/engine/stage/commands.rs", "view", ARMS),
    ("src/engine/stage/needs/references.rs", "collect", ARMS),
    ("src/engine/stage/scope/faults.rs", "fault", ARMS),
    ("src/engine/stage/scope/faults.rs", "resource_fault", FAULTS),
    ("crates/workspace/src/refs.rs", "parse", GRAMMAR),
    ("xtask/src/shots.rs", "tour", ARMS),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            all.push(path);
        }
    }
    all
}

/// All sources of this repository, by path.
fn all_sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for folder in ["src", "crates", "tests", "benches", "fuzz", "xtask"] {
        for file in sources(&root.join(folder)) {
            let name = file.strip_prefix(root).unwrap().display().to_string();
            all.push((name, std::fs::read_to_string(&file).unwrap()));
        }
    }
    all
}

fn is_test(name: &str) -> bool {
    name.starts_with("tests/")
        || name.starts_with("benches/")
        || name.contains("/tests/")
        || name.contains("/testing/")
        || name.ends_with("tests.rs")
}

/// Functions with their lines of code, in rustfmt's layout: from the line with `fn` to the brace
/// below its beginning. Blank lines and comments do not count.
fn functions(text: &str) -> Vec<(String, usize)> {
    let text = text.split("\nmod tests {\n").next().unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let head = line.trim_start();
        let margin = &line[..line.len() - head.len()];
        let Some(name) = name_of_function(head) else {
            continue;
        };
        let (close, no_body) = (format!("{margin}}}"), format!("{margin})"));
        let rest = &lines[at..];
        let end = rest.iter().position(|l| {
            *l == close
                || l.starts_with(&no_body) && l.ends_with(';')
                || *l == *line && l.ends_with([';', '}'])
        });
        let body = &rest[..=end.unwrap_or(0)];
        let code = body
            .iter()
            .map(|l| l.trim_start())
            .filter(|l| !l.is_empty() && !l.starts_with("//"));
        found.push((name, code.count()));
    }
    found
}

/// Name of the function that begins on a line.
fn name_of_function(mut head: &str) -> Option<String> {
    if let Some(rest) = head.strip_prefix("pub(") {
        head = rest.split_once(") ")?.1;
    }
    for word in ["pub ", "const ", "async ", "unsafe "] {
        head = head.strip_prefix(word).unwrap_or(head);
    }
    let name = head.strip_prefix("fn ")?;
    Some(name.split(['(', '<']).next()?.to_owned())
}

/// A longer file is split by subject. The limit leaves room for one subject in one file: fragments
/// without a subject are harder to read than long files.
#[test]
fn file_has_at_most_600_lines() {
    let lines = |text: &str| text.lines().count();
    let all = all_sources()
        .into_iter()
        .map(|(name, text)| (lines(&text), name));
    let long: Vec<(usize, String)> = all.filter(|(n, _)| *n > LONGEST_FILE).collect();
    assert_eq!(long, []);
}

#[test]
fn function_has_at_most_70_lines_of_code_or_a_reason() {
    let mut long = Vec::new();
    for (name, text) in all_sources().into_iter().filter(|(name, _)| !is_test(name)) {
        let of_file = functions(&text)
            .into_iter()
            .filter(|(_, lines)| *lines > 70);
        long.extend(of_file.map(|(function, _)| (name.clone(), function)));
    }
    let listed = |(file, function): &(String, String)| {
        LONG_FUNCTIONS
            .iter()
            .any(|(f, n, _)| f == file && n == function)
    };
    let unlisted: Vec<_> = long.iter().filter(|one| !listed(one)).collect();
    assert!(unlisted.is_empty(), "no reason is given for {unlisted:#?}");
    for (file, function, _) in LONG_FUNCTIONS {
        let still = long.contains(&((*file).to_owned(), (*function).to_owned()));
        assert!(
            still,
            "{file}: {function} is short now: off the list with it"
        );
    }
}

#[test]
fn function_length_counts_code_lines_only() {
    let text = "fn one() {}\ntrait T {\n    fn none(\n        &self,\n    ) -> u8;\n    fn some(&self);\n}\n\
                pub(crate) async fn two<T>(\n    t: T,\n) {\n    // why\n\n    t();\n}\n";
    let found: Vec<(String, usize)> = functions(text);
    let found: Vec<(&str, usize)> = found.iter().map(|(n, l)| (n.as_str(), *l)).collect();
    assert_eq!(found, [("one", 1), ("none", 3), ("some", 1), ("two", 5)]);
}

#[test]
fn only_tests_import_super_star() {
    let mut found = Vec::new();
    for (name, text) in all_sources().into_iter().filter(|(name, _)| !is_test(name)) {
        let text = text.split("\nmod tests {\n").next().unwrap_or_default();
        if text.lines().any(|line| line == "use super::*;") {
            found.push(name);
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// Code is in a file that is named after its subject, not in a `mod.rs`.
#[test]
fn mod_rs_contains_declarations_and_re_exports_only() {
    let declares = |line: &&str| {
        let line = match line.strip_prefix("pub(") {
            Some(within) => within.split_once(") ").map_or("", |(_, rest)| rest),
            None => line.strip_prefix("pub ").unwrap_or(line),
        };
        let begins = ["mod ", "use ", "extern crate ", "//", "#", "}", " "];
        line.is_empty() || begins.iter().any(|begin| line.starts_with(begin))
    };
    let mut found = Vec::new();
    for (name, text) in all_sources() {
        if name.ends_with("/mod.rs") && !is_test(&name) {
            let others = text.lines().filter(|line| !declares(line));
            found.extend(others.map(|line| format!("{name}: {line}")));
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// rustfmt wraps code at this width but leaves comments alone.
#[test]
fn comment_lines_have_at_most_100_columns() {
    let mut found = Vec::new();
    for (name, text) in all_sources() {
        let long = |(_, line): &(usize, &str)| {
            line.trim_start().starts_with("//") && line.chars().count() > 100
        };
        let lines = text.lines().enumerate().filter(long);
        found.extend(lines.map(|(n, _)| format!("{name}:{}", n + 1)));
    }
    assert_eq!(found, Vec::<String>::new());
}
