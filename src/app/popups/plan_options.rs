//! Popup of the plan options: variables with their values, targets and others, which apply to each
//! stage of the console.

use super::{Content, List, Page, Part};
use crate::app::doc::{self, Line, Role, line, span};
use crate::app::entry::Entry;
use crate::app::key::{ENTER, Key, moved};
use crate::app::msg::Effect;
use crate::app::state::State;
use crate::app::text::width;
use model::{RootVariable, StageRequest, VariableFlag};

/// Maximum number of visible rows.
const ROWS: usize = 14;

/// List of variables and options, one of which may be edited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanOptions {
    selected: usize,
    edited: Option<(Edited, Entry)>,
}

/// Option that is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Edited {
    Variable { name: String, is_secret: bool },
    Target,
    Exclude,
    Replace,
    File,
}

impl Edited {
    fn label(&self) -> String {
        match self {
            Self::Variable { name, .. } => format!("{name} = "),
            Self::Target => "limit to the address: ".to_owned(),
            Self::Exclude => "exclude the address: ".to_owned(),
            Self::Replace => "replace the instance: ".to_owned(),
            Self::File => "file with values: ".to_owned(),
        }
    }
}

/// Row of the list.
enum Row<'a> {
    Variable(&'a RootVariable),
    /// Plan option that is no value of a declared variable, as a flag.
    Flag(String),
}

/// Opens the popup and loads the variables.
pub fn open(state: &mut State, effects: &mut Vec<Effect>) {
    effects.push(Effect::LoadVariables(state.options.plan.clone()));
    state.open(PlanOptions::default());
}

fn rows(state: &State) -> Vec<Row<'_>> {
    let variables = state.loaded.variables.iter().flat_map(|v| &v.all);
    let flags = doc::plan_options(&state.options.plan);
    let is_other = |flag: &String| {
        let name = flag.strip_prefix("--var=");
        let mut all = state.loaded.variables.iter().flat_map(|v| &v.all);
        name.is_none_or(|name| !all.any(|v| v.name == name))
    };
    variables
        .map(Row::Variable)
        .chain(flags.into_iter().filter(is_other).map(Row::Flag))
        .collect()
}

/// Value of a variable among the flags.
fn flag_of<'a>(plan: &'a StageRequest, variable: &str) -> Option<&'a str> {
    plan.variables.iter().rev().find_map(|flag| match flag {
        VariableFlag::Value { name, text } if name == variable => Some(text.as_str()),
        _ => None,
    })
}

/// Sets the value of a variable; an empty text removes it.
fn set_variable(plan: &mut StageRequest, variable: &str, text: String) {
    let is_it =
        |flag: &VariableFlag| matches!(flag, VariableFlag::Value { name, .. } if name == variable);
    plan.variables.retain(|flag| !is_it(flag));
    if !text.is_empty() {
        // Last, so that it overrides the files.
        let name = variable.to_owned();
        plan.variables.push(VariableFlag::Value { name, text });
    }
}

/// Removes the option that `flag` renders.
fn remove_flag(plan: &mut StageRequest, flag: &str) {
    let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
    let keep = |other: &String| other != value;
    match name {
        "--target" => plan.target.retain(keep),
        "--exclude" => plan.exclude.retain(keep),
        "--replace" => plan.replace.retain(keep),
        "--refresh" => plan.no_refresh = false,
        "--var" => set_variable(plan, value, String::new()),
        _ => plan.variables.retain(
            |v| !matches!(v, VariableFlag::File(path) if path.display().to_string() == value),
        ),
    }
}

impl PlanOptions {
    /// Takes over the edited option.
    fn accept(&mut self, state: &mut State, effects: &mut Vec<Effect>) {
        let Some((edited, entry)) = self.edited.take() else {
            return;
        };
        let text = entry.text();
        let plan = &mut state.options.plan;
        let address = text.trim().to_owned();
        let list = match &edited {
            Edited::Variable { name, .. } => {
                set_variable(plan, name, text);
                None
            }
            Edited::File => {
                if !address.is_empty() {
                    plan.variables
                        .push(VariableFlag::File(address.clone().into()));
                }
                None
            }
            Edited::Target => Some(&mut plan.target),
            Edited::Exclude => Some(&mut plan.exclude),
            Edited::Replace => Some(&mut plan.replace),
        };
        if let Some(list) = list.filter(|list| !address.is_empty() && !list.contains(&address)) {
            if let Err(why) = address.parse::<lang::addr::Target>() {
                state.show_error(format!("{address:?} is not an address: {why}"));
                self.edited = Some((edited, entry));
                return;
            }
            list.push(address);
        }
        effects.push(Effect::LoadVariables(state.options.plan.clone()));
    }

    /// Edits the variable under the cursor.
    fn edit(&mut self, state: &State) {
        if let Some(Row::Variable(v)) = rows(state).get(self.selected) {
            let now = flag_of(&state.options.plan, &v.name).filter(|_| !v.is_secret);
            let edited = Edited::Variable {
                name: v.name.clone(),
                is_secret: v.is_secret,
            };
            self.edited = Some((edited, Entry::new(now.unwrap_or_default())));
        }
    }

    /// Removes the option under the cursor.
    fn remove(&self, state: &mut State, effects: &mut Vec<Effect>) {
        let flag = match rows(state).get(self.selected) {
            Some(Row::Variable(v)) => format!("--var={}", v.name),
            Some(Row::Flag(flag)) => flag.clone(),
            None => return,
        };
        remove_flag(&mut state.options.plan, &flag);
        effects.push(Effect::LoadVariables(state.options.plan.clone()));
    }

    /// Input of the edited option, or the keys and the storage of all options.
    fn foot(&self, state: &State, cells: usize) -> Vec<Part> {
        match &self.edited {
            Some((edited, entry)) => {
                // A secret is not shown, only that something is typed.
                let hidden = matches!(
                    edited,
                    Edited::Variable {
                        is_secret: true,
                        ..
                    }
                );
                let shown = match hidden {
                    true => Entry::new(&"•".repeat(entry.text().chars().count())),
                    false => entry.clone(),
                };
                vec![
                    Part::input(&edited.label(), &shown),
                    Part::Blank,
                    Part::keys(&[("enter", "sets it"), ("esc", "closes")]),
                ]
            }
            None => {
                let text = vec![line(Role::Dim, remembered(state))];
                let keys = Part::keys(&[
                    ("enter", "set"),
                    ("x", "remove"),
                    ("t", "target"),
                    ("e", "exclude"),
                    ("R", "replace"),
                    ("r", "refresh on or off"),
                    ("f", "file of values"),
                    ("s", "stage"),
                    ("m", "remember"),
                    ("F", "forget"),
                    ("esc", "close"),
                ]);
                vec![Part::Text(doc::wrap(&text, cells)), Part::Blank, keys]
            }
        }
    }
}

impl Content for PlanOptions {
    const WIDTH: u16 = 96;

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        if let Some((_, entry)) = &mut self.edited {
            match key {
                ENTER => self.accept(state, effects),
                key => drop(entry.key(key)),
            }
            state.open(self);
            return;
        }
        let add = |edited| Some((edited, Entry::default()));
        match key {
            ENTER => self.edit(state),
            key if key == Key::char('s') => {
                // The popup is closed; the stage shows the result.
                return crate::app::command::stage_again(state, effects);
            }
            key if key == Key::char('t') => self.edited = add(Edited::Target),
            key if key == Key::char('e') => self.edited = add(Edited::Exclude),
            key if key == Key::char('R') => self.edited = add(Edited::Replace),
            key if key == Key::char('f') => self.edited = add(Edited::File),
            key if key == Key::char('r') => {
                state.options.plan.no_refresh = !state.options.plan.no_refresh;
            }
            key if key == Key::char('x') => self.remove(state, effects),
            key if key == Key::char('m') => state.remember_options(),
            key if key == Key::char('F') => state.forget_options(),
            key => {
                if let Some(by) = key.step() {
                    self.selected = moved(self.selected, by, rows(state).len());
                }
            }
        }
        state.open(self);
    }

    fn paste(&mut self, text: &str) {
        if let Some((_, entry)) = &mut self.edited {
            entry.insert(text);
        }
    }

    fn page(&self, state: &State, cells: usize) -> Page {
        let rows = rows(state);
        let names = rows.iter().map(|row| match row {
            Row::Variable(v) => width(&v.name),
            Row::Flag(_) => 0,
        });
        let name = names.max().unwrap_or(0);
        let list = List {
            shown: rows.len().clamp(1, ROWS),
            rows: rows.iter().map(|row| row_line(state, row, name)).collect(),
            selected: self.selected.min(rows.len().saturating_sub(1)),
            empty: match state.loaded.variables {
                None => "loading the variables…",
                Some(_) => "the configuration declares no variables",
            },
            counted: true,
            ..List::default()
        };
        let mut below = vec![Part::Blank];
        let variables = state.loaded.variables.as_ref();
        if let Some(problem) = variables.and_then(|v| v.problem.as_ref()) {
            let words = vec![line(Role::Bad, problem)];
            below.extend([Part::Text(doc::wrap(&words, cells)), Part::Blank]);
        }
        if let (None, Some(Row::Variable(v))) = (&self.edited, rows.get(self.selected))
            && !v.description.is_empty()
        {
            let words = vec![line(Role::Dim, &v.description)];
            below.extend([Part::Text(doc::wrap(&words, cells)), Part::Blank]);
        }
        below.extend(self.foot(state, cells));
        Page {
            below,
            ..Page::new("Plan options", Role::Key, Part::List(list))
        }
    }
}

/// Text about the options that the next console of the workspace starts with.
fn remembered(state: &State) -> String {
    let stored = state.remembered_options();
    let kept = match stored {
        None => "These options end with this console. m remembers them for the next consoles of this workspace.".to_owned(),
        Some(stored) if *stored == state.storable_options() => {
            "Remembered for this workspace. F forgets them.".to_owned()
        }
        Some(stored) => format!(
            "This workspace remembers {}. m remembers the options above instead, F forgets.",
            doc::plan_options(stored).join(", ")
        ),
    };
    format!("{kept} Values of sensitive variables are never stored.")
}

fn row_line(state: &State, row: &Row<'_>, name: usize) -> Line {
    let v = match row {
        Row::Flag(flag) => return vec![span(Role::Warn, format!(" {flag}"))],
        Row::Variable(v) => v,
    };
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let flag = flag_of(&state.options.plan, &v.name);
    let (role, value) = match (&v.given, &v.default) {
        // As typed, because a value of the wrong type has no other form.
        _ if flag.is_some() && !v.is_secret => (Role::Warn, first(flag.unwrap_or_default())),
        (Some(given), _) if flag.is_some() => (Role::Warn, first(given)),
        (Some(given), Some(default)) if given == default => {
            (Role::Dim, format!("{} (default)", first(default)))
        }
        (Some(given), _) => (Role::Plain, first(given)),
        (None, Some(default)) => (Role::Dim, format!("{} (default)", first(default))),
        (None, None) => (Role::Bad, "needs a value".to_owned()),
    };
    let gap = " ".repeat(name.saturating_sub(width(&v.name)));
    vec![
        span(Role::Strong, format!(" {}{gap}  ", v.name)),
        span(role, value),
        span(Role::Dim, format!("  {}", first(&v.type_text))),
    ]
}
