//! Popup with the progress and the result of an installation.

use super::{Content, More, Page, Part};
use crate::app::doc::{Doc, Line, Role, diagnostics, line, push_text, wrap};
use crate::app::format::{count, elapsed};
use crate::app::key::{ENTER, Key};
use crate::app::msg::Effect;
use crate::app::state::State;
use model::{CancelRung, InstallEnd, StateMigration, bar};

/// Progress and result of an installation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Installing {
    scroll: usize,
}

impl Content for Installing {
    const WIDTH: u16 = 100;

    fn key(self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        if key == Key::char('c') && state.installing() {
            effects.push(Effect::Cancel(CancelRung::StopStarting));
            state.show_message("stopping the installation; completed parts are kept");
        } else if key == Key::char('q') || key == ENTER {
            return;
        } else if let Some(migration) = migration_choice(state, key) {
            // The old result must not look like that of the repetition.
            state.view.install = None;
            effects.push(Effect::Install(migration));
        }
        let lines = progress(state).len();
        state.open(Self {
            scroll: super::text::scrolled(self.scroll, key, lines),
        });
    }

    fn page(&self, state: &State, cells: usize) -> Page {
        let body = Part::Scroll {
            doc: wrap(&progress(state), cells),
            // Follows the newest line while it runs; afterwards the operator scrolls.
            from: match state.installing() {
                true => usize::MAX,
                false => self.scroll,
            },
            more: More::None,
        };
        let keys = if state.installing() {
            Part::keys(&[("c", "stop"), ("esc", "close; it continues")])
        } else if state.needs_migration_decision() {
            Part::keys(&[("b", "copy it"), ("l", "leave it"), ("esc", "close")])
        } else {
            Part::keys(&[("j k", "scroll"), ("esc", "close")])
        };
        Page {
            below: vec![Part::Blank, keys],
            ..Page::new("Installation", Role::Key, body)
        }
    }
}

/// Returns the operator's decision about states in the previous backend, if one is needed.
fn migration_choice(state: &State, key: Key) -> Option<StateMigration> {
    state.needs_migration_decision().then_some(())?;
    match key {
        k if k == Key::char('b') => Some(StateMigration::Copy),
        k if k == Key::char('l') => Some(StateMigration::Leave),
        _ => None,
    }
}

/// Renders the progress or result of an installation.
fn progress(state: &State) -> Doc {
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
