//! Reads one sensitive value of the newest stage or of the state for the operator's screen.

use super::command::Operations;
use crate::error::{EngineError, NotFound};
use crate::stage::change::Stage;
use crate::stage::{diff, show};
use model::mutex::lock;
use model::{Revealed, SensitivePlace, StageId};
use std::sync::Arc;
use store::{outputs, revealed};

impl Operations {
    /// Returns the value at a place.
    pub async fn reveal(&self, place: &SensitivePlace) -> Result<Revealed, EngineError> {
        let missing = || NotFound::Value(place.clone());
        let texts = match place {
            SensitivePlace::Change {
                stage,
                address,
                index,
                path,
            } => {
                let stage = self.newest_stage(*stage).ok_or_else(missing)?;
                let change = stage.changes.iter().find(|c| c.id() == *address);
                let row = change.and_then(|c| show::revealed_attribute(c, *index, path));
                let row = row.ok_or_else(missing)?;
                sides(row.before, row.after)
            }
            SensitivePlace::StageOutput { stage, name } => {
                let stage = self.newest_stage(*stage).ok_or_else(missing)?;
                let output = stage.outputs.iter().find(|o| *o.name == **name);
                let (before, after) = show::revealed_output(output.ok_or_else(missing)?);
                sides(before, after)
            }
            SensitivePlace::State { id, path } => {
                let state = self.memory.state().read().await?;
                revealed(&state, id, path)
            }
            SensitivePlace::StateOutput { name } => {
                let state = self.memory.state().read().await?;
                let found = outputs(&state).into_iter().find(|o| o.name == *name);
                let text = crate::workspace_store::output_text(&found.ok_or_else(missing)?);
                vec![("value".to_owned(), text)]
            }
        };
        if texts.is_empty() {
            return Err(missing().into());
        }
        Ok(Revealed { texts })
    }

    /// Returns the newest stage if it still has this number.
    fn newest_stage(&self, id: StageId) -> Option<Arc<Stage>> {
        let newest = lock(&self.newest).clone()?;
        (newest.stage.id == id).then(|| newest.stage.clone())
    }
}

/// Names the sides that have a value. An unknown one is named as such.
fn sides(before: Option<String>, after: Option<String>) -> Vec<(String, String)> {
    let sides = [("before", before), ("after", after)].into_iter();
    let known = sides
        .clone()
        .any(|(_, text)| text.is_some_and(|t| t != diff::UNKNOWN));
    sides
        .filter_map(|(name, text)| Some((name.to_owned(), text?)))
        // Without a known side there is no value to reveal.
        .filter(|_| known)
        .collect()
}
