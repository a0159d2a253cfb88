//! Plugins screen: plugins with their processes, launches and usage; and the schema browser.

mod schema;

pub(super) use schema::SCHEMA;
pub use schema::is_unfolded;

use super::{Body, Context, ContextInfo, DetailPlace, ScreenInfo, push_keys};
use crate::app::column::{Column, Width, column, number};
use crate::app::doc::{self, Doc, Line, Role, line, push_text, span};
use crate::app::filter::Field;
use crate::app::format::{bytes, count, duration, elapsed, until};
use crate::app::list::{Row, ascending};
use crate::app::rows::sorted;
use crate::app::state::{PluginTab, State};
use crate::app::unsettled::{resources_of, unused_in};
use model::natural_cmp;
use model::view::PluginView;
use model::{PluginId, PluginState};
use std::collections::BTreeSet;

pub(super) const SCREEN: ScreenInfo = ScreenInfo {
    current,
    load: || None,
};

pub(super) const PLUGINS: ContextInfo = ContextInfo {
    title: "Plugins",
    body: Body::Table {
        columns: COLUMNS,
        cells,
    },
    detail_place: DetailPlace::Below,
    sorts: &[
        ascending("name", "PLUGIN"),
        ascending("state", "STATE"),
        ascending("memory", "MEM"),
        ascending("processor", "CPU"),
        ascending("95th percentile", "P95"),
    ],
    rows: |state| (rows(state), 0),
    text,
    fields: FIELDS,
    field,
    detail,
    write_detail_title,
    write_subject,
    first_keys: |state| match state.plugin() {
        Some(p) if p.state.has_process() => &[
            "open",
            "plugin-logs",
            "plugin-restart",
            "plugin-stop",
            "pane-next",
            "pane",
        ],
        // The reason of a failure comes before another try, which mostly fails again.
        _ => &["plugin-logs", "plugin-restart", "open", "pane-next", "pane"],
    },
    empty: |state| Some(empty(state)),
    ..ContextInfo::DEFAULT
};

fn current(state: &State) -> Context {
    let zoomed = state.lists[Context::Plugins as usize].zoom;
    if zoomed && state.filters.plugin_tab == PluginTab::Schema {
        Context::Schema
    } else {
        Context::Plugins
    }
}

// Widths are those of the longest values, so that a change of state moves no column.
const COLUMNS: &[Column] = &[
    column("STATE", Width::Content(15), 0),
    column("PLUGIN", Width::Key(24), 0),
    column("VERSION", Width::Flex(7, 1), 4),
    number("LAUNCH", 6, 2),
    number("UP", 6, 3),
    number("↻", 0, 5),
    number("CPU", 4, 7),
    number("MEM", 5, 7),
    number("RUNNING", 0, 6),
    column("CALLS, 60 S", Width::Content(0), 5),
    number("P95", 5, 8),
    column("LAST OUTPUT", Width::Flex(34, 4), 1),
];

const FIELDS: &[Field] = &[Field {
    name: "state",
    values: &[
        "discovered",
        "rejected",
        "launching",
        "handshaking",
        "registering",
        "ready",
        "draining",
        "stopped",
        "idle",
        "backoff",
        "crashed",
        "gave-up",
        "incompatible",
        "disabled",
    ],
}];

fn field(state: &State, row: &Row, _: &str) -> String {
    let plugin = state.view.plugins.values().nth(row.index);
    plugin.map_or_else(String::new, |p| p.state.label().replace(' ', "-"))
}

/// Rows of the plugins, each with its idle, starting and draining processes below it; then the
/// orphaned processes.
fn rows(state: &State) -> Vec<Row> {
    let all: Vec<_> = state.view.plugins.values().collect();
    let rows = all.iter().enumerate().map(|(i, p)| Row::text(&*p.id.0, i));
    let mut rows: Vec<Row> = rows.collect();
    rows.sort_by(|a, b| natural_cmp(&all[a.index].id.0, &all[b.index].id.0));
    let rows = sorted(state, rows, |by, a, b| {
        let (a, b) = (all[a.index], all[b.index]);
        let p95 = |id| state.view.p95_ms(id);
        match by {
            1 => a.state.label().cmp(b.state.label()),
            2 => a
                .usage
                .map(|u| u.rss_bytes)
                .cmp(&b.usage.map(|u| u.rss_bytes)),
            3 => a
                .usage
                .map_or(0.0, |u| u.cpu_percent)
                .total_cmp(&b.usage.map_or(0.0, |u| u.cpu_percent)),
            _ => p95(&a.id).cmp(&p95(&b.id)),
        }
    });
    // Draining, idle and renewed processes are headings below their plugin.
    let below = |row: Row| {
        let said = doc::processes(state, all[row.index]);
        let left: Vec<Row> = said
            .iter()
            .map(|text| Row::heading(format!("  └ {text}")))
            .collect();
        std::iter::once(row).chain(left)
    };
    let mut rows: Vec<Row> = rows.into_iter().flat_map(below).collect();
    let orphans = &state.view.orphans;
    if !orphans.is_empty() {
        let key = state.options.keys.first("orphans");
        let head = format!("orphaned processes ({}); {key} ends them", orphans.len());
        // Orphans are headings, because commands of a plugin do not apply to them.
        rows.push(Row::heading(head));
        let each = orphans.iter().map(|o| doc::orphan(state, o));
        rows.extend(each.map(|text| Row::heading(format!("  {text}"))));
    }
    rows
}

fn text(state: &State, row: &Row) -> String {
    let Some(p) = state.view.plugins.values().nth(row.index) else {
        return String::new();
    };
    let found = p.found.as_ref();
    let transform = found.and_then(|f| f.transform.as_deref());
    format!(
        "{} {} {} {}",
        row.key.text().unwrap_or_default(),
        p.state.label(),
        found.map_or("", |f| f.address.as_str()),
        transform.unwrap_or_default()
    )
}

/// Time since the plugin is ready.
fn uptime(state: &State, p: &PluginView) -> Line {
    match &p.state {
        PluginState::Ready { since: at } => line(Role::Plain, elapsed(state.now - at)),
        _ => Line::new(),
    }
}

/// State of the plugin, or the time until its next launch.
fn status(state: &State, p: &PluginView) -> Line {
    let (symbol, word, role) = doc::status(&p.state);
    match &p.state {
        PluginState::Backoff { until: at, .. } => {
            line(role, format!("{symbol} retry {}", until(at - state.now)))
        }
        _ => line(role, format!("{symbol} {word}")),
    }
}

/// Number of the current launch, and the limit; blank for a first launch, which is usual.
fn launch_count(p: &PluginView) -> Line {
    let (number, limit) = match (&p.state, p.attempt()) {
        (
            PluginState::Launching { attempt, limit }
            | PluginState::Handshaking { attempt, limit }
            | PluginState::Registering { attempt, limit }
            | PluginState::Backoff { attempt, limit, .. },
            _,
        ) => (*attempt, *limit),
        (_, Some(a)) => (a.number, a.limit),
        (_, None) => return Line::new(),
    };
    match number {
        1 => Line::new(),
        _ => line(Role::Plain, format!("{number} of {limit}")),
    }
}

/// Last output line of the plugin; preceded by the name of the transform for a transformer.
fn last_output(p: &PluginView) -> String {
    let transform = p.found.as_ref().and_then(|f| f.transform.as_deref());
    let kind = p.is_transformer().then(|| match transform {
        Some(name) => format!("transformer {name:?}"),
        None => "transformer".to_owned(),
    });
    let parts: Vec<String> = kind.into_iter().chain(p.last_line.clone()).collect();
    parts.join(" · ")
}

/// Cells of a plugin.
fn cells(state: &State, row: &Row) -> Vec<Line> {
    let Some(p) = row
        .key
        .text()
        .and_then(|k| state.view.plugins.get(&PluginId(k.into())))
    else {
        return Vec::new();
    };
    let (_, _, role) = doc::status(&p.state);
    let found = p.found.as_ref();
    let in_call = state
        .view
        .calls
        .values()
        .filter(|c| c.plugin == p.id && c.started_at.is_some())
        .count();
    // Calls of draining processes are shown with those processes.
    let left: u64 = p.leaving.iter().map(|l| l.calls).sum();
    let in_call = in_call.saturating_sub(usize::try_from(left).unwrap_or(usize::MAX));
    // The detail has the complete reason; its beginning is the same for many causes.
    let words = match p.state.unavailable_reason() {
        Some(why) => line(role, p.attempts.back().and_then(doc::cause).unwrap_or(why)),
        None => line(Role::Dim, last_output(p)),
    };
    vec![
        status(state, p),
        vec![doc::address(Role::Strong, &p.id.0)],
        found
            .and_then(|f| f.version.as_ref())
            .map_or_else(Line::new, |v| line(Role::Plain, v)),
        launch_count(p),
        uptime(state, p),
        doc::nonzero(
            Role::Warn,
            usize::try_from(p.restarts).unwrap_or(usize::MAX),
        ),
        measured(p.usage.map(|u| format!("{:.0}%", u.cpu_percent))),
        measured(p.usage.map(|u| bytes(u.rss_bytes))),
        in_calls(p, in_call),
        recent_calls(state, p),
        measured(state.view.p95_ms(&p.id).map(duration)),
        words,
    ]
}

/// Cell of a measured value, blank until it is measured.
fn measured(value: Option<String>) -> Line {
    value.map_or_else(Line::new, |value| line(Role::Plain, value))
}

/// Seconds of a cell of the recent calls, and number of its cells.
const RECENT: (usize, usize) = (5, 12);

/// Cell of the calls that finished in the last minute.
fn recent_calls(state: &State, p: &PluginView) -> Line {
    let samples = state.samples.by_plugin.get(&p.id);
    samples.map_or_else(Line::new, |samples| {
        doc::sparkline(Role::Ok, &samples.finished, RECENT, doc::sum)
    })
}

/// Cell of the number of calls in progress.
fn in_calls(p: &PluginView, n: usize) -> Line {
    match n {
        0 if p.state.has_process() && !p.is_builtin() => line(Role::Dim, "0"),
        n => doc::nonzero(Role::Busy, n),
    }
}

fn detail(state: &State, _: &Row) -> Doc {
    let Some(p) = state.plugin() else {
        return Doc::new();
    };
    match state.filters.plugin_tab {
        PluginTab::Attempts => doc::launches(state, p),
        PluginTab::Schema => {
            doc::schema_text(p, state.loaded.schemas.get(&p.id).map(Vec::as_slice))
        }
        PluginTab::Calls => doc::calls(state, p),
        PluginTab::Logs => doc::logs(state, p),
        PluginTab::About => doc::found(state, p),
    }
}

fn write_subject(state: &State, l: &mut Line) {
    let list = &state.lists[Context::Plugins as usize];
    if let (true, Some(p)) = (list.zoom, state.plugin()) {
        let (symbol, word, role) = doc::status(&p.state);
        l.push(span(Role::Strong, &p.id.0));
        l.push(span(role, format!("  {symbol} {word}  ")));
        tabs(state, l);
        return;
    }
    write_counts(state, l);
}

/// Appends the counts of the plugins, and the effect of those that failed. The rows have the
/// colour of a failure.
fn write_counts(state: &State, l: &mut Line) {
    let counts = doc::PluginCounts::of(state);
    l.push(span(Role::Strong, "plugins"));
    let ready = counts.ready_of_all();
    for (role, n, text) in [
        (Role::Plain, counts.all, format!("{ready} ready")),
        (Role::Dim, counts.idle, format!("{} idle", counts.idle)),
        (
            Role::Busy,
            counts.starting,
            format!("{} starting", counts.starting),
        ),
        (
            Role::Warn,
            counts.retrying,
            format!("{} retrying", counts.retrying),
        ),
        (
            Role::Plain,
            counts.failed,
            format!("{} {}", counts.failed, counts.failed_word),
        ),
    ] {
        if n > 0 {
            l.push(span(role, format!(" · {text}")));
        }
    }
    if let Some(effect) = failure_effect(state) {
        l.push(span(Role::Plain, format!(": {effect}")));
    }
}

/// Consequence of the failed plugins for the resources; `None` if no provider failed.
fn failure_effect(state: &State) -> Option<String> {
    // Transformers are excluded: no resource needs them.
    let failed = state.view.plugins.values();
    let failed = failed.filter(|p| p.state.is_failed() && !p.is_transformer());
    let used: Vec<&PluginView> = failed
        .clone()
        .filter(|p| unused_in(state, p).is_none())
        .collect();
    let found = used.iter().filter_map(|p| p.found.as_ref());
    let addresses = found.map(|f| &f.address).filter(|a| !a.is_empty());
    let resources: BTreeSet<&str> = addresses.flat_map(|a| resources_of(state, a)).collect();
    let (subject, object) = match failed.count() {
        0 => return None,
        1 => ("its", "it"),
        _ => ("their", "them"),
    };
    Some(match (used.len(), resources.len()) {
        (0, _) => format!("nothing uses {object}"),
        (_, 0) => format!("{subject} resources, if any, cannot be staged or applied"),
        (_, n) => format!("{} cannot be staged or applied", count(n, "resource")),
    })
}

fn tabs(state: &State, l: &mut Line) {
    for tab in PluginTab::ALL {
        let role = if tab == state.filters.plugin_tab {
            Role::Key
        } else {
            Role::Dim
        };
        l.push(span(
            role,
            if tab == state.filters.plugin_tab {
                format!("[{}]", tab.label())
            } else {
                format!(" {} ", tab.label())
            },
        ));
    }
}

fn write_detail_title(state: &State, l: &mut Line) {
    if let Some(p) = state.plugin() {
        l.push(span(Role::Strong, format!(" {} ", p.id)));
        tabs(state, l);
        l.push(span(Role::Plain, " "));
    }
}

fn empty(state: &State) -> Doc {
    let mut doc = Doc::new();
    if state.cannot_be_read() {
        absent(state, &mut doc);
        return doc;
    }
    if let Some(e) = &state.loaded.load_error {
        super::explain_load_error(e, &mut doc);
        push_keys(&mut doc, &[("L", "reads it again after an edit")]);
        return doc;
    }
    doc.push(line(Role::Heading, "No plugins yet"));
    let why =
        "The configuration names no provider that runs as a plugin, or it has not been read yet.";
    doc.push(line(Role::Plain, why));
    let loads = "reads the configuration and launches its plugins";
    push_keys(&mut doc, &[("L", loads), ("3", "goes to the Stage screen")]);
    doc
}

/// Explains an unreadable configuration: missing modules, or an uninitialized backend.
fn absent(state: &State, doc: &mut Doc) {
    let absent = &state.view.absent;
    let (head, what) = match absent.modules.is_empty() {
        true => (
            "The backend is not initialized",
            "initializes it; asks first",
        ),
        false => ("Modules are not installed", "installs them; asks first"),
    };
    doc.push(line(Role::Heading, head));
    if let Some(why) = &absent.backend {
        push_text(doc, Role::Plain, "", why);
    }
    if !absent.modules.is_empty() {
        let names = absent.modules.join(", ");
        doc.push(line(
            Role::Plain,
            format!("The configuration calls modules that are not installed: {names}."),
        ));
    }
    push_keys(
        doc,
        &[
            (&state.options.keys.first("init"), what),
            ("L", "reads the configuration again"),
        ],
    );
}
