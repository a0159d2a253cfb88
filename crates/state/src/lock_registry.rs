//! Registry of the state locks that this process has requested and not released, across all
//! engines. A cancelled command releases its locks through it, or reports them.

use super::{Spelling, StateError, StateManager};
use async_trait::async_trait;
use futures_util::future::join_all;
use model::mutex::lock;
use statefile::LockInfo;
use std::sync::{Arc, Mutex};
use std::time::Duration;

static HELD: Mutex<Vec<Held>> = Mutex::new(Vec::new());

/// A lock that was requested, whether or not the answer arrived.
#[derive(Clone)]
struct Held {
    manager: Arc<dyn StateManager>,
    info: LockInfo,
}

impl Held {
    /// Locks again and then unlocks. Locking succeeds if this process already has the lock, so the
    /// outcome of the first request does not matter. A lock of another owner stays.
    async fn relock_and_release(self, within: Duration) -> Result<(), StateError> {
        let again = async {
            match self.manager.lock(self.info.clone()).await {
                Ok(()) => self.manager.unlock().await,
                // Another owner's lock means that this process never got it.
                Err(StateError::Locked { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        };
        let ended = tokio::time::timeout(within, again).await;
        // Removed in every case: an error names the lock, so it needs no second report.
        forget(&self.manager);
        let why = match ended {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.reason(),
            Err(_) => format!("no answer within {} s", within.as_secs()),
        };
        Err(self.lock_left_behind(why))
    }

    fn lock_left_behind(&self, why: String) -> StateError {
        StateError::LockLeftBehind {
            place: self.manager.place(),
            id: self.info.id.clone(),
            why,
        }
    }
}

fn forget(home: &Arc<dyn StateManager>) {
    lock(&HELD).retain(|held| !Arc::ptr_eq(&held.manager, home));
}

/// Releases every lock of this process. Returns an error for each that may stay behind.
pub async fn release_all(within: Duration) -> Vec<StateError> {
    let all = lock(&HELD).clone();
    let ended = join_all(all.into_iter().map(|held| held.relock_and_release(within))).await;
    ended.into_iter().filter_map(Result::err).collect()
}

/// Errors for the locks of this process, for an exit without another request.
pub fn left_behind_errors() -> Vec<StateError> {
    let all = lock(&HELD);
    let left = all
        .iter()
        .map(|held| held.lock_left_behind("the process was ended".to_owned()));
    left.collect()
}

/// State manager whose locks are known to [`release_all`].
pub(super) fn tracked(home: Arc<dyn StateManager>) -> Arc<dyn StateManager> {
    Arc::new(Tracked(home))
}

struct Tracked(Arc<dyn StateManager>);

#[async_trait]
impl StateManager for Tracked {
    fn place(&self) -> String {
        self.0.place()
    }

    fn identity(&self) -> Option<String> {
        self.0.identity()
    }

    fn layout(&self) -> Spelling {
        self.0.layout()
    }

    async fn lock(&self, info: LockInfo) -> Result<(), StateError> {
        let is_held = |held: &Held| Arc::ptr_eq(&held.manager, &self.0);
        // Registered before the request: if the caller is cancelled, the lock may be taken all the
        // same.
        if !lock(&HELD).iter().any(is_held) {
            let (home, info) = (self.0.clone(), info.clone());
            lock(&HELD).push(Held {
                manager: home,
                info,
            });
        }
        let locked = self.0.lock(info).await;
        // Stays registered if the request may have taken the lock.
        if locked.as_ref().is_err_and(|error| !error.may_have_locked()) {
            forget(&self.0);
        }
        locked
    }

    async fn unlock(&self) -> Result<(), StateError> {
        let unlocked = self.0.unlock().await;
        // An error names the lock, so it needs no second report.
        forget(&self.0);
        unlocked
    }

    async fn release_cancelled(&self, within: Duration) -> Result<(), StateError> {
        let all = lock(&HELD).clone();
        match all
            .into_iter()
            .find(|held| Arc::ptr_eq(&held.manager, &self.0))
        {
            Some(held) => held.relock_and_release(within).await,
            None => Ok(()),
        }
    }

    async fn read(&self) -> Result<Vec<u8>, StateError> {
        self.0.read().await
    }

    async fn prepare_write(&self) -> Result<(), StateError> {
        self.0.prepare_write().await
    }

    async fn write(&self, text: String) -> Result<(), StateError> {
        self.0.write(text).await
    }

    async fn read_beside(&self) -> Result<Option<Vec<u8>>, StateError> {
        self.0.read_beside().await
    }

    async fn write_beside(&self, text: String) -> Result<(), StateError> {
        self.0.write_beside(text).await
    }

    async fn force_unlock(&self, id: &str) -> Result<(), StateError> {
        self.0.force_unlock(id).await
    }

    async fn delete(&self) -> Result<(), StateError> {
        self.0.delete().await
    }
}
