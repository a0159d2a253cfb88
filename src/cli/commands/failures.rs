//! `flightdeck failures`: failures of deploys in groups, and the outcome of later attempts.

use crate::cli::escape::{safe, safe_lines};
use crate::cli::exit::{CommandResult, OK, fields};
use crate::cli::output::{Ink, Output};
use crate::cli::progress::Progress;
use crate::cli::session::{Session, settings};
use crate::cli::time::{format_local, time_of_day};
use model::FailureGroup;
use model::settings::Access;
use plugin::opens_panic;
use serde_json::json;

/// Number of log lines shown with a failure; `--json` prints all.
const LINES: usize = 10;

pub(super) async fn run(since: Option<i64>, out: &mut Output) -> CommandResult {
    let mut session = Session::start(settings("failures", Access::ReadOnly, None)?, out).await?;
    let engine = session.engine.clone();
    let mut progress = Progress::new(out);
    let groups = session
        .wait(out, &mut progress, engine.failures(since))
        .await;
    session.finish(out).await;
    let groups = groups?;
    if out.json {
        out.result("failures", fields(json!({ "failures": groups })));
    } else if groups.is_empty() {
        out.line("no failures");
    } else {
        groups.iter().for_each(|group| show(out, group));
    }
    Ok(OK)
}

fn show(out: &mut Output, group: &FailureGroup) {
    let head = format!(
        "{} × {}: {}",
        group.count,
        group.class.label(),
        safe(&group.summary)
    );
    let head = out.paint(Ink::Red, &head);
    out.line(&head);
    for line in safe_lines(&group.detail).lines() {
        out.line(&format!("    {line}"));
    }
    let deploys: Vec<String> = group.deploys.iter().map(|id| format!("#{id}")).collect();
    let when = if group.first == group.last {
        format_local(group.last)
    } else {
        format!(
            "{} to {}",
            format_local(group.first),
            format_local(group.last)
        )
    };
    out.line(&format!("    deploys {}, {when}", deploys.join(", ")));
    out.line(&format!(
        "    resources {}",
        safe(&group.addresses.join(", "))
    ));
    if let Some(plugin) = &group.plugin {
        out.line(&format!("    plugin {plugin}"));
    }
    out.line(&format!(
        "    since then: {}",
        group
            .followed_by
            .as_deref()
            .map_or("not retried".into(), safe)
    ));
    // A panic is explained by its first lines, other failures by the last ones.
    let panic = group.last_lines.iter().position(|line| opens_panic(line));
    let from = panic.unwrap_or_else(|| group.last_lines.len().saturating_sub(LINES));
    for (i, line) in group.last_lines.iter().enumerate().skip(from).take(LINES) {
        // Failures recorded by older versions have lines without times.
        let time = group
            .last_lines_at
            .get(i)
            .map_or_else(String::new, |at| format!("{} ", time_of_day(*at)));
        let line = out.paint(Ink::Dim, &format!("    | {time}{}", safe(line)));
        out.line(&line);
    }
}
