//! Translates Terraform's spelling of arguments to flightdeck's: long flags with one dash, and
//! `-chdir`.

use super::flags;
use std::collections::BTreeSet;
use std::ffi::OsString;

/// Maps `-var-file=x` to `--var-file=x` and `-chdir=DIR` to `-C DIR`. Only names of long flags are
/// mapped, and nothing after `--`.
pub(super) fn normalize(words: Vec<OsString>) -> Vec<OsString> {
    let known = long_flags();
    let mut out = Vec::with_capacity(words.len());
    let mut over = false;
    for word in words {
        // Operands after `--` are never flags.
        over |= word == "--";
        let text = word.to_str().filter(|_| !over).unwrap_or_default();
        if let Some(dir) = text.strip_prefix("--chdir=") {
            out.extend(["-C".into(), dir.into()]);
            continue;
        }
        let Some(flag) = text.strip_prefix('-').filter(|flag| !flag.starts_with('-')) else {
            if text == "--chdir" {
                out.push("-C".into());
                continue;
            }
            out.push(word);
            continue;
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (flag, None),
        };
        match (name, value) {
            ("chdir", Some(dir)) => out.extend(["-C".into(), dir.into()]),
            ("chdir", None) => out.push("-C".into()),
            (name, _) if known.contains(name) => out.push(format!("-{text}").into()),
            _ => out.push(word),
        }
    }
    out
}

fn long_flags() -> BTreeSet<String> {
    fn collect_long_flags(command: &clap::Command, all: &mut BTreeSet<String>) {
        for arg in command.get_arguments() {
            all.extend(arg.get_long().map(str::to_owned));
            all.extend(
                arg.get_all_aliases()
                    .unwrap_or_default()
                    .iter()
                    .map(|a| (*a).to_owned()),
            );
        }
        command
            .get_subcommands()
            .for_each(|c| collect_long_flags(c, all));
    }
    let mut all = BTreeSet::new();
    collect_long_flags(flags::built(), &mut all);
    // Refused flags count as known, so that the error gives the reason.
    all.extend(flags::reference_names().map(str::to_owned));
    all.remove("chdir");
    // clap adds its own flags only when it parses.
    all.extend(["help", "version"].map(str::to_owned));
    // Names of one letter are short flags.
    all.retain(|name| name.len() > 1);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn respelt(words: &[&str]) -> Vec<String> {
        let words = words.iter().map(OsString::from).collect();
        let ours = normalize(words).into_iter();
        ours.map(|w| w.into_string().expect("text")).collect()
    }

    #[test]
    fn single_dash_flags_are_accepted_and_values_stay_unchanged() {
        assert_eq!(
            respelt(&[
                "flightdeck",
                "-chdir=a",
                "plan",
                "-var",
                "x=-out",
                "-out=f",
                "-C",
                "b"
            ]),
            [
                "flightdeck",
                "-C",
                "a",
                "plan",
                "--var",
                "x=-out",
                "--out=f",
                "-C",
                "b"
            ]
        );
        assert_eq!(
            respelt(&["flightdeck", "state", "mv", "--", "-out", "-no-such"]),
            ["flightdeck", "state", "mv", "--", "-out", "-no-such"]
        );
        assert_eq!(
            respelt(&["flightdeck", "-no-such", "-f"]),
            ["flightdeck", "-no-such", "-f"]
        );
    }
}
