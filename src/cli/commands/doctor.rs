//! `flightdeck doctor`: checks machine and workspace. Prints findings with remedies; `--fix`
//! applies the safe ones.

use crate::cli::escape::{safe, safe_lines};
use crate::cli::exit::{CommandResult, ERROR, OK, fields};
use crate::cli::output::{Ink, Output};
use crate::cli::session::settings;
use engine::doctor::{Area, Finding, Fix, Level, examine, mend};
use model::settings::Access;
use serde_json::{Value, json};

pub(super) async fn run(fix: bool, out: &mut Output) -> CommandResult {
    let settings = settings("doctor", Access::ReadOnly, None)?;
    let found = examine(&settings).await;
    let mut done = Vec::new();
    if fix {
        // All remedies are tried: one that fails does not concern the others.
        for what in found.iter().filter_map(|finding| finding.fix.as_ref()) {
            done.push(match mend(what).await {
                Ok(text) => (true, text),
                Err(error) => (false, error.to_string()),
            });
        }
    }
    if out.json {
        let fixed: Vec<Value> = done
            .iter()
            .map(|(ok, text)| json!({ "ok": ok, "text": text }))
            .collect();
        out.result(
            "doctor",
            fields(json!({ "findings": found, "fixed": fixed })),
        );
    } else {
        out.batch(|out| show(&found, fix, out));
        for (ok, text) in &done {
            let (ink, word) = if *ok {
                (Ink::Green, "done")
            } else {
                (Ink::Red, "not done")
            };
            let word = out.paint(ink, word);
            out.line(&format!("{word}: {}", safe(text)));
        }
    }
    // Fixed errors do not count any more, but only if all fixes succeeded.
    let mended = |finding: &Finding| fix && finding.fix.is_some() && done.iter().all(|(ok, _)| *ok);
    let wrong = found
        .iter()
        .any(|finding| finding.level == Level::Error && !mended(finding));
    Ok(if wrong { ERROR } else { OK })
}

fn show(found: &[Finding], fix: bool, out: &mut Output) {
    let mut area = None::<Area>;
    for finding in found {
        if area != Some(finding.area) {
            let heading = out.paint(Ink::Bold, finding.area.label());
            out.line(&heading);
            area = Some(finding.area);
        }
        let (ink, word) = match finding.level {
            Level::Fine => (Ink::Green, "ok     "),
            Level::Warning => (Ink::Yellow, "warning"),
            Level::Error => (Ink::Red, "error  "),
        };
        let word = out.paint(ink, word);
        out.line(&format!("  {word}  {}", indented(&finding.text)));
        if let Some(remedy) = &finding.remedy {
            let by_hand = match &finding.fix {
                Some(what) if !fix => format!(" (--fix {})", fix_description(what)),
                _ => String::new(),
            };
            out.line(&format!("           to do: {}{by_hand}", indented(remedy)));
        }
    }
    let count = |level: Level| found.iter().filter(|f| f.level == level).count();
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    let counted = |n: usize, word: &str| match n {
        1 => format!("1 {word}"),
        n => format!("{n} {word}s"),
    };
    let (errors_told, warnings_told) = (counted(errors, "error"), counted(warnings, "warning"));
    let (ink, all) = match (errors, warnings) {
        (0, 0) => (Ink::Green, "no problems found".to_owned()),
        (0, _) => (Ink::Yellow, warnings_told),
        (_, 0) => (Ink::Red, errors_told),
        _ => (Ink::Red, format!("{errors_told}, {warnings_told}")),
    };
    let all = out.paint(ink, &all);
    out.line(&all);
}

/// Indents the further lines of a text below its first one.
fn indented(text: &str) -> String {
    safe_lines(text).replace('\n', "\n           ")
}

/// Describes the effect of `--fix`.
fn fix_description(what: &Fix) -> &'static str {
    match what {
        Fix::MakePrivate { .. } => "does that",
        Fix::Remove { .. } => "removes it",
        Fix::Stop { .. } => "ends it",
    }
}
