//! Selects and deselects changes of a stage. A selection stays closed under dependency, and names
//! changes selected or deselected along, with their cause. Pure; linear in changes and
//! dependencies.

mod closure;

use super::change::{Change, Stage};
use super::needs::Needs;
use closure::DependencyGraph;
pub use closure::changed_needs;
pub(super) use closure::keys;
use lang::addr::{AbsInstance, ModulePath, Target};
use model::{Action, Select, Selection};
use std::collections::{BTreeSet, HashMap};

/// Parts of a change that matter for selections.
#[derive(Debug, Clone)]
pub struct ChangeRef {
    /// Id as in [`Change::id`].
    pub id: String,
    pub address: AbsInstance,
    pub action: Action,
    /// True for an import, which acts even if the action is a no-op.
    pub imports: bool,
    pub needs: Needs,
    /// Needs of the prior object: direct ones if recorded, otherwise its transitive dependencies
    /// within the module instance that it shares with them.
    pub prior_needs: Needs,
}

impl ChangeRef {
    fn new(change: &Change, connected: &BTreeSet<ModulePath>) -> Self {
        let dependencies = || {
            let all = change.recorded.dependencies.iter();
            all.map(|on| within(on, &change.address, connected))
                .collect()
        };
        let recorded = change.recorded.needs.clone();
        // An object must not wait for itself, even if it is recorded as its own dependency.
        let own = keys(&change.address);
        let mut prior_needs = recorded.unwrap_or_else(dependencies);
        prior_needs.retain(|on| !own.contains(on));
        Self {
            id: change.id(),
            address: change.address.clone(),
            action: change.action(),
            imports: change.importing().is_some(),
            needs: change.needs.clone(),
            prior_needs,
        }
    }
}

/// Reason that an address cannot be selected or deselected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    #[error("{0} does not change in this stage, so it cannot be selected or deselected")]
    Unchanged(String),
    /// No change has this address; `alike` are changed instances of it.
    #[error("this stage has no change of {address}{}", hint(alike))]
    NoChange { address: String, alike: Vec<String> },
}

fn hint(alike: &[String]) -> String {
    if alike.is_empty() {
        String::new()
    } else {
        format!("; changed instances: {}", alike.join(", "))
    }
}

/// Returns the changes of a stage in this form.
pub fn references(stage: &Stage) -> Vec<ChangeRef> {
    references_within(&stage.changes, &stage.connected_modules)
}

/// The same for changes of a stage that is not complete yet; the instances of the `connected`
/// modules may depend on each other.
pub fn references_within(changes: &[Change], connected: &BTreeSet<ModulePath>) -> Vec<ChangeRef> {
    let reference = |change| ChangeRef::new(change, connected);
    changes.iter().map(reference).collect()
}

/// Applies `how` to a selection; `left` are the deselected changes. Changes without effect belong
/// to neither side.
///
/// # Errors
/// If the address has no change to select or deselect.
pub fn select(
    changes: &[ChangeRef],
    left: &BTreeSet<String>,
    how: &Select,
) -> Result<Selection, SelectError> {
    let web = DependencyGraph::new(changes);
    let mut taken: Vec<bool> = changes
        .iter()
        .map(|c| has_effect(c) && !left.contains(&c.id))
        .collect();
    let along = match how {
        Select::Take(address) => {
            let start = find(changes, address)?;
            taken[start] = true;
            web.pull(&mut taken, vec![start])
        }
        Select::Leave(address) => {
            let start = find(changes, address)?;
            // Its dependents cannot be applied without it, so they are deselected too.
            taken[start] = false;
            web.deselect_dependents(&mut taken, vec![start])
        }
        Select::Many { take, addresses } => {
            let start = find_all(changes, addresses)?;
            start.iter().for_each(|i| taken[*i] = *take);
            if *take {
                web.pull(&mut taken, start)
            } else {
                web.deselect_dependents(&mut taken, start)
            }
        }
        Select::Only(addresses) => {
            let wanted: BTreeSet<&String> = addresses.iter().collect();
            let start: Vec<usize> = (0..changes.len())
                .filter(|i| has_effect(&changes[*i]) && wanted.contains(&changes[*i].id))
                .collect();
            taken.fill(false);
            start.iter().for_each(|i| taken[*i] = true);
            web.pull(&mut taken, start)
        }
        Select::Except(addresses) => {
            let left: BTreeSet<&String> = addresses.iter().collect();
            taken = changes
                .iter()
                .map(|c| has_effect(c) && !left.contains(&c.id))
                .collect();
            let all = (0..changes.len()).filter(|i| taken[*i]).collect();
            web.pull(&mut taken, all)
        }
        Select::All => {
            taken = changes.iter().map(has_effect).collect();
            Vec::new()
        }
        Select::None => {
            taken.fill(false);
            Vec::new()
        }
        // The inverse need not be closed under dependency, so its needs are added.
        Select::Invert => {
            taken = changes
                .iter()
                .zip(&taken)
                .map(|(c, taken)| has_effect(c) && !taken)
                .collect();
            let all = (0..changes.len()).filter(|i| taken[*i]).collect();
            web.pull(&mut taken, all)
        }
    };
    Ok(selection(changes, &taken, along))
}

/// Selects only these changes and their needs.
///
/// # Errors
/// If an address has no change to select.
pub fn select_only(changes: &[ChangeRef], addresses: &[String]) -> Result<Selection, SelectError> {
    let mut taken = vec![false; changes.len()];
    let start = find_all(changes, addresses)?;
    start.iter().for_each(|i| taken[*i] = true);
    let along = DependencyGraph::new(changes).pull(&mut taken, start);
    Ok(selection(changes, &taken, along))
}

/// Selects the wanted changes and their needs; a change without an effect passes its needs on.
pub fn with_needs(changes: &[ChangeRef], wanted: impl Fn(&ChangeRef) -> bool) -> Selection {
    let mut taken: Vec<bool> = changes.iter().map(wanted).collect();
    let start = (0..changes.len()).filter(|i| taken[*i]).collect();
    let along = DependencyGraph::new(changes).pull(&mut taken, start);
    selection(changes, &taken, along)
}

fn selection(changes: &[ChangeRef], taken: &[bool], along: Vec<(usize, usize)>) -> Selection {
    let ids = |wanted: bool| {
        let picked = changes
            .iter()
            .zip(taken)
            .filter(|(c, taken)| has_effect(c) && **taken == wanted);
        picked.map(|(c, _)| c.id.clone()).collect()
    };
    Selection {
        taken: ids(true),
        left: ids(false),
        along: along
            .into_iter()
            .map(|(what, cause)| (changes[what].id.clone(), changes[cause].id.clone()))
            .collect(),
    }
}

/// Returns true if the change has an effect.
fn has_effect(change: &ChangeRef) -> bool {
    change.action != Action::NoOp || change.imports
}

/// Indexes of the changes with these addresses, each once.
fn find_all(changes: &[ChangeRef], addresses: &[String]) -> Result<Vec<usize>, SelectError> {
    // A selection may name thousands of changes, too many for a linear search each.
    let by_id: HashMap<&str, usize> = changes
        .iter()
        .enumerate()
        .filter(|(_, c)| has_effect(c))
        .map(|(i, c)| (c.id.as_str(), i))
        .collect();
    let mut seen = vec![false; changes.len()];
    let mut all = Vec::with_capacity(addresses.len());
    for address in addresses {
        let at = by_id
            .get(address.as_str())
            .copied()
            .map_or_else(|| find(changes, address), Ok)?;
        // An address may be given twice.
        if !std::mem::replace(&mut seen[at], true) {
            all.push(at);
        }
    }
    Ok(all)
}

fn find(changes: &[ChangeRef], address: &str) -> Result<usize, SelectError> {
    match changes.iter().position(|c| c.id == address) {
        Some(at) if has_effect(&changes[at]) => Ok(at),
        Some(_) => Err(SelectError::Unchanged(address.to_owned())),
        None => {
            let of = |c: &&ChangeRef| has_effect(c) && c.address.config().to_string() == address;
            let alike = changes.iter().filter(of).map(|c| c.id.clone());
            Err(SelectError::NoChange {
                address: address.to_owned(),
                alike: alike.take(5).collect(),
            })
        }
    }
}

/// Returns true if other changes can need the result of this change.
fn applies(change: &ChangeRef) -> bool {
    matches!(
        change.action,
        Action::Create
            | Action::Update
            | Action::Replace
            | Action::ReplaceCreateFirst
            | Action::Read
    ) || change.imports
}

/// Returns a dependency as a point name. It means all instances of the resource within the module
/// instance that encloses both, because names are relative to it.
fn within(on: &str, address: &AbsInstance, connected: &BTreeSet<ModulePath>) -> String {
    match on.parse::<Target>() {
        Ok(Target::Resource(r)) => {
            let path = r.module.path();
            let shared = address.module.shared_outside(&path, connected);
            r.config().within(&shared).to_string()
        }
        _ => on.to_owned(),
    }
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
