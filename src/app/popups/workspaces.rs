//! Popup that lists the workspaces of the directory, switches to one, or creates one.

use super::name_list::NameList;
use super::{After, Answers, Confirm, Content, List, Page, Part};
use crate::app::command;
use crate::app::doc::{Line, Role, line, span};
use crate::app::key::{ENTER, Key};
use crate::app::msg::Effect;
use crate::app::state::State;

/// Maximum number of visible workspaces.
const ROWS: usize = 14;

/// Workspaces of the directory. Typed text filters them, or names a new one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workspaces {
    names: NameList,
}

impl Workspaces {
    /// Moves the cursor to a row of the loaded list, unless a filter was typed.
    pub fn select(&mut self, row: usize) {
        if self.names.is_empty() {
            self.names.selected = row;
        }
    }
}

impl Content for Workspaces {
    const WIDTH: u16 = 72;
    const IS_HARMLESS: bool = true;

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        let found = choices(state, &self.names);
        if key == ENTER {
            match found.get(self.names.selected) {
                // The open workspace: Enter only closes the popup.
                Some(Choice::Here(_)) => {}
                Some(Choice::Other(name)) => open(state, name.clone(), false, effects),
                Some(Choice::New(name)) => state.open(confirm_creation(name)),
                None => state.open(self),
            }
            return;
        }
        self.names.key(key, found.len());
        state.open(self);
    }

    fn paste(&mut self, text: &str) {
        self.names.paste(text);
    }

    fn page(&self, state: &State, _: usize) -> Page {
        let found = choices(state, &self.names);
        let list = List {
            shown: found.len().clamp(1, ROWS),
            rows: found.iter().map(row).collect(),
            selected: self.names.selected,
            empty: match state.loaded.workspaces {
                None => "loading the workspaces…",
                Some(_) => "no matching workspace",
            },
            counted: false,
            ..List::default()
        };
        let keys = Part::keys(&[
            ("↑↓", "choose"),
            ("enter", "switch, as `workspace select` does"),
            ("esc", "cancel"),
        ]);
        let title = format!("Workspaces of {}", state.place.directory_name);
        Page {
            above: vec![self.names.part(), Part::Blank],
            below: vec![Part::Blank, keys],
            ..Page::new(title, Role::Key, Part::List(list))
        }
    }
}

/// Row in the list of workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Choice {
    /// The open workspace.
    Here(String),
    Other(String),
    /// Typed name without a workspace of this name.
    New(String),
}

/// Returns the workspaces that match the typed name, the default one first, and the name itself if
/// no workspace has it: last, because an existing workspace is the likely choice.
fn choices(state: &State, typed: &NameList) -> Vec<Choice> {
    let Some(names) = &state.loaded.workspaces else {
        return Vec::new();
    };
    let (found, new) = typed.matching(names, |name| name);
    let known = found
        .into_iter()
        .map(|name| match *name == state.place.workspace {
            true => Choice::Here(name.clone()),
            false => Choice::Other(name.clone()),
        });
    known.chain(new.map(Choice::New)).collect()
}

fn row(choice: &Choice) -> Line {
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

/// Creates the confirmation for a new workspace.
fn confirm_creation(name: &str) -> Confirm {
    let body = vec![
        line(Role::Plain, "The new workspace has an empty state."),
        line(
            Role::Dim,
            "It becomes the selected workspace of this directory for all programs, as with `flightdeck workspace select`.",
        ),
    ];
    Confirm {
        title: format!("Create workspace {name} and switch to it?"),
        body,
        after: After::CreateWorkspace(name.to_owned()),
        answers: Answers::action("Create"),
        ..Confirm::default()
    }
}

/// Opens another workspace, unless something has started since the popup was opened.
pub(super) fn open(state: &mut State, workspace: String, create: bool, effects: &mut Vec<Effect>) {
    // A deploy may have started while the popup was open.
    if let Err(why) = command::can_switch(state) {
        state.show_error(why);
        return;
    }
    reopen(state, workspace, create, effects);
}

/// Requests an engine for the workspace, which replaces this one.
pub fn reopen(state: &mut State, workspace: String, create: bool, effects: &mut Vec<Effect>) {
    state.show_message(format!(
        "opening workspace {workspace}; stopping the plugins of the current one"
    ));
    state.ending.opening_workspace = Some(workspace.clone());
    effects.push(Effect::Open { workspace, create });
}
