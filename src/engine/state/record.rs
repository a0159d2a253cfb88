//! State of record of a workspace: combines a state manager with the store's copy.

use super::look::{AtHome, Look, is_behind, is_blank, is_own, with_begun};
use super::sealed::Spelt;
use super::told::{apart, brought, gone, read_elsewhere, taken_over};
use super::{Home, HomeError, Patience, Place};
use crate::engine::mutex::lock;
use crate::engine::store::Store;
use crate::engine::store::model::{HomeRecord, State, StateObject};
use statefile::LockInfo;
use statefile::encryption::{Encryption, EncryptionError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// State of record of a workspace.
pub struct StateOfRecord {
    pub(super) dir: PathBuf,
    pub(super) copy: Store,
    now: Mutex<Now>,
    /// Take locks.
    pub(super) locks: bool,
    /// Serializes writes to the backend.
    bringing: tokio::sync::Mutex<()>,
}

struct Now {
    place: Place,
    home: Arc<dyn Home>,
    encryption: Encryption,
    /// The lock is taken and the copy is in use.
    open: bool,
}

impl StateOfRecord {
    /// State of record of the workspace in `dir`, with its store.
    pub fn of(dir: &Path, store: &Store, place: Place, encryption: Encryption) -> Self {
        Self {
            now: Mutex::new(Now {
                home: place.open(dir, true),
                place,
                encryption,
                open: false,
            }),
            dir: dir.to_owned(),
            copy: store.clone(),
            locks: true,
            bringing: tokio::sync::Mutex::default(),
        }
    }

    /// The same without locks.
    pub fn without_lock(mut self) -> Self {
        self.locks = false;
        {
            let mut now = lock(&self.now);
            now.home = now.place.open(&self.dir, false);
        }
        self
    }

    /// Sets the location of the state, unless it is open.
    pub fn lives_at(&self, place: Place, encryption: Encryption) {
        let mut now = lock(&self.now);
        // The place must not change under a held lock.
        if now.open {
            return;
        }
        if now.place != place {
            now.home = place.open(&self.dir, self.locks);
            now.place = place;
        }
        // Keeps derived keys, which are expensive.
        if now.encryption != encryption {
            now.encryption = encryption;
        }
    }

    pub(super) fn encryption(&self) -> Encryption {
        lock(&self.now).encryption.clone()
    }

    /// Location of the state, for an operator.
    pub fn place(&self) -> String {
        self.home().place()
    }

    /// Location of the state, independent of the current directory: a file is relative to the
    /// workspace.
    pub fn place_anywhere(&self) -> String {
        let now = lock(&self.now);
        match &now.place {
            Place::File(path) => path.display().to_string(),
            Place::Named(_) | Place::In(..) | Place::Refused(_) => now.home.place(),
        }
    }

    pub(super) fn home(&self) -> Arc<dyn Home> {
        lock(&self.now).home.clone()
    }

    fn is_open(&self) -> bool {
        lock(&self.now).open
    }

    /// Takes the lock and reconciles the copy with the backend. From then on work uses the copy.
    /// Returns messages for the operator. Does nothing if already open.
    ///
    /// # Errors
    /// Another owner has the lock, the state cannot be read or written, or both sides were changed.
    pub async fn open(
        &self,
        info: LockInfo,
        patience: &Patience<'_>,
    ) -> Result<Vec<String>, HomeError> {
        if self.is_open() {
            return Ok(Vec::new());
        }
        let home = self.home();
        patience.lock(&*home, info).await?;
        let agreed = self.agree(&*home).await;
        // The copy may be used only after the reconciliation.
        if agreed.is_ok() {
            lock(&self.now).open = true;
            return agreed;
        }
        HomeError::with_unlocked(agreed, home.unlock().await)
    }

    /// Writes the copy to the backend and releases the lock in every case.
    ///
    /// # Errors
    /// The write failed, and the store has the state; or the lock cannot be released.
    pub async fn close(&self) -> Result<(), HomeError> {
        if !self.is_open() {
            return Ok(());
        }
        let brought = self.bring_home().await;
        HomeError::with_unlocked(brought, self.unlock().await)
    }

    /// Releases the lock without a write.
    ///
    /// # Errors
    /// The lock cannot be released.
    pub async fn unlock(&self) -> Result<(), HomeError> {
        self.closed().unlock().await
    }

    /// Releases the lock after a cancelled request, whose outcome does not matter.
    ///
    /// # Errors
    /// The lock may stay behind; the error names it.
    pub async fn give_back(&self, within: Duration) -> Result<(), HomeError> {
        self.closed().give_back(within).await
    }

    /// File to read the state from, if it is written to another one.
    pub(super) fn read_from(&self) -> Option<PathBuf> {
        match &lock(&self.now).place {
            Place::Named(files) => files.read.clone(),
            Place::File(_) | Place::In(..) | Place::Refused(_) => None,
        }
    }

    /// Marks the state as closed and returns its state manager.
    fn closed(&self) -> Arc<dyn Home> {
        let mut now = lock(&self.now);
        now.open = false;
        now.home.clone()
    }

    /// Reads the complete state.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn read(&self) -> Result<State, HomeError> {
        if self.is_open() {
            return Ok(self.copy.state().await?);
        }
        let home = self.home();
        let known = self.copy.home().await?;
        let copy = self.copy.state().await?;
        let place = home.place();
        let found = AtHome::new(home.read().await?, &place, &known);
        let as_seen = found.is_as_seen();
        match self.look(&place, found, &copy).await {
            // Encryption was configured and the state is still plain. A read may show it; only a
            // write encrypts.
            Err(HomeError::Encrypted {
                source: EncryptionError::Plain,
                ..
            }) if as_seen => Ok(copy),
            Err(error) => Err(error),
            // Both sides have changes, so neither can be shown as the state.
            Ok(Look::Other(state)) if is_behind(&known, &copy) => {
                Err(apart(home.place(), &state, &copy))
            }
            Ok(Look::Other(state)) => Ok(*state),
            Ok(Look::Gone) => Err(gone(home.place(), &copy)),
            Ok(Look::Unchanged | Look::Same | Look::Nothing | Look::Half) => Ok(copy),
        }
    }

    /// Lineage and serial, which together identify a version of the state.
    ///
    /// # Errors
    /// The state cannot be read.
    pub async fn version(&self) -> Result<(String, i64), HomeError> {
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
    pub async fn is_behind(&self) -> Result<bool, HomeError> {
        Ok(is_behind(
            &self.copy.home().await?,
            &self.copy.state().await?,
        ))
    }

    /// Was the state never written to the backend?
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn is_unwritten(&self) -> Result<bool, HomeError> {
        Ok(self.copy.home().await?.place.is_empty())
    }

    /// Current object at an address.
    ///
    /// # Errors
    /// The state cannot be read.
    pub async fn object(&self, address: &str) -> Result<Option<StateObject>, HomeError> {
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
    pub async fn bring_home(&self) -> Result<(), HomeError> {
        let _one = self.bringing.lock().await;
        let home = self.home();
        let known = self.copy.home().await?;
        // Compares serials first, because there is usually nothing to write.
        let here = known.place == home.place() && !known.writing;
        let serial = self.copy.state_serial().await?;
        if here && serial == known.serial || known.place.is_empty() && serial == 0 {
            return Ok(());
        }
        let spelt = async { self.spelt(self.copy.state().await?, &*home).await };
        // Backup and serialization are independent, and both are slow.
        let (spelt, prepared) = tokio::join!(spelt, home.prepare());
        prepared?;
        let Spelt {
            text,
            digest,
            serial,
        } = spelt?;
        // Recorded before the write, so that a partial write is recognized as this store's.
        let before = known.clone();
        let known = if known.place == home.place() {
            known
        } else {
            HomeRecord {
                place: home.place(),
                ..HomeRecord::default()
            }
        };
        let begun = HomeRecord {
            writing: true,
            digest: with_begun(&known.digest, &digest),
            ..known
        };
        self.copy.put_home(begun).await?;
        let written = home.write(text).await;
        if let Err(HomeError::Overwritten { .. }) = written {
            // Nothing was written, so the foreign text must not pass for a partial write.
            self.copy.put_home(before).await?;
        }
        written?;
        let written = HomeRecord {
            place: home.place(),
            digest,
            serial,
            writing: false,
        };
        Ok(self.copy.put_home(written).await?)
    }

    /// Reconciles the copy with the backend, under its lock.
    async fn agree(&self, home: &dyn Home) -> Result<Vec<String>, HomeError> {
        let place = home.place();
        let known = self.copy.home().await?;
        let found = AtHome::new(home.read().await?, &place, &known);
        // Avoids loading the copy, because the state is usually as last seen.
        if found.is_as_seen() && !known.writing && known.serial == self.copy.state_serial().await? {
            // Decrypted even so, because the configured encryption may have changed.
            self.opened(&place, found.text).await?;
            return Ok(Vec::new());
        }
        let digest = found.digest();
        let copy = self.copy.state().await?;
        let moved = !known.place.is_empty() && known.place != place && !is_blank(&copy);
        match self.look(&place, found, &copy).await? {
            // The write succeeded but was not recorded, or the state was copied there by hand.
            Look::Same => {
                // Another program may have recreated an object with equal attributes.
                if !is_own(&known, &digest) {
                    self.copy.drop_destroy_steps().await?;
                }
                self.note(place, digest, copy.serial).await?;
                Ok(Vec::new())
            }
            Look::Other(_) | Look::Nothing if moved => Err(HomeError::Moved {
                from: known.place,
                to: place,
            }),
            Look::Nothing if is_blank(&copy) => Ok(Vec::new()),
            Look::Unchanged | Look::Nothing => {
                let first = known.place.is_empty();
                self.bring_home().await?;
                Ok(vec![brought(&place, &copy, first)])
            }
            Look::Half => {
                self.bring_home().await?;
                Ok(vec![format!(
                    "{place} was only partly written when flightdeck ended; the state (serial {}) was written again from the store",
                    copy.serial
                )])
            }
            Look::Gone => Err(gone(place, &copy)),
            Look::Other(state) if is_behind(&known, &copy) => Err(apart(place, &state, &copy)),
            Look::Other(state) => {
                let told = match self.read_from() {
                    Some(path) => read_elsewhere(&path, &place, &state),
                    None => taken_over(&place, &state, &known),
                };
                self.take_over(*state, &copy, place, digest).await?;
                Ok(vec![told])
            }
        }
    }

    async fn take_over(
        &self,
        found: State,
        copy: &State,
        place: String,
        digest: String,
    ) -> Result<(), HomeError> {
        // Serials only rise, so stages of the old copy become stale.
        let serial = if is_blank(copy) {
            found.serial
        } else {
            found.serial.max(copy.serial + 1)
        };
        let record = HomeRecord {
            place,
            digest,
            serial,
            writing: false,
        };
        Ok(self
            .copy
            .take_over(State { serial, ..found }, record)
            .await?)
    }

    async fn note(&self, place: String, digest: String, serial: i64) -> Result<(), HomeError> {
        let record = HomeRecord {
            place,
            digest,
            serial,
            writing: false,
        };
        Ok(self.copy.put_home(record).await?)
    }
}
