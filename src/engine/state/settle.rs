//! Two states that were changed apart: one is gone on with, the other is kept in a file.

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

/// Which of two states that were changed apart is gone on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The one at home.
    Home,
    /// The one on record in the store.
    Record,
}

impl StateOfRecord {
    /// Goes on with one of two states that were changed apart, and keeps the other in a file. The
    /// answer is that file, where there was anything to keep.
    ///
    /// # Errors
    /// Somebody else has the lock, or something cannot be read or written.
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

    /// Brings the state to another place, where there is none yet or the same, and goes on there.
    /// The old place keeps what it has.
    ///
    /// # Errors
    /// Somebody else has a lock, there is another state, or something cannot be read or written.
    pub async fn bring_over(&self, place: Place, info: LockInfo) -> Result<(), HomeError> {
        self.open(info.clone(), &Patience::none()).await?;
        let old = self.home();
        let brought = self.bring_over_locked(&place, info).await;
        let closed = match &brought {
            // The record is of the new place by now.
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
                // A state that begins here is another than the one that is left.
                lineage: uuid::Uuid::new_v4().to_string(),
                ..State::default()
            });
            let kept = (!is_blank(&copy)).then(|| spelt(&copy, Spelling::Indented));
            let kept = self.keep(kept.map(String::into_bytes)).await?;
            let serial = found.serial;
            self.copy
                .take_over(found, HomeRecord { serial, ..known })
                .await?;
            return Ok(kept);
        }
        // What cannot be read is kept as well, and has no serial to be above of.
        let plain = self.opened(&place, text.clone()).await;
        let theirs = plain.and_then(|text| parsed(&place, &text)).ok().flatten();
        let theirs = theirs.map_or(0, |state| state.serial);
        let kept = self
            .keep(Some(text).filter(|text| !text.is_empty()))
            .await?;
        let above = State {
            serial: copy.serial.max(theirs) + 1,
            ..copy
        };
        let known = HomeRecord {
            serial: -1,
            ..known
        };
        self.copy.take_over(above, known).await?;
        self.bring_home().await?;
        Ok(kept)
    }

    /// Keeps a state that is not gone on with, beside the store.
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
