//! Popup that shows one sensitive value for a short time, after a confirmation. The value is in
//! this popup only, so that it cannot be copied, searched or kept.

use super::confirm::{Answers, Decision};
use super::{Content, List, More, Page, Part};
use crate::app::doc::{Doc, Line, Role, line, span, wrap};
use crate::app::key::{Key, moved};
use crate::app::msg::Effect;
use crate::app::state::State;
use lang::addr::unquote;
use model::{Revealed, SensitivePlace, UnixMs};

/// Time for which a value is shown, in milliseconds.
const SHOWN_MS: UnixMs = 10_000;
/// Maximum number of visible places.
const ROWS: usize = 10;

/// Sensitive values of a row, and the one that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Reveal {
    places: Vec<SensitivePlace>,
    selected: usize,
    yes: bool,
    step: Step,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Asked,
    Waiting,
    Shown { value: Revealed, until: UnixMs },
}

impl Reveal {
    /// Asks which of these values to show. "Cancel" is preselected.
    pub fn new(places: Vec<SensitivePlace>) -> Self {
        Self {
            places,
            selected: 0,
            yes: false,
            step: Step::Asked,
        }
    }

    /// Shows the value, if it was asked for.
    pub fn show(&mut self, place: &SensitivePlace, value: Revealed, now: UnixMs) {
        if self.step == Step::Waiting && self.places.get(self.selected) == Some(place) {
            let until = now + SHOWN_MS;
            self.step = Step::Shown { value, until };
        }
    }

    /// Returns true while the value is requested.
    pub fn is_waiting(&self) -> bool {
        self.step == Step::Waiting
    }

    /// Returns true if the value is visible.
    pub fn is_shown(&self) -> bool {
        matches!(self.step, Step::Shown { .. })
    }

    /// Returns true if the value must be hidden.
    pub fn is_over(&self, now: UnixMs) -> bool {
        matches!(self.step, Step::Shown { until, .. } if now >= until)
    }

    fn accept(mut self, state: &mut State, effects: &mut Vec<Effect>) {
        let Some(place) = self.places.get(self.selected) else {
            return;
        };
        effects.push(Effect::Reveal(place.clone()));
        self.step = Step::Waiting;
        state.open(self);
    }

    fn ask(&self) -> Page {
        let rows = self.places.iter().map(|p| line(Role::Plain, p.to_string()));
        let list = List {
            shown: self.places.len().clamp(1, ROWS),
            counted: self.places.len() > 1,
            ..List::new(rows.collect(), self.selected)
        };
        let mut below = vec![Part::Blank, Answers::action("Show").part(self.yes)];
        if self.places.len() > 1 {
            below.push(Part::Text(vec![line(Role::Dim, "↑↓ chooses the value")]));
        }
        let above = vec![
            line(Role::Strong, "Show a sensitive value for 10 s?"),
            line(Role::Dim, "It is not logged or stored."),
        ];
        Page {
            above: vec![Part::Text(above), Part::Blank],
            below,
            ..Page::new("", Role::Warn, Part::List(list))
        }
    }

    fn message(&self, body: Doc, below: &str) -> Page {
        let place = self.places.get(self.selected).map(ToString::to_string);
        let body = Part::Scroll {
            doc: body,
            from: 0,
            more: More::InBorder,
        };
        Page {
            above: vec![
                Part::Text(vec![line(Role::Strong, place.unwrap_or_default())]),
                Part::Blank,
            ],
            below: vec![Part::Blank, Part::Text(vec![line(Role::Dim, below)])],
            ..Page::new("", Role::Warn, body)
        }
    }
}

impl Content for Reveal {
    const WIDTH: u16 = 84;

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        // Every key hides a shown value, and withdraws a request.
        if self.step != Step::Asked {
            return;
        }
        match Decision::of(key, self.yes) {
            Some(Decision::Yes) => return self.accept(state, effects),
            Some(Decision::No) => return,
            Some(Decision::Switch) => self.yes = !self.yes,
            None => {
                if let Some(by) = key.step() {
                    self.selected = moved(self.selected, by, self.places.len());
                }
            }
        }
        state.open(self);
    }

    fn page(&self, state: &State, cells: usize) -> Page {
        match &self.step {
            Step::Asked => self.ask(),
            Step::Waiting => self.message(vec![line(Role::Busy, "reading…")], "any key cancels"),
            Step::Shown { value, until } => {
                // Rounded up, so that the last second is not shown as 0.
                let left = (until - state.now + 999).div_euclid(1000);
                let below = format!("hidden in {left} s · any key hides it now");
                self.message(wrap(&texts(value), cells), &below)
            }
        }
    }
}

/// Renders the texts of a value with their names.
fn texts(value: &Revealed) -> Doc {
    let mut doc = Doc::new();
    for (name, text) in &value.texts {
        let text = unquote(text)
            .filter(|t| t.contains('\n'))
            .unwrap_or_else(|| text.clone());
        let mut lines = text.lines();
        let mut first = vec![span(Role::Dim, format!("{name}  "))];
        first.push(span(Role::Plain, lines.next().unwrap_or_default()));
        doc.push(first);
        doc.extend(lines.map(|l| -> Line { line(Role::Plain, format!("  {l}")) }));
    }
    doc
}
