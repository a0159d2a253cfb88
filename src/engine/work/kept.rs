//! Stages that were kept: fetched with all that they rest on, where that still fits; selected from.

use super::reading::providers_in;
use super::same::Purpose;
use super::staging::some;
use super::verb::{Staged, Work};
use crate::engine::error::{EngineError, NotThere};
use crate::engine::mutex::lock;
use crate::engine::source;
use crate::engine::stage::config_json::Configuration;
use crate::engine::stage::sights::{self};
use crate::engine::stage::{keep, plan_json, select, show};
use crate::engine::store::model::StageRecord;
use crate::engine::store::outputs;
use crate::engine::words::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A state that is looked at in a file of its own.
#[derive(Debug)]
pub struct StateInFile {
    /// Its objects, fit to be shown.
    pub rows: Vec<StateRow>,
    pub outputs: Vec<OutputValue>,
    /// Its representation for programs.
    pub json: serde_json::Value,
}

impl Work {
    /// A stage worked out before; the newest where none is named.
    pub async fn staged(&self, stage: Option<StageId>) -> Result<Arc<StageSummary>, EngineError> {
        let store = self.memory.store();
        let known = lock(&self.newest)
            .as_ref()
            .filter(|s| stage.is_none_or(|id| id == s.stage.id))
            .cloned();
        if let Some(staged) = known {
            let mut summary = show::shown(&staged.stage, self.pool.secrets());
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
        let record = record.ok_or_else(|| stage.map_or(NotThere::AnyStage, NotThere::Stage))?;
        let read = record.summary.read();
        let mut summary: StageSummary = read.map_err(EngineError::unreadable(record.id))?;
        summary.left = record.left;
        Ok(summary.into())
    }

    /// The whole stage: the newest one as it is, an older one from the record; refused where it
    /// does not fit any more.
    pub(super) async fn whole(
        &self,
        id: StageId,
        purpose: Purpose<'_>,
    ) -> Result<Arc<Staged>, EngineError> {
        let staged = match self.known(id, purpose) {
            Some(staged) => staged,
            None => {
                let record = self.memory.store().stage(id).await?;
                self.restored(record.ok_or(NotThere::Stage(id))?, purpose)
                    .await?
            }
        };
        if let Purpose::Deploy(_) = purpose {
            self.still_fits(&staged, purpose).await?;
        }
        Ok(staged)
    }

    /// The newest stage as it was worked out, unless values are given for its deploy.
    fn known(&self, id: StageId, purpose: Purpose<'_>) -> Option<Arc<Staged>> {
        let newest = lock(&self.newest).clone();
        newest.filter(|s| s.stage.id == id && purpose.flags().is_empty())
    }

    /// What a stage was asked for, with the values of its variables.
    pub(super) async fn request_of(
        &self,
        id: StageId,
        purpose: Purpose<'_>,
    ) -> Result<StageRequest, EngineError> {
        if let Some(staged) = self.known(id, purpose) {
            return Ok(purpose.of_stage(&staged.stage));
        }
        let record = self.memory.store().stage(id).await?;
        Ok(purpose.of_record(&record.ok_or(NotThere::Stage(id))?)?)
    }

    /// A stage from its record, with all that it rests on. For a deploy, one that was made with
    /// other plugins is refused before any is launched.
    pub(super) async fn restored(
        &self,
        record: StageRecord,
        purpose: Purpose<'_>,
    ) -> Result<Arc<Staged>, EngineError> {
        let request = purpose.of_record(&record)?;
        let files = (&*record.config_digest, &*record.snapshot);
        let loaded = Arc::new(self.read_same(record.id, &request, files).await?);
        let state = self.state().await?;
        let sought = self.search(&loaded, providers_in(&state)).await?;
        let other = sought.plugins.difference(&record.plugins_digest);
        if let (Some(what), Purpose::Deploy(_)) = (other, purpose) {
            return Err(EngineError::Stale {
                stage: record.id,
                what,
            });
        }
        let (root, schemas, sought) = self.launched(&loaded, sought, &self.current()).await?;
        let stage = keep::restore(&record, |address, resource| {
            let schemas = schemas.get(address)?;
            crate::engine::stage::nodes::schema_of(schemas, resource).cloned()
        })?;
        Ok(Arc::new(Staged {
            stage: Arc::new(stage),
            loaded,
            root,
            schemas,
            meant: sought.found,
            in_state: sought.in_state,
        }))
    }

    /// Whether what the stage was made from is still what is there.
    pub(super) async fn still_fits(
        &self,
        staged: &Staged,
        purpose: Purpose<'_>,
    ) -> Result<(), EngineError> {
        let stage = &staged.stage;
        let id = stage.id;
        let stale = |what: String| EngineError::Stale { stage: id, what };
        if let Some(what) = self.another_state(stage).await? {
            return Err(stale(what));
        }
        let request = purpose.of_stage(stage);
        let files = (&*stage.digests.config, &*staged.loaded.snapshot);
        let now = self.read_same(id, &request, files).await?;
        let dir = now.dir.clone();
        let seen = staged.stage.sights.clone();
        let moved_on = tokio::task::spawn_blocking(move || sights::moved_on(&seen, &dir)).await;
        let moved_on = moved_on.map_err(EngineError::task("files could not be looked at"))?;
        if !moved_on.is_empty() {
            return Err(stale(format!(
                "changed since it was staged: {}",
                some(&moved_on)
            )));
        }
        // Other plugins are not even launched for a stage that was approved without them.
        let sought = self.search(&now, staged.in_state.clone()).await?;
        if let Some(what) = sought.plugins.difference(&staged.stage.digests.plugins) {
            return Err(stale(what));
        }
        source::declare(&self.pool, &sought).await;
        Ok(())
    }

    /// Compares a stage with the workspace, as its deploy does; launches no plugin.
    pub async fn check_stage(&self, id: StageId) -> Result<(), EngineError> {
        let _turn = self.turn.lock().await;
        if let Some(staged) = self.known(id, Purpose::Look) {
            return self.still_fits(&staged, Purpose::Look).await;
        }
        let record = self.memory.store().stage(id).await?;
        let record = record.ok_or(NotThere::Stage(id))?;
        let request = Purpose::Look.of_record(&record)?;
        let files = (&*record.config_digest, &*record.snapshot);
        let loaded = self.read_same(id, &request, files).await?;
        let state = self.state().await?;
        let sought = self.search(&loaded, providers_in(&state)).await?;
        match sought.plugins.difference(&record.plugins_digest) {
            Some(what) => Err(EngineError::Stale { stage: id, what }),
            None => Ok(()),
        }
    }

    /// Terraform's plan representation of a stage.
    pub async fn plan_json(&self, id: StageId) -> Result<serde_json::Value, EngineError> {
        let staged = self.whole(id, Purpose::Look).await?;
        let state = self.state().await?;
        let configuration = Configuration {
            declared: &staged.loaded.root,
            root: &staged.root,
            sources: &staged.loaded.sources,
            schemas: &staged.schemas,
        };
        Ok(plan_json::plan_json(&staged.stage, &state, &configuration))
    }

    /// What was worked out before the newest staging failed; told once.
    pub fn errored_plan(&self) -> Option<serde_json::Value> {
        lock(&self.errored).take()
    }

    /// A stage as the text of a file of its own.
    pub async fn stage_file(&self, id: StageId) -> Result<String, EngineError> {
        let plan = self.plan_json(id).await?;
        let record = self.memory.store().stage(id).await?;
        let record = record.ok_or(NotThere::Stage(id))?;
        let text = keep::StageFile::new(record, &plan).text()?;
        let ciphers = self.memory.plans();
        // Deriving a key takes a while.
        tokio::task::spawn_blocking(move || ciphers.seal(text))
            .await
            .map_err(EngineError::task("the plan file could not be encrypted"))?
            .map_err(EngineError::unable("the plan file is not written"))
    }

    /// What a file holds in which a stage was kept.
    pub async fn opened(&self, text: String) -> Result<keep::StageFile, EngineError> {
        let ciphers = self.memory.plans();
        let opened = tokio::task::spawn_blocking(move || ciphers.open(text.into_bytes()))
            .await
            .map_err(EngineError::task("the plan file could not be decrypted"))?
            .map_err(EngineError::unable("the plan file cannot be read"))?;
        Ok(keep::StageFile::read(&String::from_utf8_lossy(&opened))?)
    }

    /// Takes in a stage that was kept in a file; the answer is its number here.
    pub async fn take_in_stage(&self, text: String) -> Result<StageId, EngineError> {
        let file = self.opened(text).await?;
        let store = self.memory.store();
        let here = store.stage(file.id()).await?;
        if let Some(record) = here.filter(|record| file.holds(record)) {
            return Ok(record.id);
        }
        let id = store.next_stage_id().await?;
        store.put_stage(file.record(id)?).await?;
        Ok(id)
    }

    /// The state as its representation for programs.
    pub async fn state_json(&self) -> Result<serde_json::Value, EngineError> {
        let state = self.state().await?;
        Ok(plan_json::state_json(&state))
    }

    /// What the text of a state file says.
    pub async fn state_in_file(
        &self,
        name: &str,
        text: String,
    ) -> Result<StateInFile, EngineError> {
        let state = self.memory.state().of_text(name, text.into_bytes()).await?;
        let state = Arc::new(state.unwrap_or_default());
        Ok(StateInFile {
            rows: self.memory.shown(&state),
            json: plan_json::state_json(&state),
            outputs: outputs(&state),
        })
    }

    /// Changes what a stage's deploy would apply.
    pub async fn select(&self, id: StageId, how: Select) -> Result<Selection, EngineError> {
        let staged = self.whole(id, Purpose::Look).await?;
        let store = self.memory.store();
        let left: BTreeSet<String> = store
            .stage(id)
            .await?
            .map(|r| r.left.into_iter().collect())
            .unwrap_or_default();
        let selection = select::select(&select::references(&staged.stage), &left, &how)?;
        store.set_left(id, selection.left.clone()).await?;
        self.bus.emit(EventKind::Selected {
            stage: id,
            taken: selection.taken.clone(),
            left: selection.left.clone(),
        });
        Ok(selection)
    }
}
