//! `state push`: replaces the state of record with an operator's file.

use super::HomeError;
use super::compare::same;
use super::look::is_blank;
use super::record::StateOfRecord;
use crate::engine::store::from_version4;
use crate::engine::store::model::State;
use statefile::StateFile;
use std::sync::Arc;

impl StateOfRecord {
    /// Replaces the state with a state file's text. The state must be open. Returns the new state;
    /// `None` if it was equal.
    ///
    /// # Errors
    /// The text is not a usable state; without `force`, it has another lineage or is older; or it
    /// cannot be written.
    pub async fn push(&self, text: &[u8], force: bool) -> Result<Option<State>, HomeError> {
        let from = || "the pushed file".to_owned();
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
        // A new state accepts any lineage.
        if !force && !fresh {
            fits(&pushed, &there)?;
        }
        if same(&pushed, &there) && pushed.lineage == there.lineage {
            return Ok(None);
        }
        let serial = if fresh {
            pushed.serial.max(1)
        } else {
            // A higher serial makes stages of the replaced state stale.
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

/// Checks that a state may replace the present one without `force`.
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
