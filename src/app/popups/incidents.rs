//! Popup with the incidents of the session, which the operator acknowledges.

use super::{Content, List, Page, Part};
use crate::app::command;
use crate::app::doc::{Line, Role, line, push_text, span, wrap};
use crate::app::format::{clock, count, date};
use crate::app::key::{ENTER, Key, moved};
use crate::app::msg::Effect;
use crate::app::state::{Incident, PluginTab, State};

/// Incidents, newest first, with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Incidents {
    /// Id of the incident under the cursor, because new ones are inserted before it.
    selected: Option<String>,
}

impl Incidents {
    /// Creates the list with the cursor on the newest incident.
    pub fn new(all: &[Incident]) -> Self {
        Self {
            selected: all.first().map(|i| i.id.clone()),
        }
    }

    fn position(&self, all: &[Incident]) -> usize {
        let at = all
            .iter()
            .position(|i| Some(&i.id) == self.selected.as_ref());
        at.unwrap_or(0)
    }
}

impl Content for Incidents {
    const WIDTH: u16 = 110;
    const IS_HARMLESS: bool = true;

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        if key == Key::char('q') {
            return;
        }
        let all = state.incidents();
        let at = moved(
            self.position(&all),
            key.step().unwrap_or_default(),
            all.len(),
        );
        let current = all.get(at);
        self.selected = current.map(|i| i.id.clone());
        match current {
            Some(i) if key == ENTER => {
                let tab = match i.is_crash {
                    true => PluginTab::About,
                    false => PluginTab::Attempts,
                };
                command::go_to_plugin(state, effects, &i.plugin, tab);
                return;
            }
            Some(i) if key == Key::char('a') || key == Key::char(' ') => {
                let yes = !state.is_acknowledged(i);
                state.acknowledge(std::slice::from_ref(i), yes);
            }
            Some(_) if key == Key::char('A') => state.acknowledge(&all, true),
            Some(_) => {}
            None => return,
        }
        state.open(self);
    }

    fn page(&self, state: &State, cells: usize) -> Page {
        let all = state.incidents();
        if all.is_empty() {
            let since = date(state.incident_log.since, state.utc_offset);
            let text = format!("no plugin failed since {since}, the start of this console");
            return Page {
                below: vec![Part::Blank, Part::keys(&[("esc", "close")])],
                ..Page::new(
                    "Plugin failures",
                    Role::Ok,
                    Part::Text(vec![line(Role::Ok, text)]),
                )
            };
        }
        let new = state.new_incidents().len();
        let head = match new {
            0 => line(
                Role::Dim,
                format!("{}, all acknowledged", count(all.len(), "failure")),
            ),
            _ => line(
                Role::Plain,
                format!("{}, {new} not acknowledged", count(all.len(), "failure")),
            ),
        };
        let at = self.position(&all);
        let mut detail = Vec::new();
        push_text(&mut detail, Role::Plain, "", &all[at].text);
        let detail = wrap(&detail, cells);
        let most = usize::from(state.frame.size.1)
            .saturating_sub(detail.len() + 8)
            .max(1);
        let list = List {
            shown: all.len().min(most),
            rows: all.iter().map(|i| row(state, i)).collect(),
            selected: at,
            empty: "",
            counted: true,
            ..List::default()
        };
        let keys = [
            ("enter", "go to the plugin"),
            ("a", "acknowledge"),
            ("A", "all"),
            ("esc", "close"),
        ];
        let role = if new > 0 { Role::Bad } else { Role::Key };
        Page {
            above: vec![
                Part::Text(vec![head]),
                Part::Blank,
                Part::List(list),
                Part::Blank,
            ],
            below: vec![Part::Blank, Part::keys(&keys)],
            ..Page::new("Plugin failures", role, Part::Text(detail))
        }
    }
}

fn row(state: &State, i: &Incident) -> Line {
    let known = state.is_acknowledged(i);
    let role = |new| if known { Role::Dim } else { new };
    let time =
        i.at.map_or_else(String::new, |at| clock(at, state.utc_offset));
    vec![
        span(role(Role::Bad), if known { "✓ " } else { "✗ " }),
        span(Role::Dim, format!("{time:<9} ")),
        span(role(Role::Strong), format!("{}  ", i.plugin)),
        span(role(Role::Plain), &i.text),
    ]
}
