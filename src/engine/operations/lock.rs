//! Takes and releases the workspace lock for commands.

use super::command::Operations;
use super::error::WorkError;
use crate::error::EngineError;
use crate::workspace_store::WorkspaceStore;
use model::bus::Bus;
use model::lock_owner::this_process;
use model::*;
use std::sync::Arc;
use std::time::Duration;

/// Time limit for releasing a state lock after the operator asked to stop.
pub(super) const UNLOCKING: Duration = Duration::from_secs(3);

/// Locks of this process on the workspace and its state. Separate from [`Operations`], because a
/// task releases the locks of a command that was dropped.
pub(super) struct Locks {
    memory: Arc<WorkspaceStore>,
    bus: Bus,
    /// Uses of the workspace lock: a console holds it while its commands take it again.
    uses: tokio::sync::Mutex<u32>,
}

impl Locks {
    pub(super) fn new(memory: Arc<WorkspaceStore>, bus: Bus) -> Self {
        Self {
            memory,
            bus,
            uses: tokio::sync::Mutex::default(),
        }
    }

    /// Takes the workspace lock; returns true if this process did not have it.
    async fn acquire(&self, reason: &str) -> Result<bool, EngineError> {
        let mut uses = self.uses.lock().await;
        let first = *uses == 0;
        if first {
            match self.memory.lock(reason).await {
                Ok(taken_over) => {
                    if let Some(text) = taken_over {
                        self.bus.emit(EventKind::Notice { text });
                    }
                    self.bus.emit(EventKind::Lock {
                        holder: Some(this_process(reason)),
                        ours: true,
                    });
                }
                Err(EngineError::Locked(holder)) => {
                    self.bus.emit(EventKind::Lock {
                        holder: Some((*holder).clone()),
                        ours: false,
                    });
                    return Err(EngineError::Locked(holder));
                }
                Err(error) => return Err(error),
            }
        }
        *uses += 1;
        Ok(first)
    }

    /// Ends one use of the workspace lock; the last one releases it.
    pub(super) async fn release(&self) {
        let mut uses = self.uses.lock().await;
        match *uses {
            // A shutdown may have released the lock already.
            0 => return,
            1 => {
                if let Err(error) = self.memory.unlock().await {
                    self.bus.emit(EventKind::Notice {
                        text: format!("failed to release the workspace lock: {error}"),
                    });
                }
                self.bus.emit(EventKind::Lock {
                    holder: None,
                    ours: false,
                });
            }
            _ => {}
        }
        // Counted down last: if this release is cancelled, the next one releases the lock.
        *uses -= 1;
    }

    /// Ends all uses of the workspace lock.
    pub(super) async fn release_all(&self) {
        let uses = *self.uses.lock().await;
        for _ in 0..uses {
            self.release().await;
        }
    }

    /// Releases the state lock after a cancelled request; reports a lock that may stay behind.
    pub(super) async fn release_state(&self) {
        if let Err(error) = self.memory.state().release_cancelled(UNLOCKING).await {
            self.bus.emit(EventKind::Notice {
                text: error.to_string(),
            });
        }
    }
}

impl Operations {
    /// Takes the workspace lock; nested uses share it. Reports unknown outcomes of earlier runs.
    pub async fn lock(&self) -> Result<(), EngineError> {
        if self.take_lock().await? {
            self.report_unknown().await?;
        }
        Ok(())
    }

    /// Takes the lock; returns true if this process did not have it.
    pub(super) async fn take_lock(&self) -> Result<bool, EngineError> {
        if !self.settings.access.can_write() {
            return Err(WorkError::ReadOnly.into());
        }
        self.locks.acquire(&self.settings.reason).await
    }
}
