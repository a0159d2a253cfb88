//! When commands of the Stage and Deploy screens can be used.

use super::apply::{moves, outputs};
use super::stage::left_over;
use crate::app::command::Available;
use crate::app::state::*;
use crate::engine::words::{Action, StageMode, StageSummary};

/// Nobody else holds the workspace.
pub fn writable(state: &State) -> Available {
    if let Some(name) = &state.opening {
        return Err(format!("the workspace {name} is being opened").into());
    }
    match state.locked_by() {
        Some(h) => Err(format!(
            "read-only: {} on {} holds the workspace (pid {}, {})",
            h.who, h.host, h.pid, h.reason
        )
        .into()),
        None => Ok(()),
    }
}

/// There is a stage.
pub fn has_stage(state: &State) -> Available {
    if state.view.stage.is_some() {
        Ok(())
    } else {
        Err("nothing is staged: press s".into())
    }
}

/// There is a change under the cursor, and it may be taken or left.
pub fn on_change(state: &State) -> Available {
    writable(state)?;
    match state.change() {
        None => Err("there is no change under the cursor".into()),
        Some(c) if c.action == Action::NoOp => Err("nothing would happen to this one".into()),
        Some(_) => Ok(()),
    }
}

/// Nothing else runs that a stage would meet.
pub fn can_stage(state: &State) -> Available {
    writable(state)?;
    if state.deploying() {
        return Err("a deploy is running".into());
    }
    if state.view.staging.is_some() {
        return Err("a stage is being worked out".into());
    }
    if state.installing() {
        return Err("what is missing is being installed".into());
    }
    Ok(())
}

/// There is something to apply and nothing in its way.
pub fn can_apply(state: &State) -> Available {
    can_stage(state)?;
    has_stage(state)?;
    if state.view.stage_error.is_some() {
        return Err("the last staging failed: stage again first".into());
    }
    let refreshed = |s: &StageSummary| s.mode == StageMode::RefreshOnly && !s.drift.is_empty();
    let aside =
        state.view.stage.as_ref().is_some_and(|s| {
            outputs(s).next().is_some() || moves(s).next().is_some() || refreshed(s)
        });
    if state.taken().next().is_none() && !aside {
        return Err("no change is taken".into());
    }
    Ok(())
}

/// A stage or deploy runs, or some call does.
pub fn something_runs(state: &State) -> Available {
    if state.deploying() || state.view.staging.is_some() || !state.view.calls.is_empty() {
        Ok(())
    } else {
        Err("nothing is running".into())
    }
}

/// The last staging said something.
pub fn has_diagnostics(state: &State) -> Available {
    if state.view.diagnostics.is_empty() {
        Err("the last staging had no errors or warnings".into())
    } else {
        Ok(())
    }
}

/// Something of the deploy is left to do.
pub fn can_retry(state: &State) -> Available {
    can_stage(state)?;
    if left_over(state) == 0 {
        Err("nothing failed and nothing is left".into())
    } else {
        Ok(())
    }
}

/// There is a resource under the cursor, and nothing in the way of a stage.
pub fn on_resource(state: &State) -> Available {
    can_stage(state)?;
    super::has_row(state)
}
