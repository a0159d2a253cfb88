//! Options of backend locks (`-lock`, `-lock-timeout`), and the wait for a lock that another owner
//! has.

use super::ours::is_gone;
use super::{Home, HomeError};
use statefile::LockInfo;
use std::time::Duration;
use tokio::time::Instant;

/// Pause after the first attempt; doubled after each, up to [`LONGEST`].
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(16);

/// Options of backend locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locking {
    /// Take locks.
    pub is_on: bool,
    /// Maximum wait for a lock that another owner has.
    pub timeout: Duration,
}

impl Default for Locking {
    fn default() -> Self {
        Self {
            is_on: true,
            timeout: Duration::ZERO,
        }
    }
}

impl Locking {
    /// Pauses between attempts for a lock that another owner has.
    pub fn waits(&self) -> Waits {
        Waits {
            until: Instant::now() + self.timeout,
            pause: FIRST,
        }
    }
}

/// Pauses between attempts to take a lock, up to the time limit.
#[derive(Debug)]
pub struct Waits {
    until: Instant,
    pause: Duration,
}

impl Waits {
    /// Waits for the next attempt; returns false after the time limit.
    pub async fn next(&mut self) -> bool {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        tokio::time::sleep(self.pause.min(left)).await;
        self.pause = (self.pause * 2).min(LONGEST);
        true
    }
}

/// Maximum wait, and the receiver of messages about it.
pub struct Patience<'a> {
    timeout: Duration,
    tell: &'a (dyn Fn(String) + Sync),
}

impl<'a> Patience<'a> {
    /// Waits up to `timeout`; zero means a single attempt.
    pub fn new(timeout: Duration, tell: &'a (dyn Fn(String) + Sync)) -> Self {
        Self { timeout, tell }
    }

    /// Does not wait.
    pub fn none() -> Self {
        Self::new(Duration::ZERO, &|_| ())
    }

    pub(super) async fn lock(&self, home: &dyn Home, info: LockInfo) -> Result<(), HomeError> {
        let until = Instant::now() + self.timeout;
        let mut pause = FIRST;
        let (mut told, mut taken) = (false, false);
        loop {
            let locked = home.lock(info.clone()).await;
            let left = until.saturating_duration_since(Instant::now());
            match locked {
                // Only once: the next owner found would have taken the lock since.
                Err(HomeError::Locked {
                    info: Some(holder), ..
                }) if !taken && is_gone(&holder) => {
                    taken = true;
                    home.force_unlock(&holder.id).await?;
                    (self.tell)(format!(
                        "removed the stale lock of {} ({}, since {}) on the state in {}, because the process that acquired it has ended",
                        holder.who,
                        holder.operation,
                        holder.created,
                        home.place()
                    ));
                }
                Err(error @ HomeError::Locked { .. }) if !left.is_zero() => {
                    if !told {
                        (self.tell)(format!("{error}; waiting up to {} s", left.as_secs() + 1));
                        told = true;
                    }
                    tokio::time::sleep(pause.min(left)).await;
                    pause = (pause * 2).min(LONGEST);
                }
                done => return done,
            }
        }
    }
}
