//! `state push`: replaces the state of record with an operator's file.

use super::StateError;
use super::compare::same_content;
use super::comparison::is_blank;
use super::record::StateOfRecord;
use statefile::StateFile;
use std::sync::Arc;
use store::from_version4;
use store::records::State;

impl StateOfRecord {
    /// Replaces the state with a state file's text. The state must be open. Returns the new state;
    /// `None` if it was equal.
    ///
    /// # Errors
    /// The text is not a usable state; without `force`, it has another lineage or is older; or it
    /// cannot be written.
    pub async fn push(&self, text: &[u8], force: bool) -> Result<Option<State>, StateError> {
        let from = || "the pushed file".to_owned();
        let file = StateFile::read(text).map_err(|e| StateError::Unreadable {
            place: from(),
            source: Arc::new(e),
        })?;
        let state = file.map(from_version4).transpose();
        let state = state.map_err(|source| StateError::Unusable {
            place: from(),
            source,
        })?;
        let Some(pushed) = state else {
            return Err(StateError::NothingPushed);
        };
        let there = self.copy.state().await?;
        let fresh = is_blank(&there) && there.serial == 0;
        // A new state accepts any lineage.
        if !force && !fresh {
            check_replaceable(&pushed, &there)?;
        }
        if same_content(&pushed, &there) && pushed.lineage == there.lineage {
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
        let known = self.copy.backend_version().await?;
        self.copy.replace_with_backend(new.clone(), known).await?;
        self.write_back().await?;
        Ok(Some(new))
    }
}

/// Checks that a state may replace the present one without `force`.
fn check_replaceable(pushed: &State, there: &State) -> Result<(), StateError> {
    let lineages = !pushed.lineage.is_empty() && !there.lineage.is_empty();
    if lineages && pushed.lineage != there.lineage {
        return Err(StateError::OtherLineage {
            pushed: pushed.lineage.clone(),
            there: there.lineage.clone(),
        });
    }
    let older = pushed.serial < there.serial;
    if older || pushed.serial == there.serial && !same_content(pushed, there) {
        return Err(StateError::OlderSerial {
            pushed: pushed.serial,
            there: there.serial,
        });
    }
    Ok(())
}
