//! Registry of the state locks that this process has requested and not released, across all
//! engines. A cancelled command releases its locks through it, or reports them.

use super::{Home, HomeError, Spelling};
use crate::engine::mutex::lock;
use async_trait::async_trait;
use futures_util::future::join_all;
use statefile::LockInfo;
use std::sync::{Arc, Mutex};
use std::time::Duration;

static HELD: Mutex<Vec<Held>> = Mutex::new(Vec::new());

/// A lock that was requested, whether or not the answer arrived.
#[derive(Clone)]
struct Held {
    home: Arc<dyn Home>,
    info: LockInfo,
}

impl Held {
    /// Locks again and then unlocks. Locking succeeds if this process already has the lock, so the
    /// outcome of the first request does not matter. A lock of another owner stays.
    async fn give_back(self, within: Duration) -> Result<(), HomeError> {
        let again = async {
            match self.home.lock(self.info.clone()).await {
                Ok(()) => self.home.unlock().await,
                // Another owner's lock means that this process never got it.
                Err(HomeError::Locked { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        };
        let ended = tokio::time::timeout(within, again).await;
        // Removed in every case: an error names the lock, so it needs no second report.
        forget(&self.home);
        let why = match ended {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.reason(),
            Err(_) => format!("no answer within {} s", within.as_secs()),
        };
        Err(self.left(why))
    }

    fn left(&self, why: String) -> HomeError {
        HomeError::LeftLocked {
            place: self.home.place(),
            id: self.info.id.clone(),
            why,
        }
    }
}

fn forget(home: &Arc<dyn Home>) {
    lock(&HELD).retain(|held| !Arc::ptr_eq(&held.home, home));
}

/// Releases every lock of this process. Returns an error for each that may stay behind.
pub async fn give_back_all(within: Duration) -> Vec<HomeError> {
    let all = lock(&HELD).clone();
    let ended = join_all(all.into_iter().map(|held| held.give_back(within))).await;
    ended.into_iter().filter_map(Result::err).collect()
}

/// Errors for the locks of this process, for an exit without another request.
pub fn left_behind() -> Vec<HomeError> {
    let all = lock(&HELD);
    let left = all
        .iter()
        .map(|held| held.left("the process was ended".to_owned()));
    left.collect()
}

/// State manager whose locks are known to [`give_back_all`].
pub(super) fn tracked(home: Arc<dyn Home>) -> Arc<dyn Home> {
    Arc::new(Tracked(home))
}

struct Tracked(Arc<dyn Home>);

#[async_trait]
impl Home for Tracked {
    fn place(&self) -> String {
        self.0.place()
    }

    fn spelling(&self) -> Spelling {
        self.0.spelling()
    }

    async fn lock(&self, info: LockInfo) -> Result<(), HomeError> {
        let is_held = |held: &Held| Arc::ptr_eq(&held.home, &self.0);
        // Registered before the request: if the caller is cancelled, the lock may be taken all the
        // same.
        if !lock(&HELD).iter().any(is_held) {
            let (home, info) = (self.0.clone(), info.clone());
            lock(&HELD).push(Held { home, info });
        }
        let locked = self.0.lock(info).await;
        // Stays registered if the request may have taken the lock.
        if locked.as_ref().is_err_and(|error| !error.may_be_done()) {
            forget(&self.0);
        }
        locked
    }

    async fn unlock(&self) -> Result<(), HomeError> {
        let unlocked = self.0.unlock().await;
        // An error names the lock, so it needs no second report.
        forget(&self.0);
        unlocked
    }

    async fn give_back(&self, within: Duration) -> Result<(), HomeError> {
        let all = lock(&HELD).clone();
        match all
            .into_iter()
            .find(|held| Arc::ptr_eq(&held.home, &self.0))
        {
            Some(held) => held.give_back(within).await,
            None => Ok(()),
        }
    }

    async fn read(&self) -> Result<Vec<u8>, HomeError> {
        self.0.read().await
    }

    async fn prepare(&self) -> Result<(), HomeError> {
        self.0.prepare().await
    }

    async fn write(&self, text: String) -> Result<(), HomeError> {
        self.0.write(text).await
    }

    async fn force_unlock(&self, id: &str) -> Result<(), HomeError> {
        self.0.force_unlock(id).await
    }

    async fn delete(&self) -> Result<(), HomeError> {
        self.0.delete().await
    }
}
