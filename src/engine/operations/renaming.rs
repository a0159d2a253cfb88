//! Manual changes of addresses and providers in the state. The objects themselves are unchanged.

use super::command::Operations;
use super::import_forget::manual_change;
use crate::error::{EngineError, NotFound};
use crate::stage::renames::Renames;
use lang::addr::{AbsInstance, InstanceKey, ModuleInstance, Target};
use model::*;
use std::collections::{BTreeMap, BTreeSet};
use store::records::{Settlement, State, StateEdit, StateObject};

/// Reasons why an address or provider cannot be changed. The state is unchanged then.
#[derive(Debug, thiserror::Error)]
enum RenameError {
    #[error(
        "cannot change {address}: an operation on it has an unknown outcome ({outcome}); run `flightdeck stage` to see how to settle that outcome"
    )]
    Unknown { address: String, outcome: String },
    #[error("invalid provider address {0:?}; use NAMESPACE/NAME or HOST/NAMESPACE/NAME")]
    NoProvider(String),
    /// The old address is of the kind `what`, the new one of another.
    #[error("cannot move {from} to {to}: {from} is {what}, but {to} is not")]
    OtherKind {
        from: Target,
        what: &'static str,
        to: Target,
    },
    #[error("cannot move {from} to {to}: {taken} is already in the state")]
    Taken {
        taken: AbsInstance,
        from: Target,
        to: Target,
    },
    #[error(
        "cannot move {old} to {new}: their resource types differ; use a `moved` block, if the provider supports this change of type"
    )]
    OtherType { old: AbsInstance, new: AbsInstance },
}

impl From<RenameError> for EngineError {
    fn from(error: RenameError) -> Self {
        Self::refused(error)
    }
}

/// Old address → new address of each moved instance.
type Moves = BTreeMap<AbsInstance, AbsInstance>;

impl Operations {
    /// Moves an instance, a resource or a module to another address.
    pub async fn rename(
        &self,
        from: String,
        to: String,
        dry_run: bool,
    ) -> Result<Vec<StateChange>, EngineError> {
        let (source, target): (Target, Target) = (from.trim().parse()?, to.trim().parse()?);
        let work_out = |state: &State| {
            let moves = moves(state, &source, &target)?;
            let changes = moves.iter().map(|(from, to)| {
                let object = state.objects.iter().find(|o| o.address == from.to_string());
                StateChange {
                    to: Some(to.to_string()),
                    provider: object.map(|o| o.provider.clone()),
                    ..manual_change(StateChangeKind::Renamed, &from.to_string())
                }
            });
            Ok((edits(state, &moves), changes.collect()))
        };
        self.edit_state_manually("state-mv", work_out, dry_run)
            .await
    }

    /// Assigns all objects of one provider to another.
    pub async fn replace_provider(
        &self,
        from: String,
        to: String,
        dry_run: bool,
    ) -> Result<Vec<StateChange>, EngineError> {
        let (from, to) = (provider(&from)?, provider(&to)?);
        let work_out = |state: &State| {
            let mut edits = Vec::new();
            let mut changes = Vec::new();
            for object in &state.objects {
                let Some(key) =
                    ConfigKey::parse(&object.provider).filter(|key| *key.address == *from)
                else {
                    continue;
                };
                let address = to.as_str().into();
                let provider = ConfigKey { address, ..key }.to_string();
                changes.push(StateChange {
                    to: Some(provider.clone()),
                    provider: Some(object.provider.clone()),
                    deposed: (!object.deposed.is_empty()).then(|| object.deposed.clone()),
                    ..manual_change(StateChangeKind::Reassigned, &object.address)
                });
                edits.push(StateEdit::Put(Box::new(StateObject {
                    provider,
                    ..object.clone()
                })));
            }
            Ok((edits, changes))
        };
        self.edit_state_manually("state-replace-provider", work_out, dry_run)
            .await
    }

    /// Computes edits of the state under its lock, and applies them unless `dry_run`.
    async fn edit_state_manually(
        &self,
        operation: &'static str,
        work_out: impl FnOnce(&State) -> Result<(Vec<StateEdit>, Vec<StateChange>), EngineError>,
        dry_run: bool,
    ) -> Result<Vec<StateChange>, EngineError> {
        let request = StageRequest::default();
        let command = self.begin_on_state(&request, operation).await?;
        let made = async {
            let state = self.state().await?;
            let (edits, changes) = work_out(&state)?;
            self.refuse_unknown_outcomes(&changes).await?;
            if dry_run || edits.is_empty() {
                return Ok(changes);
            }
            let store = self.memory.store();
            let kept = store
                .apply_manual_edits(edits, Settlement::default(), changes)
                .await?;
            Ok(self.changed(kept))
        }
        .await;
        command.finish().await;
        made
    }

    /// Refuses addresses with an unknown outcome, because it is unknown which object would be
    /// renamed.
    async fn refuse_unknown_outcomes(&self, changes: &[StateChange]) -> Result<(), EngineError> {
        let unknown = self.memory.store().unknown_outcomes().await?;
        let open = unknown
            .iter()
            .find(|u| changes.iter().any(|change| change.address == u.address));
        match open {
            None => Ok(()),
            Some(open) => Err(RenameError::Unknown {
                address: open.address.clone(),
                outcome: open.text(),
            }
            .into()),
        }
    }
}

/// Parses a provider address and adds the default host.
fn provider(text: &str) -> Result<String, EngineError> {
    let text = text.trim();
    let parts: Vec<&str> = text.split('/').collect();
    if parts.len() > 3
        || parts
            .iter()
            .any(|p| p.is_empty() || p.contains(['"', ' ', '[']))
    {
        return Err(RenameError::NoProvider(text.to_owned()).into());
    }
    Ok(full_address(text))
}

/// Computes the instances to move and their new addresses.
fn moves(state: &State, from: &Target, to: &Target) -> Result<Moves, EngineError> {
    let there: BTreeSet<AbsInstance> = state
        .objects
        .iter()
        .filter_map(|o| o.address.parse().ok())
        .collect();
    let other_kind = |what| RenameError::OtherKind {
        from: from.clone(),
        what,
        to: to.clone(),
    };
    let mut moves = Moves::new();
    match (from, to) {
        (Target::Module(from), Target::Module(to)) => {
            for old in there.iter().filter(|a| a.module.0.starts_with(&from.0)) {
                let mut new = old.clone();
                new.module = replace_prefix(to, &old.module, from);
                moves.insert(old.clone(), new);
            }
        }
        (Target::Module(_), _) => return Err(other_kind("a module").into()),
        // If no instance is without a key, the address means all instances of the resource.
        (Target::Resource(resource), _)
            if !there.contains(&resource.instance(InstanceKey::None)) =>
        {
            let Target::Resource(new) = to else {
                return Err(other_kind("a resource with several instances").into());
            };
            for old in there.iter().filter(|a| a.abs() == *resource) {
                moves.insert(old.clone(), new.instance(old.key.clone()));
            }
        }
        (Target::Resource(_) | Target::Instance(_), to) => {
            let one = |target: &Target| match target {
                Target::Resource(r) => Some(r.instance(InstanceKey::None)),
                Target::Instance(i) => Some(i.clone()),
                Target::Module(_) => None,
            };
            let (Some(old), Some(new)) = (one(from), one(to)) else {
                return Err(other_kind("a resource instance").into());
            };
            if there.contains(&old) {
                moves.insert(old, new);
            }
        }
    }
    if moves.is_empty() {
        let names: BTreeSet<String> = there
            .iter()
            .flat_map(|a| [a.to_string(), a.abs().to_string(), a.module.to_string()])
            .collect();
        let address = from.to_string();
        let near = lang::eval::closest(&address, names.iter().map(String::as_str));
        let near = near.map(str::to_owned);
        return Err(NotFound::ToMove { address, near }.into());
    }
    checked(moves, &there, from, to)
}

/// Checks that no object is in the way of the moves.
fn checked(
    moves: Moves,
    there: &BTreeSet<AbsInstance>,
    from: &Target,
    to: &Target,
) -> Result<Moves, EngineError> {
    let whole = matches!(to, Target::Module(_)) || moves.len() > 1;
    // The target of a module or resource must be empty, because the parts of both could not be
    // separated again.
    let taken = there
        .iter()
        .find(|a| whole && to.contains(a) && !moves.contains_key(a))
        .or_else(|| moves.values().find(|new| there.contains(new)));
    if let Some(taken) = taken {
        return Err(RenameError::Taken {
            taken: taken.clone(),
            from: from.clone(),
            to: to.clone(),
        }
        .into());
    }
    for (old, new) in &moves {
        // Another type needs a conversion by the provider, which only a moved block requests.
        if (old.resource.mode, &old.resource.kind) != (new.resource.mode, &new.resource.kind) {
            return Err(RenameError::OtherType {
                old: old.clone(),
                new: new.clone(),
            }
            .into());
        }
    }
    Ok(moves)
}

/// Replaces the prefix `from` of a module path by `to`.
fn replace_prefix(
    to: &ModuleInstance,
    module: &ModuleInstance,
    from: &ModuleInstance,
) -> ModuleInstance {
    let rest = module.0.get(from.0.len()..).unwrap_or_default();
    ModuleInstance(to.0.iter().chain(rest).cloned().collect())
}

/// Edits that move the objects, and edits of all references to them.
fn edits(state: &State, moves: &Moves) -> Vec<StateEdit> {
    let mut all: Vec<StateEdit> = moves
        .iter()
        .map(|(from, to)| StateEdit::Move {
            from: from.to_string(),
            to: to.to_string(),
        })
        .collect();
    let stays = state
        .objects
        .iter()
        .filter_map(|o| o.address.parse::<AbsInstance>().ok())
        .filter(|a| !moves.contains_key(a));
    // References of all objects follow the moves.
    let renames = Renames::new(moves, stays);
    for object in &state.objects {
        let mut new = object.clone();
        if object.dependencies.iter().any(|on| renames.affects(on)) {
            let now = renames.dependencies(&object.dependencies);
            new.dependencies = now.into_iter().collect();
        }
        if object.needs.iter().any(|of| renames.address(of).is_some()) {
            new.needs = renames.rename_needs(&object.needs).into_iter().collect();
        }
        if let Some(followed) = renames.link(object) {
            new.attributes = followed;
        }
        if new != *object {
            if let Some(address) = renames.address(&object.address) {
                new.address.clone_from(address);
            }
            all.push(StateEdit::Put(Box::new(new)));
        }
    }
    all
}
