//! Saves the selection of a stage under a name, and deletes saved selections.

use super::command::Operations;
use super::stale_check::Purpose;
use crate::error::{EngineError, NotFound};
use crate::stage::select;
use model::*;
use std::collections::BTreeSet;

impl Operations {
    /// Saves the selection of a stage. Replaces a saved one with the same name.
    pub async fn save_selection(
        &self,
        stage: StageId,
        name: &str,
    ) -> Result<SavedSelection, EngineError> {
        let name = selection_name(name)?;
        let saved = self.saved_selections().await?;
        if saved.len() >= MAX_SAVED_SELECTIONS && saved.iter().all(|s| s.name != name) {
            return Err(BadSelectionName::TooMany.into());
        }
        let staged = self.load_stage(stage, Purpose::Display).await?;
        let store = self.memory.store();
        let left = store.deselected(stage).await?;
        let left: BTreeSet<String> = left.into_iter().collect();
        let changes = select::references(&staged.stage);
        let except = Select::Except(left.iter().cloned().collect());
        let selection = SavedSelection {
            name: name.to_owned(),
            at: now_ms(),
            addresses: select::select(&changes, &left, &except)?.taken,
        };
        store.save_selection(selection.clone()).await?;
        Ok(selection)
    }

    /// All saved selections, by name.
    pub async fn saved_selections(&self) -> Result<Vec<SavedSelection>, EngineError> {
        Ok(self.memory.store().saved_selections().await?)
    }

    /// The saved selection with a name.
    pub async fn saved_selection(&self, name: &str) -> Result<SavedSelection, EngineError> {
        let all = self.saved_selections().await?;
        let found = all.into_iter().find(|s| s.name == name.trim());
        Ok(found.ok_or_else(|| NotFound::Selection(name.to_owned()))?)
    }

    /// Deletes a saved selection.
    pub async fn delete_selection(&self, name: &str) -> Result<(), EngineError> {
        if self.memory.store().delete_selection(name).await? {
            Ok(())
        } else {
            Err(NotFound::Selection(name.to_owned()).into())
        }
    }
}
