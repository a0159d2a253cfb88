//! Contents of empty screens: the reason and the next steps.

use super::{Doc, Line, Role, diagnostics, fit_line, line, push_text, span, wrap};
use crate::app::state::{Context, State};
use crate::engine::model::{NO_TRANSFORMERS, StageMode};
use crate::engine::view::PluginView;

/// Renders the permanent notes.
pub fn notes(state: &State) -> Doc {
    let cells = usize::from(state.frame.size.0).saturating_sub(2);
    let doc = state.frame.notes.iter().map(|n| line(Role::Busy, n));
    // A small screen has one line per note only.
    if state.frame.size.1 < 30 {
        doc.map(|l| fit_line(l, cells)).collect()
    } else {
        wrap(&doc.collect(), cells)
    }
}

fn keys(doc: &mut Doc, all: &[(&str, &str)]) {
    for (key, text) in all {
        doc.push(vec![
            span(Role::Key, format!("  {key:<8}")),
            span(Role::Plain, *text),
        ]);
    }
}

fn not_configured(state: &State) -> Doc {
    let mut doc = vec![line(Role::Heading, "Welcome to flightdeck"), Line::new()];
    doc.push(line(
        Role::Plain,
        format!("There is no configuration in {} yet.", state.directory),
    ));
    doc.push(Line::new());
    doc.push(line(
        Role::Plain,
        "Create a file main.tf in this directory, for example:",
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
    doc.push(line(Role::Plain, "then press"));
    keys(
        &mut doc,
        &[
            ("3", "for the Stage screen, and there"),
            ("s", "to plan the changes"),
            ("a", "to apply the selected changes"),
        ],
    );
    doc.push(Line::new());
    keys(
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

/// Explains an empty Stage screen: no changes, none of the filtered action, or no stage.
fn stage(state: &State, doc: &mut Doc) {
    if state.view.stage.is_some() {
        let action = state.filters.action;
        match action {
            // The stage has changes, but the filter hides all of them.
            Some(a) => {
                doc.push(line(
                    Role::Plain,
                    format!("No change matches the filter: {}.", a.label()),
                ));
                doc.push(vec![
                    span(Role::Key, "esc"),
                    span(Role::Dim, " shows all changes again"),
                ]);
            }
            None => {
                let refreshed = state
                    .view
                    .stage
                    .as_ref()
                    .is_some_and(|s| s.mode == StageMode::RefreshOnly);
                let said = if refreshed {
                    "No drift: the real objects match the state."
                } else {
                    "No changes. Your infrastructure matches the configuration."
                };
                doc.push(line(Role::Ok, format!("✓ {said}")));
                keys(
                    doc,
                    &[
                        ("u", "shows unchanged resources"),
                        ("s", "stages again"),
                        ("D", "stages the destruction of everything"),
                    ],
                );
            }
        }
        return;
    }
    doc.push(line(Role::Heading, "No stage yet"));
    doc.push(line(
        Role::Plain,
        "Staging reads the configuration, asks the plugins and shows the planned changes. It changes nothing.",
    ));
    keys(
        doc,
        &[
            ("s", "plans the changes"),
            (
                "F",
                "detects drift only: compares the state with the real objects",
            ),
            ("D", "plans the destruction of everything"),
        ],
    );
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
    keys(
        doc,
        &[
            (&state.keys.first("init"), what),
            ("L", "reads the configuration again"),
        ],
    );
}

/// Explains an empty Deploy or Replay screen.
fn deploy(state: &State, doc: &mut Doc) {
    let shown = state.shown_deploy().map(|(d, _)| d);
    // Outputs and moved addresses need no operation, so an empty deploy is no mistake.
    if shown.is_some_and(|d| d.operations.is_empty()) {
        doc.push(line(
            Role::Plain,
            "No resource operations: this deploy changes only outputs or addresses in the state.",
        ));
        return;
    }
    doc.push(line(
        Role::Heading,
        if shown.is_some() {
            "No matching operations"
        } else {
            "No deploy yet"
        },
    ));
    if shown.is_some() {
        keys(doc, &[("v", "shows the other operations")]);
    } else {
        doc.push(line(
            Role::Plain,
            "A deploy applies the changes that are selected on the Stage screen.",
        ));
        keys(
            doc,
            &[
                ("3", "goes to the Stage screen"),
                ("5", "shows earlier deploys"),
            ],
        );
    }
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
            line(Role::Plain, format!("No row matches {:?}.", list.filter)),
            vec![
                span(Role::Key, "esc"),
                span(Role::Dim, " shows all rows again"),
            ],
        ]);
    }
    let context = state.context();
    // The engine's own log exists without a configuration, too.
    if !state.configured && !matches!(context, Context::Tracing) {
        return Some(not_configured(state));
    }
    if let Some((role, text)) = sentence(state) {
        return Some(vec![line(role, text)]);
    }
    let mut doc = Doc::new();
    match context {
        Context::Plugins if state.cannot_be_read() => absent(state, &mut doc),
        Context::Plugins => {
            doc.push(line(Role::Heading, "No plugins yet"));
            let why = "The configuration names no provider that runs as a plugin, or it has not been read yet.";
            doc.push(line(Role::Plain, why));
            let loads = "reads the configuration and launches its plugins";
            keys(&mut doc, &[("L", loads), ("3", "goes to the Stage screen")]);
        }
        Context::Schema => {
            let why = format!("This plugin has no schema: {NO_TRANSFORMERS}.");
            doc.push(line(Role::Dim, why));
        }
        Context::Stage if state.view.stage_error.is_some() => {
            return Some(diagnostics(
                state.view.stage_error.as_deref().unwrap_or(""),
                state.view.diagnostics.iter(),
            ));
        }
        Context::Stage => stage(state, &mut doc),
        Context::Replay if state.loaded.replay.as_ref().is_some_and(|r| r.cursor == 0) => {
            doc.push(line(Role::Heading, "Before the start of the deploy"));
            keys(&mut doc, &[("]", "one event forward"), ("}", "to the end")]);
        }
        Context::Deploy | Context::Replay => deploy(state, &mut doc),
        Context::Logs => {
            doc.push(line(Role::Plain, "No line has this level and source."));
            let all = [("v", "changes the level"), ("p", "changes the source")];
            keys(&mut doc, &all);
        }
        _ => return None,
    }
    Some(doc)
}

/// Returns the content of an empty list that is one sentence.
fn sentence(state: &State) -> Option<(Role, &'static str)> {
    const LOADING: (Role, &str) = (Role::Dim, "Loading…");
    let loaded = &state.loaded;
    Some(match state.context() {
        // A transformer has a process, but never a schema.
        Context::Schema if !state.plugin().is_some_and(PluginView::is_transformer) => {
            (Role::Dim, "The schema is known once the plugin is ready.")
        }
        Context::Calls => (
            Role::Plain,
            "No call is running or waiting. Calls appear here during loading, staging and deploys.",
        ),
        Context::Stage if state.view.staging.is_some() => (Role::Busy, "Planning the changes…"),
        Context::History if loaded.history.is_none() => LOADING,
        Context::History => (Role::Plain, "No deploy was made in this workspace yet."),
        Context::Failures if loaded.failures.is_none() => LOADING,
        Context::Failures => (Role::Ok, "✓ No failures recorded."),
        Context::State if loaded.state_rows.is_none() => LOADING,
        Context::State => (
            Role::Plain,
            "The state is empty: nothing was deployed from here yet.",
        ),
        Context::Logs if state.log.lines().next().is_none() => (Role::Plain, "No log lines yet."),
        _ => return None,
    })
}
