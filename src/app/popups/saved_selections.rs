//! Popup that lists the saved selections of the workspace: loads, saves and deletes them.

use super::name_list::NameList;
use super::{Answers, Confirm, Content, List, Message, Page, Part};
use crate::app::command;
use crate::app::doc::{Doc, Line, Role, line, span};
use crate::app::format::{count, date};
use crate::app::key::{ENTER, Key};
use crate::app::msg::Effect;
use crate::app::state::State;
use model::{SavedSelection, Select, Selection};
use std::collections::BTreeSet;

/// Maximum number of visible selections.
const ROWS: usize = 12;

/// Saved selections. Typed text filters them, or names a new one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SavedSelections {
    names: NameList,
}

/// Row of the list.
enum Choice<'a> {
    Saved(&'a SavedSelection),
    /// Typed name without a saved selection.
    New(String),
}

impl Content for SavedSelections {
    const WIDTH: u16 = 76;
    const IS_HARMLESS: bool = true;

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        let found = choices(state, &self.names);
        let len = found.len();
        let chosen = match found.get(self.names.selected) {
            Some(Choice::Saved(saved)) => Some(Ok((*saved).clone())),
            Some(Choice::New(name)) => Some(Err(name.clone())),
            None => None,
        };
        match (key, chosen) {
            (ENTER, Some(Ok(saved))) => return load(state, saved, effects),
            (ENTER, Some(Err(name))) => return save(state, name, effects),
            (k, Some(Ok(saved))) if k == Key::ctrl('s') => return ask_replace(state, saved),
            (k, Some(Ok(saved))) if k == Key::ctrl('x') => return ask_delete(state, &saved),
            _ => self.names.key(key, len),
        }
        state.open(self);
    }

    fn paste(&mut self, text: &str) {
        self.names.paste(text);
    }

    fn page(&self, state: &State, _: usize) -> Page {
        let found = choices(state, &self.names);
        let changes = changes(state);
        let list = List {
            shown: found.len().clamp(1, ROWS),
            rows: found.iter().map(|c| row(state, &changes, c)).collect(),
            selected: self.names.selected,
            empty: match state.loaded.selections {
                None => "loading the saved selections…",
                Some(_) => "no saved selection: type a name to save the current one",
            },
            counted: true,
            ..List::default()
        };
        let keys = Part::keys(&[
            ("enter", "load or save"),
            ("ctrl-s", "replace"),
            ("ctrl-x", "delete"),
            ("esc", "cancel"),
        ]);
        Page {
            above: vec![self.names.part(), Part::Blank],
            below: vec![Part::Blank, keys],
            ..Page::new("Saved selections", Role::Key, Part::List(list))
        }
    }
}

/// Returns the saved selections that match the typed name, and the name itself if none has it.
fn choices<'a>(state: &'a State, typed: &NameList) -> Vec<Choice<'a>> {
    let Some(saved) = &state.loaded.selections else {
        return Vec::new();
    };
    let (found, new) = typed.matching(saved, |s| &s.name);
    let saved = found.into_iter().map(Choice::Saved);
    saved.chain(new.map(Choice::New)).collect()
}

/// Addresses that the stage changes.
fn changes(state: &State) -> BTreeSet<&str> {
    let all = state.view.stage.iter().flat_map(|s| &s.changes);
    all.filter(|c| c.is_selectable())
        .map(|c| c.address.as_str())
        .collect()
}

fn row(state: &State, changes: &BTreeSet<&str>, choice: &Choice<'_>) -> Line {
    match choice {
        Choice::Saved(s) => {
            let all = s.addresses.len();
            let here = s.addresses.iter().filter(|a| changes.contains(a.as_str()));
            let here = here.count();
            let n = match here == all {
                true => count(all, "change"),
                false => format!("{} ({here} in this stage)", count(all, "change")),
            };
            vec![
                span(Role::Strong, format!(" {}", s.name)),
                span(Role::Plain, format!("  {n}")),
                span(Role::Dim, format!("  {}", date(s.at, state.utc_offset))),
            ]
        }
        Choice::New(name) => vec![
            span(Role::Create, " + "),
            span(Role::Strong, name),
            span(Role::Dim, "   save the current selection"),
        ],
    }
}

fn load(state: &mut State, saved: SavedSelection, effects: &mut Vec<Effect>) {
    if let Err(why) = command::can_select(state) {
        state.show_error(why);
        return;
    }
    let Some(stage) = state.view.stage.as_ref().map(|s| s.stage) else {
        return;
    };
    let only = Select::Only(saved.addresses.clone());
    state.loaded.loading_selection = Some(saved);
    effects.push(Effect::Select(stage, vec![only]));
}

fn save(state: &mut State, name: String, effects: &mut Vec<Effect>) {
    match save_effect(state, name) {
        Ok(effect) => effects.push(effect),
        Err(why) => state.show_error(why),
    }
}

fn save_effect(state: &State, name: String) -> Result<Effect, String> {
    command::writable(state).map_err(|why| why.into_owned())?;
    let name = model::selection_name(&name).map_err(|why| why.to_string())?;
    let stage = state.view.stage.as_ref().map(|s| s.stage);
    let stage = stage.ok_or("no stage yet: press s")?;
    Ok(Effect::SaveSelection(stage, name.to_owned()))
}

fn ask_replace(state: &mut State, saved: SavedSelection) {
    let now = state.selected_changes().count();
    let body = vec![line(
        Role::Plain,
        format!(
            "It has {}; the current selection has {now}.",
            count(saved.addresses.len(), "change")
        ),
    )];
    let title = format!("Replace the saved selection {}?", saved.name);
    match save_effect(state, saved.name) {
        Ok(effect) => state.open(question(title, body, "Replace", effect)),
        Err(why) => state.show_error(why),
    }
}

fn ask_delete(state: &mut State, saved: &SavedSelection) {
    if let Err(why) = command::writable(state) {
        state.show_error(why);
        return;
    }
    let body = vec![line(
        Role::Plain,
        format!("It has {}.", count(saved.addresses.len(), "change")),
    )];
    let title = format!("Delete the saved selection {}?", saved.name);
    let effect = Effect::DeleteSelection(saved.name.clone());
    state.open(question(title, body, "Delete", effect));
}

fn question(title: String, body: Doc, yes: &'static str, effect: Effect) -> Confirm {
    Confirm {
        title,
        body,
        effects: vec![effect],
        answers: Answers::action(yes),
        ..Confirm::default()
    }
}

/// Reports a loaded selection, and names its changes that the stage does not have.
pub fn report_loaded(state: &mut State, saved: &SavedSelection, selection: &Selection) {
    let missing = saved.missing(selection);
    let (name, all) = (&saved.name, saved.addresses.len());
    let mut text = format!(
        "selection {name} loaded: {} of {}",
        all - missing.len(),
        count(all, "change")
    );
    if !selection.along.is_empty() {
        let more = selection.along.len();
        text.push_str(&format!(", and {more} more along with them"));
    }
    state.show_message(text);
    // Another question may have opened since the request.
    if missing.is_empty() || state.frame.popup.is_some() {
        return;
    }
    let head = match missing.len() {
        1 => "One change is not in this stage:".to_owned(),
        n => format!("{n} changes are not in this stage:"),
    };
    let mut doc = vec![line(Role::Plain, head), Line::new()];
    doc.extend(missing.iter().map(|a| line(Role::Warn, format!("  {a}"))));
    state.open(Message::new(format!("Selection {name}"), doc));
}
