//! Contents of the popups for workspaces, installation and the doctor.

use super::{Doc, Line, Role, diagnostics, line, push_text, span};
use crate::app::format::{count, elapsed};
use crate::app::state::State;
use engine::doctor::{Finding, Level};
use model::{InstallEnd, bar};

/// Row in the list of workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The open workspace.
    Here(String),
    Other(String),
    /// Typed name without a workspace of this name.
    New(String),
}

/// Returns the workspaces whose names contain the typed text, the default one first; and the typed
/// name, if no workspace has it.
pub fn choices(state: &State, typed: &str) -> Vec<Choice> {
    let typed = typed.trim();
    let Some(names) = &state.loaded.workspaces else {
        return Vec::new();
    };
    let wanted = typed.to_lowercase();
    let mut all: Vec<Choice> = names
        .iter()
        .filter(|name| name.to_lowercase().contains(&wanted))
        .map(|name| match *name == state.workspace_name {
            true => Choice::Here(name.clone()),
            false => Choice::Other(name.clone()),
        })
        .collect();
    // Last, because an existing workspace is the likely choice.
    if !typed.is_empty() && !names.iter().any(|name| name == typed) {
        all.push(Choice::New(typed.to_owned()));
    }
    all
}

/// Renders a row of the list of workspaces.
pub fn choice(choice: &Choice) -> Line {
    match choice {
        Choice::Here(name) => vec![
            span(Role::Ok, " ● "),
            span(Role::Strong, name),
            span(Role::Dim, "   current"),
        ],
        Choice::Other(name) => vec![span(Role::Plain, "   "), span(Role::Plain, name)],
        Choice::New(name) => vec![
            span(Role::Create, " + "),
            span(Role::Strong, name),
            span(Role::Dim, "   create…"),
        ],
    }
}

/// Returns the text shown for an empty list.
pub fn empty_list_text(state: &State) -> &'static str {
    match state.loaded.workspaces {
        None => "loading the workspaces…",
        Some(_) => "no matching workspace",
    }
}

/// Renders the progress or result of an installation.
pub fn installing(state: &State) -> Doc {
    let Some(install) = &state.view.install else {
        return vec![line(Role::Busy, "starting…")];
    };
    let mut doc = Doc::new();
    for step in &install.steps {
        push_text(&mut doc, Role::Plain, "", &step.text());
    }
    for (what, done, total) in &install.downloads {
        doc.push(line(Role::Busy, bar(what, *done, *total)));
    }
    if !doc.is_empty() {
        doc.push(Line::new());
    }
    match &install.end {
        None => {
            let since = elapsed(state.now - install.began);
            doc.push(line(Role::Busy, format!("◐ installing, {since}")));
        }
        Some(InstallEnd::Done {
            modules,
            providers,
            told,
        }) => {
            for text in told {
                push_text(&mut doc, Role::Warn, "", text);
            }
            let all = format!(
                "✓ installed: {}, {}; reloading the workspace",
                count(*modules, "module"),
                count(*providers, "provider")
            );
            doc.push(line(Role::Ok, all));
        }
        Some(InstallEnd::Asks { from, to }) => {
            let found = format!("There is a state in {from}, but the backend is now {to}.");
            push_text(&mut doc, Role::Warn, "", &found);
            push_text(
                &mut doc,
                Role::Plain,
                "",
                "b copies the state to the new backend; the old one stays as it is. l leaves the state and uses the new backend as it is. Nothing changes until you choose.",
            );
        }
        Some(InstallEnd::Stopped) => doc.push(line(
            Role::Warn,
            "stopped; completed parts are kept, the rest is installed the next time",
        )),
        Some(InstallEnd::Failed {
            text,
            diagnostics: all,
        }) => {
            doc.push(line(Role::Bad, "✗ installation failed"));
            // Diagnostics are shown instead of the text, because they have places.
            match all.is_empty() {
                true => push_text(&mut doc, Role::Plain, "", text),
                false => doc.extend(diagnostics("", all.iter())),
            }
        }
    }
    doc
}

/// Returns the findings, sorted by severity and area.
pub fn findings(state: &State) -> Vec<&Finding> {
    let mut all: Vec<&Finding> = state.loaded.findings.iter().flatten().collect();
    all.sort_by_key(|finding| (std::cmp::Reverse(finding.level), finding.area));
    all
}

fn sign(level: Level) -> (Role, &'static str, &'static str) {
    match level {
        Level::Fine => (Role::Ok, "✓", "ok"),
        Level::Warning => (Role::Warn, "⚠", "warning"),
        Level::Error => (Role::Bad, "✗", "error"),
    }
}

/// Renders a finding as a row of the list.
pub fn finding_line(finding: &Finding) -> Line {
    let (role, symbol, word) = sign(finding.level);
    let first = finding.text.lines().next().unwrap_or_default();
    vec![
        span(role, format!(" {symbol} {word:<8}")),
        span(Role::Dim, format!("{:<10} ", finding.area.label())),
        span(Role::Plain, first),
    ]
}

/// Renders a finding with its remedy.
pub fn finding(finding: &Finding) -> Doc {
    let mut doc = Doc::new();
    push_text(&mut doc, Role::Plain, "", &finding.text);
    if let Some(remedy) = &finding.remedy {
        push_text(&mut doc, Role::Strong, "remedy: ", remedy);
    }
    doc
}

/// Renders the counts of errors and warnings.
pub fn findings_head(state: &State) -> Line {
    let Some(all) = &state.loaded.findings else {
        return line(Role::Busy, "checking…");
    };
    let of = |level: Level| all.iter().filter(|finding| finding.level == level).count();
    let (errors, warnings) = (of(Level::Error), of(Level::Warning));
    match (errors, warnings) {
        (0, 0) => line(Role::Ok, "✓ no problems found"),
        (0, n) => line(Role::Warn, count(n, "warning")),
        (n, 0) => line(Role::Bad, count(n, "error")),
        (e, w) => line(
            Role::Bad,
            format!("{}, {}", count(e, "error"), count(w, "warning")),
        ),
    }
}

/// Badge in the header while something is not installed.
pub fn absent_badge(state: &State, short: bool) -> String {
    let (n, key) = (state.view.absent.len(), state.keys.first("init"));
    if state.view.absent.backend.is_some() {
        format!("  ✗ not initialized ({key})")
    } else if short {
        format!("  ✗{n} missing ({key})")
    } else {
        format!("  ✗ {n} not installed ({key})")
    }
}
