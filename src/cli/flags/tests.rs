//! Tests of the flag table: parses each flag with each command that has it, and compares the
//! documentation.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use super::table::{EVERYWHERE, Flag, ReferenceCommand, Support, VERBS};
use super::{SharedFlags, normalize_booleans, parse};
use crate::cli::args::Args;
use crate::cli::environment_args::complete;
use crate::cli::spelling::normalize;
use crate::cli::usage::with_reason;
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::time::Duration;

/// OpenTofu commands that are not supported, with the reason.
const ABSENT: &[(&str, &str)] = &[
    ("env", "an old name of `workspace`"),
    (
        "login, logout",
        "tokens come from `credentials` blocks, the environment and helper programs",
    ),
    (
        "metadata functions",
        "functions of the language are those of OpenTofu 1.12",
    ),
    ("push", "removed in OpenTofu too"),
    ("test", "test files are validated, not run"),
];

type Parsed = Result<(Args, SharedFlags), clap::Error>;

/// Reads a command line as the program does; `added` is the text of `TF_CLI_ARGS`.
fn read(words: &[&str], added: &str) -> Parsed {
    let words = [&["flightdeck"], words].concat();
    let words = normalize(words.into_iter().map(OsString::from).collect());
    let environment = |name: &str| (name == "TF_CLI_ARGS").then(|| added.into());
    let words = normalize_booleans(complete(words, environment).unwrap().words);
    parse(&words).map_err(|error| with_reason(error, &words))
}

/// Returns the spellings of a flag, each as words.
fn spellings(flag: &Flag) -> Vec<Vec<String>> {
    let Flag { name, example, .. } = flag;
    let mut all = Vec::new();
    for dashes in ["-", "--"] {
        let alone = format!("{dashes}{name}");
        match *example {
            "" => all.extend([
                vec![alone.clone()],
                vec![format!("{alone}=true")],
                vec![format!("{alone}=1")],
            ]),
            "false" => all.extend([
                vec![format!("{alone}=false")],
                vec![format!("{alone}=F")],
                vec![alone],
            ]),
            value => all.extend([
                vec![format!("{alone}={value}")],
                vec![alone, value.to_owned()],
            ]),
        }
    }
    // OpenTofu takes this value after an equals sign only.
    all.retain(|words| *name != "deprecation" || words.len() == 1);
    all
}

fn is_as_documented(verb: &ReferenceCommand, path: &str, flag: &Flag) {
    for spelling in spellings(flag) {
        let spelling: Vec<&str> = spelling.iter().map(String::as_str).collect();
        let command: Vec<&str> = path.split(' ').collect();
        let given = [&command[..], &spelling, verb.operands].concat();
        // For `providers schema`, the operand is the flag itself.
        let bare = [&command[..], verb.operands].concat();
        let added = spelling.join(" ");
        for parsed in [read(&given, ""), read(&bare, &added)] {
            match (flag.support, parsed) {
                (Support::Same | Support::Differs(_), Ok(_)) => {}
                (Support::Refused(why), Err(error)) => {
                    assert_eq!(
                        error.kind(),
                        ErrorKind::UnknownArgument,
                        "{given:?}: {error}"
                    );
                    assert!(error.to_string().contains(why), "{given:?}: {error}");
                }
                (here, Ok(_)) => panic!("{given:?}: accepted, and documented as {here:?}"),
                (here, Err(error)) => panic!("{given:?}: {error}, and documented as {here:?}"),
            }
        }
    }
}

#[test]
fn flags_of_each_command_are_accepted_or_rejected_as_documented() {
    let mut count = 0;
    for verb in VERBS {
        for path in verb.own_commands {
            for flag in verb.flags().chain(EVERYWHERE) {
                is_as_documented(verb, path, flag);
                count += 1;
            }
        }
    }
    assert!(count > 400, "{count}");
}

#[test]
fn unknown_flag_is_rejected_without_a_compatibility_reason() {
    let error = read(&["plan", "-no-such-flag"], "").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownArgument);
    let error = read(&["output", "-lock=false"], "").unwrap_err();
    assert!(!error.to_string().contains("does not support"), "{error}");
}

#[test]
fn command_line_flag_overrides_the_environment_flag() {
    let lock = |words: &[&str], added: &str| read(words, added).unwrap().1.lock;
    assert!(lock(&["plan"], ""));
    assert!(!lock(&["plan"], "-lock=false"));
    assert!(lock(&["plan", "-lock=true"], "-lock=false"));
    assert!(lock(&["plan", "-lock"], "-lock=0"));
    let (args, _) = read(&["plan", "-json=false"], "-json").unwrap();
    assert!(!args.command.unwrap().wants_json());
    let (args, _) = read(&["plan", "-json"], "-json=false").unwrap();
    assert!(args.command.unwrap().wants_json());
}

#[test]
fn arguments_after_a_double_dash_are_not_flags() {
    let words = ["flightdeck", "fmt", "--", "--check=false", "--check"];
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    assert_eq!(normalize_booleans(words.clone()), words);
    let value = ["flightdeck", "plan", "--var", "--json=false", "--json=0"];
    let value = value.iter().map(OsString::from).collect();
    let expected = ["flightdeck", "plan", "--var", "--json=false"];
    assert_eq!(normalize_booleans(value), expected.map(OsString::from));
}

#[test]
fn shared_flags_are_parsed_with_their_values() {
    let words = [
        "apply",
        "-state=a",
        "-state-out",
        "b",
        "-backup=-",
        "-lock-timeout=1m30s",
        "-json-into=j",
        "-show-sensitive",
    ];
    let (_, shared) = read(&words, "").unwrap();
    assert_eq!(shared.state.state, Some("a".into()));
    assert_eq!(shared.state.out, Some("b".into()));
    assert_eq!(shared.state.backup, Some("-".into()));
    assert_eq!(shared.lock_timeout, Duration::from_secs(90));
    assert_eq!(shared.json_into, Some("j".into()));
    assert!(shared.show_sensitive && shared.lock && !shared.state.any_backend);
    let (_, shared) = read(&["state", "rm", "-state=a", "x.y"], "").unwrap();
    assert!(shared.state.any_backend);
}

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/compatibility.md");
const BEGIN: &str = "<!-- flags -->\n";
const END: &str = "<!-- /flags -->\n";

fn rows(name: &str, flags: &[&Flag], out: &mut String) {
    let list = |flags: &[&Flag]| {
        let names: Vec<String> = flags.iter().map(|f| format!("`-{}`", f.name)).collect();
        names.join(", ")
    };
    let same: Vec<&Flag> = flags
        .iter()
        .copied()
        .filter(|flag| flag.support == Support::Same)
        .collect();
    if !same.is_empty() {
        out.push_str(&format!("| {name} | {} | same |\n", list(&same)));
    }
    let mut others: Vec<(Support, Vec<&Flag>)> = Vec::new();
    for flag in flags
        .iter()
        .copied()
        .filter(|flag| flag.support != Support::Same)
    {
        match others.iter_mut().find(|(here, _)| *here == flag.support) {
            Some((_, all)) => all.push(flag),
            None => others.push((flag.support, vec![flag])),
        }
    }
    for (here, flags) in others {
        let text = match here {
            Support::Same => "same".to_owned(),
            Support::Differs(how) => how.to_owned(),
            Support::Refused(why) => format!("refused: {why}"),
        };
        out.push_str(&format!("| {name} | {} | {text} |\n", list(&flags)));
    }
}

fn table() -> String {
    let mut out = "\n| command | flags | here |\n|---|---|---|\n".to_owned();
    let everywhere: Vec<&Flag> = EVERYWHERE.iter().collect();
    rows("every command", &everywhere, &mut out);
    for verb in VERBS {
        let own = verb.own_commands.iter().filter(|path| **path != verb.name);
        let mut name = format!("`{}`", verb.name);
        for path in own {
            name.push_str(&format!(", `{path}`"));
        }
        let flags: Vec<&Flag> = verb.flags().collect();
        rows(&name, &flags, &mut out);
    }
    for (names, why) in ABSENT {
        let names: Vec<String> = names.split(", ").map(|name| format!("`{name}`")).collect();
        out.push_str(&format!(
            "| {} | all | no such command: {why} |\n",
            names.join(", ")
        ));
    }
    out.push('\n');
    out
}

#[test]
fn documentation_has_the_table_of_flags() {
    let text = std::fs::read_to_string(FILE).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (documented, after) = rest.split_once(END).unwrap();
    let expected = table();
    if std::env::var_os("UPDATE_FLAGS").is_some() {
        let text = format!("{before}{BEGIN}{expected}{END}{after}");
        std::fs::write(FILE, text).unwrap();
        return;
    }
    assert_eq!(
        documented, expected,
        "run `UPDATE_FLAGS=1 cargo test --lib documentation_has_the_table_of_flags`"
    );
}
