//! Resolution of a conflict between the backend's state and the store's copy.

use super::compare::{differ, same};
use super::look::{digest, is_blank, parsed};
use super::record::StateOfRecord;
use super::sealed::{Spelt, spelt};
use super::{Home, HomeError, Patience, Place, Spelling};
use crate::engine::store::model::{HomeRecord, State};
use fsroot::Below;
use statefile::LockInfo;
use std::path::PathBuf;
use std::sync::Arc;

/// The state to continue with after a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The backend's state.
    Home,
    /// The store's copy.
    Record,
}

impl StateOfRecord {
    /// Continues with one of two conflicting states and writes the other to a file. Returns that
    /// file, if there was anything to save.
    ///
    /// # Errors
    /// Another owner has the lock, or something cannot be read or written.
    pub async fn settle(
        &self,
        with: Settled,
        info: LockInfo,
    ) -> Result<Option<PathBuf>, HomeError> {
        let home = self.home();
        home.lock(info).await?;
        let settled = self.settle_locked(with, &*home).await;
        HomeError::with_unlocked(settled, home.unlock().await)
    }

    /// Migrates the state to another location that has no state or an equal one. The old location
    /// is unchanged.
    ///
    /// # Errors
    /// Another owner has a lock, the new location has another state, or something cannot be read or
    /// written.
    pub async fn bring_over(&self, place: Place, info: LockInfo) -> Result<(), HomeError> {
        self.open(info.clone(), &Patience::none()).await?;
        let old = self.home();
        let brought = self.bring_over_locked(&place, info).await;
        let closed = match &brought {
            // The record names the new place now, so closing would write there.
            Ok(()) => old.unlock().await,
            Err(_) => self.close().await,
        };
        HomeError::with_unlocked(brought, closed)
    }

    async fn bring_over_locked(&self, place: &Place, info: LockInfo) -> Result<(), HomeError> {
        let home = place.open(&self.dir, self.locks);
        home.lock(LockInfo {
            operation: "migration destination state".to_owned(),
            ..info
        })
        .await?;
        let written = self.write_over(&*home).await;
        HomeError::with_unlocked(written, home.unlock().await)
    }

    async fn write_over(&self, home: &dyn Home) -> Result<(), HomeError> {
        let place = home.place();
        let copy = self.copy.state().await?;
        let there = self.opened(&place, home.read().await?).await?;
        // An interrupted migration may already have written an equal state.
        if let Some(found) = parsed(&place, &there)?
            && !is_blank(&found)
            && !same(&found, &copy)
        {
            return Err(HomeError::Taken {
                place,
                differ: Some(differ(&found, &copy)),
            });
        }
        let Spelt {
            text,
            digest,
            serial,
        } = self.spelt(copy, home).await?;
        home.write(text).await?;
        let written = HomeRecord {
            place,
            digest,
            serial,
            writing: false,
        };
        Ok(self.copy.put_home(written).await?)
    }

    async fn settle_locked(
        &self,
        with: Settled,
        home: &dyn Home,
    ) -> Result<Option<PathBuf>, HomeError> {
        let place = home.place();
        let text = home.read().await?;
        let copy = self.copy.state().await?;
        let digest = digest(&text);
        let known = HomeRecord {
            place: place.clone(),
            digest,
            ..HomeRecord::default()
        };
        if with == Settled::Home {
            let text = self.opened(&place, text).await?;
            let found = parsed(&place, &text)?.unwrap_or_else(|| State {
                // A new state needs its own lineage.
                lineage: uuid::Uuid::new_v4().to_string(),
                ..State::default()
            });
            // On disk before it is replaced.
            let kept = (!is_blank(&copy)).then(|| spelt(&copy, Spelling::Indented));
            let kept = self.keep(kept.map(String::into_bytes)).await?;
            let serial = found.serial;
            self.copy
                .take_over(found, HomeRecord { serial, ..known })
                .await?;
            return Ok(kept);
        }
        // A text that cannot be read is saved too; it has no serial to exceed.
        let plain = self.opened(&place, text.clone()).await;
        let theirs = plain.and_then(|text| parsed(&place, &text)).ok().flatten();
        let theirs = theirs.map_or(0, |state| state.serial);
        let kept = self
            .keep(Some(text).filter(|text| !text.is_empty()))
            .await?;
        // Above both serials, so stages of either state become stale.
        let above = State {
            serial: copy.serial.max(theirs) + 1,
            ..copy
        };
        // No state has serial -1, so the copy counts as unwritten.
        let known = HomeRecord {
            serial: -1,
            ..known
        };
        self.copy.take_over(above, known).await?;
        self.bring_home().await?;
        Ok(kept)
    }

    /// Saves the discarded state next to the store.
    async fn keep(&self, text: Option<Vec<u8>>) -> Result<Option<PathBuf>, HomeError> {
        let Some(text) = text else { return Ok(None) };
        let folder = self.copy.path().parent().unwrap_or(&self.dir);
        let name = format!("state-{}.tfstate", uuid::Uuid::new_v4().simple());
        let (path, to) = (folder.join(&name), Below::new(folder, name));
        let written = tokio::task::spawn_blocking(move || {
            use std::io::Write as _;
            let mut file = to.create_new(0o600)?;
            file.write_all(&text)?;
            file.sync_all()
        });
        written
            .await
            .map_err(|e| HomeError::Task(Arc::new(e)))?
            .map_err(HomeError::io("write", &path))?;
        Ok(Some(path))
    }
}
