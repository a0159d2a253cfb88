//! The state of record as it is worked with: what is at its home, and the store's copy of it.

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

/// The state of record of a workspace.
pub struct StateOfRecord {
    pub(super) dir: PathBuf,
    pub(super) copy: Store,
    now: Mutex<Now>,
    /// The lock of a home is taken.
    pub(super) locks: bool,
    /// One brings home at a time.
    bringing: tokio::sync::Mutex<()>,
}

struct Now {
    place: Place,
    home: Arc<dyn Home>,
    encryption: Encryption,
    /// Whether its lock is ours and the copy is what is worked on.
    open: bool,
}

impl StateOfRecord {
    /// Of the workspace in `dir` that the store belongs to.
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

    /// The same, whose home's lock is not taken.
    pub fn without_lock(mut self) -> Self {
        self.locks = false;
        {
            let mut now = lock(&self.now);
            now.home = now.place.open(&self.dir, false);
        }
        self
    }

    /// Says where it lives as of now, unless it is being worked on.
    pub fn lives_at(&self, place: Place, encryption: Encryption) {
        let mut now = lock(&self.now);
        if now.open {
            return;
        }
        if now.place != place {
            now.home = place.open(&self.dir, self.locks);
            now.place = place;
        }
        // Keys that are made already are kept.
        if now.encryption != encryption {
            now.encryption = encryption;
        }
    }

    pub(super) fn encryption(&self) -> Encryption {
        lock(&self.now).encryption.clone()
    }

    /// Where it lives, for an operator.
    pub fn place(&self) -> String {
        self.home().place()
    }

    /// Where it lives, whatever directory the workspace is in: a file as seen from there.
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

    /// Takes its lock, and brings the copy and the home together: from then on the copy is what is
    /// worked on. The answer: what an operator should know of that, in words. Nothing happens where
    /// it is open.
    ///
    /// # Errors
    /// Somebody else has the lock, it cannot be read or written, or it was changed apart.
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
        if agreed.is_ok() {
            lock(&self.now).open = true;
            return agreed;
        }
        HomeError::with_unlocked(agreed, home.unlock().await)
    }

    /// Brings it home, and gives the lock back whether that went well or not.
    ///
    /// # Errors
    /// It cannot be written there, and the store has it; or the lock cannot be given back.
    pub async fn close(&self) -> Result<(), HomeError> {
        if !self.is_open() {
            return Ok(());
        }
        let brought = self.bring_home().await;
        HomeError::with_unlocked(brought, self.unlock().await)
    }

    /// Gives the lock back without bringing it home.
    ///
    /// # Errors
    /// The lock cannot be given back.
    pub async fn unlock(&self) -> Result<(), HomeError> {
        self.closed().unlock().await
    }

    /// Gives the lock back after a request to its home was dropped, whatever became of it.
    ///
    /// # Errors
    /// The lock may stay behind; the error names it.
    pub async fn give_back(&self, within: Duration) -> Result<(), HomeError> {
        self.closed().give_back(within).await
    }

    /// The file that the state is read from, if it is written to another one.
    pub(super) fn read_from(&self) -> Option<PathBuf> {
        match &lock(&self.now).place {
            Place::Named(files) => files.read.clone(),
            Place::File(_) | Place::In(..) | Place::Refused(_) => None,
        }
    }

    /// The home, which is worked on no more.
    fn closed(&self) -> Arc<dyn Home> {
        let mut now = lock(&self.now);
        now.open = false;
        now.home.clone()
    }

    /// The whole of it.
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
            // To be encrypted from now on, and still as it was: whoever only looks may see it.
            Err(HomeError::Encrypted {
                source: EncryptionError::Plain,
                ..
            }) if as_seen => Ok(copy),
            Err(error) => Err(error),
            Ok(Look::Other(state)) if is_behind(&known, &copy) => {
                Err(apart(home.place(), &state, &copy))
            }
            Ok(Look::Other(state)) => Ok(*state),
            Ok(Look::Gone) => Err(gone(home.place(), &copy)),
            Ok(Look::Unchanged | Look::Same | Look::Nothing | Look::Half) => Ok(copy),
        }
    }

    /// Its lineage and its serial: another state differs in one of them.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn version(&self) -> Result<(String, i64), HomeError> {
        if self.is_open() {
            return Ok(self.copy.state_version().await?);
        }
        let state = self.read().await?;
        Ok((state.lineage, state.serial))
    }

    /// Whether the record has what is not yet at home.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn is_behind(&self) -> Result<bool, HomeError> {
        Ok(is_behind(
            &self.copy.home().await?,
            &self.copy.state().await?,
        ))
    }

    /// Whether it was never written where it lives.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn is_unwritten(&self) -> Result<bool, HomeError> {
        Ok(self.copy.home().await?.place.is_empty())
    }

    /// The current object at an address.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn object(&self, address: &str) -> Result<Option<StateObject>, HomeError> {
        if self.is_open() {
            return Ok(self.copy.object(address).await?);
        }
        let all = self.read().await?.objects.into_iter();
        Ok(all
            .filter(|object| object.deposed.is_empty())
            .find(|object| object.address == address))
    }

    /// Brings home what the store has come to know; nothing happens where it is there.
    ///
    /// # Errors
    /// It cannot be written there; the store has it all.
    pub async fn bring_home(&self) -> Result<(), HomeError> {
        let _one = self.bringing.lock().await;
        let home = self.home();
        let known = self.copy.home().await?;
        // Without a look at the whole: most of the time there is nothing to bring.
        let here = known.place == home.place() && !known.writing;
        let serial = self.copy.state_serial().await?;
        if here && serial == known.serial || known.place.is_empty() && serial == 0 {
            return Ok(());
        }
        let spelt = async { self.spelt(self.copy.state().await?, &*home).await };
        let (spelt, prepared) = tokio::join!(spelt, home.prepare());
        prepared?;
        let Spelt {
            text,
            digest,
            serial,
        } = spelt?;
        // On record before it is touched: a file that is half written then is known to be ours.
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
            // Nothing of ours was written: what is there must not pass for half of it.
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

    /// Brings the copy and the home together, under the home's lock.
    async fn agree(&self, home: &dyn Home) -> Result<Vec<String>, HomeError> {
        let place = home.place();
        let known = self.copy.home().await?;
        let found = AtHome::new(home.read().await?, &place, &known);
        // Without a look at the whole copy: most of the time nobody else was there.
        if found.is_as_seen() && !known.writing && known.serial == self.copy.state_serial().await? {
            // Also then: how it may be read has changed, perhaps.
            self.opened(&place, found.text).await?;
            return Ok(Vec::new());
        }
        let digest = found.digest();
        let copy = self.copy.state().await?;
        let moved = !known.place.is_empty() && known.place != place && !is_blank(&copy);
        match self.look(&place, found, &copy).await? {
            // All was written, and that it was could not be kept; or it was brought there by hand.
            Look::Same => {
                // Another program may have made an object anew that looks the same.
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
                    "{place} was half written when flightdeck ended; the state (serial {}) was written there again, from the record",
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
        // Serials here only rise: what was staged on the copy is stale from now on.
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
