//! `flightdeck group`: lists the groups of the configuration, and shows rollouts.

use crate::cli::escape::{safe, safe_lines};
use crate::cli::exit::{CommandResult, OK, fields};
use crate::cli::options::{GroupArgs, GroupCommand};
use crate::cli::output::{Ink, Output};
use crate::cli::progress::Progress;
use crate::cli::session::{Session, settings};
use crate::cli::time::{duration, format_local};
use model::settings::Access;
use model::{GroupView, RolloutMember, RolloutView};
use serde_json::json;

pub(super) async fn run(args: GroupArgs, out: &mut Output) -> CommandResult {
    let settings = settings("group", Access::ReadOnly, None)?;
    let mut session = Session::start(settings, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    match args.command {
        None | Some(GroupCommand::List) => {
            let groups = session.wait(out, &mut progress, engine.groups()).await;
            session.finish(out).await;
            list(out, &groups?);
        }
        Some(GroupCommand::Show { name }) => {
            let rollouts = engine.rollouts(&name);
            let rollouts = session.wait(out, &mut progress, rollouts).await;
            session.finish(out).await;
            show(out, &name, &rollouts?);
        }
    }
    Ok(OK)
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
    }
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
