//! Rows of the tree of modules: summaries of the rows below a node, and the detail of a node.

use super::Body;
use crate::app::column::measure;
use crate::app::doc::{self, Doc, Line, Role, action_role, line, span};
use crate::app::format::count;
use crate::app::list::{Place, Row};
use crate::app::state::{Context, State};
use model::view::DeployView;
use model::{Action, ChangeView, OperationState, Readiness};

/// Maximum number of rows in the detail of a node.
const DETAIL_ROWS: usize = 200;

/// Actions in the order of a summary.
const ACTIONS: [Action; 7] = [
    Action::Create,
    Action::Update,
    Action::Replace,
    Action::ReplaceCreateFirst,
    Action::Destroy,
    Action::Read,
    Action::Forget,
];

/// Tree of modules over the rows of a list.
pub struct TreeInfo {
    /// Returns index and address of each row, without filters.
    pub addresses: fn(&State) -> Vec<(usize, &str)>,
    /// Sort orders that the tree replaces, because it is sorted by address.
    pub sorts: &'static [usize],
    /// Returns the cells of a node, for the rows below it that no filter hides.
    pub cells: fn(&State, &Row, &[usize]) -> Vec<Line>,
    /// Returns the column of the cells that has the summary.
    pub summary: usize,
    /// Number of cells of each row in the detail of a node. Notes would not fit.
    pub detail_cells: usize,
}

/// Returns the cells of a node; `None` for other rows.
pub(super) fn node_cells(state: &State, row: &Row) -> Option<Vec<Line>> {
    let info = state.context().of().tree.as_ref()?;
    let node = state.frame.tree.as_ref()?.node(row.node()?.at)?;
    let (shown, hidden) = state.below(node);
    let mut cells = (info.cells)(state, row, &shown);
    if !hidden.is_empty()
        && let Some(summary) = cells.get_mut(info.summary)
    {
        let text = format!("  {} hidden", hidden.len());
        summary.push(span(Role::Dim, text));
    }
    Some(cells)
}

/// Returns the detail of a node: its summary and the rows below it.
pub fn node_detail(state: &State, row: &Row) -> Doc {
    let of = state.context().of();
    let (Some(info), Some(node), Body::Table { cells, .. }) = (&of.tree, state.node(), &of.body)
    else {
        return Doc::new();
    };
    let mut doc = Doc::new();
    let (shown, hidden) = state.below(node);
    doc.push(match state.context() {
        Context::Stage => selection(state, &shown, hidden.len()),
        // The title has the address already.
        Context::State => objects(&shown, hidden.len()),
        _ => node_cells(state, row)
            .and_then(|all| all.into_iter().nth(info.summary))
            .unwrap_or_default(),
    });
    doc.push(Line::new());
    let mut rows = Vec::new();
    for index in shown.iter().take(DETAIL_ROWS) {
        let Some((_, address)) = address_of(state, *index) else {
            continue;
        };
        let mut row = Row::text(address, *index);
        row.place = Some(Place {
            depth: 0,
            name_from: node.name_start(address),
            node: None,
        });
        let mut cells = cells(state, &row);
        cells.truncate(info.detail_cells);
        rows.push(cells);
    }
    doc.extend(aligned(rows));
    if shown.len() > DETAIL_ROWS {
        let more = count(shown.len() - DETAIL_ROWS, "more row");
        doc.push(line(Role::Dim, format!("+ {more}")));
    }
    doc
}

/// Joins the cells of rows in columns; columns without content take no space.
fn aligned(rows: Vec<Vec<Line>>) -> Doc {
    let mut widths = Vec::new();
    rows.iter().for_each(|row| measure(&mut widths, row));
    let join = |row: Vec<Line>| {
        let mut l = Line::new();
        for (cell, width) in row.into_iter().zip(&widths).filter(|(_, w)| **w > 0) {
            let gap = usize::from(*width + 1).saturating_sub(doc::cells_of(&cell));
            l.extend(cell);
            l.push(span(Role::Plain, " ".repeat(gap)));
        }
        l
    };
    rows.into_iter().map(join).collect()
}

fn address_of(state: &State, index: usize) -> Option<(usize, &str)> {
    let tree = state.frame.tree.as_ref()?;
    Some((index, tree.address(tree.position(index)?)))
}

/// Cells of a node on the Stage screen.
pub(super) fn stage_cells(state: &State, row: &Row, below: &[usize]) -> Vec<Line> {
    let Some(stage) = &state.view.stage else {
        return Vec::new();
    };
    let changes = below.iter().filter_map(|i| stage.changes.get(*i));
    let changed: Vec<&ChangeView> = changes.filter(|c| c.is_selectable()).collect();
    if let Some(deploy) = state.deploy_of_stage() {
        return applied_cells(deploy, row, &changed);
    }
    let is_selected = |c: &&&ChangeView| !state.view.left.contains(&c.address);
    let (all, selected) = (changed.len(), changed.iter().filter(is_selected).count());
    let (mark, role) = match selected {
        _ if all == 0 => (Line::new(), Role::Dim),
        0 => (line(Role::Dim, "[ ]"), Role::Dim),
        n => (
            vec![
                span(Role::Dim, "["),
                span(Role::Ok, if n == all { "x" } else { "◪" }),
                span(Role::Dim, "]"),
            ],
            Role::Plain,
        ),
    };
    let mut note = Line::new();
    // The rows below an unfolded node show their own selection.
    if all > 0 && (selected < all || row.node().is_some_and(|n| n.folded)) {
        note.push(span(Role::Plain, format!("{selected} of {all} selected")));
        // An empty bar looks like a rule.
        if selected > 0 {
            note.push(doc::omittable(Role::Plain, " "));
            note.extend(doc::gauge(Role::Ok, selected, all, 5));
        }
    }
    vec![
        mark,
        Line::new(),
        counted_label(role, row, count_actions(&changed, selected == 0)),
        Line::new(),
        note,
    ]
}

/// Label of a node with the numbers of its changes.
fn counted_label(role: Role, row: &Row, counts: Line) -> Line {
    let gap = span(Role::Plain, "  ");
    doc::row_label(role, row)
        .into_iter()
        .chain([gap])
        .chain(counts)
        .collect()
}

/// First line of the detail of a node on the Stage screen: its changes, and a bar of the selected
/// ones.
fn selection(state: &State, shown: &[usize], hidden: usize) -> Line {
    let changes = state.view.stage.iter().flat_map(|s| &s.changes);
    let changes: Vec<&ChangeView> = changes.collect();
    let changed = shown.iter().filter_map(|i| changes.get(*i).copied());
    let changed: Vec<&ChangeView> = changed.filter(|c| c.is_selectable()).collect();
    let mut l = count_actions(&changed, false);
    if state.deploy_of_stage().is_none() {
        let is_selected = |c: &&&ChangeView| !state.view.left.contains(&c.address);
        let (all, selected) = (changed.len(), changed.iter().filter(is_selected).count());
        l.push(span(Role::Plain, " "));
        l.extend(doc::gauge(Role::Ok, selected, all, 20));
        l.push(span(Role::Plain, format!(" {selected} of {all} selected")));
    }
    if hidden > 0 {
        l.push(span(Role::Dim, format!("  {hidden} hidden")));
    }
    l
}

/// Renders the numbers of changes by action, without zeros.
fn count_actions(changed: &[&ChangeView], dim: bool) -> Line {
    let mut l = Line::new();
    let imports = changed.iter().filter(|c| c.import.is_some()).count();
    if imports > 0 {
        let role = if dim { Role::Dim } else { Role::Read };
        l.push(span(role, format!("←{imports} ")));
    }
    for action in ACTIONS {
        let n = changed.iter().filter(|c| c.action == action).count();
        if n > 0 {
            let role = if dim { Role::Dim } else { action_role(action) };
            l.push(span(role, format!("{}{n} ", action.sign())));
        }
    }
    l
}

/// Cells of a node of a stage that a deploy uses or has used.
fn applied_cells(deploy: &DeployView, row: &Row, changed: &[&ChangeView]) -> Vec<Line> {
    let states: Vec<OperationState> = changed
        .iter()
        .filter_map(|c| deploy.operation(&c.address))
        .map(|o| o.state)
        .collect();
    let done = states.iter().filter(|s| **s == OperationState::Done);
    let mut summary = line(Role::Plain, format!("{} done", done.count()));
    let unfinished = count_unfinished(&states);
    if !unfinished.is_empty() {
        summary.push(span(Role::Dim, " · "));
        summary.extend(unfinished);
    }
    if states.len() < changed.len() {
        let n = changed.len() - states.len();
        summary.push(span(Role::Dim, format!(" · {n} not selected")));
    }
    let (sign, role) = if states.is_empty() {
        ("–", Role::Dim)
    } else {
        worst(&states)
    };
    vec![
        line(role, format!(" {sign}")),
        Line::new(),
        counted_label(Role::Plain, row, count_actions(changed, true)),
        Line::new(),
        summary,
    ]
}

/// Cells of a node on the Deploy screen.
pub(super) fn deploy_cells(state: &State, row: &Row, below: &[usize]) -> Vec<Line> {
    let Some((deploy, _)) = state.shown_deploy() else {
        return Vec::new();
    };
    let operations = below.iter().filter_map(|i| deploy.operations.get(*i));
    let states: Vec<OperationState> = operations.map(|o| o.state).collect();
    let done = states.iter().filter(|s| **s == OperationState::Done);
    let (done, (sign, role)) = (done.count(), worst(&states));
    let name = if done == states.len() {
        Role::Dim
    } else {
        Role::Plain
    };
    vec![
        line(role, sign),
        Line::new(),
        doc::row_label(name, row),
        line(Role::Plain, format!("{done}/{} done", states.len())),
        Line::new(),
        count_unfinished(&states),
    ]
}

/// Renders the numbers of operations by state, without the completed ones.
fn count_unfinished(states: &[OperationState]) -> Line {
    let mut l = Line::new();
    for (state, role, word) in [
        (OperationState::Running, Role::Busy, "running"),
        (OperationState::HalfReplaced, Role::Bad, "half replaced"),
        (OperationState::Failed, Role::Bad, "failed"),
        (OperationState::Unknown, Role::Warn, "unknown"),
        (OperationState::Waiting, Role::Dim, "waiting"),
        (OperationState::NotAttempted, Role::Warn, "not attempted"),
    ] {
        let n = states.iter().filter(|s| **s == state).count();
        if n > 0 {
            let separator = if l.is_empty() { "" } else { " · " };
            l.push(span(Role::Dim, separator));
            l.push(span(role, format!("{n} {word}")));
        }
    }
    l
}

/// Symbol of the state that needs the most attention.
fn worst(states: &[OperationState]) -> (&'static str, Role) {
    const ORDER: [OperationState; 6] = [
        OperationState::HalfReplaced,
        OperationState::Failed,
        OperationState::Unknown,
        OperationState::Running,
        OperationState::Waiting,
        OperationState::NotAttempted,
    ];
    let worst = ORDER.into_iter().find(|s| states.contains(s));
    super::deploy::symbol(worst.unwrap_or(OperationState::Done))
}

/// First line of the detail of a node on the State screen.
fn objects(shown: &[usize], hidden: usize) -> Line {
    let mut l = line(Role::Plain, count(shown.len(), "resource"));
    if hidden > 0 {
        l.push(span(Role::Dim, format!("  {hidden} hidden")));
    }
    l
}

/// Cells of a node on the State screen.
pub(super) fn state_cells(state: &State, row: &Row, below: &[usize]) -> Vec<Line> {
    let rows = state.loaded.state_rows.as_deref().unwrap_or_default();
    let below = || below.iter().filter_map(|i| rows.get(*i));
    let tainted = below().filter(|r| r.tainted).count();
    let drifted = below().filter(|r| r.drift.is_some()).count();
    let (word, role) = if tainted > 0 {
        (format!("✗ {tainted} tainted"), Role::Bad)
    } else if drifted > 0 {
        (format!("~ {drifted} drift"), Role::Warn)
    } else {
        (String::new(), Role::Plain)
    };
    let observed = || below().filter_map(|r| r.observation.as_ref());
    let missing = observed().filter(|o| !o.exists).count();
    let ready = observed().filter_map(|o| o.readiness);
    let unready = ready.filter(|r| *r != Readiness::Available).count();
    let differing = observed().filter(|o| !o.drift.is_empty()).count();
    let number = |n: usize, role, text: String| match n {
        0 => Line::new(),
        _ => line(role, text),
    };
    let n = count(below().count(), "resource");
    let mut label = doc::row_label(Role::Plain, row);
    label.push(span(Role::Dim, format!("  {n}")));
    vec![
        label,
        line(role, word),
        number(missing, Role::Bad, format!("✗ {missing} no")),
        number(unready, Role::Warn, format!("{unready} not ready")),
        number(differing, Role::Dim, differing.to_string()),
        Line::new(),
        Line::new(),
        Line::new(),
        Line::new(),
    ]
}
