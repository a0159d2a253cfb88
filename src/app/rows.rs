//! Rows of each context (screen or view): filtered, and sorted as the operator chose.

mod plugins;

use super::doc::Doc;
use super::list::Row;
use super::state::{Context, DeployFilter, State};
use super::text::contains;
use crate::engine::model::{Action, DeploySummary, DriftView, OperationState, OutputView};
use std::cmp::Ordering;

pub(super) use plugins::plugins;

#[cfg(test)]
thread_local! {
    /// Number of times that this thread has built the rows of a context.
    pub static BUILT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Maximum number of finished calls on the Calls screen.
const MAX_FINISHED_CALLS: usize = 50;

#[cfg(test)]
thread_local! {
    /// Number of times that this thread has built the rows of a context.
    pub static BUILT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Returns the rows of the current context, and the number of leading rows that do not scroll.
pub fn rows(state: &State) -> (Vec<Row>, usize) {
    #[cfg(test)]
    BUILT.with(|n| n.set(n.get() + 1));
    let context = state.context();
    let of = context.of();
    let (mut rows, pinned) = (of.rows)(state);
    let filter = state.list().filter.to_lowercase();
    if !filter.is_empty() {
        // Headings are hidden: their rows may be gone.
        let keep = |r: &Row| !r.heading && contains(&(of.text)(state, r), &filter);
        // The filter may remove pinned rows, too.
        let kept_pinned = rows.iter().take(pinned).filter(|r| keep(r)).count();
        rows.retain(keep);
        return (rows, kept_pinned);
    }
    (rows, pinned)
}

/// Sorts by a column; equal rows keep their natural order.
fn sorted(
    state: &State,
    mut rows: Vec<Row>,
    compare: impl Fn(usize, &Row, &Row) -> Ordering,
) -> Vec<Row> {
    let list = state.list();
    if list.sort > 0 {
        rows.sort_by(|a, b| {
            let o = compare(list.sort, a, b);
            if list.descending { o.reverse() } else { o }
        });
    } else if list.descending {
        rows.reverse();
    }
    rows
}

/// Names of the sort orders of a list; the first is the natural order.
pub fn sorts(context: Context) -> &'static [&'static str] {
    context.of().sorts
}

pub(super) fn history(state: &State) -> Vec<Row> {
    let Some(all) = &state.loaded.history else {
        return Vec::new();
    };
    let rows = all
        .iter()
        .enumerate()
        .map(|(i, d)| Row::number(d.deploy.unsigned_abs(), i))
        .collect();
    let took = |d: &DeploySummary| d.ended.map(|e| e - d.began);
    sorted(state, rows, |by, a, b| {
        let (a, b) = (&all[a.index], &all[b.index]);
        if by == 1 {
            took(a).cmp(&took(b))
        } else {
            a.outcome.label().cmp(b.outcome.label())
        }
    })
}

pub(super) fn schema(state: &State) -> Vec<Row> {
    let Some(all) = state.plugin().and_then(|p| state.loaded.schemas.get(&p.id)) else {
        return Vec::new();
    };
    let filter = state.list().filter.to_lowercase();
    let mut rows = Vec::new();
    // A row is visible if all rows above it are open. A filter opens all.
    let mut closed: Option<usize> = None;
    for (i, r) in all.iter().enumerate() {
        if closed.is_some_and(|depth| r.depth > depth) {
            continue;
        }
        closed = None;
        rows.push(Row::text(r.path.as_str(), i));
        if r.folder && filter.is_empty() && !is_open(state, r) {
            closed = Some(r.depth);
        }
    }
    rows
}

/// Returns true if the children of a schema row are visible. Groups are open by default, types and
/// blocks closed.
pub fn is_open(state: &State, r: &super::schema::SchemaRow) -> bool {
    state.filters.toggled.contains(&r.path) != (r.depth == 0)
}

pub(super) fn calls(state: &State) -> Vec<Row> {
    let all: Vec<_> = state.view.calls.values().collect();
    let mut running: Vec<Row> = all
        .iter()
        .enumerate()
        .filter(|(_, c)| c.started_at.is_some())
        .map(|(i, c)| Row::number(c.call, i))
        .collect();
    // By slot, so that rows keep their places while calls come and go.
    running.sort_by_key(|r| (&all[r.index].plugin, all[r.index].slot));
    // Only running calls can be sorted; queued ones keep the order of the queue.
    let running = sorted(state, running, |by, a, b| {
        let (a, b) = (all[a.index], all[b.index]);
        if by == 1 {
            a.started_at.cmp(&b.started_at)
        } else {
            a.method.cmp(&b.method)
        }
    });
    let waiting: Vec<Row> = all
        .iter()
        .enumerate()
        .filter(|(_, c)| c.started_at.is_none())
        .map(|(i, c)| Row::number(c.call, i))
        .collect();
    let mut rows = running;
    if !waiting.is_empty() {
        rows.push(Row::heading(format!("waiting ({})", waiting.len())));
        rows.extend(waiting);
    }
    let recent = state.view.finished.len().min(MAX_FINISHED_CALLS);
    if recent > 0 {
        rows.push(Row::heading(format!("finished (last {recent})")));
        // Indexes of finished calls continue after the open calls.
        let from = state.view.finished.len() - recent;
        rows.extend(
            state
                .view
                .finished
                .iter()
                .enumerate()
                .skip(from)
                .rev()
                .map(|(i, f)| Row::number(f.call, all.len() + i)),
        );
    }
    rows
}

/// Call in a row of the Calls screen.
pub enum CallRow<'a> {
    Open(&'a crate::engine::view::CallView),
    Finished(&'a crate::engine::model::CallFinished),
}

/// Returns the call of a row.
pub fn call_row<'a>(state: &'a State, row: &Row) -> Option<CallRow<'a>> {
    if row.heading {
        return None;
    }
    match row.index.checked_sub(state.view.calls.len()) {
        Some(i) => state.view.finished.get(i).map(CallRow::Finished),
        None => state.view.calls.get(&row.key.number()?).map(CallRow::Open),
    }
}

pub(super) fn stage(state: &State) -> Vec<Row> {
    // The screen shows the errors instead of the former stage.
    if state.view.stage_error.is_some() {
        return Vec::new();
    }
    let Some(stage) = &state.view.stage else {
        return Vec::new();
    };
    let rows = stage
        .changes
        .iter()
        .enumerate()
        .filter(|(_, c)| {
            (state.filters.unchanged || c.has_effect())
                && state.filters.action.is_none_or(|f| f.includes(c.action))
        })
        .map(|(i, c)| Row::text(c.address.as_str(), i))
        .collect();
    let mut rows = sorted(state, rows, |by, a, b| {
        let (a, b) = (&stage.changes[a.index], &stage.changes[b.index]);
        if by == 1 {
            a.action.cmp(&b.action)
        } else {
            a.address.cmp(&b.address)
        }
    });
    // Outputs and drift can need a deploy without any changed resource. Their indexes continue
    // after the changes.
    let outputs = stage
        .outputs
        .iter()
        .enumerate()
        .filter(|(_, o)| o.action != Action::NoOp && state.filters.action.is_none());
    let mut outputs = outputs
        .map(|(i, o)| Row::text(format!("output {}", o.name), stage.changes.len() + i))
        .peekable();
    if outputs.peek().is_some() {
        rows.push(Row::heading("outputs"));
        rows.extend(outputs);
    }
    let after = stage.changes.len() + stage.outputs.len();
    let drift = stage
        .drift
        .iter()
        .enumerate()
        .filter(|_| state.filters.action.is_none());
    let mut drift = drift
        .map(|(i, d)| Row::text(format!("drift of {}", d.address), after + i))
        .peekable();
    if drift.peek().is_some() {
        rows.push(Row::heading("drift"));
        rows.extend(drift);
    }
    rows
}

/// Returns the output of a row on the Stage screen.
pub fn output_row<'a>(state: &'a State, row: &Row) -> Option<&'a OutputView> {
    let stage = state.view.stage.as_ref().filter(|_| !row.heading)?;
    stage
        .outputs
        .get(row.index.checked_sub(stage.changes.len())?)
}

/// Returns the drift of a row on the Stage screen.
pub fn drift_row<'a>(state: &'a State, row: &Row) -> Option<&'a DriftView> {
    let stage = state.view.stage.as_ref().filter(|_| !row.heading)?;
    stage.drift.get(
        row.index
            .checked_sub(stage.changes.len() + stage.outputs.len())?,
    )
}

fn rank(s: OperationState) -> u8 {
    match s {
        OperationState::Running => 0,
        OperationState::HalfReplaced => 1,
        OperationState::Failed => 2,
        OperationState::Unknown => 3,
        OperationState::Waiting => 4,
        OperationState::NotAttempted => 5,
        OperationState::Done => 6,
    }
}

pub(super) fn deploy(state: &State) -> (Vec<Row>, usize) {
    let Some((d, _)) = state.shown_deploy() else {
        return (Vec::new(), 0);
    };
    let shows = |s: OperationState| match state.filters.deploy {
        DeployFilter::All => true,
        DeployFilter::Failed => matches!(
            s,
            OperationState::Failed | OperationState::Unknown | OperationState::HalfReplaced
        ),
        DeployFilter::NotAttempted => {
            matches!(s, OperationState::NotAttempted | OperationState::Waiting)
        }
        DeployFilter::Done => s == OperationState::Done,
    };
    let mut all: Vec<_> = d
        .operations
        .iter()
        .enumerate()
        .filter(|(_, o)| shows(o.state))
        .collect();
    // During the deploy, the latest completed operation comes first among the completed ones.
    all.sort_by_key(|(i, o)| {
        let ended =
            o.began.unwrap_or(0) + o.took_ms.and_then(|t| i64::try_from(t).ok()).unwrap_or(0);
        (
            rank(o.state),
            if o.state == OperationState::Done {
                std::cmp::Reverse(ended)
            } else {
                std::cmp::Reverse(0)
            },
            *i,
        )
    });
    // Running operations are sorted first, and stay visible.
    let running = all
        .iter()
        .take_while(|(_, o)| o.state == OperationState::Running)
        .count();
    (
        all.into_iter()
            .map(|(i, o)| Row::text(o.address.as_str(), i))
            .collect(),
        running,
    )
}

pub(super) fn failures(state: &State) -> Vec<Row> {
    state
        .loaded
        .failures
        .iter()
        .flatten()
        .enumerate()
        .map(|(i, g)| Row::text(g.fingerprint.as_str(), i))
        .collect()
}

pub(super) fn logs(state: &State) -> Vec<Row> {
    let shown = state
        .log
        .lines()
        .enumerate()
        .filter(|(_, e)| state.log.is_shown(e));
    shown.map(|(i, e)| Row::number(e.n, i)).collect()
}

pub(super) fn resources(state: &State) -> Vec<Row> {
    let Some(all) = &state.loaded.state_rows else {
        return Vec::new();
    };
    // Loaded rows are already in the order of the tree.
    let order = 0..all.len();
    let row = |i: usize| match &all[i].deposed {
        Some(key) => Row::text(format!("{} (deposed {key})", all[i].address), i),
        None => Row::text(all[i].address.as_str(), i),
    };
    if state.list().sort > 0 {
        return sorted(state, order.map(row).collect(), |by, a, b| {
            let (a, b) = (&all[a.index], &all[b.index]);
            if by == 1 {
                a.provider.cmp(&b.provider)
            } else {
                b.dependents.len().cmp(&a.dependents.len())
            }
        });
    }
    let mut rows = Vec::with_capacity(all.len() + 8);
    let mut last: Option<(&str, &str)> = None;
    for i in 0..all.len() {
        let i = if state.list().descending {
            all.len() - 1 - i
        } else {
            i
        };
        let here = (all[i].module.as_str(), all[i].resource_type.as_str());
        // Rows are sorted by module and type, so a change starts a new heading.
        if last.is_none_or(|l| l.0 != here.0) {
            rows.push(Row::heading(if here.0.is_empty() {
                "root module".to_owned()
            } else {
                here.0.to_owned()
            }));
        }
        if last != Some(here) {
            rows.push(Row::heading(format!(
                "  {}{}",
                if all[i].data { "data " } else { "" },
                here.1
            )));
        }
        last = Some(here);
        rows.push(row(i));
    }
    rows
}

/// Returns the detail of the row under the cursor.
pub fn detail(state: &State) -> Doc {
    state
        .selected()
        .map(|row| (state.context().of().detail)(state, row))
        .unwrap_or_default()
}

/// Returns the search text of a row.
pub fn text(state: &State, context: Context, row: &Row) -> String {
    (context.of().text)(state, row)
}
