//! `flightdeck plugin conform`: checks a provider and prints the report.

mod clean;

use super::choice;
use crate::cli::escape::{safe, safe_path};
use crate::cli::exit::{CliError, CommandResult, ERROR, OK, fields};
use crate::cli::options::{ConformArgs, ReportForm};
use crate::cli::output::{Ink, Output};
use crate::cli::progress::Progress;
use crate::cli::session::{Session, run_request, settings};
use crate::cli::time::format_local;
use crate::cli::user_files::state_directory;
use conform::{Check, Given, Report, Status};
use engine::conformance::{Records, RunRecord};
use engine::error::EngineError;
use engine::handle::{ConformRequest, Engine};
use model::settings::Access;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::path::Path;

pub(super) async fn run(args: ConformArgs, out: &mut Output) -> CommandResult {
    if args.clean {
        return Box::pin(clean::run(&args, out)).await;
    }
    let Some(plugin) = args.plugin.as_deref().filter(|_| !args.history) else {
        return history(args.plugin.as_deref(), out).await;
    };
    // Read before the session, so that a mistake in the file launches nothing.
    let given = given(args.config.as_deref())?;
    let records = records(plugin, &args)?;
    let settings = settings("plugin conform", Access::ReadWrite, None)?;
    let mut session = Session::start(settings, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let question = checked(&engine, plugin, &args, given, &records);
    let report = session.wait(out, &mut progress, question).await;
    session.finish(out).await;
    out.flush_diagnostics();
    // Errors return only here, after the end of the session and its plugins.
    let report = report??;
    print(&report, args.report, out);
    if !records.run().objects.is_empty() {
        out.stderr_line("objects may remain: run `flightdeck plugin conform --clean`");
    }
    Ok(if report.is_passed() { OK } else { ERROR })
}

/// Lists the reports of earlier runs, of plugins with this part in their name.
async fn history(part: Option<&str>, out: &mut Output) -> CommandResult {
    let settings = settings("plugin conform", Access::ReadOnly, None)?;
    let question = |engine: Engine| async move { engine.conform_reports().await };
    let mut reports = run_request(settings, out, question).await?;
    reports.retain(|report| part.is_none_or(|part| report.plugin.contains(part)));
    out.flush_diagnostics();
    if out.json {
        out.result("plugin", fields(json!({ "reports": reports })));
        return Ok(OK);
    }
    if reports.is_empty() {
        out.line("no reports");
    }
    for report in &reports {
        let (ink, word) = match report.is_passed() {
            true => (Ink::Green, "passed"),
            false => (Ink::Red, "failed"),
        };
        let failed = report.all().filter(|(_, c)| c.status == Status::Fail);
        let failed: Vec<&str> = failed.map(|(_, check)| &*check.id).collect();
        let failed = match failed.is_empty() {
            true => String::new(),
            false => format!("; {}", failed.join(", ")),
        };
        let version = report.version.as_deref().unwrap_or("-");
        let scope = if report.creates {
            "with objects"
        } else {
            "planned only"
        };
        out.line(&format!(
            "{}  {}  {}, {version}, {scope}{}",
            format_local(report.began),
            out.paint(ink, word),
            safe(&report.summary()),
            safe(&failed),
        ));
    }
    Ok(OK)
}

/// Reads the operator's configurations.
fn given(path: Option<&Path>) -> Result<Option<Given>, CliError> {
    let Some(path) = path else {
        return Ok(None);
    };
    let failed = |why: &dyn std::fmt::Display| unreadable(path, why);
    let text = String::from_utf8(content(path)?).map_err(|error| failed(&error))?;
    let given = Given::parse(&path.display().to_string(), &text);
    given.map(Some).map_err(|error| failed(&error))
}

fn unreadable(path: &Path, why: &dyn std::fmt::Display) -> CliError {
    let shown = safe_path(path);
    CliError::io(format!("cannot read the configuration {shown}: {why}"))
}

fn content(path: &Path) -> Result<Vec<u8>, CliError> {
    // Reading a pipe or a device could block without end.
    fsroot::read_regular(path).map_err(|error| unreadable(path, &error))
}

/// SHA-256 of a file, in hexadecimal.
fn digest(path: &Path) -> Result<String, CliError> {
    Ok(hex::encode(Sha256::digest(content(path)?)))
}

/// Begins the records of the objects that a run creates.
fn records(plugin: &str, args: &ConformArgs) -> Result<Records, CliError> {
    if !args.yes {
        return Ok(Records::none());
    }
    let failed =
        |why: &dyn std::fmt::Display| CliError::io(format!("cannot record created objects: {why}"));
    let state = state_directory().ok_or_else(|| {
        failed(&"there is no state directory").hint("set XDG_STATE_HOME to an absolute path")
    })?;
    let absolute = |path: &Path| std::path::absolute(path).map_err(|error| failed(&error));
    let is_path = plugin.contains(std::path::MAIN_SEPARATOR) && Path::new(plugin).is_file();
    let run = RunRecord {
        plugin: plugin.to_owned(),
        executable: is_path.then(|| absolute(Path::new(plugin))).transpose()?,
        directory: std::env::current_dir().map_err(|error| failed(&error))?,
        config: args.config.as_deref().map(absolute).transpose()?,
        config_digest: args.config.as_deref().map(digest).transpose()?,
        prefix: args.prefix.clone(),
        pid: std::process::id(),
        ..RunRecord::default()
    };
    Records::begin(&state, run).map_err(|error| failed(&error))
}

async fn checked(
    engine: &Engine,
    name: &str,
    args: &ConformArgs,
    given: Option<Given>,
    records: &Records,
) -> Result<Result<Report, CliError>, EngineError> {
    let plugin = match choice::chosen(engine, name).await? {
        Ok(plugin) => plugin,
        Err(error) => return Ok(Err(error)),
    };
    let request = ConformRequest {
        plugin,
        types: args.types.clone(),
        given,
        prefix: args.prefix.clone(),
        creates: args.yes,
        call_deadline: args.call_deadline,
        deadline: args.deadline,
        start_limit: args.start_limit,
        memory_limit_mib: args.memory_limit,
    };
    engine.conform(&request, records).await.map(Ok)
}

fn print(report: &Report, form: ReportForm, out: &mut Output) {
    if out.json {
        return out.result("plugin", fields(json!({ "report": report })));
    }
    match form {
        ReportForm::Table => table(report, out),
        ReportForm::Junit => out.line(report.junit().trim_end()),
        ReportForm::Markdown => out.line(report.markdown().trim_end()),
    }
}

fn table(report: &Report, out: &mut Output) {
    let dialect = report.dialect.as_deref().unwrap_or("-");
    let version = report.version.as_deref().unwrap_or("-");
    let head = out.paint(Ink::Bold, &safe(&report.plugin));
    out.line(&format!("{head}  {}  {}", safe(version), safe(dialect)));
    // One width for all types keeps their columns aligned.
    let width = report.all().map(|(_, check)| check.id.chars().count());
    let width = width.max().unwrap_or_default();
    lines(&report.checks, width, out);
    for of in &report.types {
        let head = out.paint(Ink::Bold, &safe(&of.type_name));
        out.line(&head);
        lines(&of.checks, width, out);
    }
    for left in &report.leftovers {
        let text = format!("left: {}: {}", left.named(), left.why);
        let line = out.paint(Ink::Red, &safe(&text));
        out.line(&line);
    }
    if let Some(why) = &report.stopped {
        let line = out.paint(Ink::Red, &safe(&format!("stopped: {why}")));
        out.line(&line);
    }
    if !report.creates {
        out.line("No objects were created; --yes also checks create, update, import and destroy.");
    }
    out.line(&safe(&report.summary()));
}

/// Prints a line for each check, and one for consecutive checks that were skipped for one reason.
fn lines(checks: &[Check], width: usize, out: &mut Output) {
    let alike = |a: &Check, b: &Check| {
        a.status == Status::Skipped && b.status == Status::Skipped && a.evidence == b.evidence
    };
    for group in checks.chunk_by(alike) {
        let [check, others @ ..] = group else {
            continue;
        };
        let evidence = match others {
            [] => check.evidence.clone(),
            others => format!("and {} more: {}", others.len(), check.evidence),
        };
        let ink = match check.status {
            Status::Pass => Ink::Green,
            Status::Fail => Ink::Red,
            Status::Skipped => Ink::Dim,
        };
        // Padded before it is painted, because colour codes count as characters.
        let status = out.paint(ink, &format!("{:7}", check.status.word()));
        let line = format!(
            "  {status}  {:width$}  {}",
            safe(&check.id),
            safe(&evidence)
        );
        out.line(&line);
        if check.status == Status::Fail {
            let rule = format!("{:width$}             rule: {}", "", check.rule);
            let line = out.paint(Ink::Dim, &rule);
            out.line(&line);
        }
    }
}
