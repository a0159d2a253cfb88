//! Commands of the State screen that change the state and no object.

use crate::app::command::Available;
use crate::app::doc::{Role, line, push_addresses};
use crate::app::entry::Entry;
use crate::app::format::count;
use crate::app::msg::Effect;
use crate::app::popups::{Answers, Confirm, Import, Move};
use crate::app::state::State;
use model::StateRow;

/// Address of the object, resource or module under the cursor.
fn address_in_state(state: &State) -> Option<String> {
    if let Some(node) = state.node() {
        let address = node.key.strip_suffix("[*]").unwrap_or(&node.key);
        return Some(address.to_owned());
    }
    let object = state.state_row()?;
    Some(match &object.deposed {
        Some(key) => format!("{} (deposed {key})", object.address),
        None => object.address.clone(),
    })
}

/// Objects at or below the cursor.
fn objects(state: &State) -> Vec<&StateRow> {
    let rows = state.loaded.state_rows.as_deref().unwrap_or_default();
    match state.node() {
        Some(node) => {
            let (shown, hidden) = state.below(node);
            let all = shown.into_iter().chain(hidden);
            all.filter_map(|i| rows.get(i)).collect()
        }
        None => state.state_row().into_iter().collect(),
    }
}

/// Requires an object, a resource or a module under the cursor.
pub fn on_objects(state: &State) -> Available {
    super::can_stage(state)?;
    match objects(state).is_empty() {
        true => Err("no object under the cursor".into()),
        false => Ok(()),
    }
}

/// Requires a managed object under the cursor, which is not deposed.
pub fn on_managed_object(state: &State) -> Available {
    super::on_resource(state)?;
    match state.state_row() {
        Some(o) if o.data => Err("a data source cannot be tainted".into()),
        Some(o) if o.deposed.is_some() => Err("the next deploy destroys this object anyway".into()),
        _ => Ok(()),
    }
}

pub fn ask_taint(state: &mut State, _: &mut Vec<Effect>) {
    let Some(object) = state.state_row() else {
        return;
    };
    let (address, tainted) = (object.address.clone(), !object.tainted);
    let (title, effect, word) = match tainted {
        true => (
            format!("Taint {address}?"),
            "The next stage replaces the object. Nothing is changed until you apply that.",
            "Taint",
        ),
        false => (
            format!("Remove the taint of {address}?"),
            "The next stage keeps the object.",
            "Untaint",
        ),
    };
    state.open(Confirm {
        title,
        body: vec![line(Role::Plain, effect)],
        answers: Answers::action(word),
        loses_nothing: true,
        effects: vec![Effect::Taint { address, tainted }],
        ..Confirm::default()
    });
}

/// Maximum number of objects in a confirmation.
const LISTED: usize = 10;

pub fn ask_forget(state: &mut State, _: &mut Vec<Effect>) {
    let Some(address) = address_in_state(state) else {
        return;
    };
    let all = objects(state);
    let mut body = vec![
        line(
            Role::Warn,
            "The real object stays, and nothing manages it any more.",
        ),
        line(
            Role::Plain,
            "If the configuration still declares it, the next stage creates a second one.",
        ),
    ];
    if all.len() > 1 {
        let names = all.iter().map(|o| o.address.as_str());
        push_addresses(&mut body, &count(all.len(), "object"), names, LISTED);
    }
    let is_forgotten = |name: &&String| all.iter().any(|o| o.address == **name);
    let dependents = all.iter().flat_map(|o| &o.dependents);
    let mut dependents: Vec<&String> = dependents.filter(|name| !is_forgotten(name)).collect();
    dependents.sort_unstable();
    dependents.dedup();
    if !dependents.is_empty() {
        let names = dependents.into_iter().map(String::as_str);
        push_addresses(&mut body, "needed by", names, LISTED);
    }
    state.open(Confirm {
        title: format!("Forget {address}?"),
        body,
        answers: Answers::action("Forget"),
        effects: vec![Effect::Forget(vec![address])],
        ..Confirm::default()
    });
}

pub fn ask_move(state: &mut State, _: &mut Vec<Effect>) {
    if let Some(from) = address_in_state(state) {
        let entry = Entry::new(&from);
        state.open(Move { from, entry });
    }
}

pub fn ask_import(state: &mut State, _: &mut Vec<Effect>) {
    state.open(Import::anywhere(state));
}
