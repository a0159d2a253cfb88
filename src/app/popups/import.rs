//! Popup to import an object: its address, then its id.

use super::{Content, Page, Part};
use crate::app::doc::{Line, Role, line, wrap};
use crate::app::entry::Entry;
use crate::app::key::{ENTER, Key, KeyCode};
use crate::app::msg::Effect;
use crate::app::state::State;
use lang::addr::AbsInstance;
use model::{Action, ImportObject};

/// Inputs of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    address: Entry,
    id: Entry,
    field: Field,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Address,
    Id,
}

/// Maximum number of named creates.
const NAMED: usize = 5;

impl Import {
    /// Imports an object with a known address.
    pub fn at(address: &str, id: &str) -> Self {
        Self {
            address: Entry::new(address),
            id: Entry::new(id),
            field: Field::Id,
        }
    }

    /// Imports any object; proposes the address of the first create in the stage.
    pub fn anywhere(state: &State) -> Self {
        let first = creates(state, "").next().unwrap_or_default();
        Self {
            address: Entry::new(first),
            id: Entry::default(),
            field: Field::Address,
        }
    }

    /// Accepts the typed address, or shows what is wrong with it.
    fn accept_address(&mut self, state: &mut State) {
        let address = self.address.text();
        match address.trim().parse::<AbsInstance>() {
            Ok(_) => self.field = Field::Id,
            Err(why) => state.show_error(format!("{address:?} is not an address: {why}")),
        }
    }
}

/// Addresses of the creates in the stage that begin with a text; none of a stage that was applied.
fn creates<'s>(state: &'s State, typed: &str) -> impl Iterator<Item = &'s str> {
    let stage = state
        .view
        .stage
        .iter()
        .filter(|_| state.applied().is_none());
    let all = stage.flat_map(|s| &s.changes);
    let creates = all.filter(|c| c.action == Action::Create);
    let typed = typed.trim().to_owned();
    creates
        .map(|c| c.address.as_str())
        .filter(move |address| address.starts_with(&typed))
}

impl Content for Import {
    const WIDTH: u16 = 84;

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        let id = self.id.text().trim().to_owned();
        match (self.field, key.code) {
            (Field::Address, _) if key == ENTER => self.accept_address(state),
            (Field::Address, KeyCode::Tab) => {
                let found = creates(state, &self.address.text()).next();
                self.address = found.map_or(self.address, Entry::new);
            }
            (Field::Address, _) => {
                self.address.key(key);
            }
            (Field::Id, KeyCode::Up) => self.field = Field::Address,
            // An import without an id is impossible, so Enter does nothing then.
            (Field::Id, _) if key == ENTER && !id.is_empty() => {
                let address = self.address.text().trim().to_owned();
                state.show_message(format!("importing {address} with id {id}"));
                effects.push(Effect::Import(ImportObject {
                    address,
                    id,
                    variables: state.options.plan.variables.clone(),
                }));
                return;
            }
            (Field::Id, _) => {
                self.id.key(key);
            }
        }
        state.open(self);
    }

    fn paste(&mut self, text: &str) {
        match self.field {
            Field::Address => self.address.insert(text),
            Field::Id => self.id.insert(text),
        }
    }

    fn page(&self, state: &State, cells: usize) -> Page {
        let address = self.address.text();
        let what = match self.field {
            Field::Address => "an object",
            Field::Id => &address,
        };
        let mut words = vec![
            line(Role::Strong, format!("Import {what} into the state")),
            Line::new(),
            line(
                Role::Plain,
                "Its provider reads the object and changes nothing. The configuration must declare \
                 the resource.",
            ),
        ];
        let (input, keys) = match self.field {
            Field::Address => {
                let mut all = creates(state, &address);
                let named: Vec<&str> = all.by_ref().take(NAMED).collect();
                if !named.is_empty() {
                    let more = match all.count() {
                        0 => String::new(),
                        n => format!(" +{n} more"),
                    };
                    let text = format!("creates in the stage: {}{more}", named.join(", "));
                    words.extend([Line::new(), line(Role::Dim, text)]);
                }
                (
                    Part::input("address: ", &self.address),
                    Part::keys(&[
                        ("enter", "continues with the id"),
                        ("tab", "completes"),
                        ("esc", "cancels"),
                    ]),
                )
            }
            Field::Id => {
                words.extend([Line::new(), id_hint(state, &address)]);
                (
                    Part::input("id: ", &self.id),
                    Part::keys(&[
                        ("enter", "imports it"),
                        ("up", "changes the address"),
                        ("esc", "cancels"),
                    ]),
                )
            }
        };
        Page {
            below: vec![Part::Blank, input, Part::Blank, keys],
            ..Page::new("", Role::Key, Part::Text(wrap(&words, cells)))
        }
    }
}

/// Tells which id an import needs: the protocol has no description of it, so an object of the same
/// type serves as an example.
fn id_hint(state: &State, address: &str) -> Line {
    let of_type = address.trim().parse::<AbsInstance>().ok();
    let of_type = of_type.map(|a| a.resource.kind.to_string());
    let mut all = state.loaded.state_rows.iter().flatten();
    let same = all.find(|r| !r.data && Some(&r.resource_type) == of_type.as_ref());
    let example = same.and_then(|r| r.attributes.iter().find(|(name, _)| name == "id"));
    let text = match (example, of_type) {
        (Some((_, id)), Some(kind)) => {
            format!(
                "The id has the form that the provider documents; a {kind} in the state has {id}."
            )
        }
        (None, Some(kind)) => {
            format!("The id has the form that the provider documents for {kind}.")
        }
        _ => "The id has the form that the provider documents.".to_owned(),
    };
    line(Role::Plain, text)
}
