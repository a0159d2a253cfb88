//! State of record of a workspace: combines a state manager with the store's copy.

use super::comparison::{
    BackendState, Comparison, add_unconfirmed, backend_is_behind, is_blank, is_own_write,
};
use super::encryption::SerializedState;
use super::lock_info::{RecordedLocks, is_plan};
use super::reconcile_messages::{
    conflict_error, deleted_error, found_state_message, migrated_message, read_place_message,
};
use super::shared::SharedOutcomes;
use super::{LockWait, StateError, StateManager, StatePlace};
use model::mutex::lock;
use statefile::LockInfo;
use statefile::encryption::{Encryption, EncryptionError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::Store;
use store::records::{BackendVersion, State, StateObject};

/// State of record of a workspace.
pub struct StateOfRecord {
    pub(super) dir: PathBuf,
    pub(super) copy: Store,
    current: Mutex<CurrentManager>,
    /// Take locks.
    pub(super) locks: bool,
    /// Serial of an older state that the operator accepts.
    accepted: Option<i64>,
    /// Serializes writes to the backend.
    writing: tokio::sync::Mutex<()>,
    /// Unknown outcomes beside the state, as the open state has read them.
    pub(super) shared: Mutex<Option<SharedOutcomes>>,
}

struct CurrentManager {
    place: StatePlace,
    manager: Arc<dyn StateManager>,
    encryption: Encryption,
    /// The lock is taken and the copy is in use.
    open: bool,
}

impl StateOfRecord {
    /// State of record of the workspace in `dir`, with its store.
    pub fn new(dir: &Path, store: &Store, place: StatePlace, encryption: Encryption) -> Self {
        Self {
            current: Mutex::new(CurrentManager {
                manager: place.open(dir, true),
                place,
                encryption,
                open: false,
            }),
            dir: dir.to_owned(),
            copy: store.clone(),
            locks: true,
            accepted: None,
            writing: tokio::sync::Mutex::default(),
            shared: Mutex::default(),
        }
    }

    /// The same without locks.
    pub fn without_lock(mut self) -> Self {
        self.locks = false;
        {
            let mut now = lock(&self.current);
            now.manager = now.place.open(&self.dir, false);
        }
        self
    }

    /// Accepts a state with this serial, although this workspace has written a newer one.
    pub fn accept_older(mut self, serial: Option<i64>) -> Self {
        self.accepted = serial;
        self
    }

    /// Sets the location of the state, unless it is open.
    pub fn set_place(&self, place: StatePlace, encryption: Encryption) {
        let mut now = lock(&self.current);
        // The place must not change under a held lock.
        if now.open {
            return;
        }
        if now.place != place {
            now.manager = place.open(&self.dir, self.locks);
            now.place = place;
        }
        // Keeps derived keys, which are expensive.
        if now.encryption != encryption {
            now.encryption = encryption;
        }
    }

    pub(super) fn encryption(&self) -> Encryption {
        lock(&self.current).encryption.clone()
    }

    /// Location of the state, for an operator.
    pub fn place_name(&self) -> String {
        self.state_manager().place()
    }

    /// Location of the state, independent of the current directory: a file is relative to the
    /// workspace.
    pub fn absolute_place_name(&self) -> String {
        let now = lock(&self.current);
        match &now.place {
            StatePlace::File(path) => path.display().to_string(),
            StatePlace::NamedFiles(_) | StatePlace::In(..) | StatePlace::Refused(_) => {
                now.manager.place()
            }
        }
    }

    pub(super) fn place(&self) -> StatePlace {
        lock(&self.current).place.clone()
    }

    pub(super) fn state_manager(&self) -> Arc<dyn StateManager> {
        lock(&self.current).manager.clone()
    }

    pub(super) fn is_open(&self) -> bool {
        lock(&self.current).open
    }

    /// Takes the lock and reconciles the copy with the backend. From then on work uses the copy.
    /// Returns messages for the operator. Does nothing if already open.
    ///
    /// # Errors
    /// Another owner has the lock, the state cannot be read or written, or both sides were changed.
    pub async fn open(
        &self,
        info: LockInfo,
        patience: &LockWait<'_>,
    ) -> Result<Vec<String>, StateError> {
        if self.is_open() {
            return Ok(Vec::new());
        }
        let home = self.state_manager();
        self.lock(&*home, info, patience).await?;
        let agreed = self.reconcile(&*home).await;
        // The copy may be used only after the reconciliation.
        if agreed.is_ok() {
            lock(&self.current).open = true;
            return agreed;
        }
        StateError::combine_with_unlock(agreed, home.unlock().await)
    }

    /// Takes the lock of a backend, also that of a process that has ended and whose records this
    /// store has.
    pub(super) async fn lock(
        &self,
        home: &dyn StateManager,
        info: LockInfo,
        patience: &LockWait<'_>,
    ) -> Result<(), StateError> {
        let takeovers = self.copy.takeovers().await?.into_iter();
        let recorded = RecordedLocks {
            owners: takeovers.map(|(_, before, _)| before).collect(),
            id: self.copy.state_lock().await?,
        };
        let (id, is_plan) = (info.id.clone(), is_plan(&info));
        patience.lock(home, info, &recorded).await?;
        if is_plan {
            return Ok(());
        }
        match self.copy.set_state_lock(&id).await {
            Ok(()) => Ok(()),
            Err(error) => StateError::combine_with_unlock(Err(error.into()), home.unlock().await),
        }
    }

    /// Writes the copy to the backend and releases the lock in every case.
    ///
    /// # Errors
    /// The write failed, and the store has the state; or the lock cannot be released.
    pub async fn close(&self) -> Result<(), StateError> {
        if !self.is_open() {
            return Ok(());
        }
        let brought = self.write_back().await;
        StateError::combine_with_unlock(brought, self.unlock().await)
    }

    /// Releases the lock without a write.
    ///
    /// # Errors
    /// The lock cannot be released.
    pub async fn unlock(&self) -> Result<(), StateError> {
        self.mark_closed().unlock().await
    }

    /// Releases the lock after a cancelled request, whose outcome does not matter.
    ///
    /// # Errors
    /// The lock may stay behind; the error names it.
    pub async fn release_cancelled(&self, within: Duration) -> Result<(), StateError> {
        self.mark_closed().release_cancelled(within).await
    }

    /// File to read the state from, if it is written to another one.
    pub(super) fn read_from(&self) -> Option<PathBuf> {
        match &lock(&self.current).place {
            StatePlace::NamedFiles(files) => files.read.clone(),
            StatePlace::File(_) | StatePlace::In(..) | StatePlace::Refused(_) => None,
        }
    }

    /// Marks the state as closed and returns its state manager.
    fn mark_closed(&self) -> Arc<dyn StateManager> {
        let mut now = lock(&self.current);
        now.open = false;
        now.manager.clone()
    }

    /// Reads the complete state.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn read(&self) -> Result<State, StateError> {
        if self.is_open() {
            return Ok(self.copy.state().await?);
        }
        let home = self.state_manager();
        self.check_binding().await?;
        let place = home.place();
        let known = self.known(&place).await?;
        let copy = self.copy.state().await?;
        let found = BackendState::new(home.read().await?, &place, &known);
        let as_seen = found.is_unchanged();
        match self.compare(&place, found, &copy).await {
            // Encryption was configured and the state is still plain. A read may show it; only a
            // write encrypts.
            Err(StateError::Encrypted {
                source: EncryptionError::Plain,
                ..
            }) if as_seen => Ok(copy),
            Err(error) => Err(error),
            // Both sides have changes, so neither can be shown as the state.
            Ok(Comparison::Other(state)) if backend_is_behind(&known, &copy) => {
                Err(conflict_error(home.place(), &state, &copy))
            }
            Ok(Comparison::Other(state)) => Ok(*state),
            Ok(Comparison::Deleted) => Err(deleted_error(home.place(), &copy)),
            Ok(
                Comparison::Unchanged
                | Comparison::Same
                | Comparison::NeverWritten
                | Comparison::Partial,
            ) => Ok(copy),
        }
    }

    /// Lineage and serial, which together identify a version of the state.
    ///
    /// # Errors
    /// The state cannot be read.
    pub async fn version(&self) -> Result<(String, i64), StateError> {
        if self.is_open() {
            return Ok(self.copy.state_version().await?);
        }
        let state = self.read().await?;
        Ok((state.lineage, state.serial))
    }

    /// Has the store changes that are not yet in the backend?
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn backend_is_behind(&self) -> Result<bool, StateError> {
        Ok(backend_is_behind(
            &self.copy.backend_version().await?,
            &self.copy.state().await?,
        ))
    }

    /// Was the state never written to the backend?
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn is_unwritten(&self) -> Result<bool, StateError> {
        Ok(self.copy.backend_version().await?.place.is_empty())
    }

    /// Current object at an address.
    ///
    /// # Errors
    /// The state cannot be read.
    pub async fn object(&self, address: &str) -> Result<Option<StateObject>, StateError> {
        if self.is_open() {
            return Ok(self.copy.object(address).await?);
        }
        let all = self.read().await?.objects.into_iter();
        Ok(all
            .filter(|object| object.deposed.is_empty())
            .find(|object| object.address == address))
    }

    /// Writes the store's copy to the backend. Does nothing if the backend is up to date.
    ///
    /// # Errors
    /// The write failed; the store has the complete state.
    pub async fn write_back(&self) -> Result<(), StateError> {
        let _one = self.writing.lock().await;
        let home = self.state_manager();
        let known = self.known(&home.place()).await?;
        // Compares serials first, because there is usually nothing to write.
        let here = known.place == home.place() && !known.writing;
        let serial = self.copy.state_serial().await?;
        if here && serial == known.serial || known.place.is_empty() && serial == 0 {
            return Ok(());
        }
        let spelt = async {
            self.serialize_encrypted(self.copy.state().await?, &*home)
                .await
        };
        // Backup and serialization are independent, and both are slow.
        let (spelt, prepared) = tokio::join!(spelt, home.prepare_write());
        prepared?;
        let SerializedState {
            text,
            digest,
            serial,
        } = spelt?;
        // Recorded before the write, so that a partial write is recognized as this store's.
        let before = known.clone();
        let begun = BackendVersion {
            place: home.place(),
            writing: true,
            digest: add_unconfirmed(&known.digest, &digest),
            serial: known.serial,
        };
        self.copy.set_backend_version(begun).await?;
        let written = home.write(text).await;
        if let Err(StateError::Overwritten { .. }) = written {
            // Nothing was written, so the foreign text must not pass for a partial write.
            self.copy.set_backend_version(before).await?;
        }
        written?;
        let written = BackendVersion {
            place: home.place(),
            digest,
            serial,
            writing: false,
        };
        Ok(self.copy.set_backend_version(written).await?)
    }

    /// Record of the state in the backend. The store is bound to this place, so a record in another
    /// spelling is of this place as well.
    async fn known(&self, place: &str) -> Result<BackendVersion, StateError> {
        let mut known = self.copy.backend_version().await?;
        if !known.place.is_empty() {
            place.clone_into(&mut known.place);
        }
        Ok(known)
    }

    /// Reconciles the copy with the backend, under its lock.
    async fn reconcile(&self, home: &dyn StateManager) -> Result<Vec<String>, StateError> {
        let place = home.place();
        self.bind().await?;
        let known = self.known(&place).await?;
        let found = BackendState::new(home.read().await?, &place, &known);
        // Avoids loading the copy, because the state is usually as last seen.
        if found.is_unchanged()
            && !known.writing
            && known.serial == self.copy.state_serial().await?
        {
            // Decrypted even so, because the configured encryption may have changed.
            self.decrypt(&place, found.text).await?;
            return Ok(Vec::new());
        }
        let digest = found.digest();
        let copy = self.copy.state().await?;
        match self.compare(&place, found, &copy).await? {
            // The write succeeded but was not recorded, or the state was copied there by hand.
            Comparison::Same => {
                // Another program may have recreated an object with equal attributes.
                if !is_own_write(&known, &digest) {
                    self.copy.drop_destroy_steps().await?;
                }
                self.set_backend_version(place, digest, copy.serial).await?;
                Ok(Vec::new())
            }
            Comparison::NeverWritten if is_blank(&copy) => Ok(Vec::new()),
            Comparison::Unchanged | Comparison::NeverWritten => {
                let first = known.place.is_empty();
                self.write_back().await?;
                Ok(vec![migrated_message(&place, &copy, first)])
            }
            Comparison::Partial => {
                self.write_back().await?;
                Ok(vec![format!(
                    "{place} was only partly written when flightdeck ended; the state (serial {}) was written again from the store",
                    copy.serial
                )])
            }
            Comparison::Deleted => Err(deleted_error(place, &copy)),
            Comparison::Other(state) if backend_is_behind(&known, &copy) => {
                Err(conflict_error(place, &state, &copy))
            }
            Comparison::Other(state) => {
                let written = self.copy.written_serial(&state.lineage).await?;
                // A server may have restored a backup; objects that it lacks would be created
                // again.
                let is_here = known.place == place && self.read_from().is_none();
                let is_older = is_here && state.serial < written;
                if is_older && self.accepted != Some(state.serial) {
                    return Err(StateError::Older {
                        place,
                        theirs: state.serial,
                        ours: written,
                    });
                }
                if is_older {
                    let copy = &self.copy;
                    copy.set_written_serial(&state.lineage, state.serial)
                        .await?;
                }
                let told = match self.read_from() {
                    Some(path) => read_place_message(&path, &place, &state),
                    None => found_state_message(&place, &state, &known),
                };
                self.replace_copy(*state, &copy, place, digest).await?;
                Ok(vec![told])
            }
        }
    }

    async fn replace_copy(
        &self,
        found: State,
        copy: &State,
        place: String,
        digest: String,
    ) -> Result<(), StateError> {
        // Serials only rise, so stages of the old copy become stale.
        let serial = if is_blank(copy) {
            found.serial
        } else {
            found.serial.max(copy.serial + 1)
        };
        let record = BackendVersion {
            place,
            digest,
            serial,
            writing: false,
        };
        Ok(self
            .copy
            .replace_with_backend(State { serial, ..found }, record)
            .await?)
    }

    async fn set_backend_version(
        &self,
        place: String,
        digest: String,
        serial: i64,
    ) -> Result<(), StateError> {
        let record = BackendVersion {
            place,
            digest,
            serial,
            writing: false,
        };
        Ok(self.copy.set_backend_version(record).await?)
    }
}
