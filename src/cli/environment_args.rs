//! Arguments from `TF_CLI_ARGS` and `TF_CLI_ARGS_<command>`: inserted behind the command and before
//! the operator's own arguments, so that these win where a later flag overrides an earlier one.

use super::flags;
use super::spelling;
use clap::Command;
use std::ffi::OsString;

/// Variable for every command, and prefix of those for one command.
const VARIABLE: &str = "TF_CLI_ARGS";

/// Commands with a name of flightdeck's and one that scripts use: each heeds the variables of both,
/// so that no flag of a pipeline is lost by the choice of the name.
const SAME: [(&str, &str); 6] = [
    ("stage", "plan"),
    ("deploy", "apply"),
    ("state forget", "state rm"),
    ("state import", "import"),
    ("state taint", "taint"),
    ("state untaint", "untaint"),
];

/// Serves a child process: its arguments are flightdeck's own.
const CHILD: &str = "plugin serve";

/// Why the text of a variable is no list of arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum SplitError {
    #[error("it ends inside of quotes, a command substitution or behind a backslash")]
    Open,
    #[error("it has an unquoted {0:?}; put quotes around the argument")]
    Unquoted(char),
    #[error("it is not UTF-8")]
    Encoding,
}

/// A variable that cannot be read as arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read arguments from the environment variable {variable}: {why}")]
pub(super) struct EnvironmentArgsError {
    variable: String,
    why: SplitError,
}

/// A command line with what the environment adds.
#[derive(Debug, Default)]
pub(super) struct Completed {
    pub(super) words: Vec<OsString>,
    /// Variables that arguments came from.
    pub(super) variables: Vec<String>,
}

/// Inserts the arguments that `environment` has for the command in `words`, which are spelt in our
/// way already.
///
/// # Errors
/// A variable that counts here cannot be read.
pub(super) fn complete(
    words: Vec<OsString>,
    environment: impl Fn(&str) -> Option<OsString>,
) -> Result<Completed, EnvironmentArgsError> {
    let mut completed = Completed {
        words,
        variables: Vec::new(),
    };
    let Found { command, at } = command_of(&completed.words);
    if command == CHILD {
        return Ok(completed);
    }
    // Each is inserted at the same place, so that the last one stands first.
    for variable in variables(&command) {
        let Some(text) = environment(&variable).filter(|text| !text.is_empty()) else {
            continue;
        };
        let split = text.to_str().ok_or(SplitError::Encoding).and_then(split);
        let added = split.map_err(|why| EnvironmentArgsError {
            variable: variable.clone(),
            why,
        })?;
        let added = spelling::ours(added.into_iter().map(OsString::from).collect());
        completed.words.splice(at..at, added);
        completed.variables.push(variable);
    }
    Ok(completed)
}

/// Variables that count for a command, the general one first.
fn variables(command: &str) -> Vec<String> {
    let mut all = vec![VARIABLE.to_owned()];
    let same = SAME.iter().find_map(|(ours, theirs)| match command {
        c if c == *ours => Some(*theirs),
        c if c == *theirs => Some(*ours),
        _ => None,
    });
    let names = [Some(command).filter(|name| !name.is_empty()), same];
    all.extend(
        names
            .into_iter()
            .flatten()
            .map(|name| format!("{VARIABLE}_{}", name.replace(['-', ' '], "_"))),
    );
    all
}

/// Words of the command that a command line names; empty for none.
pub(super) fn command_in(words: &[OsString]) -> String {
    command_of(words).command
}

/// The command that words name, and the place behind it.
struct Found {
    /// Its words; empty for none.
    command: String,
    at: usize,
}

/// Follows the table of commands as clap does: the value of a flag is no command.
fn command_of(words: &[OsString]) -> Found {
    let mut command = flags::built();
    let mut found = Found {
        command: String::new(),
        at: words.len().min(1),
    };
    let mut at = found.at;
    while let Some(word) = words.get(at) {
        at += 1;
        let word = word.to_string_lossy();
        if word == "--" {
            break;
        }
        if word.len() > 1 && word.starts_with('-') {
            at += usize::from(takes_next(command, &word));
            continue;
        }
        match command.find_subcommand(&*word) {
            Some(sub) => {
                found.at = at;
                found.command = format!("{} {word}", found.command).trim().to_owned();
                command = sub;
            }
            // The directory of the console may stand before.
            None if found.command.is_empty() => {}
            None => break,
        }
    }
    found
}

/// Whether the value of a flag is the next word.
fn takes_next(command: &Command, flag: &str) -> bool {
    let arg = match flag.strip_prefix("--") {
        Some(name) => command.get_arguments().find(|arg| {
            arg.get_long_and_visible_aliases()
                .is_some_and(|all| all.contains(&name))
        }),
        None => command.get_arguments().find(|arg| {
            arg.get_short()
                .is_some_and(|short| flag.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4])))
        }),
    };
    arg.is_some_and(|arg| arg.get_action().takes_values() && !arg.is_require_equals_set())
}

/// Splits a text into arguments by the rules of the reference: quotes of both kinds, a backslash
/// outside of single quotes, no variables, no commands.
///
/// # Errors
/// A quote is open at the end, or a character of the shell is not quoted. The reference drops
/// everything behind an unquoted `;`, `&`, `|`, `<` or `>` without a word.
fn split(text: &str) -> Result<Vec<String>, SplitError> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    // The character that ends what is quoted.
    let mut quoted: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quoted) {
            ('\\', q) if q != Some('\'') => {
                let escaped = match chars.next().ok_or(SplitError::Open)? {
                    't' => '\t',
                    'n' => '\n',
                    other => other,
                };
                word.get_or_insert_default().push(escaped);
            }
            (' ' | '\t' | '\r' | '\n', None) => out.extend(word.take()),
            ('"' | '\'', None) => {
                quoted = Some(c);
                word.get_or_insert_default();
            }
            ('"' | '\'', Some(end)) if c == end => quoted = None,
            // Backquotes and parentheses keep a substitution together, and stay.
            ('`', None) => {
                quoted = Some(c);
                word.get_or_insert_default().push(c);
            }
            ('(', None) if word.as_ref().is_some_and(|word| word.ends_with('$')) => {
                quoted = Some(')');
                word.get_or_insert_default().push(c);
            }
            ('`' | ')', Some(end)) if c == end => {
                quoted = None;
                word.get_or_insert_default().push(c);
            }
            (';' | '&' | '|' | '<' | '>' | '(' | ')', None) => {
                return Err(SplitError::Unquoted(c));
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    if quoted.is_some() {
        return Err(SplitError::Open);
    }
    out.extend(word);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(words: &[&str], environment: &[(&str, &str)]) -> Vec<String> {
        let words = [&["flightdeck"], words].concat();
        let words = spelling::ours(words.into_iter().map(OsString::from).collect());
        let completed = complete(words, |name| {
            let found = environment.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| value.into())
        });
        let words = completed.unwrap().words.into_iter().skip(1);
        words.map(|w| w.into_string().unwrap()).collect()
    }

    #[test]
    fn environment_arguments_stand_between_the_command_and_the_operators_own() {
        let all = [
            ("TF_CLI_ARGS", "-general"),
            ("TF_CLI_ARGS_plan", "-var x=plan"),
            ("TF_CLI_ARGS_stage", "-var x=stage"),
            ("TF_CLI_ARGS_apply", "-var x=apply"),
            ("TF_CLI_ARGS_state_list", "list"),
            ("TF_CLI_ARGS_state_rm", "rm"),
            ("TF_CLI_ARGS_workspace_select", "-or-create"),
            ("TF_CLI_ARGS_force_unlock", "-force"),
        ];
        let table: [(&[&str], &[&str]); 14] = [
            (
                &["plan", "-var", "x=own"],
                &[
                    "plan", "--var", "x=stage", "--var", "x=plan", "-general", "--var", "x=own",
                ],
            ),
            (
                &["stage"],
                &["stage", "--var", "x=plan", "--var", "x=stage", "-general"],
            ),
            (&["apply"], &["apply", "--var", "x=apply", "-general"]),
            (&["deploy"], &["deploy", "--var", "x=apply", "-general"]),
            (
                &["-chdir=plan", "state", "list", "plan"],
                &["-C", "plan", "state", "list", "list", "-general", "plan"],
            ),
            (
                &["state", "-C", "list", "list"],
                &["state", "-C", "list", "list", "list", "-general"],
            ),
            (
                &["state", "rm", "a.b"],
                &["state", "rm", "rm", "-general", "a.b"],
            ),
            (&["state", "forget"], &["state", "forget", "rm", "-general"]),
            (
                &["-no-color", "workspace", "select", "select"],
                &[
                    "--no-color",
                    "workspace",
                    "select",
                    "--or-create",
                    "-general",
                    "select",
                ],
            ),
            (
                &["force-unlock", "1"],
                &["force-unlock", "--force", "-general", "1"],
            ),
            (
                &["--log-level", "debug", "init"],
                &["--log-level", "debug", "init", "-general"],
            ),
            (
                &["providers", "-var", "lock=1"],
                &["providers", "-general", "--var", "lock=1"],
            ),
            (&["dir"], &["-general", "dir"]),
            (&["plugin", "serve", "lab"], &["plugin", "serve", "lab"]),
        ];
        for (words, expected) in table {
            assert_eq!(completed(words, &all), expected, "{words:?}");
        }
        assert_eq!(completed(&["plan"], &[("TF_CLI_ARGS", "")]), ["plan"]);
        assert_eq!(completed(&["plan"], &[("TF_CLI_ARGS", " \t")]), ["plan"]);
    }

    #[test]
    fn texts_are_split_as_the_reference_splits_them() {
        let table: [(&str, &[&str]); 12] = [
            ("-foo bar", &["-foo", "bar"]),
            ("  -foo\t\n bar\r ", &["-foo", "bar"]),
            ("-foo 'bar baz'", &["-foo", "bar baz"]),
            ("-foo \"'bar baz'\"", &["-foo", "'bar baz'"]),
            ("-var 'x=\"a\"'", &["-var", "x=\"a\""]),
            ("a'b c'd\"e f\"", &["ab cde f"]),
            ("'' \"\"", &["", ""]),
            (r"a\ b \' \\ \n", &["a b", "'", "\\", "\n"]),
            (r#"'a\b' "a\"b" "a\nb""#, &["a\\b", "a\"b", "a\nb"]),
            ("$HOME ${x} *", &["$HOME", "${x}", "*"]),
            ("`a b` $(c 'd e) f", &["`a b`", "$(c 'd e)", "f"]),
            ("\"a;b|c\" '(x)'", &["a;b|c", "(x)"]),
        ];
        for (text, expected) in table {
            assert_eq!(split(text).unwrap(), expected, "{text:?}");
        }
        for text in ["'a", "\"a", "a\\", "`a", "$(a", "a'b\""] {
            assert_eq!(split(text), Err(SplitError::Open), "{text:?}");
        }
        for (text, c) in [
            ("a;b", ';'),
            ("a && b", '&'),
            ("a > b", '>'),
            ("f(x)", '('),
            ("x)", ')'),
        ] {
            assert_eq!(split(text), Err(SplitError::Unquoted(c)), "{text:?}");
        }
    }

    #[test]
    fn a_variable_that_cannot_be_read_is_named() {
        let error = complete(vec!["flightdeck".into(), "plan".into()], |name| {
            (name == "TF_CLI_ARGS_plan").then(|| "-var 'x=1".into())
        });
        let text = error.unwrap_err().to_string();
        assert!(
            text.contains("TF_CLI_ARGS_plan") && text.contains("quotes"),
            "{text}"
        );
    }
}
