//! Stored stages: loads them with their inputs, refuses stale ones, and changes their selection.
//! Also encodes and decodes plan files, and decodes state files.

use super::command::{Operations, Staged};
use super::reading::providers_in;
use super::staging::join_limited;
use super::stale_check::Purpose;
use crate::error::{EngineError, NotFound, PluginProblem};
use crate::provider_resolution::{self, ProviderSearch};
use crate::stage::change::Stage;
use crate::stage::config_json::Configuration;
use crate::stage::encoding::StageCodecError;
use crate::stage::external_inputs::{self};
use crate::stage::plan_json::{self, Surroundings};
use crate::stage::{encoding, select, show};
use model::mutex::lock;
use model::*;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use store::outputs;
use store::records::{StageRecord, State};
use workspace::load::Loaded;

/// Content of a state file.
#[derive(Debug)]
pub struct StateInFile {
    /// Rows of its objects, redacted.
    pub rows: Vec<StateRow>,
    pub outputs: Vec<OutputValue>,
    /// Representation in OpenTofu's JSON format.
    pub json: serde_json::Value,
}

impl Operations {
    /// Summary of a stage; the newest one for `None`.
    pub async fn stage_summary(
        &self,
        stage: Option<StageId>,
    ) -> Result<Arc<StageSummary>, EngineError> {
        let store = self.memory.store();
        let known = lock(&self.newest)
            .as_ref()
            .filter(|s| stage.is_none_or(|id| id == s.stage.id))
            .cloned();
        if let Some(staged) = known {
            // Only the selection is not in memory.
            let mut summary = show::redacted_summary(&staged.stage, self.pool.secrets());
            let settled = self.outcomes_to_settle(&staged.stage).await?;
            summary.state_edits.extend(settled);
            summary.left = store
                .stage(staged.stage.id)
                .await?
                .map(|r| r.left)
                .unwrap_or_default();
            return Ok(summary.into());
        }
        let record = match stage {
            Some(id) => store.stage(id).await?,
            None => store.latest_stage().await?,
        };
        let record = record.ok_or_else(|| stage.map_or(NotFound::AnyStage, NotFound::Stage))?;
        let read = record.summary.read();
        let mut summary: StageSummary = read.map_err(EngineError::unreadable(record.id))?;
        summary.left = record.left;
        Ok(summary.into())
    }

    /// Complete stage: the newest from memory, an older one from its record. Refuses a stale stage.
    pub(super) async fn load_stage(
        &self,
        id: StageId,
        purpose: Purpose<'_>,
    ) -> Result<Arc<Staged>, EngineError> {
        let staged = match self.cached_stage(id, purpose) {
            Some(staged) => {
                if let Purpose::Deploy(_) = purpose {
                    self.check_secrets_unchanged(&staged).await?;
                }
                staged
            }
            None => {
                let record = self.memory.store().stage(id).await?;
                self.restored(record.ok_or(NotFound::Stage(id))?, purpose)
                    .await?
            }
        };
        // Checked at the deploy, because the workspace may have changed since the stage.
        if let Purpose::Deploy(_) = purpose {
            self.check_inputs_unchanged(&staged, purpose).await?;
        }
        Ok(staged)
    }

    /// Newest stage in memory, unless the deploy gives values of its own.
    fn cached_stage(&self, id: StageId, purpose: Purpose<'_>) -> Option<Arc<Staged>> {
        let newest = lock(&self.newest).clone();
        newest.filter(|s| s.stage.id == id && purpose.flags().is_empty())
    }

    /// Request of a stage, with the values of its variables.
    pub(super) async fn request_of(
        &self,
        id: StageId,
        purpose: Purpose<'_>,
    ) -> Result<StageRequest, EngineError> {
        if let Some(staged) = self.cached_stage(id, purpose) {
            return Ok(purpose.of_stage(&staged.stage));
        }
        let record = self.memory.store().stage(id).await?;
        Ok(purpose.of_record(&record.ok_or(NotFound::Stage(id))?)?)
    }

    /// Restores a stage from its record. For a deploy, refuses a stage of other plugins before any
    /// is launched.
    pub(super) async fn restored(
        &self,
        record: StageRecord,
        purpose: Purpose<'_>,
    ) -> Result<Arc<Staged>, EngineError> {
        let request = purpose.of_record(&record)?;
        let files = (&*record.config_digest, &*record.snapshot);
        let mut loaded = self.read_same(record.id, &request, files).await?;
        let sealer = match purpose {
            Purpose::Deploy(_) => {
                let recorded = encoding::stored_request(&record)?.secrets;
                let resolved = self.resolve_secrets(&mut loaded).await?;
                let secrets = self.unlock_secrets(record.id, recorded, resolved).await?;
                secrets.sealer
            }
            Purpose::Display => None,
        };
        let loaded = Arc::new(loaded);
        let state = self.state().await?;
        let sought = self.search(&loaded, providers_in(&state)).await?;
        if let Purpose::Deploy(_) = purpose {
            self.refuse_other_plugins(record.id, &loaded, &sought, &record.plugins_digest)?;
        }
        let (root, schemas, sought) = self.launched(&loaded, sought, &self.current()).await?;
        // Stored values can only be read with the schemas.
        let mut stage = encoding::restore(&record, sealer, |address, resource| {
            let schemas = schemas.get(address)?;
            crate::stage::nodes::schema_of(schemas, resource).cloned()
        })?;
        stage.request.stored = request.stored;
        Ok(Arc::new(Staged {
            stage: Arc::new(stage),
            loaded,
            root,
            schemas,
            resolved_providers: sought.resolved,
            in_state: sought.in_state,
        }))
    }

    /// Resolves the secrets of a stage in memory again, and compares them with those of the stage.
    async fn check_secrets_unchanged(&self, staged: &Staged) -> Result<(), EngineError> {
        let stage = &staged.stage;
        let recorded = stage.secrets.recorded.clone();
        if recorded.is_empty() {
            return Ok(());
        }
        let request = Purpose::Deploy(&[]).of_stage(stage);
        let files = (&*stage.digests.config, &*staged.loaded.snapshot);
        let mut now = self.read_same(stage.id, &request, files).await?;
        let resolved = self.resolve_secrets(&mut now).await?;
        self.unlock_secrets(stage.id, recorded, resolved).await?;
        Ok(())
    }

    /// Checks that the inputs of a stage are unchanged.
    pub(super) async fn check_inputs_unchanged(
        &self,
        staged: &Staged,
        purpose: Purpose<'_>,
    ) -> Result<(), EngineError> {
        let stage = &staged.stage;
        let id = stage.id;
        let stale = |what: String| EngineError::Stale { stage: id, what };
        // The cheapest check first.
        if let Some(what) = self.another_state(stage).await? {
            return Err(stale(what));
        }
        let request = purpose.of_stage(stage);
        let files = (&*stage.digests.config, &*staged.loaded.snapshot);
        let now = self.read_same(id, &request, files).await?;
        let dir = now.dir.clone();
        let seen = staged.stage.external_inputs.clone();
        let stored = request.stored;
        let moved_on = tokio::task::spawn_blocking(move || {
            external_inputs::changed_inputs(&seen, stored.as_deref(), &dir)
        });
        let moved_on = moved_on.await;
        let moved_on = moved_on.map_err(EngineError::task("failed to read external inputs"))?;
        if !moved_on.is_empty() {
            return Err(stale(format!(
                "external inputs changed: {}",
                join_limited(&moved_on)
            )));
        }
        // Other plugins must not be launched for a stage that was approved without them.
        let sought = self.search(&now, staged.in_state.clone()).await?;
        self.refuse_other_plugins(id, &now, &sought, &stage.digests.plugins)?;
        provider_resolution::declare(&self.pool, &sought).await;
        Ok(())
    }

    /// Refuses a stage if a plugin is missing or not trusted, or differs from the stage's.
    fn refuse_other_plugins(
        &self,
        stage: StageId,
        loaded: &Loaded,
        sought: &ProviderSearch,
        recorded: &str,
    ) -> Result<(), EngineError> {
        // A missing plugin is no reason to plan again: the stage is valid once it is installed.
        if let Some(first) = self.not_launched(loaded, sought).into_iter().next() {
            return Err(PluginProblem::Missing(first.detail).into());
        }
        match sought.plugins.difference(recorded) {
            Some(what) => Err(EngineError::Stale { stage, what }),
            None => Ok(()),
        }
    }

    /// Compares a stage with the workspace as a deploy does; launches no plugin.
    pub async fn check_stage(&self, id: StageId) -> Result<(), EngineError> {
        let _turn = self.exclusive.lock().await;
        if let Some(staged) = self.cached_stage(id, Purpose::Display) {
            return self.check_inputs_unchanged(&staged, Purpose::Display).await;
        }
        let record = self.memory.store().stage(id).await?;
        let record = record.ok_or(NotFound::Stage(id))?;
        let request = Purpose::Display.of_record(&record)?;
        let files = (&*record.config_digest, &*record.snapshot);
        let loaded = self.read_same(id, &request, files).await?;
        let state = self.state().await?;
        let sought = self.search(&loaded, providers_in(&state)).await?;
        self.refuse_other_plugins(id, &loaded, &sought, &record.plugins_digest)
    }

    /// Stage in OpenTofu's JSON plan format.
    pub async fn plan_json(&self, id: StageId) -> Result<serde_json::Value, EngineError> {
        let staged = self.load_stage(id, Purpose::Display).await?;
        let mut plan = self.surroundings(&staged).await?.plan_json(&staged.stage);
        if let Some(sealer) = &staged.stage.secrets.sealer {
            sealer.redact_json(&mut plan);
        }
        Ok(plan)
    }

    /// Parts of a stage's plan representation that depend on the state and the configuration.
    async fn surroundings(&self, staged: &Staged) -> Result<Surroundings, EngineError> {
        let state = self.state().await?;
        let configuration = Configuration {
            declared: &staged.loaded.root,
            root: &staged.root,
            sources: &staged.loaded.sources,
            schemas: &staged.schemas,
        };
        Ok(Surroundings::new(&staged.stage, &state, &configuration))
    }

    /// Surroundings for a plan file, without secrets.
    async fn redacted_surroundings(&self, staged: &Staged) -> Result<Surroundings, EngineError> {
        let surroundings = self.surroundings(staged).await?;
        let Some(sealer) = &staged.stage.secrets.sealer else {
            return Ok(surroundings);
        };
        Ok(surroundings.redacted(sealer)?)
    }

    /// Partial plan of the newest failed staging; returned once.
    pub fn errored_plan(&self) -> Option<serde_json::Value> {
        lock(&self.partial_plan).take()
    }

    /// Stage as a plan file.
    pub async fn stage_file(&self, id: StageId) -> Result<String, EngineError> {
        let staged = self.load_stage(id, Purpose::Display).await?;
        let surroundings = self.redacted_surroundings(&staged).await?;
        let record = self.memory.store().stage(id).await?;
        let record = record.ok_or(NotFound::Stage(id))?;
        let ciphers = self.memory.plans();
        let keys = encoding::plan_keys(&self.settings.workspace)?;
        // Compression and key derivation are slow.
        let written = tokio::task::spawn_blocking(move || {
            let text = encoding::StageFile::encode(record, surroundings, &keys)?;
            let encrypted = ciphers.encrypt(text);
            encrypted.map_err(EngineError::failed_to("cannot write the plan file"))
        });
        written
            .await
            .map_err(EngineError::task("failed to write the plan file"))?
    }

    /// Reads a plan file.
    pub async fn read_plan_file(&self, text: String) -> Result<encoding::StageFile, EngineError> {
        let ciphers = self.memory.plans();
        let keys = encoding::plan_keys(&self.settings.workspace)?;
        let read = tokio::task::spawn_blocking(move || {
            let opened = ciphers.open(text.into_bytes());
            let opened = opened.map_err(EngineError::failed_to("cannot read the plan file"))?;
            let text = String::from_utf8_lossy(&opened);
            Ok(encoding::StageFile::read(&text, &keys)?)
        });
        read.await
            .map_err(EngineError::task("failed to read the plan file"))?
    }

    /// Adds the stage of a plan file to the store; returns its number here.
    pub async fn import_stage(
        &self,
        text: String,
        is_digest_known: bool,
    ) -> Result<StageId, EngineError> {
        let file = self.read_plan_file(text).await?;
        if let Some(warning) = file.unsigned_warning().filter(|_| !is_digest_known) {
            self.diagnose(warning);
        }
        let store = self.memory.store();
        // The same stage is not stored twice.
        let here = match store.stage(file.id()).await? {
            Some(record) => file.is_same_stage(&record)?,
            None => false,
        };
        let id = match here {
            true => file.id(),
            false => {
                let id = store.next_stage_id().await?;
                store.put_stage(file.record(id)?).await?;
                id
            }
        };
        *lock(&self.imported) = Some((id, Arc::new(file)));
        Ok(id)
    }

    /// Refuses the stage of a plan file if the rest of its representation is not the one of this
    /// state and configuration.
    pub(super) async fn check_surroundings(&self, staged: &Staged) -> Result<(), EngineError> {
        let imported = lock(&self.imported).clone();
        let of_stage = imported.filter(|(id, _)| *id == staged.stage.id);
        let Some((_, file)) = of_stage else {
            return Ok(());
        };
        if !file.is_signed() && !has_objects_of(&self.state().await?, &staged.stage) {
            return Err(StageCodecError::Contradiction("list of former objects").into());
        }
        let now = self.redacted_surroundings(staged).await?;
        match now.difference(file.surroundings()) {
            Some(part) => Err(StageCodecError::Contradiction(part).into()),
            None => Ok(()),
        }
    }

    /// State in OpenTofu's JSON format.
    pub async fn state_json(&self) -> Result<serde_json::Value, EngineError> {
        let state = self.state().await?;
        Ok(plan_json::state_json(&state))
    }

    /// Reads a state file's text.
    pub async fn state_in_file(
        &self,
        name: &str,
        text: String,
    ) -> Result<StateInFile, EngineError> {
        let state = self
            .memory
            .state()
            .parse_text(name, text.into_bytes())
            .await?;
        let state = Arc::new(state.unwrap_or_default());
        Ok(StateInFile {
            rows: self.memory.display_rows(&state),
            json: plan_json::state_json(&state),
            outputs: outputs(&state),
        })
    }

    /// Changes the selection of a stage.
    pub async fn select(&self, id: StageId, how: Select) -> Result<Selection, EngineError> {
        let staged = self.load_stage(id, Purpose::Display).await?;
        let store = self.memory.store();
        let left: BTreeSet<String> = store
            .stage(id)
            .await?
            .map(|r| r.left.into_iter().collect())
            .unwrap_or_default();
        let selection = select::select(&select::references(&staged.stage), &left, &how)?;
        self.store_selection(id, &selection).await?;
        Ok(selection)
    }

    /// Stores and reports the selection of a stage.
    pub(super) async fn store_selection(
        &self,
        id: StageId,
        selection: &Selection,
    ) -> Result<(), EngineError> {
        let store = self.memory.store();
        store.set_deselected(id, selection.left.clone()).await?;
        self.bus.emit(EventKind::Selected {
            stage: id,
            taken: selection.taken.clone(),
            left: selection.left.clone(),
        });
        Ok(())
    }
}

/// Returns true if the state has the former object of each change, by its id.
fn has_objects_of(state: &State, stage: &Stage) -> bool {
    let recorded = state.objects.iter();
    let recorded =
        recorded.map(|object| ((object.address.as_str(), object.deposed.as_str()), object));
    let recorded: HashMap<_, _> = recorded.collect();
    stage.changes.iter().all(|change| {
        let is_changed = matches!(change.action(), Action::Update | Action::Forget)
            || change.action().destroys();
        if !is_changed || change.importing().is_some() {
            return true;
        }
        let address = change
            .previous
            .as_ref()
            .unwrap_or(&change.address)
            .to_string();
        let deposed = change.deposed.as_deref().unwrap_or_default();
        let Some(object) = recorded.get(&(address.as_str(), deposed)) else {
            return false;
        };
        let values = serde_json::from_str::<serde_json::Value>(&object.attributes);
        let id = values
            .ok()
            .and_then(|values| values["id"].as_str().map(str::to_owned));
        let shown = change.before.value.clone().unmark_deep().0;
        let shown = shown
            .as_map()
            .and_then(|all| all.get("id")?.as_str().map(str::to_owned));
        id.is_none() || shown.is_none() || id == shown
    })
}
