//! Start screen: what the operator should settle, or what to do next.

use super::{Body, Context, ContextInfo, DetailPlace, ScreenInfo, push_keys};
use crate::app::column::{Column, Width, column};
use crate::app::command::{can_apply, can_retry};
use crate::app::doc::{self, Doc, Line, Role, line, outcome_role, span};
use crate::app::format::{count, elapsed};
use crate::app::layout;
use crate::app::list::Row;
use crate::app::state::State;
use crate::app::unsettled::{Unsettled, detail, newest_deploy, unsettled};
use model::DeployOutcome;
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(super) const SCREEN: ScreenInfo = ScreenInfo {
    current: |_| Context::Start,
    load: || None,
};

pub(super) const START: ContextInfo = ContextInfo {
    title: "Start",
    body: Body::Table {
        columns: COLUMNS,
        cells,
    },
    detail_place: DetailPlace::Below,
    rows: |state| {
        let all = unsettled(state);
        let rows = all.iter().enumerate();
        (rows.map(|(i, u)| Row::text(&*u.key, i)).collect(), 0)
    },
    text: |state, row| {
        with_row(state, row, |u| format!("{} {}", u.word, u.text)).unwrap_or_default()
    },
    detail: |state, row| {
        let mut doc = with_row(state, row, |u| detail(state, &u)).unwrap_or_default();
        doc.push(Line::new());
        doc.extend(overview(state, layout::detail_size(state).0));
        doc
    },
    head: Some(|state, row| {
        let head = |u: Unsettled| line(u.role, format!("{} {}", u.sign, u.word));
        with_row(state, row, head).unwrap_or_default()
    }),
    write_subject,
    empty: |state| Some(empty(state)),
    ..ContextInfo::DEFAULT
};

const COLUMNS: &[Column] = &[
    column("TO SETTLE", Width::Content(0), 0),
    column("REASON", Width::Fill(48, 5), 0),
    column("KEY", Width::Content(0), 1),
    column("EFFECT", Width::Content(0), 2),
];

/// Applies a function to the thing of a row.
fn with_row<T>(state: &State, row: &Row, f: impl FnOnce(Unsettled) -> T) -> Option<T> {
    unsettled(state).into_iter().nth(row.index).map(f)
}

fn cells(state: &State, row: &Row) -> Vec<Line> {
    let cells = |u: Unsettled| {
        let (key, effect) = match u.commands.first() {
            Some((name, effect)) => (state.options.keys.first(name), *effect),
            None => (String::new(), ""),
        };
        vec![
            line(u.role, format!("{} {}", u.sign, u.word)),
            line(Role::Plain, &u.text),
            line(Role::Key, key),
            line(Role::Dim, effect),
        ]
    };
    with_row(state, row, cells).unwrap_or_default()
}

fn write_subject(state: &State, l: &mut Line) {
    l.push(span(Role::Strong, "start"));
    let all = unsettled(state);
    match all.iter().filter(|u| u.role != Role::Dim).count() {
        _ if !state.place.configured => {}
        0 if all.is_empty() => l.push(span(Role::Dim, " · nothing to settle")),
        0 => l.push(span(
            Role::Dim,
            format!(" · {} to settle, not urgent", all.len()),
        )),
        n => l.push(span(Role::Warn, format!(" · {n} to settle"))),
    }
}

/// Says that nothing is to be settled, and what to do next.
fn empty(state: &State) -> Doc {
    // Before the history is loaded, a failed deploy could still appear.
    if state.view.deploy.is_none() && state.loaded.history.is_none() {
        return vec![line(Role::Dim, "Loading the history…")];
    }
    let mut doc = vec![line(Role::Ok, "✓ Nothing to settle."), Line::new()];
    let cells = usize::from(layout::areas(state).list.width);
    doc.extend(overview(state, cells.saturating_sub(2)));
    doc
}

/// Facts beside the next keys, and the last deploys.
fn overview(state: &State, cells: usize) -> Doc {
    let mut facts = vec![line(Role::Heading, "Overview")];
    push_facts(&mut facts, state);
    let mut next = vec![line(Role::Heading, "Next")];
    push_keys(&mut next, &next_keys(state));
    let mut doc = doc::beside(facts, next, cells);
    doc::push_deploys(state, &mut doc, "Last deploys", None);
    push_types(state, &mut doc);
    doc
}

/// Maximum number of resource types in the overview.
const TYPES: usize = 8;

/// Most cells of the bar of a number of objects.
const BAR_CELLS: usize = 24;

/// Counts the objects in the state by type, most first.
fn push_types(state: &State, doc: &mut Doc) {
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    for row in state.loaded.state_rows.iter().flatten() {
        *types.entry(&row.resource_type).or_default() += 1;
    }
    let mut types: Vec<(&str, usize)> = types.into_iter().collect();
    types.sort_by_key(|(_, n)| Reverse(*n));
    let Some((_, most)) = types.first().copied().filter(|_| !state.is_deploying()) else {
        return;
    };
    let others: usize = types.iter().skip(TYPES).map(|(_, n)| n).sum();
    types.truncate(TYPES);
    let name = types.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    doc::push_heading(doc, "Objects by type");
    doc.extend(types.into_iter().map(|(name_of, n)| {
        let bar = "━".repeat((n * BAR_CELLS / most).max(1));
        vec![
            span(Role::Plain, format!("  {name_of:<name$}  {n:>5}  ")),
            doc::omittable(Role::Heading, bar),
        ]
    }));
    if others > 0 {
        doc.push(line(Role::Dim, format!("  and {others} of other types")));
    }
}

/// Appends running work, the last deploy, the stage, the plugins and the state.
fn push_facts(doc: &mut Doc, state: &State) {
    let mut facts = vec![("now", running(state))];
    facts.push((
        "last deploy",
        newest_deploy(state).map(|d| {
            let (sign, role) = outcome_role(d.outcome);
            let ago = elapsed(state.now - d.ended.unwrap_or(d.began));
            vec![
                span(Role::Strong, format!("#{} ", d.deploy)),
                span(role, format!("{sign} {}", d.outcome.label())),
                span(Role::Dim, format!(" {ago} ago, {}", d.operations.text())),
            ]
        }),
    ));
    facts.push(("meanwhile", meanwhile(state)));
    facts.push(("failures", open_failures(state)));
    facts.push(("stage", staged(state)));
    facts.push(("plugins", plugins(state)));
    // A deploy changes the state, and the rows are those from before it.
    if !state.is_deploying() {
        facts.push(("state", objects(state)));
    }
    for (name, value) in facts {
        if let Some(value) = value {
            let name = span(Role::Dim, format!("  {name:<12} "));
            doc.push(std::iter::once(name).chain(value).collect());
        }
    }
}

/// Maximum number of deploys in a fact.
const NAMED: usize = 3;

/// Names the deploys since the last console of the workspace; `None` without any.
fn meanwhile(state: &State) -> Option<Line> {
    let all: Vec<_> = state.deploys_meanwhile().collect();
    let text = format!("{} since you left:", count(all.len(), "deploy"));
    let mut l = line(Role::Plain, text);
    for d in all.iter().take(NAMED) {
        let (sign, role) = outcome_role(d.outcome);
        l.push(span(Role::Strong, format!(" #{} ", d.deploy)));
        l.push(span(role, format!("{sign} {}", d.outcome.label())));
        l.push(span(Role::Dim, format!(" {}@{}", d.who, d.host)));
    }
    if all.len() > NAMED {
        l.push(span(Role::Dim, format!(" +{} more", all.len() - NAMED)));
    }
    (!all.is_empty()).then_some(l)
}

/// Counts the failures whose resources have not succeeded since; `None` without any.
fn open_failures(state: &State) -> Option<Line> {
    let all = state.loaded.failures.iter().flatten();
    let open = all.filter(|g| g.solved_in.is_none() && !g.addresses.is_empty());
    let all: Vec<_> = open.collect();
    let newest = all.iter().max_by_key(|g| g.last)?;
    let mut l = line(Role::Warn, format!("{} open", all.len()));
    l.push(span(Role::Dim, ", newest "));
    l.push(span(
        Role::Plain,
        format!("{}: {}", newest.class.label(), newest.summary),
    ));
    Some(l)
}

/// Counts the plugins as the header does; `None` without plugins.
fn plugins(state: &State) -> Option<Line> {
    let counts = doc::PluginCounts::of(state);
    let failed = counts.failed - counts.unused;
    let unused = format!("{} (unused)", counts.failed_word);
    let mut l = Line::new();
    for (n, word, role) in [
        (counts.ready, "ready", Role::Ok),
        (counts.idle, "idle", Role::Dim),
        (counts.starting, "starting", Role::Busy),
        (counts.retrying, "retrying", Role::Warn),
        (failed, counts.failed_word, Role::Bad),
        (counts.unused, &*unused, Role::Dim),
    ] {
        if n > 0 {
            let gap = if l.is_empty() { "" } else { ", " };
            l.push(span(Role::Dim, gap));
            l.push(span(role, format!("{n} {word}")));
        }
    }
    (!l.is_empty()).then_some(l)
}

/// Counts the objects and outputs of the state.
fn objects(state: &State) -> Option<Line> {
    let rows = state.loaded.state_rows.as_ref()?;
    let mut text = count(rows.len(), "object");
    let outputs = state.loaded.outputs.as_ref().map_or(0, Vec::len);
    if outputs > 0 {
        text = format!("{text}, {}", count(outputs, "output"));
    }
    Some(line(Role::Plain, text))
}

/// Describes running work.
fn running(state: &State) -> Option<Line> {
    let deploy = state.view.deploy.as_ref().filter(|d| d.summary.is_none());
    let starting = state.view.plugins.values();
    let starting = starting.filter(|p| doc::status(&p.state).2 == Role::Busy);
    let text = match (deploy, &state.view.staging, starting.count()) {
        (Some(d), ..) => format!("◐ deploy #{} is running", d.deploy),
        (None, Some(s), _) => format!("◐ stage #{} is being planned", s.stage),
        (None, None, 0) => return None,
        (None, None, n) => format!("◐ {} starting", count(n, "plugin")),
    };
    Some(line(Role::Busy, text))
}

/// Describes the stage.
fn staged(state: &State) -> Option<Line> {
    let s = state.view.stage.as_ref()?;
    let all = s.changes.iter().filter(|c| c.is_selectable());
    let (all, selected) = (all.count(), state.selected_changes().count());
    let text = match (state.applied(), all) {
        (Some(d), _) => format!("applied by deploy #{}", d.deploy),
        (None, _) if state.view.outdated().is_some() => "out of date".to_owned(),
        (None, 0) if can_apply(state).is_ok() => "changes only outputs or the state".to_owned(),
        (None, 0) => "no changes".to_owned(),
        (None, _) => format!("{selected} of {all} changes selected"),
    };
    let number = span(Role::Strong, format!("#{} ", s.stage));
    Some(vec![number, span(Role::Plain, text)])
}

fn next_keys(state: &State) -> Vec<(&'static str, &'static str)> {
    let is_open =
        state.view.stage.is_some() && state.view.outdated().is_none() && state.applied().is_none();
    let mut keys = Vec::new();
    if state.is_deploying() {
        keys.push(("4", "shows the running deploy"));
    } else if is_open && can_apply(state).is_ok() {
        keys.push(("3", "shows the stage; a there applies it"));
    } else if can_retry(state).is_ok() {
        keys.push(("t", "stages what failed or was not attempted"));
    } else {
        keys.push(("s", "stages the changes; it changes nothing"));
    }
    keys.push(("1", "shows the plugins"));
    let succeeded = newest_deploy(state).is_some_and(|d| d.outcome == DeployOutcome::Succeeded);
    if succeeded {
        keys.push(("6", "shows the resources"));
    }
    keys.push(("5", "shows earlier deploys"));
    keys.push(("?", "lists all keys"));
    keys
}
