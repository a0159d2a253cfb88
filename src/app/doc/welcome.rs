//! Contents of empty screens: the reason and the next steps.

use super::{Doc, Line, Role, fit_line, line, span, wrap};
use crate::app::screens::push_keys;
use crate::app::state::{Context, State};

/// Renders the notes.
pub fn notes(state: &State) -> Doc {
    // The first steps of the demo are known once there is a stage, or another view is open.
    let is_first = matches!(state.context(), Context::Start | Context::Plugins);
    if state.view.stage.is_some() || !is_first {
        return Doc::new();
    }
    let cells = usize::from(state.frame.size.0).saturating_sub(2);
    let doc = state.frame.notes.iter().map(|n| line(Role::Busy, n));
    // A small screen has one line per note only.
    if state.frame.size.1 < 30 {
        doc.map(|l| fit_line(l, cells)).collect()
    } else {
        wrap(&doc.collect(), cells)
    }
}

fn not_configured(state: &State) -> Doc {
    let mut doc = vec![line(Role::Heading, "Welcome to flightdeck"), Line::new()];
    doc.push(line(
        Role::Plain,
        format!(
            "There is no configuration in {} yet.",
            state.place.directory
        ),
    ));
    doc.push(Line::new());
    doc.push(line(
        Role::Plain,
        "Create a file main.tf in this directory; flightdeck reads it as soon as it is there:",
    ));
    doc.push(Line::new());
    for l in [
        "resource \"terraform_data\" \"hello\" {",
        "  input = \"world\"",
        "}",
    ] {
        doc.push(line(Role::Read, format!("    {l}")));
    }
    doc.push(Line::new());
    doc.push(line(Role::Plain, "Then press"));
    push_keys(
        &mut doc,
        &[
            ("3", "for the Stage screen, and there"),
            ("s", "to stage the changes"),
            ("a", "to apply the selected changes"),
        ],
    );
    doc.push(Line::new());
    push_keys(
        &mut doc,
        &[("1 A", "to list the providers that are installed")],
    );
    doc.push(Line::new());
    doc.push(line(
        Role::Dim,
        "Or quit with q and run `flightdeck demo`, which needs no setup. ? shows every key.",
    ));
    doc
}

/// Renders the content of an empty list; `None` if the screen shows its empty table.
pub fn empty(state: &State) -> Option<Doc> {
    if !state.frame.rows.is_empty() {
        return None;
    }
    let list = state.list();
    // The filter is the nearest reason, whatever else is missing.
    if !list.filter.is_empty() {
        return Some(vec![
            line(
                Role::Plain,
                format!("No row matches the filter: {}", list.filter),
            ),
            vec![
                span(Role::Key, "esc"),
                span(Role::Dim, " shows all rows again"),
            ],
        ]);
    }
    let context = state.context();
    // The engine's own log exists without a configuration, too.
    if !state.place.configured && context != Context::Tracing {
        return Some(not_configured(state));
    }
    (context.of().empty)(state)
}
