//! Checks whether a command of the Stage or Deploy screen is available now.

use super::stage::{shown_diagnostics, unfinished_operations};
use crate::app::command::Available;
use crate::app::format::clock;
use crate::app::state::*;
use model::{Severity, StageMode, StageSummary};

/// Requires that no other process has the workspace lock.
pub fn writable(state: &State) -> Available {
    if let Some(name) = &state.ending.opening_workspace {
        return Err(format!("workspace {name} is being opened").into());
    }
    match state.locked_by() {
        Some(h) => Err(format!(
            "locked by {} on {} (pid {}, {}) since {}: wait until it has ended",
            h.who,
            h.host,
            h.pid,
            h.reason,
            clock(h.since, state.utc_offset)
        )
        .into()),
        None => Ok(()),
    }
}

/// Requires a stage.
pub fn has_stage(state: &State) -> Available {
    if state.view.stage.is_some() {
        Ok(())
    } else {
        Err("no stage yet: press s".into())
    }
}

/// Requires that no deploy has used the stage.
fn not_applied(state: &State) -> Available {
    match state.deploy_of_stage() {
        Some(d) if d.summary.is_some() => Err(format!(
            "stage #{} was applied by deploy #{}: s stages again",
            d.stage, d.deploy
        )
        .into()),
        Some(d) => Err(format!("deploy #{} of this stage is running", d.deploy).into()),
        None => Ok(()),
    }
}

/// Requires a stage that matches the workspace, as far as it was compared.
fn not_outdated(state: &State) -> Available {
    match (&state.view.stage, state.view.outdated()) {
        (Some(s), Some(what)) => {
            Err(format!("stage #{} is out of date, s stages again: {what}", s.stage).into())
        }
        _ => Ok(()),
    }
}

/// Requires a stage whose selection can change.
pub fn can_select(state: &State) -> Available {
    writable(state)?;
    has_stage(state)?;
    not_applied(state)?;
    not_outdated(state)
}

/// Requires a change under the cursor.
pub fn has_change(state: &State) -> Available {
    match state.change() {
        Some(_) => Ok(()),
        None => Err("no change under the cursor".into()),
    }
}

/// Requires a change under the cursor that can be selected or deselected.
pub fn on_change(state: &State) -> Available {
    can_select(state)?;
    match state.change() {
        None => Err("no change under the cursor".into()),
        Some(c) if c.is_selectable() => Ok(()),
        Some(c) if c.has_effect() => {
            Err("a move cannot be deselected: every deploy of the stage makes it".into())
        }
        Some(_) => Err("this resource has no change".into()),
    }
}

/// Requires that no deploy, staging or installation runs.
pub fn can_stage(state: &State) -> Available {
    writable(state)?;
    if state.is_deploying() {
        return Err("a deploy is running".into());
    }
    if state.view.staging.is_some() {
        return Err("staging is running".into());
    }
    if state.installing() {
        return Err("an installation is running".into());
    }
    Ok(())
}

/// Requires selected changes, a current stage and nothing running.
pub fn can_apply(state: &State) -> Available {
    can_stage(state)?;
    has_stage(state)?;
    if state.view.stage_error.is_some() {
        return Err("the last staging failed: stage again first".into());
    }
    not_applied(state)?;
    not_outdated(state)?;
    let refreshed = |s: &StageSummary| s.mode == StageMode::RefreshOnly && !s.drift.is_empty();
    // Outputs, moves, further edits of the state and accepted drift are applied without a selected
    // change.
    let aside = state.view.stage.as_ref().is_some_and(|s| {
        s.changed_outputs(&state.view.left).next().is_some()
            || s.moves().next().is_some()
            || !s.state_edits.is_empty()
            || refreshed(s)
    });
    if state.selected_changes().next().is_none() && !aside {
        return Err("no change is selected".into());
    }
    Ok(())
}

/// Requires a running stage, deploy or call.
pub fn requires_running(state: &State) -> Available {
    if state.is_deploying() || state.view.staging.is_some() || !state.view.calls.is_empty() {
        Ok(())
    } else {
        Err("nothing is running".into())
    }
}

/// Requires diagnostics of the last staging, or of the shown deploy.
pub fn has_diagnostics(state: &State) -> Available {
    if shown_diagnostics(state).next().is_some() {
        return Ok(());
    }
    Err(match state.context() {
        Context::Deploy => "the deploy had no errors or warnings beyond its operations".into(),
        _ => "the last staging had no errors or warnings".into(),
    })
}

/// Label of the list of diagnostics in the footer.
pub fn diagnostics_label(state: &State) -> &'static str {
    let has = |severity| shown_diagnostics(state).any(|d| d.severity == severity);
    match (has(Severity::Error), has(Severity::Warning)) {
        // The operations of a deploy show their errors.
        (true, false) if state.context() == Context::Deploy => "",
        (true, _) => "errors",
        _ => "warnings",
    }
}

/// Requires unfinished operations of the shown deploy; on the Stage screen, of the deploy of this
/// stage.
pub fn can_retry(state: &State) -> Available {
    can_stage(state)?;
    if state.context() == Context::Stage && state.applied().is_none() {
        return Err("this stage was not applied yet".into());
    }
    if unfinished_operations(state) == 0 {
        Err("no unfinished operations".into())
    } else {
        Ok(())
    }
}

/// Requires a resource under the cursor and nothing running.
pub fn on_resource(state: &State) -> Available {
    can_stage(state)?;
    super::has_row(state)?;
    match super::stage::resource(state) {
        Some(_) => Ok(()),
        None => Err("no resource under the cursor".into()),
    }
}
