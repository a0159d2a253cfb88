//! How long is waited for a lock that somebody else has.

use super::ours::is_gone;
use super::{Home, HomeError};
use statefile::LockInfo;
use std::time::Duration;
use tokio::time::Instant;

/// After the first attempt; doubled after each, up to [`LONGEST`].
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(16);

/// Use of the locks of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locking {
    /// They are taken.
    pub is_on: bool,
    /// Longest wait for one that another program has.
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
    /// The waits for a lock that another program has.
    pub fn waits(&self) -> Waits {
        Waits {
            until: Instant::now() + self.timeout,
            pause: FIRST,
        }
    }
}

/// Pauses between attempts to take a lock, until the time is over.
#[derive(Debug)]
pub struct Waits {
    until: Instant,
    pause: Duration,
}

impl Waits {
    /// Waits for the next attempt; returns false once the time is over.
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

/// How long is waited, and who is told that it is.
pub struct Patience<'a> {
    timeout: Duration,
    tell: &'a (dyn Fn(String) + Sync),
}

impl<'a> Patience<'a> {
    /// Waits that long; zero for one attempt.
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
                // Only once: whoever has it then has taken it since.
                Err(HomeError::Locked {
                    info: Some(holder), ..
                }) if !taken && is_gone(&holder) => {
                    taken = true;
                    home.force_unlock(&holder.id).await?;
                    (self.tell)(format!(
                        "the lock of {} ({}, since {}) on the state in {} was taken over: that process is gone",
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
