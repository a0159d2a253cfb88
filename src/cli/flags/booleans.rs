//! Values of boolean flags in the syntax of Go's flag package: `-json=true`, `-lock=0`, `-check=F`.

use super::shared::built;
use clap::builder::ValueParser;
use clap::{Arg, ArgAction};
use std::ffi::OsString;

fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

fn is_boolean(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
        || arg.get_value_parser().type_id() == ValueParser::bool().type_id()
}

/// Normalises boolean flags that have two dashes. `true` becomes a switch without a value, and
/// `false` removes earlier switches of that name. Flags with a value get `true` or `false`. clap
/// refuses values that are no boolean.
pub(in crate::cli) fn normalize_booleans(words: Vec<OsString>) -> Vec<OsString> {
    let mut command = built();
    let mut out: Vec<Option<OsString>> = Vec::with_capacity(words.len());
    // Positions of switches, by name.
    let mut switches: Vec<(String, usize)> = Vec::new();
    let mut words = words.into_iter();
    out.extend(words.next().map(Some));
    let mut is_value = false;
    while let Some(word) = words.next() {
        // The value of a flag may look like a flag itself.
        if std::mem::take(&mut is_value) {
            out.push(Some(word));
            continue;
        }
        if word == "--" {
            out.push(Some(word));
            out.extend(words.map(Some));
            break;
        }
        let text = word.to_str().unwrap_or_default();
        let Some(flag) = text.strip_prefix("--") else {
            // Operands are no subcommands, so the command stays the one found last.
            command = command.find_subcommand(text).unwrap_or(command);
            out.push(Some(word));
            continue;
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (flag, None),
        };
        let found = command.get_arguments().find(|arg| {
            arg.get_long() == Some(name)
                || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
        });
        let Some(arg) = found else {
            out.push(Some(word));
            continue;
        };
        if !is_boolean(arg) {
            is_value = value.is_none() && arg.get_action().takes_values();
            out.push(Some(word));
            continue;
        }
        // clap refuses values of switches, so these are removed from the words.
        let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
        match (is_switch, value.map(boolean)) {
            (true, None | Some(Some(true))) => {
                switches.push((name.to_owned(), out.len()));
                out.push(Some(format!("--{name}").into()));
            }
            (true, Some(Some(false))) => {
                for (_, at) in switches.extract_if(.., |(known, _)| known == name) {
                    // Emptied instead of removed, because other positions must stay valid.
                    out[at] = None;
                }
            }
            (false, Some(Some(value))) => out.push(Some(format!("--{name}={value}").into())),
            // Not a boolean: clap reports it with the text that the operator gave.
            (_, Some(None)) | (false, None) => out.push(Some(word)),
        }
    }
    out.into_iter().flatten().collect()
}
