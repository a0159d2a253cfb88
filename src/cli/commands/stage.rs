//! `flightdeck stage`: creates a stage.

use super::files::{check, write_private};
use super::selections;
use crate::cli::escape::safe_path;
use crate::cli::exit::{CHANGES, CliError, CommandResult, OK, fields};
use crate::cli::options::{Choice, StageArgs};
use crate::cli::output::Output;
use crate::cli::progress::Progress;
use crate::cli::sensitive_values::reveal;
use crate::cli::session::{Session, settings};
use crate::cli::show;
use crate::cli::signals;
use crate::cli::variable_prompts::{can_ask, prompt_missing};
use engine::stage::encoding::plan_digest;
use lang::addr::Target;
use model::settings::Access;
use model::{StageId, StageMode, StageRequest, StageSummary};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Builds the request from the flags.
pub(super) fn request(choice: &Choice, name: Option<String>) -> Result<StageRequest, CliError> {
    let mode = if choice.destroy {
        StageMode::Destroy
    } else if choice.refresh_only {
        StageMode::RefreshOnly
    } else {
        StageMode::Normal
    };
    Ok(StageRequest {
        mode,
        target: with_files(&choice.target, &choice.files.target_file)?,
        exclude: with_files(&choice.exclude, &choice.files.exclude_file)?,
        replace: choice.replace.clone(),
        no_refresh: !choice.refresh,
        variables: choice.values.variables.flags.clone(),
        name,
        rest_of: choice.rest_of,
        configuration_of: choice.config_of,
        ..StageRequest::default()
    })
}

/// Maximum size of a file with addresses, in bytes.
const MAX_ADDRESSES: u64 = 16 << 20;

/// Returns the given addresses and those in files, one per line. Blank lines and lines that start
/// with `#` are skipped.
fn with_files(given: &[String], files: &[PathBuf]) -> Result<Vec<String>, CliError> {
    let mut all = given.to_vec();
    for file in files {
        let shown = safe_path(file);
        let text =
            fsroot::read_input(file, MAX_ADDRESSES, &signals::was_signalled).map_err(|e| {
                CliError::io(format!("cannot read addresses from {shown}: {e}"))
                    .hint("name a file with one address per line")
            })?;
        let text = String::from_utf8_lossy(&text);
        for (n, line) in text
            .lines()
            .enumerate()
            .map(|(n, line)| (n + 1, line.trim()))
        {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // Parsed here only for an error with file and line; the engine parses it again.
            line.parse::<Target>().map_err(|e| {
                CliError::usage(format!("{shown}:{n}: {line:?} is not an address: {e}"))
            })?;
            all.push(line.to_owned());
        }
    }
    Ok(all)
}

/// Returns the commands that a deploy would run, as JSON.
fn commands(summary: &StageSummary) -> Vec<serde_json::Value> {
    let taken = summary
        .changes
        .iter()
        .filter(|c| !summary.left.contains(&c.address));
    let all = taken.flat_map(|c| {
        c.commands
            .iter()
            .map(|command| (&c.address, json!(command)))
    });
    all.map(|(address, mut command)| {
        command["address"] = json!(address);
        command
    })
    .collect()
}

/// A stage to create, and the outputs to write.
pub(super) struct StageCommand {
    pub(super) command: &'static str,
    pub(super) choice: Choice,
    pub(super) name: Option<String>,
    /// Saved selection to load into the stage.
    pub(super) selection: Option<String>,
    /// File for the plan representation.
    pub(super) plan_json: Option<PathBuf>,
    /// File for the stage.
    pub(super) file: Option<PathBuf>,
    pub(super) detailed_exitcode: bool,
}

pub(super) async fn run(args: StageArgs, out: &mut Output) -> CommandResult {
    let wanted = StageCommand {
        command: "stage",
        choice: args.choice,
        name: args.out,
        selection: args.selection,
        plan_json: args.plan_json,
        file: None,
        detailed_exitcode: args.detailed_exitcode,
    };
    run_stage(wanted, out).await
}

pub(super) async fn run_stage(wanted: StageCommand, out: &mut Output) -> CommandResult {
    // Paths are checked first, because planning may take long.
    for path in wanted.plan_json.iter().chain(&wanted.file) {
        check(path)?;
    }
    let parallelism = wanted.choice.values.parallelism;
    let mut settings = settings(wanted.command, Access::ReadWrite, parallelism)?;
    settings.accept_older_state = wanted.choice.values.accept_older_state;
    // Steps of single objects are reported only for OpenTofu's lines.
    settings.object_steps = out.has_lines();
    let mut session = Session::start(settings, out).await?;
    let staged = create_stage(&mut session, &wanted, out).await;
    // Diagnostics are flushed after the end of the session, which may report further ones.
    session.finish(out).await;
    let Created {
        summary,
        shown,
        digest,
    } = staged?;
    out.flush_diagnostics();
    let mut said = result(&summary);
    if let Some(digest) = &digest {
        said.insert("digest".to_owned(), digest.as_str().into());
    }
    out.result(wanted.command, said);
    if !out.json {
        show::stage(out, &shown);
        if let (Some(file), Some(digest)) = (&wanted.file, &digest) {
            out.stderr_line(&format!(
                "Saved the plan to {}. Run `flightdeck apply` with that file to apply it, or `flightdeck show` to show it.\nIts digest, for `apply --digest`, is {digest}",
                safe_path(file)
            ));
        }
    }
    Ok(if wanted.detailed_exitcode && summary.has_changes() {
        CHANGES
    } else {
        OK
    })
}

/// Returns the fields of the result line.
fn result(summary: &StageSummary) -> serde_json::Map<String, serde_json::Value> {
    let mut said = fields(json!({ "stage": summary.stage, "changes": summary.counts }));
    if let Some(deploy) = summary.configuration_of {
        said.insert("configuration_of".to_owned(), deploy.into());
    }
    if !summary.drift.is_empty() {
        let rows: Vec<_> = summary
            .drift
            .iter()
            .map(|d| json!({ "address": d.address, "what": d.what }))
            .collect();
        said.insert("drift".to_owned(), rows.into());
    }
    let commands = commands(summary);
    if !commands.is_empty() {
        said.insert("commands".to_owned(), commands.into());
    }
    said
}

/// Passes the result on. If planning failed, writes the incomplete plan as OpenTofu's lines.
pub(super) fn write_errored_plan<T>(
    staged: Result<T, CliError>,
    session: &Session,
    out: &mut Output,
) -> Result<T, CliError> {
    if staged.is_err()
        && let Some(plan) = session.engine.errored_plan()
    {
        out.in_lines(|lines| lines.plan(&plan, true));
    }
    staged
}

/// Writes the lines of OpenTofu for a plan, if they were requested.
pub(super) async fn planned(
    session: &mut Session,
    progress: &mut Progress,
    stage: StageId,
    whole: bool,
    out: &mut Output,
) -> Result<(), CliError> {
    if out.has_lines() {
        let engine = session.engine.clone();
        let plan = session.wait(out, progress, engine.plan_json(stage)).await?;
        out.in_lines(|lines| lines.plan(&plan, whole));
    }
    Ok(())
}

/// A new stage.
struct Created {
    summary: Arc<StageSummary>,
    /// Copy to show, with sensitive values if they were requested.
    shown: Arc<StageSummary>,
    /// Digest of the plan file.
    digest: Option<String>,
}

/// Creates the stage, and writes the requested files.
async fn create_stage(
    session: &mut Session,
    wanted: &StageCommand,
    out: &mut Output,
) -> Result<Created, CliError> {
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let selection = wanted.selection.as_deref();
    selections::check(session, &mut progress, selection, out).await?;
    let mut request = request(&wanted.choice, wanted.name.clone())?;
    if can_ask(out) && request.rest_of.is_none() {
        let answers = prompt_missing(session, &mut progress, request.clone(), None, out).await?;
        request.variables.extend(answers);
    }
    // The last request: plugins may stop as soon as the stage no longer needs them.
    engine.declare_last_command();
    let staged = session
        .wait(out, &mut progress, engine.stage(request))
        .await;
    let mut summary = write_errored_plan(staged, session, out)?;
    if let Some(name) = &wanted.selection {
        let of = (summary.stage, name.as_str());
        summary = selections::load(session, &mut progress, of, out).await?;
    }
    planned(session, &mut progress, summary.stage, true, out).await?;
    if let Some(file) = &wanted.plan_json {
        let plan = session
            .wait(out, &mut progress, engine.plan_json(summary.stage))
            .await?;
        session
            .wait_outside_engine(write_private(file, plan.to_string()))
            .await??;
    }
    let mut digest = None;
    if let Some(file) = &wanted.file {
        let text = engine.stage_file(summary.stage);
        let text = session.wait(out, &mut progress, text).await?;
        digest = Some(plan_digest(&text));
        session
            .wait_outside_engine(write_private(file, text))
            .await??;
    }
    let shown = reveal_sensitive(session, &mut progress, &summary, out).await?;
    Ok(Created {
        summary,
        shown,
        digest,
    })
}

/// Returns the stage to show, with its sensitive values for `--show-sensitive`.
pub(super) async fn reveal_sensitive(
    session: &mut Session,
    progress: &mut Progress,
    summary: &Arc<StageSummary>,
    out: &mut Output,
) -> Result<Arc<StageSummary>, CliError> {
    if !out.flags.show_sensitive || out.json {
        return Ok(summary.clone());
    }
    let engine = session.engine.clone();
    let plan = engine.plan_json(summary.stage);
    let plan = session.wait(out, progress, plan).await?;
    Ok(Arc::new(reveal(summary, &plan)))
}
