//! Takes and releases the workspace lock for each command, so that several processes can share a
//! workspace, and notices their work.

use super::command::{Operations, Switches};
use super::error::WorkError;
use crate::error::EngineError;
use crate::workspace_store::WorkspaceStore;
use model::bus::Bus;
use model::lock_owner::this_process;
use model::mutex::lock;
use model::*;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::records::Revision;
use tokio::time::Instant;

/// Time limit for releasing a state lock after the operator asked to stop.
pub(super) const UNLOCKING: Duration = Duration::from_secs(3);
/// Pause between two attempts to take the workspace lock.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Locks of this process on the workspace and its state. Separate from [`Operations`], because a
/// task releases the locks of a command that was dropped.
pub(super) struct Locks {
    memory: Arc<WorkspaceStore>,
    bus: Bus,
    /// This process has the workspace lock.
    held: tokio::sync::Mutex<bool>,
    /// Revision of the store after the last change that this process made or noticed.
    seen: Mutex<Option<Revision>>,
}

impl Locks {
    pub(super) fn new(memory: Arc<WorkspaceStore>, bus: Bus) -> Self {
        Self {
            memory,
            bus,
            held: tokio::sync::Mutex::default(),
            seen: Mutex::default(),
        }
    }

    /// Makes one attempt to take the workspace lock.
    async fn acquire(&self, reason: &str) -> Result<(), EngineError> {
        let mut held = self.held.lock().await;
        match self.memory.lock(reason).await {
            Ok(taken_over) => {
                *held = true;
                if let Some(text) = taken_over {
                    self.bus.emit(EventKind::Notice { text });
                }
                self.bus.emit(EventKind::Lock {
                    holder: Some(this_process(reason)),
                    ours: true,
                });
                Ok(())
            }
            Err(EngineError::Locked(holder)) => {
                self.show_owner(Some((*holder).clone()));
                Err(EngineError::Locked(holder))
            }
            Err(error) => Err(error),
        }
    }

    /// Releases the workspace lock, if this process has it.
    pub(super) async fn release(&self) {
        let mut held = self.held.lock().await;
        if !*held {
            return;
        }
        // Until the release, only this process can have changed the store.
        *lock(&self.seen) = self.memory.store().revision().await.ok();
        if let Err(error) = self.memory.unlock().await {
            self.bus.emit(EventKind::Notice {
                text: format!("failed to release the workspace lock: {error}"),
            });
        }
        self.bus.emit(EventKind::Lock {
            holder: None,
            ours: false,
        });
        // Set last: if this release is cancelled, the next one releases the lock.
        *held = false;
    }

    /// Releases the state lock after a cancelled request; reports a lock that may stay behind.
    pub(super) async fn release_state(&self) {
        if let Err(error) = self.memory.state().release_cancelled(UNLOCKING).await {
            self.bus.emit(EventKind::Notice {
                text: error.to_string(),
            });
        }
    }

    /// Shows another lock owner, or none, if that is new. Returns true if it is.
    fn show_owner(&self, holder: Option<LockHolder>) -> bool {
        let is_new = self.bus.with_view(|view| view.lock != holder);
        if is_new {
            let ours = false;
            self.bus.emit(EventKind::Lock { holder, ours });
        }
        is_new
    }

    /// Revision of the store, if another process has changed it since this process last looked.
    async fn foreign_revision(&self) -> Result<Option<Revision>, EngineError> {
        let now = self.memory.store().revision().await?;
        let before = lock(&self.seen).replace(now.clone());
        Ok(before.is_some_and(|before| before != now).then_some(now))
    }
}

impl Operations {
    /// Takes the workspace lock. Waits for another owner as long as `-lock-timeout` allows.
    pub(super) async fn take_lock(
        &self,
        operation: &str,
        switches: &Switches,
    ) -> Result<(), EngineError> {
        if !self.settings.access.can_write() {
            return Err(WorkError::ReadOnly.into());
        }
        let reason = lock_reason(&self.settings.reason, operation);
        let until = Instant::now() + self.settings.lock_timeout;
        let mut is_reported = false;
        loop {
            let holder = match self.locks.acquire(&reason).await {
                Err(EngineError::Locked(holder)) => holder,
                done => return done,
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(EngineError::Locked(holder));
            }
            if !std::mem::replace(&mut is_reported, true) {
                let text = format!(
                    "the workspace is locked by {} on {} (pid {}, {}); waiting up to {} s",
                    holder.who,
                    holder.host,
                    holder.pid,
                    holder.reason,
                    left.as_secs() + 1
                );
                self.bus.emit(EventKind::Notice { text });
            }
            // Only the pause is cancelled: an attempt in progress may have taken the lock.
            tokio::select! { biased;
                () = switches.stop.cancelled() => return Err(EngineError::Cancelled),
                () = tokio::time::sleep(RETRY_PAUSE.min(left)) => {}
            }
        }
    }

    /// Brings this process up to date after it has taken the lock: marks rollouts of processes that
    /// have ended as interrupted, and notices the work of others since its last command.
    pub(super) async fn catch_up(&self) -> Result<(), EngineError> {
        self.settle_rollouts().await?;
        self.notice_changes().await?;
        Ok(())
    }

    /// Shows the lock owner, and the work of other processes, while no command of this process
    /// runs.
    pub(super) async fn look_at_others(&self) -> Result<(), EngineError> {
        // A running command has its own look, and its changes are not those of others.
        let Ok(_turn) = self.exclusive.try_lock() else {
            return Ok(());
        };
        let owner = self.memory.store().lock_owner().await?;
        let is_new_owner = self.locks.show_owner(owner);
        // An owner that was killed changes nothing in the store.
        if self.notice_changes().await? || is_new_owner {
            self.list_unknown().await?;
        }
        Ok(())
    }

    /// Emits an event if another process has changed the state or made a deploy.
    async fn notice_changes(&self) -> Result<bool, EngineError> {
        let Some(now) = self.locks.foreign_revision().await? else {
            return Ok(false);
        };
        let outdated = self.newest_is_outdated(&now);
        self.bus.emit(EventKind::WorkspaceChanged {
            serial: now.serial,
            deploy: now.deploy,
            outdated,
        });
        Ok(true)
    }
}

/// Reason of a lock, with the operation of a command that has several.
fn lock_reason(reason: &str, operation: &str) -> String {
    let operation = match operation {
        state::PLAN => "stage",
        "OperationTypeApply" => "deploy",
        other => other,
    };
    let named = reason.replace(' ', "-");
    match named.contains(operation) || operation.contains(&named) {
        true => reason.to_owned(),
        false => format!("{reason}: {operation}"),
    }
}

#[cfg(test)]
mod tests {
    use super::lock_reason;

    #[test]
    fn reason_of_a_lock_names_the_operation_once() {
        for (reason, operation, expected) in [
            ("console", "OperationTypePlan", "console: stage"),
            ("console", "OperationTypeApply", "console: deploy"),
            ("stage", "OperationTypePlan", "stage"),
            ("deploy", "OperationTypePlan", "deploy: stage"),
            ("state rm", "state-rm", "state rm"),
            ("import", "state-import", "import"),
            ("console", "taint", "console: taint"),
        ] {
            assert_eq!(lock_reason(reason, operation), expected);
        }
    }
}
