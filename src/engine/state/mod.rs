//! The state of record: the one room that knows where it lives. [`Home`] is the seam, with a file
//! in here for each kind of place; today there is one, the store itself.
//!
//! Whatever the home, the store keeps what was meant and what came of it, and in one transaction
//! with each outcome its own copy of the state, by lineage and serial. What is worked on is read
//! from the home under its lock, and is brought home before the lock is given back.

mod error;
mod stored;
#[cfg(test)]
mod tests;

pub use error::HomeError;

use super::store::Store;
use super::store::model::Acquired;
use super::store::model::{State, StateObject};
use super::words::LockHolder;
use async_trait::async_trait;
use std::sync::Arc;
use stored::Stored;

/// A place where a state of record lives.
#[async_trait]
pub trait Home: Send + Sync + 'static {
    /// Where that is, for an operator.
    fn place(&self) -> String;

    /// Takes its lock. Whoever has it already may take it again.
    ///
    /// # Errors
    /// Somebody else has it who is alive, or cannot be judged from here.
    async fn lock(&self, by: LockHolder) -> Result<Acquired, HomeError>;

    /// Gives the lock back; nothing happens where it is not ours.
    async fn unlock(&self) -> Result<(), HomeError>;

    /// Takes the lock from whoever is on record as its holder, be it alive or not. The answer: from
    /// whom.
    async fn break_lock(&self, by: LockHolder) -> Result<Option<LockHolder>, HomeError>;

    /// Who has the lock; a dead holder counts as nobody.
    async fn holder(&self) -> Result<Option<LockHolder>, HomeError>;

    /// The state as it is there; an empty one where there is none.
    async fn read(&self) -> Result<State, HomeError>;

    /// Has there what the store's copy has.
    async fn write(&self, copy: &Store) -> Result<(), HomeError>;
}

/// The state of record of a workspace. Cheap to clone.
#[derive(Clone)]
pub struct StateOfRecord {
    home: Arc<dyn Home>,
    copy: Store,
}

impl StateOfRecord {
    /// Of the workspace that the store belongs to.
    pub fn of(store: &Store) -> Self {
        Self::at(Arc::new(Stored(store.clone())), store)
    }

    fn at(home: Arc<dyn Home>, copy: &Store) -> Self {
        Self {
            home,
            copy: copy.clone(),
        }
    }

    /// Where it lives, for an operator.
    pub fn place(&self) -> String {
        self.home.place()
    }

    /// Takes the lock that goes with it.
    ///
    /// # Errors
    /// As [`Home::lock`].
    pub async fn lock(&self, by: LockHolder) -> Result<Acquired, HomeError> {
        self.home.lock(by).await
    }

    /// Gives the lock back; nothing happens where it is not ours.
    ///
    /// # Errors
    /// It cannot be given back.
    pub async fn unlock(&self) -> Result<(), HomeError> {
        self.home.unlock().await
    }

    /// Takes the lock from whoever is on record as its holder.
    ///
    /// # Errors
    /// It cannot be taken away: a process of this machine that runs has it.
    pub async fn break_lock(&self, by: LockHolder) -> Result<Option<LockHolder>, HomeError> {
        self.home.break_lock(by).await
    }

    /// Who works on it.
    ///
    /// # Errors
    /// That cannot be read.
    pub async fn holder(&self) -> Result<Option<LockHolder>, HomeError> {
        self.home.holder().await
    }

    /// The whole of it.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn read(&self) -> Result<State, HomeError> {
        self.home.read().await
    }

    /// The current object at an address.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn object(&self, address: &str) -> Result<Option<StateObject>, HomeError> {
        let all = self.read().await?.objects.into_iter();
        Ok(all
            .filter(|object| object.deposed.is_empty())
            .find(|object| object.address == address))
    }

    /// Brings home what the store has come to know of it.
    ///
    /// # Errors
    /// It cannot be written there; the store has it all.
    pub async fn bring_home(&self) -> Result<(), HomeError> {
        self.home.write(&self.copy).await
    }
}
