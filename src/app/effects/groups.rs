//! Effects of the Groups screen: requests about rollouts, and changes of groups themselves.

use crate::app::format::count;
use crate::app::msg::{Answer, Subject};
use engine::error::NotFound;
use engine::{Engine, EngineError};
use model::{GroupCommitView, RolloutVerb, StageRequest};

/// Makes a request about a rollout. To resume one that no deploy runs, stages its changes.
pub(super) async fn request_rollout(
    engine: &Engine,
    group: &str,
    verb: RolloutVerb,
    member: Option<String>,
) -> Answer {
    let answer = match engine.request_rollout(group, verb, member.as_deref()).await {
        Ok(answer) => answer,
        Err(e) => return failed(Subject::Groups, e),
    };
    let rollout = Box::new(answer.rollout);
    let Some(replace) = answer.stage else {
        let text = format!("group {group}: the rollout is {}", rollout.state);
        return Answer::RolloutRequested {
            rollout,
            text,
            staged: false,
        };
    };
    let request = StageRequest {
        replace,
        ..StageRequest::default()
    };
    let staged = match Box::pin(engine.stage(request)).await {
        Ok(staged) => staged.stage,
        Err(e) => return failed(Subject::Stage, e),
    };
    match engine.select_resumed(staged, group).await {
        Ok(selection) => Answer::RolloutRequested {
            rollout,
            text: format!(
                "stage #{staged} resumes the rollout of group {group}: {}; a applies them",
                count(selection.selected.len(), "change")
            ),
            staged: true,
        },
        Err(e) => failed(Subject::Groups, e),
    }
}

/// Sets the number of members: commits it, or assigns the variable that decides it.
pub(super) async fn scale(engine: &Engine, group: &str, size: u32) -> Answer {
    match engine.resize_group(group, size, false).await {
        Ok(commit) => Answer::GroupChanged(commit_text(&commit)),
        // A group of the configuration.
        Err(EngineError::NotFound(NotFound::Group(_))) => {
            match engine.write_group_size(group, size).await {
                Ok(file) => Answer::GroupChanged(format!(
                    "{file} sets the size of group {group} to {size}; s stages it"
                )),
                Err(e) => failed(Subject::Groups, e),
            }
        }
        Err(e) => failed(Subject::Groups, e),
    }
}

/// Stops to manage a group.
pub(super) async fn free(engine: &Engine, group: &str) -> Answer {
    match engine.free_group(group).await {
        Ok(()) => Answer::GroupChanged(format!(
            "group {group} is no longer managed; its resources are unchanged"
        )),
        Err(e) => failed(Subject::Groups, e),
    }
}

/// Commits the earlier specification of a group.
pub(super) async fn roll_back(engine: &Engine, group: &str) -> Answer {
    match engine.roll_back_group(group, false).await {
        Ok(commit) => Answer::GroupChanged(commit_text(&commit)),
        Err(e) => failed(Subject::Groups, e),
    }
}

fn commit_text(commit: &GroupCommitView) -> String {
    let group = &commit.group;
    match commit.changes {
        true => format!("group {group}: {}; s stages it", commit.plan),
        false => format!("group {group} is as the specification says"),
    }
}

fn failed(what: Subject, error: EngineError) -> Answer {
    Answer::Failed {
        what,
        text: error.to_string(),
        diagnostics: error.diagnostics().to_vec(),
    }
}
