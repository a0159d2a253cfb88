//! `flightdeck deploy`, `refresh` and `destroy`: apply an existing stage, or create one and apply
//! it after a confirmation.

use super::selections;
use super::stage::{planned, request, reveal_sensitive, write_errored_plan};
use crate::cli::escape::{safe, safe_lines, safe_path};
use crate::cli::exit::{
    CANCELLED, CliError, CommandResult, ERROR, FAILURES, OK, fields, plain_diagnostic,
};
use crate::cli::options::{Choice, DeployArgs, DestroyArgs, RefreshArgs, Values};
use crate::cli::output::Output;
use crate::cli::progress::Progress;
use crate::cli::session::{Session, settings};
use crate::cli::show;
use crate::cli::variable_prompts::{can_ask, prompt_missing};
use engine::stage::commands::summarize;
use engine::stage::encoding::plan_digest;
use model::settings::Access;
use model::{
    DeployOutcome, DeployRequest, DeploySummary, Severity, StageId, StageSummary, Unknown,
    VariableFlag,
};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// Commands that deploy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Deploy,
    Refresh,
    Destroy,
}

impl Verb {
    /// Name of the command.
    fn name(self) -> &'static str {
        match self {
            Self::Deploy => "deploy",
            Self::Refresh => "refresh",
            Self::Destroy => "destroy",
        }
    }
}

/// Text of a plan file.
struct PlanText {
    text: String,
    /// The caller gave the digest of this text.
    is_digest_known: bool,
}

/// A deploy to run, and the confirmation it needs.
struct DeployCommand {
    verb: Verb,
    /// Number or name of a stage, or the name of a plan file.
    stage: Option<String>,
    plan: Option<PlanText>,
    choice: Choice,
    /// Saved selection to load into the stage.
    selection: Option<String>,
    /// Group whose rollout the deploy resumes.
    resumed: Option<String>,
    auto_approve: bool,
}

/// Values and confirmation of a deploy that a command about a group plans.
pub(super) struct GroupDeploy {
    pub(super) name: String,
    pub(super) values: Values,
    pub(super) auto_approve: bool,
}

/// Stages and deploys what still differs of a group. `replace` has the instances to replace.
pub(super) async fn resume(
    group: GroupDeploy,
    replace: Vec<String>,
    out: &mut Output,
) -> CommandResult {
    let choice = Choice {
        replace,
        refresh: true,
        values: group.values,
        ..Choice::default()
    };
    let command = DeployCommand {
        verb: Verb::Deploy,
        stage: None,
        plan: None,
        choice,
        selection: None,
        resumed: Some(group.name),
        auto_approve: group.auto_approve,
    };
    run(command, out).await
}

pub(super) async fn deploy(args: DeployArgs, out: &mut Output) -> CommandResult {
    let plan = plan_file(args.stage.as_deref(), args.digest.as_deref())?;
    run(
        DeployCommand {
            verb: Verb::Deploy,
            stage: args.stage,
            plan,
            choice: args.choice,
            selection: args.selection,
            resumed: None,
            auto_approve: args.auto_approve,
        },
        out,
    )
    .await
}

pub(super) async fn refresh(args: RefreshArgs, out: &mut Output) -> CommandResult {
    let choice = Choice {
        target: args.target,
        exclude: args.exclude,
        files: args.files,
        values: args.values,
        refresh: true,
        refresh_only: true,
        ..Choice::default()
    };
    run(
        DeployCommand {
            verb: Verb::Refresh,
            stage: None,
            plan: None,
            choice,
            selection: None,
            resumed: None,
            auto_approve: true,
        },
        out,
    )
    .await
}

pub(super) async fn destroy(args: DestroyArgs, out: &mut Output) -> CommandResult {
    let choice = Choice {
        target: args.target,
        exclude: args.exclude,
        files: args.files,
        refresh: args.refresh,
        values: args.values,
        destroy: true,
        ..Choice::default()
    };
    run(
        DeployCommand {
            verb: Verb::Destroy,
            stage: None,
            plan: None,
            choice,
            selection: None,
            resumed: None,
            auto_approve: args.auto_approve,
        },
        out,
    )
    .await
}

/// Destroys the resources of a group.
pub(super) async fn destroy_targets(
    group: GroupDeploy,
    target: Vec<String>,
    out: &mut Output,
) -> CommandResult {
    let choice = Choice {
        target,
        refresh: true,
        values: group.values,
        destroy: true,
        ..Choice::default()
    };
    let command = DeployCommand {
        verb: Verb::Destroy,
        stage: None,
        plan: None,
        choice,
        selection: None,
        resumed: None,
        auto_approve: group.auto_approve,
    };
    run(command, out).await
}

/// Remedy if no confirmation is possible.
const APPROVE: &str =
    "add --auto-approve, or run `flightdeck stage` and deploy that stage by its number";

async fn run(approved: DeployCommand, out: &mut Output) -> CommandResult {
    if let (Some(stage), Some(flag)) = (&approved.stage, approved.choice.given_flag()) {
        return Err(CliError::usage(format!(
            "{flag} cannot be combined with stage {stage}, which is already planned"
        ))
        .hint("remove the flag or the stage"));
    }
    let must_ask = approved.stage.is_none() && !approved.auto_approve;
    // Fails before staging, which may take long.
    if must_ask && out.json {
        return Err(CliError::usage("cannot prompt with --json").hint(APPROVE));
    }
    let mut settings = settings(
        approved.verb.name(),
        Access::ReadWrite,
        approved.choice.values.parallelism,
    )?;
    settings.accept_older_state = approved.choice.values.accept_older_state;
    // Steps of single objects are reported only for OpenTofu's lines.
    settings.object_steps = out.has_lines();
    let mut session = Session::start(settings, out).await?;
    let applied = apply(&mut session, &approved, must_ask, out).await;
    let summary = match applied {
        Ok(summary) => summary,
        Err(e) => {
            session.finish(out).await;
            return Err(e);
        }
    };
    // The session must still be open: the records of failures are read from its store.
    failures(&session, &summary, out).await;
    if summary.outcome == DeployOutcome::Succeeded && out.has_lines() {
        print_summary_lines(&session, &approved, &summary, out).await?;
    }
    let interrupted = session.was_interrupted();
    let (view, _) = session.engine.subscribe();
    let unknown = view.unknown.iter().filter(|u| u.deploy == summary.deploy);
    let unknown: Vec<Unknown> = unknown.cloned().collect();
    session.finish(out).await;
    out.flush_diagnostics();
    let mut result = fields(json!({
        "deploy": summary.deploy,
        "stage": summary.stage,
        "outcome": summary.outcome,
        "operations": summary.operations,
    }));
    if !unknown.is_empty() {
        result.insert("unknown_outcomes".to_owned(), json!(unknown));
    }
    out.result(approved.verb.name(), result);
    if !out.json {
        show::print_deploy_outcome(out, &summary);
    }
    // At the very end, because a cancelled job may leave nothing else than its output.
    for outcome in &unknown {
        let text = format!("unknown outcome: {}", outcome.line());
        if !out.json {
            out.line(&safe(&text));
        }
        out.in_lines(|lines| lines.unknown_outcome(&text, outcome));
    }
    Ok(match summary.outcome {
        DeployOutcome::Cancelled | DeployOutcome::Interrupted => CANCELLED,
        // The code agrees with the printed outcome: a signal came too late to stop anything.
        DeployOutcome::Succeeded | DeployOutcome::Running => OK,
        // The signal can be the cause of the failures.
        DeployOutcome::Failed if interrupted => CANCELLED,
        DeployOutcome::Failed => FAILURES,
    })
}

/// Writes OpenTofu's closing lines of a successful deploy.
async fn print_summary_lines(
    session: &Session,
    approved: &DeployCommand,
    summary: &DeploySummary,
    out: &mut Output,
) -> Result<(), CliError> {
    if approved.verb != Verb::Refresh {
        let destroys = approved.verb == Verb::Destroy;
        out.in_lines(|lines| lines.applied(&summary.counts, destroys));
    }
    if approved.verb != Verb::Destroy {
        let outputs = session.engine.outputs().await?;
        out.in_lines(|lines| lines.outputs(&outputs));
    }
    Ok(())
}

/// Creates or loads the stage and selects its changes. Returns it with the values for an existing
/// stage; a new one already contains them.
async fn stage_to_apply(
    session: &mut Session,
    approved: &DeployCommand,
    progress: &mut Progress,
    out: &mut Output,
) -> Result<(Arc<StageSummary>, Vec<VariableFlag>), CliError> {
    let engine = session.engine.clone();
    let asks = can_ask(out);
    let selection = approved.selection.as_deref();
    selections::check(session, progress, selection, out).await?;
    let mut variables = Vec::new();
    let mut summary = match &approved.stage {
        Some(wanted) => {
            let id = match &approved.plan {
                Some(plan) => {
                    engine
                        .import_stage(plan.text.clone(), plan.is_digest_known)
                        .await?
                }
                None => find(wanted, session).await?,
            };
            let request = request(&approved.choice, None)?;
            variables.clone_from(&request.variables);
            if asks {
                variables.extend(prompt_missing(session, progress, request, Some(id), out).await?);
            }
            session
                .wait(out, progress, engine.stored_stage(Some(id)))
                .await?
        }
        None => {
            let mut request = request(&approved.choice, None)?;
            if asks && request.rest_of.is_none() {
                let answers = prompt_missing(session, progress, request.clone(), None, out).await?;
                request.variables.extend(answers);
            }
            let staging = engine.stage(request);
            let staged = session.wait(out, progress, staging).await;
            write_errored_plan(staged, session, out)?
        }
    };
    if let Some(name) = selection {
        let of = (summary.stage, name);
        summary = selections::load(session, progress, of, out).await?;
    }
    if let Some(group) = &approved.resumed {
        summary = select_resumed(session, progress, (summary.stage, group), out).await?;
    }
    Ok((summary, variables))
}

/// Selects the changes of a stage that resume the rollout of a group, and reports the others.
async fn select_resumed(
    session: &mut Session,
    progress: &mut Progress,
    (stage, group): (StageId, &str),
    out: &mut Output,
) -> Result<Arc<StageSummary>, CliError> {
    let engine = session.engine.clone();
    let selecting = async {
        let resumed = engine.select_resumed(stage, group).await?;
        Ok((resumed, engine.stored_stage(Some(stage)).await?))
    };
    let (resumed, summary) = session.wait(out, progress, selecting).await?;
    let warn = |out: &mut Output, text: &str, detail: String| {
        let mut warning = plain_diagnostic(text);
        (warning.severity, warning.detail) = (Severity::Warning, detail);
        out.diagnostic(&warning);
    };
    if !resumed.skipped.is_empty() {
        let text = format!("skipped members of group {group:?} are not selected");
        let skipped: Vec<&str> = resumed.skipped.iter().map(String::as_str).collect();
        warn(out, &text, safe_lines(&skipped.join("\n")).into_owned());
    }
    if resumed.others > 0 {
        let text = format!(
            "{} other changes of stage #{stage} are not selected",
            resumed.others
        );
        let detail = "They do not belong to the group. Run `flightdeck deploy` to apply them.";
        warn(out, &text, detail.to_owned());
    }
    Ok(summary)
}

/// Creates or loads the stage, asks for a confirmation if needed, and deploys it.
async fn apply(
    session: &mut Session,
    approved: &DeployCommand,
    must_ask: bool,
    out: &mut Output,
) -> Result<DeploySummary, CliError> {
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let (summary, variables) = stage_to_apply(session, approved, &mut progress, out).await?;
    // As in OpenTofu: `refresh` reports no plan, and an existing stage only its changes.
    if approved.verb != Verb::Refresh {
        let whole = approved.stage.is_none();
        planned(session, &mut progress, summary.stage, whole, out).await?;
    }
    // Staging may complete in spite of a signal, but a deploy must not follow.
    if session.was_interrupted() {
        return Err(CliError::Cancelled);
    }
    if !out.json {
        out.flush_diagnostics();
        let shown = reveal_sensitive(session, &mut progress, &summary, out).await?;
        show::stage(out, &shown);
    }
    if must_ask && summary.has_changes() {
        approve(session, approved, &summary, out).await?;
    }
    let parallelism = engine.settings().parallelism;
    // The last request: plugins may stop as soon as the deploy no longer needs them.
    engine.declare_last_command();
    session
        .wait(
            out,
            &mut progress,
            engine.deploy(DeployRequest {
                stage: summary.stage,
                only: None,
                parallelism,
                variables,
            }),
        )
        .await
}

/// Reads the plan file if a file is named. As in Terraform, an existing file is a saved plan.
fn plan_file(wanted: Option<&str>, digest: Option<&str>) -> Result<Option<PlanText>, CliError> {
    let file = wanted.map(Path::new).filter(|file| file.is_file());
    let text = file.map(super::show::read).transpose()?;
    let Some(digest) = digest else {
        return Ok(text.map(|text| PlanText {
            text,
            is_digest_known: false,
        }));
    };
    let Some((file, text)) = file.zip(text) else {
        return Err(CliError::usage("--digest needs a plan file")
            .hint("name the file that `flightdeck plan --out` wrote"));
    };
    let found = plan_digest(&text);
    // Also as `sha256sum` prints it.
    let given = digest.trim().to_ascii_lowercase();
    if given != found && format!("sha256:{given}") != found {
        return Err(CliError::io(format!(
            "{} has the digest {found}, not {}; nothing was done",
            safe_path(file),
            safe_lines(&given)
        ))
        .hint("apply the file whose digest you know, or plan again"));
    }
    Ok(Some(PlanText {
        text,
        is_digest_known: true,
    }))
}

/// Finds a stage by number or name.
async fn find(wanted: &str, session: &Session) -> Result<StageId, CliError> {
    let named = session.engine.stage_named(wanted).await?;
    let number: Option<StageId> = wanted.strip_prefix('#').unwrap_or(wanted).parse().ok();
    match (number, named) {
        // Such names are refused now, but older stages may have them.
        (Some(number), Some(named)) if number != named => Err(CliError::usage(format!(
            "{wanted} is the number of one stage and the name of another, stage #{named}"
        ))
        .hint("stage again with a name that is not a number")),
        (Some(id), _) | (None, Some(id)) => Ok(id),
        (None, None) => Err(
            CliError::missing(format!("there is no stage {wanted:?}")).hint(format!(
                "give the number of a stage, or a name set with `flightdeck stage --out {wanted}`"
            )),
        ),
    }
}

/// Lists the commands that the stage runs, and asks for a confirmation.
async fn approve(
    session: &mut Session,
    approved: &DeployCommand,
    summary: &StageSummary,
    out: &mut Output,
) -> Result<(), CliError> {
    let destroys = match approved.verb {
        Verb::Destroy => " and destroy the objects it names",
        Verb::Deploy | Verb::Refresh => "",
    };
    let runs = summarize(
        summary
            .changes
            .iter()
            .filter(|c| !summary.left.contains(&c.address)),
    );
    let runs = runs.map_or_else(String::new, |(count, lines)| {
        let lines: String = lines
            .iter()
            .map(|l| format!("  {}\n", crate::cli::escape::safe(l)))
            .collect();
        format!("Stage #{} {count}:\n{lines}", summary.stage)
    });
    eprint!("{runs}");
    let stage = summary.stage;
    let question = format!("Apply stage #{stage}{destroys}?");
    if session.confirm(&question, APPROVE, out).await? {
        return Ok(());
    }
    out.stderr_line(&format!(
        "nothing was applied; run `flightdeck deploy {stage}` to apply stage #{stage} later"
    ));
    Err(CliError::AlreadyReported(ERROR))
}

/// Reports failed operations as diagnostics, unless the engine has reported them with their
/// position.
async fn failures(session: &Session, summary: &DeploySummary, out: &mut Output) {
    if summary.operations.bad() == 0 {
        return;
    }
    let record = match session.engine.deploy_record(summary.deploy).await {
        Ok(record) => record,
        Err(e) => {
            tracing::warn!(error = %e, "failed to read the record of the deploy");
            return;
        }
    };
    for operation in record.operations {
        if let Some(failure) = operation.failure
            && !out.has_error_of(&operation.address, &failure.summary)
        {
            let mut diagnostic = plain_diagnostic(&failure.summary);
            diagnostic.detail = failure.detail;
            diagnostic.address = Some(operation.address);
            out.diagnostic(&diagnostic);
        }
    }
}
