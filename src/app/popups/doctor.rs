//! Popup with the findings of the doctor and their remedies.

use super::{After, Answers, Confirm, Content, List, Page, Part};
use crate::app::command;
use crate::app::doc::{Doc, Line, Role, line, push_text, span, wrap};
use crate::app::format::count;
use crate::app::key::{ENTER, Key, moved};
use crate::app::msg::Effect;
use crate::app::state::State;
use engine::doctor::{Finding, Fix, Level};

/// Findings of the doctor with their remedies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Doctor {
    selected: usize,
}

impl Content for Doctor {
    const WIDTH: u16 = 104;
    const IS_HARMLESS: bool = true;

    /// Handles keys: fixes, copies and reloads.
    fn key(self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        if key == Key::char('q') || key == ENTER {
            return;
        }
        let found = findings(state);
        let selected = moved(
            self.selected,
            key.step().unwrap_or_default(),
            found.len().max(1),
        );
        let at = found.get(selected).map(|finding| (*finding).clone());
        state.open(Self { selected });
        if key == Key::char('r') {
            // Shows at once that a new check runs.
            state.loaded.findings = None;
            effects.push(Effect::RunDoctor);
        }
        let Some(finding) = at else { return };
        if key == Key::char('F') {
            match finding.fix {
                Some(fix) => apply_fix(state, fix, effects),
                None => state.show_error("this finding has no automatic fix"),
            }
        } else if key == Key::char('y') {
            let text = finding.remedy.unwrap_or(finding.text);
            command::copy_text(state, effects, text);
        } else if key == Key::char('i') {
            match command::can_install(state) {
                Ok(()) => command::ask_install(state, effects),
                Err(why) => state.show_error(why),
            }
        }
    }

    fn page(&self, state: &State, cells: usize) -> Page {
        let found = findings(state);
        let at = found.get(self.selected.min(found.len().saturating_sub(1)));
        let detail = at.map_or_else(Doc::new, |one| wrap(&details(one), cells));
        // The list leaves space for the complete details of the selected finding.
        let most = usize::from(state.frame.size.1)
            .saturating_sub(detail.len() + 9)
            .max(3);
        let list = List {
            shown: found.len().min(most),
            rows: found.iter().map(|one| row(one)).collect(),
            selected: self.selected,
            empty: "",
            counted: true,
            ..List::default()
        };
        let mut keys = vec![
            ("r", "check again"),
            ("y", "copy the remedy"),
            ("esc", "close"),
        ];
        if !state.view.absent.is_empty() {
            keys.insert(0, ("i", "install missing…"));
        }
        if at.is_some_and(|finding| finding.fix.is_some()) {
            keys.insert(0, ("F", "apply the remedy"));
        }
        Page {
            above: vec![
                Part::Text(vec![head(state)]),
                Part::Blank,
                Part::List(list),
                Part::Blank,
            ],
            below: vec![Part::Blank, Part::keys(&keys)],
            ..Page::new("Doctor", Role::Key, Part::Text(detail))
        }
    }
}

/// Applies the fix of a finding. Ending a process needs a confirmation.
fn apply_fix(state: &mut State, fix: Fix, effects: &mut Vec<Effect>) {
    let Fix::Stop { process } = &fix else {
        effects.push(Effect::ApplyFix(fix));
        return;
    };
    let body = vec![line(
        Role::Plain,
        "flightdeck asks the process and all processes that it started to exit, and kills those that still run after 5 s.",
    )];
    state.open(Confirm {
        title: format!("End process {}?", process.pid),
        body,
        effects: vec![Effect::ApplyFix(fix)],
        after: After::Doctor,
        answers: Answers::action("End"),
        ..Confirm::default()
    });
}

/// Returns the findings, sorted by severity and area.
fn findings(state: &State) -> Vec<&Finding> {
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
fn row(finding: &Finding) -> Line {
    let (role, symbol, word) = sign(finding.level);
    let first = finding.text.lines().next().unwrap_or_default();
    vec![
        span(role, format!(" {symbol} {word:<8}")),
        span(Role::Dim, format!("{:<10} ", finding.area.label())),
        span(Role::Plain, first),
    ]
}

/// Renders a finding with its remedy.
fn details(finding: &Finding) -> Doc {
    let mut doc = Doc::new();
    push_text(&mut doc, Role::Plain, "", &finding.text);
    if let Some(remedy) = &finding.remedy {
        push_text(&mut doc, Role::Strong, "remedy: ", remedy);
    }
    doc
}

/// Renders the counts of errors and warnings.
fn head(state: &State) -> Line {
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
