//! `flightdeck group`: lists the groups of the configuration, shows rollouts, and makes requests
//! about them.

mod declarations;

use super::deploy::{self, GroupDeploy};
use crate::cli::escape::{safe, safe_lines};
use crate::cli::exit::{CliError, CommandResult, OK, fields};
use crate::cli::options::{GroupArgs, GroupCommand};
use crate::cli::output::{Ink, Output};
use crate::cli::session::{run_request, settings};
use crate::cli::time::format_local;
use engine::Engine;
use model::settings::Access;
use model::{
    GroupView, ReconcileView, RolloutAnswer, RolloutMember, RolloutVerb, RolloutView, duration,
};
use serde_json::json;

pub(super) async fn run(args: GroupArgs, out: &mut Output) -> CommandResult {
    match args.command.unwrap_or(GroupCommand::List) {
        GroupCommand::List => {
            let settings = settings("group", Access::ReadOnly, None)?;
            let groups = async |engine: Engine| engine.groups().await;
            let groups = run_request(settings, out, groups).await?;
            list(out, &groups);
        }
        GroupCommand::Show { name } => {
            let settings = settings("group", Access::ReadOnly, None)?;
            let rollouts = async |engine: Engine| engine.rollouts(&name).await;
            let rollouts = run_request(settings, out, rollouts).await?;
            show(out, &name, &rollouts);
        }
        GroupCommand::Pause { name } => {
            request(out, &name, RolloutVerb::Pause, None).await?;
        }
        GroupCommand::Abort { name } => {
            request(out, &name, RolloutVerb::Abort, None).await?;
        }
        GroupCommand::Skip { name, key } => {
            request(out, &name, RolloutVerb::Skip, Some(&key)).await?;
        }
        GroupCommand::Retry { name, key } => {
            request(out, &name, RolloutVerb::Retry, Some(&key)).await?;
        }
        GroupCommand::Resume {
            name,
            values,
            auto_approve,
        } => {
            let group = GroupDeploy {
                name,
                values,
                auto_approve,
            };
            return resume(group, out).await;
        }
        other => return change(other, out).await,
    }
    Ok(OK)
}

/// Changes the declarations of groups.
async fn change(command: GroupCommand, out: &mut Output) -> CommandResult {
    match command {
        GroupCommand::Commit { file, pretend } => declarations::commit(&file, pretend, out).await?,
        GroupCommand::Import {
            file,
            resources,
            member,
            exclude,
            variables,
        } => {
            let resources = declarations::imported(&resources, &exclude)?;
            let of = (resources, member, variables.flags);
            declarations::import(&file, of, out).await?;
        }
        GroupCommand::Rollback { name, pretend } => {
            declarations::roll_back(&name, pretend, out).await?;
        }
        GroupCommand::Scale {
            name,
            size,
            pretend,
            write,
        } => declarations::scale(&name, size, (pretend, write), out).await?,
        GroupCommand::Free { name, auto_approve } => {
            return declarations::free(&name, auto_approve, out).await;
        }
        GroupCommand::Destroy {
            name,
            values,
            auto_approve,
        } => {
            let group = GroupDeploy {
                name,
                values,
                auto_approve,
            };
            return declarations::destroy(group, out).await;
        }
        GroupCommand::List
        | GroupCommand::Show { .. }
        | GroupCommand::Pause { .. }
        | GroupCommand::Resume { .. }
        | GroupCommand::Abort { .. }
        | GroupCommand::Skip { .. }
        | GroupCommand::Retry { .. } => {}
    }
    Ok(OK)
}

/// Resumes a rollout: in its running deploy, or with a new stage.
async fn resume(group: GroupDeploy, out: &mut Output) -> CommandResult {
    let answer = ask(out, &group.name, RolloutVerb::Resume, None).await?;
    match &answer.stage {
        Some(replace) => deploy::resume(group, replace.clone(), out).await,
        None => {
            print_answer(out, RolloutVerb::Resume, None, &answer);
            Ok(OK)
        }
    }
}

/// Makes a request about a rollout, and prints the answer.
async fn request(
    out: &mut Output,
    name: &str,
    verb: RolloutVerb,
    member: Option<&str>,
) -> Result<(), CliError> {
    let answer = ask(out, name, verb, member).await?;
    print_answer(out, verb, member, &answer);
    Ok(())
}

async fn ask(
    out: &mut Output,
    name: &str,
    verb: RolloutVerb,
    member: Option<&str>,
) -> Result<RolloutAnswer, CliError> {
    let settings = settings("group", Access::ReadWrite, None)?;
    let asked = async |engine: Engine| engine.request_rollout(name, verb, member).await;
    run_request(settings, out, asked).await
}

fn print_answer(out: &mut Output, verb: RolloutVerb, member: Option<&str>, answer: &RolloutAnswer) {
    let of = json!({
        "request": verb,
        "member": member,
        "deploy": answer.deploy,
        "rollout": answer.rollout,
    });
    out.result("group", fields(of));
    if out.json {
        return;
    }
    let rollout = &answer.rollout;
    let name = safe(&rollout.group);
    out.line(&format!("group {name}: {}", summary(rollout)));
    if answer.deploy.is_none() && matches!(verb, RolloutVerb::Skip | RolloutVerb::Retry) {
        out.line(&format!(
            "no deploy runs it; run `flightdeck group resume {name}` to continue"
        ));
    }
}

fn list(out: &mut Output, groups: &[GroupView]) {
    out.result("groups", fields(json!({ "groups": groups })));
    if out.json {
        return;
    }
    if groups.is_empty() {
        out.line("no groups; declare one in a file such as groups.flightdeck.hcl");
    }
    for group in groups {
        let n = group.members.len();
        let members = if n == 1 { "member" } else { "members" };
        let head = format!("{}  {}  {n} {members}", safe(&group.group), group.instance);
        let head = out.paint(Ink::Bold, &head);
        out.line(&head);
        match &group.rollout {
            Some(rollout) => out.line(&format!("  {}", summary(rollout))),
            None => out.line("  no rollout yet"),
        }
        out.line(&format!("  {}", reconcile(&group.reconcile)));
    }
}

/// Reconcile loop of a group: its newest and its next run.
fn reconcile(view: &ReconcileView) -> String {
    let mut text = format!("reconcile: {}", view.mode);
    if let Some(run) = &view.run {
        let began = format_local(run.began);
        text.push_str(&format!("; {} at {began}", run.summary()));
        if let Some(stage) = run.stage {
            text.push_str(&format!(", to approve: flightdeck deploy {stage}"));
        }
    }
    match (&view.leader, &view.run) {
        (None, _) => text.push_str("; the loop does not run"),
        (Some(leader), Some(run)) => {
            let next = format_local(run.next);
            text.push_str(&format!("; next run {next} by {}", safe(leader)));
        }
        (Some(leader), None) => text.push_str(&format!("; led by {}", safe(leader))),
    }
    text
}

fn show(out: &mut Output, name: &str, rollouts: &[RolloutView]) {
    out.result("rollouts", fields(json!({ "rollouts": rollouts })));
    if out.json {
        return;
    }
    if rollouts.is_empty() {
        out.line(&format!("group {}: no rollout yet", safe(name)));
    }
    for rollout in rollouts {
        let head = out.paint(Ink::Bold, &summary(rollout));
        out.line(&head);
        let width = rollout.members.iter().map(|m| m.key.chars().count()).max();
        for member in &rollout.members {
            out.line(&member_line(member, width.unwrap_or_default()));
        }
    }
}

fn summary(rollout: &RolloutView) -> String {
    let mut text = format!(
        "rollout #{} in deploy #{}: {}, {} of {} members done  {}",
        rollout.rollout,
        rollout.deploy,
        rollout.state,
        rollout.done(),
        rollout.members.len(),
        format_local(rollout.began)
    );
    if let Some(reason) = &rollout.reason {
        text.push_str(&format!("\n    {}", safe_lines(reason)));
    }
    text
}

fn member_line(member: &RolloutMember, width: usize) -> String {
    let mut text = format!(
        "  {:width$}  batch {}  {}  {}",
        safe(&member.key),
        member.batch,
        member.phase,
        member.state
    );
    if let Some(hashes) = member.hashes() {
        text.push_str(&format!("  {}", safe(&hashes)));
    }
    for action in &member.actions {
        let took = action.ended.map(|ended| ended.saturating_sub(action.began));
        let took = took.and_then(|ms| u64::try_from(ms).ok());
        let took = took.map_or_else(|| "not ended".to_owned(), duration);
        text.push_str(&format!("  {} {took}", action.action));
        if let Some(failure) = &action.failure {
            text.push_str(&format!(" ({})", safe_lines(failure)));
        }
    }
    if let Some(note) = &member.note {
        text.push_str(&format!("  {}", safe_lines(note)));
    }
    text
}
