//! A state that an operator brings along, put into the place of the one of record.

use super::HomeError;
use super::compare::same;
use super::look::is_blank;
use super::record::StateOfRecord;
use crate::engine::store::from_version4;
use crate::engine::store::model::State;
use statefile::StateFile;
use std::sync::Arc;

impl StateOfRecord {
    /// Puts a state file's text into the place of the state, which must be open. The answer: the
    /// state as it is now; `None` where it was so already.
    ///
    /// # Errors
    /// The text is no state that can be worked with; unless `force`, it is of another lineage or
    /// older than what is there; it cannot be written.
    pub async fn push(&self, text: &[u8], force: bool) -> Result<Option<State>, HomeError> {
        let from = || "what is pushed".to_owned();
        let file = StateFile::read(text).map_err(|e| HomeError::Unreadable {
            place: from(),
            source: Arc::new(e),
        })?;
        let state = file.map(from_version4).transpose();
        let state = state.map_err(|source| HomeError::Unusable {
            place: from(),
            source,
        })?;
        let Some(pushed) = state else {
            return Err(HomeError::NothingPushed);
        };
        let there = self.copy.state().await?;
        let fresh = is_blank(&there) && there.serial == 0;
        if !force && !fresh {
            fits(&pushed, &there)?;
        }
        if same(&pushed, &there) && pushed.lineage == there.lineage {
            return Ok(None);
        }
        let serial = if fresh {
            pushed.serial.max(1)
        } else {
            // What was staged on the state that was there is stale from now on.
            pushed.serial.max(there.serial + 1)
        };
        let lineage = if pushed.lineage.is_empty() {
            there.lineage
        } else {
            pushed.lineage.clone()
        };
        let new = State {
            serial,
            lineage,
            ..pushed
        };
        let known = self.copy.home().await?;
        self.copy.take_over(new.clone(), known).await?;
        self.bring_home().await?;
        Ok(Some(new))
    }
}

/// Whether one state may take the place of the other unasked.
fn fits(pushed: &State, there: &State) -> Result<(), HomeError> {
    let lineages = !pushed.lineage.is_empty() && !there.lineage.is_empty();
    if lineages && pushed.lineage != there.lineage {
        return Err(HomeError::OtherLineage {
            pushed: pushed.lineage.clone(),
            there: there.lineage.clone(),
        });
    }
    let older = pushed.serial < there.serial;
    if older || pushed.serial == there.serial && !same(pushed, there) {
        return Err(HomeError::Older {
            pushed: pushed.serial,
            there: there.serial,
        });
    }
    Ok(())
}
