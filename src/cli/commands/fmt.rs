//! `flightdeck fmt`: formats configuration files.

use crate::cli::escape::{safe, safe_lines};
use crate::cli::exit::{CliError, CommandResult, ERROR, OK, UNFORMATTED, fields};
use crate::cli::options::FmtArgs;
use crate::cli::output::{Ink, Output};
use engine::fmt::{self, Problems, Unformatted};
use serde_json::json;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum size of standard input, in bytes.
const MAX_INPUT: u64 = 64 << 20;

/// Result of all files.
#[derive(Default)]
struct FormattedFiles {
    changed: Vec<String>,
    failed: bool,
}

pub(super) fn run(args: &FmtArgs, out: &mut Output) -> CommandResult {
    let mut seen = FormattedFiles::default();
    if args.paths.iter().any(|p| p == Path::new("-")) {
        standard_input(args, out, &mut seen)?;
    } else {
        let here = [PathBuf::from(".")];
        let paths = if args.paths.is_empty() {
            &here[..]
        } else {
            &args.paths
        };
        for path in paths {
            match fmt::files(path, args.recursive) {
                Ok(files) => {
                    // Files that were only found must not be links out of the directory. A file
                    // named by the operator may be.
                    let found_in = path.is_dir().then_some(path.as_path());
                    files
                        .iter()
                        .for_each(|file| one_file(args, file, found_in, out, &mut seen));
                }
                Err(problems) => report_problems(problems, out, &mut seen),
            }
        }
    }
    out.flush_diagnostics();
    let code = match seen {
        // A file that failed decides, even if others are only unformatted.
        FormattedFiles { failed: true, .. } => ERROR,
        FormattedFiles { ref changed, .. } if args.check && !changed.is_empty() => UNFORMATTED,
        _ => OK,
    };
    if out.json {
        let outcome = if seen.failed { "error" } else { "done" };
        out.result(
            "fmt",
            fields(json!({ "outcome": outcome, "exit_code": code, "files": seen.changed })),
        );
    }
    if code == ERROR {
        Err(CliError::AlreadyReported(ERROR))
    } else {
        Ok(code)
    }
}

fn one_file(
    args: &FmtArgs,
    file: &Path,
    found_in: Option<&Path>,
    out: &mut Output,
    seen: &mut FormattedFiles,
) {
    let found = match fmt::format_file(file) {
        Ok(None) => return,
        Ok(Some(found)) => found,
        Err(problems) => return report_problems(problems, out, seen),
    };
    let name = file.display().to_string();
    if args.write
        && !args.check
        && let Err(problems) = fmt::write(file, found_in, &found.after)
    {
        return report_problems(problems, out, seen);
    }
    if !out.json {
        if args.list {
            out.line(&safe(&name));
        }
        if args.diff {
            diff(&name, &found, out);
        }
    }
    seen.changed.push(name);
}

/// Formats standard input and prints it, unless only the changes are asked for.
fn standard_input(
    args: &FmtArgs,
    out: &mut Output,
    seen: &mut FormattedFiles,
) -> Result<(), CliError> {
    const NAME: &str = "<stdin>";
    if args.paths.len() > 1 {
        return Err(
            CliError::usage("`-` (standard input) cannot be combined with paths")
                .hint("give one or the other"),
        );
    }
    let mut text = String::new();
    let read = std::io::stdin()
        .lock()
        // One byte more than the limit shows that the input is too large.
        .take(MAX_INPUT + 1)
        .read_to_string(&mut text);
    read.map_err(|e| CliError::io(format!("cannot read standard input: {e}")))?;
    if text.len() as u64 > MAX_INPUT {
        return Err(CliError::io(format!(
            "standard input is larger than {} MiB",
            MAX_INPUT >> 20
        ))
        .hint("pass the name of the file instead"));
    }
    // Formatting consumes the text, but unchanged input is printed as it was.
    let (quiet, same) = (args.check || args.diff || out.json, text.clone());
    match fmt::format_text(NAME, text) {
        Err(problems) => report_problems(problems, out, seen),
        Ok(found) => {
            if !quiet {
                out.write(found.as_ref().map_or(&same, |f| &f.after).as_bytes());
            }
            if let Some(found) = found {
                if args.diff {
                    diff(NAME, &found, out);
                }
                seen.changed.push(NAME.to_owned());
            }
        }
    }
    Ok(())
}

fn report_problems(problems: Problems, out: &mut Output, seen: &mut FormattedFiles) {
    seen.failed = true;
    for problem in problems {
        out.diagnostic(&problem);
    }
}

/// Prints a unified diff.
fn diff(name: &str, found: &Unformatted, out: &mut Output) {
    let lines = similar::TextDiff::from_lines(&found.before, &found.after);
    let text = lines
        .unified_diff()
        .header(&format!("old/{name}"), &format!("new/{name}"))
        .to_string();
    out.batch(|out| {
        for line in safe_lines(&text).lines() {
            let ink = match line.as_bytes().first() {
                Some(b'-') => Some(Ink::Red),
                Some(b'+') => Some(Ink::Green),
                Some(b'@') => Some(Ink::Cyan),
                _ => None,
            };
            let shown = ink.map_or_else(|| line.to_owned(), |ink| out.paint(ink, line));
            out.line(&shown);
        }
    });
}
