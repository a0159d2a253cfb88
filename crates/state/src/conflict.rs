//! Resolution of a conflict between the backend's state and the store's copy.

use super::compare::{same_content, summarize_differences};
use super::comparison::{digest, is_blank, parsed};
use super::encryption::{SerializedState, serialize};
use super::record::StateOfRecord;
use super::{LockWait, Spelling, StateError, StateManager, StatePlace};
use fsroot::RootedPath;
use statefile::LockInfo;
use std::path::PathBuf;
use std::sync::Arc;
use store::records::{BackendVersion, State};

/// Are two states unrelated? A state without a lineage is related to any.
fn is_of_another_lineage(found: &State, copy: &State) -> bool {
    let both = !found.lineage.is_empty() && !copy.lineage.is_empty();
    both && found.lineage != copy.lineage
}

/// The state to continue with after a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictChoice {
    /// The backend's state.
    Backend,
    /// The store's copy; a state of another lineage is replaced only with `force`.
    Record { force: bool },
}

impl StateOfRecord {
    /// Continues with one of two conflicting states and writes the other to a file. Returns that
    /// file, if there was anything to save.
    ///
    /// # Errors
    /// Another owner has the lock, or something cannot be read or written.
    pub async fn resolve_conflict(
        &self,
        with: ConflictChoice,
        info: LockInfo,
    ) -> Result<Option<PathBuf>, StateError> {
        let home = self.state_manager();
        self.bind().await?;
        self.lock(&*home, info, &LockWait::no_wait()).await?;
        let settled = self.resolve_conflict_locked(with, &*home).await;
        StateError::combine_with_unlock(settled, home.unlock().await)
    }

    /// Migrates the state to another location that has no state or an equal one. The old location
    /// is unchanged.
    ///
    /// # Errors
    /// Another owner has a lock, the new location has another state, or something cannot be read or
    /// written.
    pub async fn migrate(&self, place: StatePlace, info: LockInfo) -> Result<(), StateError> {
        self.open(info.clone(), &LockWait::no_wait()).await?;
        let old = self.state_manager();
        let brought = self.migrate_locked(&place, info).await;
        let closed = match &brought {
            // The record names the new place now, so closing would write there.
            Ok(()) => old.unlock().await,
            Err(_) => self.close().await,
        };
        StateError::combine_with_unlock(brought, closed)
    }

    async fn migrate_locked(&self, place: &StatePlace, info: LockInfo) -> Result<(), StateError> {
        let home = place.open(&self.dir, self.locks);
        home.lock(LockInfo {
            operation: "migration destination state".to_owned(),
            ..info
        })
        .await?;
        let written = self.write_if_allowed(place, &*home).await;
        StateError::combine_with_unlock(written, home.unlock().await)
    }

    async fn write_if_allowed(
        &self,
        to: &StatePlace,
        home: &dyn StateManager,
    ) -> Result<(), StateError> {
        let place = home.place();
        let copy = self.copy.state().await?;
        let there = self.decrypt(&place, home.read().await?).await?;
        // An interrupted migration may already have written an equal state.
        if let Some(found) = parsed(&place, &there)?
            && !is_blank(&found)
            && !same_content(&found, &copy)
        {
            return Err(StateError::Occupied {
                place,
                differ: Some(summarize_differences(&found, &copy)),
            });
        }
        let SerializedState {
            text,
            digest,
            serial,
        } = self.serialize_encrypted(copy, home).await?;
        home.write(text).await?;
        let written = BackendVersion {
            place,
            digest,
            serial,
            writing: false,
        };
        let identity = to.identity(&self.dir, self.copy.path());
        let identity = identity.unwrap_or_default();
        Ok(self.copy.rebind_place(&identity, written).await?)
    }

    async fn resolve_conflict_locked(
        &self,
        with: ConflictChoice,
        home: &dyn StateManager,
    ) -> Result<Option<PathBuf>, StateError> {
        let place = home.place();
        let text = home.read().await?;
        let copy = self.copy.state().await?;
        let digest = digest(&text);
        let known = BackendVersion {
            place: place.clone(),
            digest,
            ..BackendVersion::default()
        };
        if with == ConflictChoice::Backend {
            let text = self.decrypt(&place, text).await?;
            let found = parsed(&place, &text)?.unwrap_or_else(|| State {
                // A new state needs its own lineage.
                lineage: uuid::Uuid::new_v4().to_string(),
                ..State::default()
            });
            // On disk before it is replaced.
            let kept = (!is_blank(&copy)).then(|| serialize(&copy, Spelling::Indented));
            let kept = self.save_discarded(kept.map(String::into_bytes)).await?;
            let serial = found.serial;
            self.copy.set_written_serial(&found.lineage, serial).await?;
            self.copy
                .replace_with_backend(found, BackendVersion { serial, ..known })
                .await?;
            return Ok(kept);
        }
        // A text that cannot be read is saved too; it has no serial to exceed.
        let plain = self.decrypt(&place, text.clone()).await;
        let theirs = plain.and_then(|text| parsed(&place, &text)).ok().flatten();
        let is_behind = |found: &State| {
            found.lineage == copy.lineage && found.serial >= copy.serial && !is_blank(found)
        };
        // Without own changes, the record is only an earlier copy of the backend's state.
        let lacks_changes = is_blank(&copy) || theirs.as_ref().is_some_and(is_behind);
        if lacks_changes && !self.backend_is_behind().await? {
            return Err(StateError::NoConflict { place });
        }
        if let (ConflictChoice::Record { force: false }, Some(found)) = (with, &theirs)
            && is_of_another_lineage(found, &copy)
        {
            return Err(StateError::OtherRecord {
                place,
                ours: copy.lineage,
                theirs: found.lineage.clone(),
            });
        }
        let theirs = theirs.map_or(0, |state| state.serial);
        let kept = self
            .save_discarded(Some(text).filter(|text| !text.is_empty()))
            .await?;
        // Above both serials, so stages of either state become stale.
        let above = State {
            serial: copy.serial.max(theirs) + 1,
            ..copy
        };
        // No state has serial -1, so the copy counts as unwritten.
        let known = BackendVersion {
            serial: -1,
            ..known
        };
        self.copy.replace_with_backend(above, known).await?;
        self.write_back().await?;
        Ok(kept)
    }

    /// Saves the discarded state next to the store.
    async fn save_discarded(&self, text: Option<Vec<u8>>) -> Result<Option<PathBuf>, StateError> {
        let Some(text) = text else { return Ok(None) };
        let folder = self.copy.path().parent().unwrap_or(&self.dir);
        let name = format!("state-{}.tfstate", uuid::Uuid::new_v4().simple());
        let (path, to) = (folder.join(&name), RootedPath::new(folder, name));
        let written = tokio::task::spawn_blocking(move || {
            use std::io::Write as _;
            let mut file = to.create_new(0o600)?;
            file.write_all(&text)?;
            file.sync_all()
        });
        written
            .await
            .map_err(|e| StateError::Task(Arc::new(e)))?
            .map_err(StateError::io("write", &path))?;
        Ok(Some(path))
    }
}
