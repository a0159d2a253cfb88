//! `import` and `forget`: manual changes of the state. Both settle the unknown outcomes of their
//! addresses.

use super::command::{Operations, Switches};
use super::forget_targets::{Forgettable, Forgotten};
use super::reading::nodes;
use super::unknown::quoted;
use crate::diagnostics::convert_all;
use crate::error::EngineError;
use crate::provider_resolution::Pooled;
use crate::stage::ephemeral::Leases;
use crate::stage::external_inputs::ExternalInputs;
use crate::stage::prior::{PriorState, ResolvedProviders};
use crate::stage::scope::Phase;
use crate::stage::walk::Walk;
use crate::stage::{import_object, moves};
use lang::addr::{AbsInstance, Mode};
use model::lock_owner::this_process;
use model::*;
use provider::ProviderSchema;
use std::collections::HashMap;
use std::sync::Arc;
use store::records::{Settlement, State, StateEdit, StateObject, UnknownOutcome};
use workspace::load::Loaded;

/// Reasons why an object cannot be imported.
#[derive(Debug, thiserror::Error)]
enum ImportError {
    #[error("cannot import {0}: only managed resources can be imported")]
    Unmanaged(AbsInstance),
    #[error(
        "cannot import {0}: the id is empty; pass the id that the provider uses for the object"
    )]
    NoId(AbsInstance),
    #[error("{}", in_the_way(.0, "the state already has an object there"))]
    Taken(AbsInstance),
    /// A moved block reserves the address.
    #[error(
        "{}",
        in_the_way(.0, "a `moved` block moves an object to this address in the next deploy")
    )]
    TakenByMove(AbsInstance),
    /// The diagnostics were already emitted.
    #[error("failed to import {0}")]
    Failed(AbsInstance),
}

fn in_the_way(address: &AbsInstance, why: &str) -> String {
    format!(
        "cannot import {address}: {why}. To remove that object from the state, run `flightdeck state forget {}`",
        quoted(&address.to_string())
    )
}

impl From<ImportError> for EngineError {
    fn from(error: ImportError) -> Self {
        Self::refused(error)
    }
}

/// Checked request of an import.
struct NewImport {
    address: AbsInstance,
    id: String,
}

impl NewImport {
    /// Checks the request against the state: a managed resource, an id, a free address.
    fn of(request: &ImportObject, state: &State) -> Result<Self, EngineError> {
        let address: AbsInstance = request.address.trim().parse()?;
        if address.resource.mode != Mode::Managed {
            return Err(ImportError::Unmanaged(address).into());
        }
        if request.id.is_empty() {
            return Err(ImportError::NoId(address).into());
        }
        let name = address.to_string();
        let is_there = |o: &StateObject| o.address == name && o.deposed.is_empty();
        if state.objects.iter().any(is_there) {
            return Err(ImportError::Taken(address).into());
        }
        Ok(Self {
            address,
            id: request.id.clone(),
        })
    }
}

impl Operations {
    /// Imports an existing object into the state.
    pub async fn import(&self, request: ImportObject) -> Result<StateChange, EngineError> {
        let asked = StageRequest::with_variables(request.variables.clone());
        let command = self.begin_on_state(&asked, "state-import").await?;
        let result = self.import_locked(request, &command).await;
        let said = self.report_unknown().await;
        command.finish().await;
        // An error of the command is more important than one of the report.
        let change = result?;
        said.map(|()| change)
    }

    pub(super) async fn import_locked(
        &self,
        request: ImportObject,
        switches: &Switches,
    ) -> Result<StateChange, EngineError> {
        let state = self.state().await?;
        let import = NewImport::of(&request, &state)?;
        let wanted = StageRequest::with_variables(request.variables);
        let mut loaded = self.read(&wanted).await?;
        self.resolve_secrets(&mut loaded).await?;
        let (root, schemas, sought) = self.providers(&loaded, &state, switches).await?;
        self.emit_diagnostics(convert_all(
            loaded.value_errors.iter(),
            &loaded.sources,
            self.pool.secrets(),
        ))?;
        let prior = self.moved_state(&import, &root, &state, &sought.resolved, &loaded)?;
        let walk = self.import_walk(&loaded, &root, &schemas, &prior, switches);
        let object = self.read_object(&import, walk, prior, &loaded).await?;
        self.warn_if_duplicate(&object, &state);
        self.record_import(import, object).await
    }

    /// Applies moves to a copy of the state, to find addresses that the next deploy will occupy.
    fn moved_state(
        &self,
        import: &NewImport,
        root: &lang::config::Module,
        state: &State,
        resolved: &ResolvedProviders,
        loaded: &Loaded,
    ) -> Result<PriorState, EngineError> {
        let mut prior = PriorState::new(state);
        prior.translate(resolved);
        let (Ok(moved) | Err(moved)) = moves::apply(root, &mut prior);
        self.emit_diagnostics(convert_all(
            moved.iter(),
            &loaded.sources,
            self.pool.secrets(),
        ))?;
        let address = &import.address;
        // The address is free in the state, but a move will fill it.
        if prior.objects(address).is_some_and(|o| o.current.is_some()) {
            return Err(ImportError::TakenByMove(address.clone()).into());
        }
        Ok(prior)
    }

    fn import_walk(
        &self,
        loaded: &Loaded,
        root: &Arc<lang::config::Module>,
        schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>,
        prior: &PriorState,
        switches: &Switches,
    ) -> Walk {
        let around = self.around(
            loaded,
            root,
            schemas,
            Phase::Plan,
            now_ms(),
            &switches.stop,
            ExternalInputs::default(),
        );
        let pooled = Arc::new(Pooled {
            pool: self.pool.clone(),
        });
        Walk {
            leases: Leases::new(switches.kill.clone()),
            ..Walk::new(
                around,
                nodes(root, schemas, prior),
                pooled,
                switches.stop.clone(),
                loaded.given.clone(),
            )
        }
    }

    /// Lets the provider read the object.
    async fn read_object(
        &self,
        import: &NewImport,
        walk: Walk,
        prior: PriorState,
        loaded: &Loaded,
    ) -> Result<StateObject, EngineError> {
        let (walk, prior) = (Arc::new(walk), Arc::new(prior));
        let NewImport { address, id } = import;
        // Provider configurations may depend on ephemeral resources, which stay open until the
        // object was read.
        let adopting = Box::pin(import_object::import_object(&walk, &prior, address, id));
        let (object, said) = walk
            .leases
            .run_with_renewal(&walk, &walk.nodes.graph, adopting)
            .await;
        // Errors after a cancellation are its consequence.
        if walk.cancel.is_cancelled() {
            return Err(EngineError::Cancelled);
        }
        self.emit_diagnostics(convert_all(
            said.iter(),
            &loaded.sources,
            self.pool.secrets(),
        ))?;
        object.ok_or_else(|| ImportError::Failed(address.clone()).into())
    }

    /// Adds the object to the state, which settles unknown outcomes of its address.
    async fn record_import(
        &self,
        import: NewImport,
        object: StateObject,
    ) -> Result<StateChange, EngineError> {
        let (store, name) = (self.memory.store(), import.address.to_string());
        let mut unknown = store.unknown_outcomes().await?;
        unknown.retain(|u| u.address == name && u.deposed.is_empty());
        let settlement = Settlement {
            intents: unknown.iter().map(|u| u.id).collect(),
            description: format!("imported under the id {}", import.id),
            done: false,
        };
        let change = StateChange {
            settled: unknown.iter().map(UnknownOutcome::text).collect(),
            id: Some(import.id),
            provider: Some(object.provider.clone()),
            ..manual_change(StateChangeKind::Imported, &name)
        };
        let edits = vec![StateEdit::Put(Box::new(object))];
        let kept = store
            .apply_manual_edits(edits, settlement, vec![change])
            .await?;
        self.changed(kept)
            .pop()
            .ok_or_else(|| EngineError::NotRecorded {
                what: "the imported object",
            })
    }

    /// Warns if the object is already in the state under another address: both would change it, and
    /// one would destroy it.
    fn warn_if_duplicate(&self, object: &StateObject, state: &State) {
        let Some(id) = id_of(object) else { return };
        let kind = |o: &StateObject| {
            o.address
                .parse::<AbsInstance>()
                .ok()
                .map(|a| a.resource.kind)
        };
        // Ids are unique only within a provider and type.
        let same = |o: &&StateObject| {
            o.provider == object.provider
                && kind(o) == kind(object)
                && id_of(o).as_ref() == Some(&id)
        };
        if let Some(other) = state.objects.iter().find(same) {
            let other = &other.address;
            self.diagnose(Diagnostic {
                severity: Severity::Warning,
                summary: "Object is in the state twice".to_owned(),
                detail: format!(
                    "The object with the id {id} is also in the state as {other}. A deploy of one of the two would undo the changes of the other. Remove one of them from the state with `flightdeck state forget`."
                ),
                address: Some(object.address.clone()),
                range: None,
                snippet: None,
                further: None,
                intent: None,
            });
        }
    }

    /// Removes objects from the state without destroying them. An address with only unknown
    /// outcomes is settled. All addresses are forgotten, or none. With `dry_run` nothing changes.
    pub async fn forget(
        &self,
        addresses: Vec<String>,
        dry_run: bool,
    ) -> Result<Vec<StateChange>, EngineError> {
        let request = StageRequest::default();
        let command = self.begin_on_state(&request, "state-rm").await?;
        let result = self.forget_locked(&addresses, dry_run).await;
        let said = self.report_unknown().await;
        command.finish().await;
        let changes = result?;
        said.map(|()| changes)
    }

    pub(super) async fn forget_locked(
        &self,
        addresses: &[String],
        dry_run: bool,
    ) -> Result<Vec<StateChange>, EngineError> {
        let store = self.memory.store();
        let state = self.state().await?;
        let unknown = store.unknown_outcomes().await?;
        let Forgotten {
            edits,
            changes,
            settled,
        } = Forgettable::new(&state.objects, &unknown).forget(addresses)?;
        if dry_run {
            return Ok(changes);
        }
        let settlement = Settlement {
            intents: settled,
            description: "forgotten".to_owned(),
            done: false,
        };
        let kept = store.apply_manual_edits(edits, settlement, changes).await?;
        Ok(self.changed(kept))
    }

    pub(super) fn changed(&self, changes: Vec<StateChange>) -> Vec<StateChange> {
        for change in &changes {
            self.bus.emit(EventKind::StateChanged(change.clone()));
        }
        changes
    }
}

pub(super) fn manual_change(what: StateChangeKind, address: &str) -> StateChange {
    let me = this_process("state");
    StateChange {
        at: now_ms(),
        what,
        address: address.to_owned(),
        deposed: None,
        id: None,
        provider: None,
        to: None,
        settled: Vec::new(),
        who: me.who,
        host: me.host,
        serial: 0,
    }
}

/// The `id` of an object, unless it is sensitive.
pub(super) fn id_of(object: &StateObject) -> Option<String> {
    let secret = crate::stage::prior::paths_from_json(&object.sensitive);
    // A sensitive id must not appear in messages and records.
    if secret
        .iter()
        .any(|path| cty::Path::root().attr("id").starts_with(path))
    {
        return None;
    }
    let attributes: serde_json::Value = serde_json::from_str(&object.attributes).ok()?;
    attributes.get("id")?.as_str().map(str::to_owned)
}
