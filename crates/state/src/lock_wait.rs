//! Options of backend locks (`-lock`, `-lock-timeout`), and the wait for a lock that another owner
//! has.

use super::lock_info::{RecordedLocks, owner_has_ended};
use super::{StateError, StateManager};
use statefile::LockInfo;
use std::time::Duration;
use tokio::time::Instant;

/// Pause after the first attempt; doubled after each, up to [`LONGEST`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(16);

/// Options of backend locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locking {
    /// Take locks.
    pub is_enabled: bool,
    /// Maximum wait for a lock that another owner has.
    pub timeout: Duration,
}

impl Default for Locking {
    fn default() -> Self {
        Self {
            is_enabled: true,
            timeout: Duration::ZERO,
        }
    }
}

impl Locking {
    /// Pauses between attempts for a lock that another owner has.
    pub fn new_wait(&self) -> Waits {
        Waits {
            deadline: Instant::now() + self.timeout,
            pause: FIRST_PAUSE,
        }
    }
}

/// Pauses between attempts to take a lock, up to the time limit.
#[derive(Debug)]
pub struct Waits {
    deadline: Instant,
    pause: Duration,
}

impl Waits {
    /// Waits for the next attempt; returns false after the time limit.
    pub async fn next(&mut self) -> bool {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        tokio::time::sleep(self.pause.min(left)).await;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        true
    }
}

/// Maximum wait, and the receiver of messages about it.
pub struct LockWait<'a> {
    timeout: Duration,
    report: &'a (dyn Fn(String) + Sync),
}

impl<'a> LockWait<'a> {
    /// Waits up to `timeout`; zero means a single attempt.
    pub fn new(timeout: Duration, tell: &'a (dyn Fn(String) + Sync)) -> Self {
        Self {
            timeout,
            report: tell,
        }
    }

    /// Does not wait.
    pub fn no_wait() -> Self {
        Self::new(Duration::ZERO, &|_| ())
    }

    /// Takes the lock. Removes that of a process that has ended, if it made a plan only, or if the
    /// store knows what the process did.
    pub(super) async fn lock(
        &self,
        home: &dyn StateManager,
        info: LockInfo,
        recorded: &RecordedLocks,
    ) -> Result<(), StateError> {
        let until = Instant::now() + self.timeout;
        let mut pause = FIRST_PAUSE;
        let (mut told, mut taken) = (false, false);
        loop {
            let locked = home.lock(info.clone()).await;
            let left = until.saturating_duration_since(Instant::now());
            match locked {
                Err(StateError::Locked {
                    place,
                    info: Some(info),
                }) if !taken && owner_has_ended(&info) && !recorded.has(&info) => {
                    return Err(StateError::Abandoned { place, info });
                }
                // Only once: the next owner found would have taken the lock since.
                Err(StateError::Locked {
                    info: Some(holder), ..
                }) if !taken && owner_has_ended(&holder) => {
                    taken = true;
                    home.force_unlock(&holder.id).await?;
                    (self.report)(format!(
                        "removed the stale lock of {} ({}, since {}) on the state in {}, because the process that acquired it has ended",
                        holder.who,
                        holder.operation,
                        holder.created,
                        home.place()
                    ));
                }
                Err(error @ StateError::Locked { .. }) if !left.is_zero() => {
                    if !told {
                        (self.report)(format!("{error}; waiting up to {} s", left.as_secs() + 1));
                        told = true;
                    }
                    tokio::time::sleep(pause.min(left)).await;
                    pause = (pause * 2).min(MAX_PAUSE);
                }
                done => return done,
            }
        }
    }
}
