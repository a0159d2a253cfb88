//! Arguments from `TF_CLI_ARGS` and `TF_CLI_ARGS_<command>`, inserted after the command and before
//! the operator's own arguments, so that these override them.

use super::flags;
use super::spelling;
use clap::Command;
use std::ffi::OsString;

/// Variable for every command, and prefix of those for one command.
const VARIABLE: &str = "TF_CLI_ARGS";

/// Commands with two names, flightdeck's and Terraform's. Each reads the variables of both, so that
/// the choice of the name loses no flag of a pipeline.
const COMMAND_ALIASES: [(&str, &str); 6] = [
    ("stage", "plan"),
    ("deploy", "apply"),
    ("state forget", "state rm"),
    ("state import", "import"),
    ("state taint", "taint"),
    ("state untaint", "untaint"),
];

/// Serves a plugin in a child process, whose arguments come from flightdeck only.
const CHILD: &str = "plugin serve";

/// Reasons why the text of a variable is no list of arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum SplitError {
    #[error("unclosed quotes or command substitution, or a backslash at the end; close the quotes")]
    Open,
    #[error("unquoted {0:?}; put quotes around the argument")]
    Unquoted(char),
    #[error("its value is not UTF-8")]
    Encoding,
}

/// A variable that cannot be read as arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read arguments from the environment variable {variable}: {why}")]
pub(super) struct EnvironmentArgsError {
    variable: String,
    why: SplitError,
}

/// Command line with the arguments of the environment.
#[derive(Debug, Default)]
pub(super) struct Completed {
    pub(super) words: Vec<OsString>,
    /// Variables that arguments came from.
    pub(super) variables: Vec<String>,
}

/// Inserts the arguments of the environment for the command in `words`, which already have
/// flightdeck's spelling.
///
/// # Errors
/// A variable for this command cannot be parsed.
pub(super) fn complete(
    words: Vec<OsString>,
    environment: impl Fn(&str) -> Option<OsString>,
) -> Result<Completed, EnvironmentArgsError> {
    let mut completed = Completed {
        words,
        variables: Vec::new(),
    };
    let Found { command, at } = command_of(&completed.words);
    // Arguments of the operator's environment must not reach child processes.
    if command == CHILD {
        return Ok(completed);
    }
    // All are inserted at the same position, so the last one ends up first.
    for variable in variables(&command) {
        let Some(text) = environment(&variable).filter(|text| !text.is_empty()) else {
            continue;
        };
        let split = text.to_str().ok_or(SplitError::Encoding).and_then(split);
        let added = split.map_err(|why| EnvironmentArgsError {
            variable: variable.clone(),
            why,
        })?;
        // The command line has its new spelling already; the added words need it, too.
        let added = spelling::normalize(added.into_iter().map(OsString::from).collect());
        completed.words.splice(at..at, added);
        completed.variables.push(variable);
    }
    Ok(completed)
}

/// Variables that apply to a command, the general one first.
fn variables(command: &str) -> Vec<String> {
    let mut all = vec![VARIABLE.to_owned()];
    let same = COMMAND_ALIASES
        .iter()
        .find_map(|(ours, theirs)| match command {
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

/// Returns the words of the command in a command line; empty without a command.
pub(super) fn command_in(words: &[OsString]) -> String {
    command_of(words).command
}

/// Command found in words, and the position after it.
struct Found {
    /// Its words; empty without a command.
    command: String,
    at: usize,
}

/// Follows the table of commands as clap does: a flag's value is no command.
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
        // A single dash is an operand that means standard input.
        if word.len() > 1 && word.starts_with('-') {
            at += usize::from(takes_value(command, &word));
            continue;
        }
        match command.find_subcommand(&*word) {
            Some(sub) => {
                found.at = at;
                found.command = format!("{} {word}", found.command).trim().to_owned();
                command = sub;
            }
            // The console's directory may precede the command.
            None if found.command.is_empty() => {}
            // The first operand ends the search: no command follows it.
            None => break,
        }
    }
    found
}

/// Returns true if the flag's value is the next word.
fn takes_value(command: &Command, flag: &str) -> bool {
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
    // Flags that require `=` never take the next word.
    arg.is_some_and(|arg| arg.get_action().takes_values() && !arg.is_require_equals_set())
}

/// Splits a text into arguments by OpenTofu's rules: both kinds of quotes, a backslash outside of
/// single quotes, no expansion of variables or commands.
///
/// # Errors
/// A quote is not closed, or a shell character is not quoted. OpenTofu silently drops all text
/// after an unquoted `;`, `&`, `|`, `<` or `>`.
fn split(text: &str) -> Result<Vec<String>, SplitError> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    // Closing character of the current quote.
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
                // Empty quotes make an empty argument.
                word.get_or_insert_default();
            }
            ('"' | '\'', Some(end)) if c == end => quoted = None,
            // Backquotes and parentheses keep a substitution together, and remain in the text.
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
        let words = spelling::normalize(words.into_iter().map(OsString::from).collect());
        let completed = complete(words, |name| {
            let found = environment.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| value.into())
        });
        let words = completed.unwrap().words.into_iter().skip(1);
        words.map(|w| w.into_string().unwrap()).collect()
    }

    #[test]
    fn environment_arguments_precede_the_operators_own() {
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
    fn environment_arguments_are_split_like_the_reference() {
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
    fn malformed_environment_variable_is_named() {
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
