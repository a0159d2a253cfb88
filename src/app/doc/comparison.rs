//! Comparison of two deploys: summary, configuration and operations.

use super::change::difference;
use super::{
    Doc, Line, Role, Span, action_role, cells_of, counts, line, operation_sign, outcome_role,
    plain, push_heading, push_text, span,
};
use crate::app::format::{aligned, count, date_s, duration};
use crate::app::state::State;
use crate::app::text::width;
use model::{
    ComparedOperation, DeployComparison, DeploySummary, DifferenceKind, FileDifference,
    OperationDifference,
};

/// Maximum number of operations.
const LISTED: usize = 200;

/// Renders the differences between two deploys.
pub fn comparison(state: &State, c: &DeployComparison) -> Doc {
    let mut doc = summary(state, &c.before, &c.after);
    push_files(c, &mut doc);
    push_operations(&c.operations, &mut doc);
    doc
}

/// Cell of a deploy in the summary.
type Cell = fn(&State, &DeploySummary) -> Span;

/// Rows of the summary.
const ROWS: [(&str, Cell); 5] = [
    ("", |_, d| {
        span(Role::Strong, format!("deploy #{}", d.deploy))
    }),
    ("outcome", |_, d| {
        let (sign, role) = outcome_role(d.outcome);
        span(role, format!("{sign} {}", d.outcome.label()))
    }),
    ("started", |state, d| {
        span(Role::Plain, date_s(d.began, state.utc_offset))
    }),
    ("took", |_, d| {
        let took = d.ended.and_then(|end| u64::try_from(end - d.began).ok());
        span(Role::Plain, took.map_or_else(String::new, duration))
    }),
    ("changes", |_, d| {
        span(Role::Plain, plain(&counts(&d.counts)))
    }),
];

/// Width of the column of the earlier deploy.
const COLUMN: usize = 24;

/// Both deploys side by side.
fn summary(state: &State, before: &DeploySummary, after: &DeploySummary) -> Doc {
    let row = |(name, cell): (&str, Cell)| {
        let (then, now) = (cell(state, before), cell(state, after));
        let gap = " ".repeat(COLUMN.saturating_sub(width(&then.text)));
        let name = span(Role::Dim, format!("{name:<12} "));
        vec![name, then, span(Role::Plain, gap), now]
    };
    ROWS.into_iter().map(row).collect()
}

fn push_files(c: &DeployComparison, doc: &mut Doc) {
    push_heading(doc, "configuration");
    let Some(files) = &c.files else {
        let text = "  not compared: one of the configurations is not stored any more";
        doc.push(line(Role::Dim, text));
        return;
    };
    if files.is_empty() {
        doc.push(line(Role::Dim, "  the same files"));
    }
    doc.extend(file_differences(files));
}

/// Renders files that differ, with their lines.
pub fn file_differences(files: &[FileDifference]) -> Doc {
    let mut doc = Doc::new();
    for file in files {
        let (sign, role) = match file.kind {
            DifferenceKind::Changed => ("~", Role::Update),
            DifferenceKind::New => ("+", Role::Create),
            DifferenceKind::Removed => ("-", Role::Destroy),
        };
        doc.push(vec![
            span(role, format!("  {sign} ")),
            span(Role::Strong, &file.name),
        ]);
        match file.kind {
            DifferenceKind::Changed => doc.extend(difference(&file.texts.0, &file.texts.1)),
            DifferenceKind::New => push_text(&mut doc, role, "      ", &file.texts.1),
            DifferenceKind::Removed => {
                let lines = count(file.texts.0.lines().count(), "line");
                doc.push(line(Role::Dim, format!("      {lines}")));
            }
        }
    }
    doc
}

fn push_operations(all: &[OperationDifference], doc: &mut Doc) {
    push_heading(doc, "operations");
    if all.is_empty() {
        doc.push(line(Role::Dim, "  the same, with similar durations"));
    }
    let shown = &all[..all.len().min(LISTED)];
    let name = shown.iter().map(|d| width(&d.address)).max().unwrap_or(0);
    for d in shown {
        let gap = " ".repeat(name.saturating_sub(width(&d.address)));
        let mut l = vec![span(Role::Plain, format!("  {}{gap}  ", d.address))];
        let then = operation(d.before.as_ref());
        let blank = COLUMN.saturating_sub(cells_of(&then));
        l.extend(then);
        l.push(span(Role::Plain, " ".repeat(blank)));
        l.push(span(Role::Dim, "→ "));
        l.extend(operation(d.after.as_ref()));
        doc.push(l);
    }
    if let more @ 1.. = all.len() - shown.len() {
        doc.push(line(Role::Dim, format!("  and {more} more")));
    }
}

fn operation(o: Option<&ComparedOperation>) -> Line {
    let Some(o) = o else {
        return line(Role::Dim, "no operation");
    };
    let (sign, role) = operation_sign(o.state);
    let took = o.took_ms.map_or_else(String::new, duration);
    vec![
        span(role, format!("{sign} ")),
        span(action_role(o.action), o.action.operation_word()),
        span(Role::Dim, format!("  {}", aligned(took).trim_start())),
    ]
}
